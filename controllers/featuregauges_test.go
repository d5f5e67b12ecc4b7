package controllers

import (
	"fmt"
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
)

func TestFeaturesAreCountedByClass(t *testing.T) {
	member := func(name string, annotations ...string) v1alpha1.MemberMemory {
		v := &v1alpha1.AcceptedVersion{Annotations: map[string]string{}}
		for _, a := range annotations {
			v.Annotations[a] = "x"
		}
		v.Spec.TLS = []networkingv1.IngressTLS{{}}
		return v1alpha1.MemberMemory{Ingress: name, LastAccepted: v}
	}
	records := map[lb.Key]records.Record{
		"public/shop/@all/internal": {Memory: v1alpha1.Memory{
			Class:   &v1alpha1.LoadBalancerClassSpec{Inbound: []string{"10.0.0.0/8"}},
			Members: []v1alpha1.MemberMemory{member("shop/a", "fairlead.dev/group"), member("shop/b", "fairlead.dev/group", "fairlead.dev/order"), {Ingress: "shop/new"}},
		}},
		"private/pay/web/internal": {Memory: v1alpha1.Memory{Members: []v1alpha1.MemberMemory{member("pay/web")}}},
	}
	var found []string
	countFeatures(records, func(m metrics.Metric, value float64, labels ...string) {
		found = append(found, fmt.Sprint(m.Name, labels, value))
	})
	slices.Sort(found)
	want := []string{
		"fairlead_feature_ingresses[private spec.tls] 1",
		"fairlead_feature_ingresses[public fairlead.dev/group] 2",
		"fairlead_feature_ingresses[public fairlead.dev/order] 1",
		"fairlead_feature_ingresses[public parameters.inbound] 2",
		"fairlead_feature_ingresses[public spec.tls] 2",
	}
	if !slices.Equal(found, want) {
		t.Errorf("there are\n%q\nwant\n%q", found, want)
	}
}
