package controllers_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/kube"
)

// This file is about which endpoints become targets: those that are Pods of the namespace.

// has waits until exactly the endpoints of some EndpointSlices are targets.
func (w *world) has(endpoints ...*discoveryv1.EndpointSlice) {
	w.Helper()
	var want []string
	for _, s := range endpoints {
		want = append(want, strings.Replace(s.Endpoints[0].Addresses[0], podsKnownIn, podsListenIn, 1))
	}
	slices.Sort(want)
	w.eventually(func() error {
		var got []string
		for _, m := range w.members() {
			got = append(got, m.Address)
		}
		slices.Sort(got)
		return noError(slices.Equal(got, want), "the targets are %v, want %v", got, want)
	})
}

// hasNothingToSay waits until a report says nothing of endpoints any more.
func (w *world) hasNothingToSay() {
	w.Helper()
	w.eventually(func() error {
		said := w.balancer("shop").Status.Diagnostics
		return noError(len(said) == 0, "there is still something to say: %v", said)
	})
}

func TestAnEndpointThatIsNoPodIsLeftOutAndTold(t *testing.T) {
	w := newWorld(t)
	w.serve("web")
	pod, foreign := w.pod("web", "web-1"), w.endpoint("web", "foreign")
	w.create(pod, foreign, w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.told("shop", "EndpointForeign")
	w.has(pod)

	// The Pod of another namespace is no better.
	elsewhere := w.namespace + "-other"
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: elsewhere}})
	kube.Pod(t, w, elsewhere, "foreign", foreign.Endpoints[0].Addresses[0])
	foreign.Endpoints[0].TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: elsewhere, Name: "foreign"}
	if err := w.Update(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	w.calm()
	w.has(pod)

	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{ForeignEndpoints: true})
	w.has(pod, foreign)
	w.hasNothingToSay()
	class := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: w.class}}
	if err := w.Patch(t.Context(), class, client.RawPatch("application/merge-patch+json", []byte(`{"spec": {"foreignEndpoints": false}}`))); err != nil {
		t.Fatal(err)
	}
	w.has(pod)
}

func TestAnEndpointIsNoTargetBeforeItsPodIsSeen(t *testing.T) {
	w := newWorld(t)
	w.serve("web")
	first, late := w.pod("web", "web-1"), w.endpoint("web", "late")
	late.Endpoints[0].TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: w.namespace, Name: "late"}
	w.create(first, late, w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.calm()
	w.has(first)
	kube.Pod(t, w, w.namespace, "late", late.Endpoints[0].Addresses[0])
	w.has(first, late)
	if told := w.reasons("shop"); slices.Contains(told, "EndpointForeign") {
		t.Errorf("its owner is told %v of a Pod that comes late", told)
	}
}

func TestATargetStaysOnlyAsLongAsItsPodHasTheAddress(t *testing.T) {
	w := newWorld(t)
	w.serve("web")
	stays, moves, ends, goes := w.pod("web", "stays"), w.pod("web", "moves"), w.pod("web", "ends"), w.pod("web", "goes")
	w.create(stays, moves, ends, goes, w.ask("shop", "shop.example", "/", "web"))
	w.has(stays, moves, ends, goes)
	w.calm()

	changed := time.Now()
	kube.Pod(t, w, w.namespace, "moves", podsKnownIn+"250.1") // and its endpoint lags behind
	ended := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "ends"}}
	if err := w.Status().Patch(t.Context(), ended, client.RawPatch("application/merge-patch+json", []byte(`{"status": {"phase": "Succeeded"}}`))); err != nil {
		t.Fatal(err)
	}
	gone := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "goes"}}
	if err := w.Delete(t.Context(), gone, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	w.has(stays, moves, ends, goes)
	w.has(stays)
	if waited := time.Since(changed); waited > 20*time.Second {
		t.Errorf("they stayed for %s", waited)
	}
	w.told("shop", "EndpointForeign")

	moves.Endpoints[0].Addresses = []string{podsKnownIn + "250.1"}
	if err := w.Update(t.Context(), moves); err != nil {
		t.Fatal(err)
	}
	w.has(stays, moves)
}
