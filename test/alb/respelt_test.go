package alb

import (
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/albsim"
)

// AWS may describe a rule otherwise than it was sent: values and target groups in another order, in
// another case where it compares without regard to case, ranges in another spelling. That is no
// change, and nothing is written for it.
func TestRulesThatAreDescribedOtherwiseAreLeftAlone(t *testing.T) {
	for name, conditions := range map[string]string{
		"hosts and paths":        "",
		"a header":               `[{"backend": "some", "header": {"X-Canary": ["Always", "beta*"]}}]`,
		"two headers":            `[{"backend": "some", "header": {"X-Canary": ["always"], "accept-Language": ["de", "fr"]}}]`,
		"a query and methods":    `[{"backend": "some", "method": ["POST", "GET"], "query": {"v": ["2", "x"]}}]`,
		"sources":                `[{"backend": "some", "source": ["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"]}]`,
		"no regular expressions": "glob",
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, albsim.Options{Respelt: true}, func(w *world) {
				if conditions == "glob" {
					w.class(func(c *v1alpha1.LoadBalancerClassSpec) { off := false; c.RegularExpressions = &off })
				}
				for _, service := range []string{"web", "next", "other"} {
					w.service(service, 1)
				}
				ing := w.serve("www", map[string]string{"/": "web", "/b": "web", "/a": "web"})
				ing.Spec.Rules = append(ing.Spec.Rules, ing.Spec.Rules[0], ing.Spec.Rules[0])
				ing.Spec.Rules[1].Host, ing.Spec.Rules[2].Host = "api.example.com", "*.shop.example.com"
				ing.Spec.Rules[0].HTTP.Paths = append(ing.Spec.Rules[0].HTTP.Paths, networkingv1.HTTPIngressPath{
					Path: "/some", PathType: ing.Spec.Rules[0].HTTP.Paths[0].PathType, Backend: toResource("some"),
				})
				w.backendNamed("some", weighted("web", 3, "next", 7))
				if conditions != "" && conditions != "glob" {
					ing.Annotations["fairlead.dev/conditions"] = conditions
				}
				w.settle()
				time.Sleep(time.Minute)

				for range 3 {
					before := len(w.writes())
					w.lookAnew()
					todo, _, err := w.reconcile()
					if err != nil {
						t.Fatal(err)
					}
					if wrote := w.writes()[before:]; len(wrote) > 0 || !todo.Empty() {
						t.Errorf("nothing changed, and %v was written, in %d steps, the first of them %v", wrote, len(todo.Steps), todo.Steps)
					}
				}
			})
		})
	}
}
