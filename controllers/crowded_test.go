package controllers_test

import (
	"fmt"
	"slices"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/test/kube"
)

// This file has more pods come than the cloud takes.

func TestPodsForWhichThereIsNoRoom(t *testing.T) {
	t.Parallel()
	caps := lb.Literal()
	caps.TargetsPerGroup = 2
	w := emptyWorld(t, kube.Shared(t), func(o *fake.Options) { o.Capabilities = caps })
	w.run()
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	first := w.members()

	for _, pod := range []string{"web-2", "web-3", "web-4"} {
		w.create(w.pod("web", pod))
	}
	w.told("shop", "QuotaExceeded")
	w.calm()
	if now := w.members(); len(now) != 2 || !slices.Contains(now, first[0]) {
		t.Errorf("the members are %v, and were %v", now, first)
	}
	if told := w.reasons("shop"); len(told) > 2 { // there may be some while not all have come
		t.Errorf("its owner is told %v", told)
	}

	for _, pod := range []string{"web-1", "web-2", "web-3"} {
		if err := w.Delete(t.Context(), &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: pod}}); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
	w.answers("shop", "http://shop.example/", "web-4")
	w.eventually(func() error {
		said := w.balancer("shop").Status.Diagnostics
		return noError(len(said) == 0, "there is still something to say: %v", said)
	})
	if now := w.members(); len(now) != 1 {
		t.Errorf("the members are %v", now)
	}
}

// members are those of all target groups.
func (w *world) members() []lb.Target {
	w.Helper()
	var out []lb.Target
	keys, err := w.cloud.Cloud.List(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for _, key := range keys {
		seen, err := w.cloud.Cloud.Observe(w.Context(), key, false)
		if err != nil {
			w.Fatal(err)
		}
		for _, g := range seen.TargetGroups {
			healths, err := w.cloud.Cloud.Targets(w.Context(), key, g.ID)
			if err != nil {
				w.Fatal(fmt.Errorf("reading the members of %s: %w", g.ID, err))
			}
			for _, h := range healths {
				if h.State != "draining" {
					out = append(out, h.Target)
				}
			}
		}
	}
	return out
}
