package ingress

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// The newest Ingresses of a namespace are refused once it has as many load balancers as its class
// lets it have. Those that exist stay, also if there are more.
func TestLoadBalancersOfANamespaceAreBounded(t *testing.T) {
	known := func(keys ...routing.Key) map[routing.Key]record.Record {
		out := map[routing.Key]record.Record{}
		for _, key := range keys {
			out[key] = record.Record{}
		}
		return out
	}
	for name, c := range map[string]struct {
		spec      v1alpha1.LoadBalancerClassSpec
		ingresses int
		names     bool // each asks for another load balancer of one group across namespaces
		records   map[routing.Key]record.Record
		existing  map[routing.Key]bool
		refused   int
		says      string
	}{
		"there is no bound if a class says nothing": {ingresses: 30},
		"but a class that keeps load balancers has one": {
			spec: v1alpha1.LoadBalancerClassSpec{DeletionPolicy: v1alpha1.DeletionPolicyRetain}, ingresses: 12, refused: 2,
			says: "fairlead/shop/i01/internal",
		},
		"which it may set itself": {
			spec:      v1alpha1.LoadBalancerClassSpec{DeletionPolicy: v1alpha1.DeletionPolicyRetain, LoadBalancers: v1alpha1.LoadBalancerBounds{PerNamespace: 11}},
			ingresses: 12, refused: 1, says: "and 1 more",
		},
		"those without Ingresses count": {
			spec: v1alpha1.LoadBalancerClassSpec{LoadBalancers: v1alpha1.LoadBalancerBounds{PerNamespace: 2}}, ingresses: 2,
			records: known("fairlead/shop/gone/internal"), refused: 1, says: "without Ingresses are fairlead/shop/gone/internal;",
		},
		"and so do those that only the operator knows": {
			spec: v1alpha1.LoadBalancerClassSpec{LoadBalancers: v1alpha1.LoadBalancerBounds{PerNamespace: 2}}, ingresses: 2,
			existing: map[routing.Key]bool{"fairlead/shop/moving/internal": true}, refused: 1, says: "Ingresses belong to fairlead/shop/i01/internal, fairlead/shop/moving/internal;",
		},
		"those of others do not": {
			spec: v1alpha1.LoadBalancerClassSpec{LoadBalancers: v1alpha1.LoadBalancerBounds{PerNamespace: 2}}, ingresses: 2,
			records: known("fairlead/shop-2/gone/internal", "other/shop/gone/internal", "fairlead/@all/internal"),
		},
		"those that exist stay": {
			spec: v1alpha1.LoadBalancerClassSpec{LoadBalancers: v1alpha1.LoadBalancerBounds{PerNamespace: 1}}, ingresses: 3,
			records: known("fairlead/shop/i02/internal", "fairlead/shop/i03/internal"), refused: 1,
		},
		"a group across namespaces has a bound of its own": {
			spec: v1alpha1.LoadBalancerClassSpec{
				LoadBalancers: v1alpha1.LoadBalancerBounds{PerNamespace: 2}, Groups: []v1alpha1.SharedGroup{{Name: "all"}},
			},
			ingresses: 3, names: true, records: known("fairlead/shop/a/internal", "fairlead/shop/b/internal"), refused: 1, says: "group all has 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			given := classAndParameters(c.spec)
			for i := range c.ingresses {
				ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{
					Namespace: "shop", Name: fmt.Sprintf("i%02d", i+1), Annotations: map[string]string{},
					CreationTimestamp: metav1.NewTime(time.Date(2020, 1, 1+i, 0, 0, 0, 0, time.UTC)),
				}}
				ing.Spec.IngressClassName = new("fairlead")
				ing.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}
				if c.names {
					ing.Annotations[settings.Group], ing.Annotations[settings.LoadBalancerName] = "all", ing.Name
				}
				given = append(given, ing)
			}
			slices.Reverse(given)
			o := objectsOf(given...)
			o.Records = c.records
			snapshots, found := Place(o, ClassOptions{Existing: func(string) map[routing.Key]bool { return c.existing }})
			if served := len(snapshots); served != c.ingresses-c.refused && !c.names {
				t.Errorf("%d load balancers are served, want %d", served, c.ingresses-c.refused)
			}
			var told []string
			for _, d := range found {
				told = append(told, d.Source.Name)
				if d.Reason != diag.LoadBalancerQuota || !strings.Contains(d.Message, c.says) {
					t.Errorf("it says %v, want %q in it", d, c.says)
				}
			}
			var want []string
			for i := range c.refused {
				want = append(want, fmt.Sprintf("i%02d", c.ingresses-c.refused+i+1))
			}
			if name == "those that exist stay" {
				want = []string{"i01"}
			}
			if !slices.Equal(told, want) {
				t.Errorf("refused are %v, want %v", told, want)
			}
		})
	}
}

// classAndParameters are an IngressClass with parameters.
func classAndParameters(spec v1alpha1.LoadBalancerClassSpec) []any {
	return []any{
		&networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}, Spec: networkingv1.IngressClassSpec{
			Controller: ControllerName,
			Parameters: &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "params"},
		}},
		&v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "params"}, Spec: spec},
	}
}
