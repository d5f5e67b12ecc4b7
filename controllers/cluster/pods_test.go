package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// aPod returns the Pod web-1 of shop.
func aPod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{"app": "web"}}}
}

// The Services of a Pod list it in an EndpointSlice, or select it.
func TestTheServicesOfAPod(t *testing.T) {
	service := func(namespace, name string, selector map[string]string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{Selector: selector}}
	}
	c := clusterOf(t,
		aSlice("listing-1", "listing", "web-1"), aSlice("other-1", "other", "web-2"),
		service("shop", "selecting", map[string]string{"app": "web"}), service("shop", "another", map[string]string{"app": "db"}),
		service("shop", "without-selector", nil), service("blog", "elsewhere", map[string]string{"app": "web"}),
	)
	r := NewPodReader(c, true)
	got, err := r.ServicesOf(t.Context(), aPod())
	slices.SortFunc(got, func(a, b Ref) int { return strings.Compare(a.Name, b.Name) })
	if want := []Ref{RefTo(KindService, "shop", "listing"), RefTo(KindService, "shop", "selecting")}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the Services are %v, want %v, error %v", got, want, err)
	}
	if got, err := NewPodReader(unavailable{}, true).ServicesOf(t.Context(), aPod()); got != nil || !errors.Is(err, errUnavailable) {
		t.Errorf("the Services are %v, error %v, want %v", got, err, errUnavailable)
	}
	onlySlices := listing{c}
	if got, err := NewPodReader(onlySlices, true).ServicesOf(t.Context(), aPod()); got != nil || !errors.Is(err, errUnavailable) {
		t.Errorf("where Services cannot be listed they are %v, error %v, want %v", got, err, errUnavailable)
	}
}

// listing is a reader that lists no Services.
type listing struct{ client.Reader }

func (l listing) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, is := list.(*corev1.ServiceList); is {
		return errUnavailable
	}
	return l.Reader.List(ctx, list, opts...)
}

// Pods are read with their gates where these are kept, and one that is not seen is waited for.
func TestThePodsOfEndpoints(t *testing.T) {
	seen, unseen := aSlice("web-1", "web", "web-1"), aSlice("web-2", "web", "web-2")
	unseen.Endpoints[0].Addresses = []string{"10.0.0.2"}
	moved := aSlice("web-3", "web", "web-1") // at an address that the Pod does not have
	moved.Endpoints[0].Addresses = []string{"10.0.0.3"}
	gated := aPod()
	gated.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: v1alpha1.TargetHealthGate}}
	gated.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}}
	c := clusterOf(t, gated)
	for _, gates := range []bool{true, false} {
		pods, awaited, err := NewPodReader(c, gates).PodsOf(t.Context(), []*discoveryv1.EndpointSlice{seen, unseen, moved})
		if err != nil || len(pods) != 1 || (len(pods[0].Spec.ReadinessGates) > 0) != gates {
			t.Errorf("with gates %t: the Pods are %v, error %v", gates, pods, err)
		}
		var names []string
		for claim, waits := range awaited {
			if waits {
				names = append(names, claim.Pod+" "+claim.Address)
			}
		}
		slices.Sort(names)
		if want := []string{"web-1 10.0.0.3", "web-2 10.0.0.2"}; !slices.Equal(names, want) {
			t.Errorf("with gates %t: %q are waited for, want %q", gates, names, want)
		}
	}
	if pods, awaited, err := NewPodReader(unavailable{}, true).PodsOf(t.Context(), []*discoveryv1.EndpointSlice{seen}); pods != nil || awaited != nil || !errors.Is(err, errUnavailable) {
		t.Errorf("there are %v and %v, error %v, want %v", pods, awaited, err, errUnavailable)
	}
}
