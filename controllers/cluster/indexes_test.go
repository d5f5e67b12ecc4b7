package cluster

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/settings"
)

func aSlice(name, service string, pods ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}}}
	for _, pod := range pods {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}, TargetRef: &corev1.ObjectReference{Kind: KindPod, Namespace: "shop", Name: pod}})
	}
	return s
}

// Each index has an object under these values.
func TestWhatObjectsAreIndexedBy(t *testing.T) {
	classed := func(annotation string, field *string) client.Object {
		return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{settings.IngressClass: annotation}}, Spec: networkingv1.IngressSpec{IngressClassName: field}}
	}
	with := func(p *networkingv1.IngressClassParametersReference) client.Object {
		return &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "public"}, Spec: networkingv1.IngressClassSpec{Parameters: p}}
	}
	bare := aSlice("web-1", "")
	bare.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}}
	for name, c := range map[string]struct {
		field string
		of    client.Object
		want  []string
	}{
		"a slice of a Service":             {sliceService, aSlice("web-1", "web"), []string{"web"}},
		"a slice of no Service":            {sliceService, aSlice("web-1", ""), nil},
		"the Pods of a slice":              {slicePods, aSlice("web-1", "web", "a", "b"), []string{"a", "b"}},
		"those of one ReplicaSet":          {slicePods, aSlice("web-1", "web", "web-5d8f-abc", "web-5d8f-def", "-x"), []string{"web-5d8f", "-x"}},
		"an endpoint without a Pod":        {slicePods, bare, nil},
		"a class by annotation":            {IngressClass, classed("public", nil), []string{"public"}},
		"a class by field":                 {IngressClass, classed("", new("internal")), []string{"internal"}},
		"a class by each":                  {IngressClass, classed("public", new("internal")), []string{"public", "internal"}},
		"no class":                         {IngressClass, classed("", nil), []string{NoClass}},
		"a class without a name":           {IngressClass, classed("", new("")), []string{NoClass}},
		"no parameters":                    {ClassParameters, with(nil), nil},
		"parameters of the core group":     {ClassParameters, with(&networkingv1.IngressClassParametersReference{Kind: "ConfigMap", Name: "a"}), nil},
		"parameters of another controller": {ClassParameters, with(&networkingv1.IngressClassParametersReference{APIGroup: new("example.com"), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "a"}), nil},
		"parameters of Fairlead":           {ClassParameters, with(&networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "a"}), []string{v1alpha1.KindClusterLoadBalancerClass + "//a", "IngressClassParams//public"}},
		"parameters that have a namespace": {ClassParameters, with(&networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindLoadBalancerClass, Namespace: new("shop"), Name: "a"}), []string{v1alpha1.KindLoadBalancerClass + "/shop/a", "IngressClassParams//public"}},
		"IngressClassParams":               {ClassParameters, with(&networkingv1.IngressClassParametersReference{APIGroup: new("elbv2.k8s.aws"), Kind: "IngressClassParams", Name: "a"}), []string{"IngressClassParams//a", v1alpha1.KindClusterLoadBalancerClass + "//public", v1alpha1.KindClusterLoadBalancerClass + "//a"}},
	} {
		t.Run(name, func(t *testing.T) {
			at := slices.IndexFunc(Indexes(), func(i Index) bool { return i.Field == c.field })
			if got := Indexes()[at].Values(c.of); !slices.Equal(got, c.want) {
				t.Errorf("it is under %q, want %q", got, c.want)
			}
		})
	}
	if refs := ParametersRefs(nil); len(refs) > 0 {
		t.Errorf("a class that does not exist has parameters: %v", refs)
	}
}
