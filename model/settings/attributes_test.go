package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
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
	for _, kind := range []struct {
		name, list, own string
		of              func(*Values) *Attributes
	}{
		{"deregistration_delay.timeout_seconds", TargetGroupAttributes, DeregistrationDelay, groupAttributes},
		{"idle_timeout.timeout_seconds", LoadBalancerAttributes, IdleTimeout, balancerAttributes},
	} {
		for want, c := range map[string]struct {
			list, own string
			from      string
			found     []Finding
		}{
			"10": {list: kind.name + "=10", from: kind.list},
			"20": {own: "20", from: kind.own},
			"30": {list: kind.name + "=30", own: "30", from: kind.own},
			"40": {list: kind.name + "=50", own: "040", from: kind.own, found: []Finding{{
				kind.list, diag.Warning, diag.SettingConflict,
				kind.own + " says 40 for " + kind.name + ", and takes priority",
			}}},
		} {
			annotations := map[string]string{}
			if c.list != "" {
				annotations[kind.list] = c.list + ",a=b"
			}
			if c.own != "" {
				annotations[kind.own] = c.own
			}
			given, found := Read(annotations, &v1alpha1.LoadBalancerClassSpec{}, true)
			if got := (*kind.of(&given))[kind.name]; got != (Attribute{want, c.from}) {
				t.Errorf("%v: got %v, want %s of %s", annotations, got, want, c.from)
			}
			if ((*kind.of(&given))["a"].Value == "b") != (c.list != "") {
				t.Errorf("%v: other attributes of the list are %v", annotations, *kind.of(&given))
			}
			if diff := cmp.Diff(c.found, found); diff != "" {
				t.Errorf("%v: findings (-want +got):\n%s", annotations, diff)
			}
		}
		var v Values
		if err := Of(kind.own).put(&v, "5"); err != nil {
			t.Fatal(err)
		}
		if err := Of(kind.list).put(&v, kind.name+"=6"); err != nil || (*kind.of(&v))[kind.name].Value != "5" {
			t.Errorf("the list is stored over the annotation: %v, %v", *kind.of(&v), err)
		}
	}
}

// The class decides about each attribute that it has, and about what would weaken what it has.
func TestTheClassDecidesAboutListedAttributes(t *testing.T) {
	const header = "routing.http.drop_invalid_header_fields.enabled"
	for name, c := range map[string]struct {
		class    v1alpha1.LoadBalancerClassSpec
		listed   string
		reserved bool
		severity diag.Severity
	}{
		"an attribute of the class":           {v1alpha1.LoadBalancerClassSpec{Attributes: map[string]string{header: "true"}}, header + "=false", true, diag.Warning},
		"the same":                            {v1alpha1.LoadBalancerClassSpec{Attributes: map[string]string{header: "true"}}, header + "=true", false, ""},
		"another one":                         {v1alpha1.LoadBalancerClassSpec{Attributes: map[string]string{header: "true"}}, "routing.http2.enabled=false", false, ""},
		"a prefix in the class's bucket":      {v1alpha1.LoadBalancerClassSpec{Attributes: map[string]string{"access_logs.s3.bucket": "logs"}}, "access_logs.s3.prefix=other", true, diag.Warning},
		"logs of another kind":                {v1alpha1.LoadBalancerClassSpec{Attributes: map[string]string{"access_logs.s3.bucket": "logs"}}, "connection_logs.s3.prefix=other", false, ""},
		"past the web ACL of the class":       {v1alpha1.LoadBalancerClassSpec{WAFv2ACL: "edge"}, "waf.fail_open.enabled=true", true, diag.Warning},
		"never past the web ACL of the class": {v1alpha1.LoadBalancerClassSpec{WAFv2ACL: "edge"}, "waf.fail_open.enabled=false", false, ""},
		"past a web ACL of its own":           {v1alpha1.LoadBalancerClassSpec{WAFv2ACL: "none"}, "waf.fail_open.enabled=true", false, ""},
		"from the internet":                   {v1alpha1.LoadBalancerClassSpec{}, routing.AttributeDenyGateways + "=false", true, diag.Warning},
		"not from the internet":               {v1alpha1.LoadBalancerClassSpec{}, routing.AttributeDenyGateways + "=true", false, ""},
		"from the internet, under the class":  {v1alpha1.LoadBalancerClassSpec{Attributes: map[string]string{routing.AttributeDenyGateways: "false"}}, routing.AttributeDenyGateways + "=true", true, diag.Error},
	} {
		for _, whole := range []bool{true, false} {
			given, found := Read(map[string]string{LoadBalancerAttributes: c.listed}, &c.class, whole)
			left := given.BalancerAttributes
			if !whole {
				left = given.Uncounted.BalancerAttributes
			}
			if (len(left) == 0) != c.reserved || (len(found) == 1) != c.reserved {
				t.Errorf("%s, whole %v: %v is left, found %v", name, whole, left, found)
			}
			for _, f := range found {
				if f.Annotation != LoadBalancerAttributes || f.Reason != diag.AnnotationNotAllowed || f.Severity != c.severity {
					t.Errorf("%s: found %+v, want severity %s", name, f, c.severity)
				}
			}
		}
	}
}
