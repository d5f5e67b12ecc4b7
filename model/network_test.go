package model

import (
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/settings"
)

// Security groups limit which clients may connect. A load balancer is never made without those that
// its class or an Ingress asks for, and one that is there keeps its settings while they are missing.
func TestSecurityGroupsThatAreMissing(t *testing.T) {
	ofClass := v1alpha1.LoadBalancerClassSpec{SecurityGroups: []string{"edge"}}
	asked := map[string]string{settings.SecurityGroups: "edge"}
	unmet := []string{"none has the name edge"}
	other := lb.Network{Key: "k", SecurityGroups: []string{"other"}}
	for name, c := range map[string]struct {
		class       v1alpha1.LoadBalancerClassSpec
		annotations map[string]string
		facts       lb.Facts
		groups      []string
		served      bool
		keeps       bool
		told        string
	}{
		"those of the class":                   {class: ofClass, facts: lb.Facts{SecurityGroups: []string{"sg-1"}}, groups: []string{"sg-1"}, served: true},
		"of the class, missing":                {class: ofClass, facts: lb.Facts{Unmet: unmet}, told: "error NetworkUnmet Ingress"},
		"of the class, missing at a change":    {class: ofClass, facts: lb.Facts{Unmet: unmet, Digest: "before"}, served: true, keeps: true, told: "warning NetworkUnmet IngressClass"},
		"of the class, of one half made":       {class: ofClass, facts: lb.Facts{Unmet: unmet, InUse: lb.Counts{Listeners: 1}}, served: true, told: "warning NetworkUnmet IngressClass"},
		"of the class, on a cloud without any": {class: ofClass, served: true},
		"those of an Ingress":                  {annotations: asked, facts: lb.Facts{SecurityGroups: []string{"sg-1"}}, groups: []string{"sg-1"}, served: true},
		"of an Ingress, missing":               {annotations: asked, facts: lb.Facts{Unmet: unmet}, told: "error NetworkUnmet Ingress"},
		"of an Ingress, missing, beside one":   {annotations: asked, facts: lb.Facts{Unmet: unmet, Digest: "before"}, told: "error NetworkUnmet Ingress"},
		"on a cloud without any":               {annotations: asked, told: "error NetworkUnmet Ingress"},
		"others were looked up":                {annotations: asked, facts: lb.Facts{Network: other, SecurityGroups: []string{"sg-9"}}, told: "error NetworkUnmet Ingress"},
		"none asked for, others looked up":     {facts: lb.Facts{Network: other, SecurityGroups: []string{"sg-9"}, Digest: "before"}, served: true, keeps: true},
		"subnets that are missing":             {annotations: map[string]string{settings.Subnets: "edge"}, facts: lb.Facts{Unmet: unmet}, served: true, told: "warning NetworkUnmet Ingress"},
		"subnets and the nodes' group is full": {annotations: map[string]string{settings.Subnets: "private"}, facts: lb.Facts{Unmet: unmet}, served: true, told: "warning NetworkUnmet IngressClass"},
	} {
		o := many(1, false)
		for key, value := range c.annotations {
			o.Ingresses[0].Annotations[key] = value
		}
		o.IngressClasses[0].Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "params"}
		o.ClusterLoadBalancerClasses = []*v1alpha1.ClusterLoadBalancerClass{{ObjectMeta: metav1.ObjectMeta{Name: "params"}, Spec: c.class}}
		built := Compile(snapshotOf(t, o), c.facts, lb.ALB())
		if got := built.LoadBalancer.Settings.SecurityGroups; !slices.Equal(got, c.groups) {
			t.Errorf("%s: groups %v, want %v", name, got, c.groups)
		}
		if got := len(built.LoadBalancer.Listeners) > 0; got != c.served {
			t.Errorf("%s: served %v, want %v", name, got, c.served)
		}
		if got := built.LoadBalancer.Digest == "before"; got != c.keeps {
			t.Errorf("%s: keeps its settings %v, want %v", name, got, c.keeps)
		}
		if c.facts.InUse.Listeners > 0 && built.LoadBalancer.Digest != "" {
			t.Errorf("%s: its settings are written: %s", name, built.LoadBalancer.Digest)
		}
		if decided := len(built.LoadBalancer.Decided) > 0; decided != (c.served && c.annotations != nil) {
			t.Errorf("%s: decided by %v", name, built.LoadBalancer.Decided)
		}
		told := ""
		for _, d := range built.Diagnostics {
			if d.Reason == diag.NetworkUnmet {
				told += d.String() + "\n"
			}
		}
		if !strings.Contains(told, c.told) || (told == "") != (c.told == "") {
			t.Errorf("%s: told %q, want %q", name, told, c.told)
		}
	}
}
