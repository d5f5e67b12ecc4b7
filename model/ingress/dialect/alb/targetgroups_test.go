package alb_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/settings"
)

const groups = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/"

// A target group that an action names is the one that the class allows, if its ARN is written in full. A
// glob says of no name which target group it is, and two accounts can have one name.
func TestATargetGroupByName(t *testing.T) {
	alone := `{"type": "forward", "targetGroupName": "vms"}`
	weighted := `{"type": "forward", "forwardConfig": {"targetGroups": [{"serviceName": "web", "servicePort": 80, "weight": 1}, {"targetGroupName": "vms", "weight": 2}]}}`
	for name, c := range map[string]struct {
		action  string
		allowed []string
		arn     string
		refused string
	}{
		"one that is allowed":         {alone, []string{groups + "other/1", groups + "vms/2"}, groups + "vms/2", ""},
		"one of several":              {weighted, []string{groups + "vms/2"}, groups + "vms/2", ""},
		"an ARN goes first":           {`{"type": "forward", "targetGroupName": "vms", "targetGroupARN": "` + groups + `a/1"}`, nil, groups + "a/1", ""},
		"one that is not allowed":     {alone, []string{groups + "vms-2/2"}, "", "`allowedTargetGroups`"},
		"one by a glob":               {alone, []string{"*", groups + "*", groups + "vms/*"}, "", "in full"},
		"a glob and in full":          {alone, []string{groups + "*", groups + "vms/2"}, groups + "vms/2", ""},
		"in two accounts":             {alone, []string{groups + "vms/2", strings.Replace(groups, "12:", "13:", 1) + "vms/3"}, "", "two target groups"},
		"of a load balancer":          {alone, []string{"arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/vms/2"}, "", "in full"},
		"a name with a slash":         {`{"type": "forward", "targetGroupName": "vms/2"}`, []string{groups + "vms/2"}, "", "in full"},
		"a name that is a part":       {`{"type": "forward", "targetGroupName": "vm"}`, []string{groups + "vms/2"}, "", "in full"},
		"an empty name":               {`{"type": "forward", "targetGroupName": ""}`, []string{groups + "/2", "arn:"}, "", "in full"},
		"one of several, not allowed": {weighted, nil, "", "in full"},
	} {
		in := ingress("actions.old", c.action)
		in.Spec.Rules[0].HTTP.Paths[0].Backend = *backend("old", "use-annotation")
		class := alb.Defaults(v1alpha1.LoadBalancerClassSpec{AllowedTargetGroups: c.allowed})
		out := alb.Read(dialect.Input{Ingress: in, Class: &class, Service: func(string) *corev1.Service { return nil }})
		got, told := "", ""
		for _, b := range settings.BackendsOf(out.Annotations) {
			for _, s := range b.Services {
				got += s.TargetGroupARN
			}
		}
		for _, v := range out.Verdicts {
			if v.Key == alb.Prefix+"actions.old" && v.Outcome == dialect.Refused {
				told = v.Message
			}
		}
		if got != c.arn || (told == "") != (c.refused == "") || !strings.Contains(told, c.refused) {
			t.Errorf("%s: requests go to %q, refused %q", name, got, told)
		}
		services, _ := alb.Refers(in.Annotations)
		if want := strings.Contains(c.action, "serviceName"); (len(services) == 1) != want {
			t.Errorf("%s: it refers to the Services %q", name, services)
		}
	}
}
