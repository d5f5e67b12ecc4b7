package ingress

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// asking returns a member with annotations. Where whole is not set, they do not count for the whole
// load balancer.
func asking(t *testing.T, name string, whole bool, annotations map[string]string) Member {
	t.Helper()
	values, found := settings.Read(annotations, &v1alpha1.LoadBalancerClassSpec{}, whole)
	if len(found) > 0 {
		t.Fatal(found)
	}
	return Member{
		Ingress: &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, Annotations: annotations,
		}},
		Owner: routing.Owner{Namespace: "shop", Name: name}, Settings: values,
	}
}

// Each annotation of an attribute is decided by the oldest member that counts. The others are reported,
// unless they are about to leave.
func TestTheOldestMemberDecidesAboutAnAttribute(t *testing.T) {
	rows := 0
	for _, row := range slices.Concat(settings.Table, []settings.Setting{{Annotation: settings.LoadBalancerAttributes, BalancerAttribute: "a", Good: []string{"1", "2"}}}) {
		if row.BalancerAttribute == "" {
			continue
		}
		rows++
		one, other := row.Good[0], row.Good[1]
		listed := ""
		if row.Annotation == settings.LoadBalancerAttributes {
			listed = row.BalancerAttribute + "="
		}
		mine := func(value string) map[string]string { return map[string]string{row.Annotation: listed + value} }
		leaving := asking(t, "leaving", true, mine(other))
		leaving.Leaving = true
		s := Snapshot{Members: []Member{
			asking(t, "of-another-namespace", false, mine(other)), asking(t, "silent", true, nil),
			asking(t, "oldest", true, mine(one)), asking(t, "same", true, mine(one)),
			asking(t, "younger", true, mine(other)), leaving,
		}}
		class := map[string]string{"other": "a"}
		got, found := WithMemberAttributes(s, class, func(string, string) string { return "" })
		want := map[string]string{"other": "a", row.BalancerAttribute: one}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: attributes (-want +got):\n%s", row.Annotation, diff)
		}
		if diff := cmp.Diff(map[string]string{"other": "a"}, class); diff != "" {
			t.Errorf("%s: the attributes of the class were changed:\n%s", row.Annotation, diff)
		}
		told := map[string]diag.Reason{}
		for _, d := range found {
			told[d.Source.Name] = d.Reason
		}
		if diff := cmp.Diff(map[string]diag.Reason{
			"of-another-namespace": diag.NotGroupOwner, "younger": diag.SettingConflict,
		}, told); diff != "" {
			t.Errorf("%s: told (-want +got):\n%s", row.Annotation, diff)
		}
	}
	if rows == 0 {
		t.Error("no annotation sets an attribute: the test tests nothing")
	}
}

func TestAnAttributeThatTheCloudLacksIsLeftOut(t *testing.T) {
	s := Snapshot{Members: []Member{
		asking(t, "web", true, map[string]string{settings.IdleTimeout: "0300"}),
	}}
	var asked string
	got, found := WithMemberAttributes(s, nil, func(name, value string) string {
		asked = name + "=" + value
		return "there is none"
	})
	if asked != "idle_timeout.timeout_seconds=300" || got != nil {
		t.Errorf("%s was asked for, and %v holds", asked, got)
	}
	if len(found) != 1 || found[0].Reason != diag.NotExpressible || found[0].Severity != diag.Warning ||
		found[0].Message != "there is none; it is left out" {
		t.Errorf("told %v", found)
	}
}
