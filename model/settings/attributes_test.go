package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
)

func TestAttributesThatAreNone(t *testing.T) {
	for _, text := range []string{"", "stickiness.enabled", "=true", "a=1,,b=2", "a=1,a=2", "a="} {
		if got, err := parseAttributes(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

// An annotation of its own takes priority over the list, wherever the rows stand. The author is told
// where they differ.
func TestAnAnnotationOfItsOwnTakesPriorityOverTheList(t *testing.T) {
	const name = "deregistration_delay.timeout_seconds"
	for want, c := range map[string]struct {
		list, own string
		from      string
		found     []Finding
	}{
		"10": {list: name + "=10", from: TargetGroupAttributes},
		"20": {own: "20", from: DeregistrationDelay},
		"30": {list: name + "=30", own: "30", from: DeregistrationDelay},
		"40": {list: name + "=50", own: "040", from: DeregistrationDelay, found: []Finding{{
			TargetGroupAttributes, diag.Warning, diag.SettingConflict,
			DeregistrationDelay + " says 40 for " + name + ", and takes priority",
		}}},
	} {
		annotations := map[string]string{}
		if c.list != "" {
			annotations[TargetGroupAttributes] = c.list + ",a=b"
		}
		if c.own != "" {
			annotations[DeregistrationDelay] = c.own
		}
		given, found := Read(annotations, &v1alpha1.LoadBalancerClassSpec{}, true)
		if got := given.GroupAttributes[name]; got != (GroupAttribute{want, c.from}) {
			t.Errorf("%v: got %v, want %s of %s", annotations, got, want, c.from)
		}
		if (given.GroupAttributes["a"].Value == "b") != (c.list != "") {
			t.Errorf("%v: other attributes of the list are %v", annotations, given.GroupAttributes)
		}
		if diff := cmp.Diff(c.found, found); diff != "" {
			t.Errorf("%v: findings (-want +got):\n%s", annotations, diff)
		}
	}
	var v Values
	if err := Of(DeregistrationDelay).put(&v, "5"); err != nil {
		t.Fatal(err)
	}
	if err := Of(TargetGroupAttributes).put(&v, name+"=6"); err != nil || v.GroupAttributes[name].Value != "5" {
		t.Errorf("the list is stored over the annotation: %v, %v", v.GroupAttributes, err)
	}
}
