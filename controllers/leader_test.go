package controllers_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/test/kube"
)

// TestAFollowerIsWarm: a replica that waits for the lease is ready once its caches are filled, and
// watches nothing more when it gets the lease: it can work at once.
func TestAFollowerIsWarm(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	now, duration := metav1.NowMicro(), int32(3600)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "fairlead"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("somebody else"), LeaseDurationSeconds: &duration, AcquireTime: &now, RenewTime: &now},
	}
	w.create(lease)

	var seen watches
	var filled cache.Cache
	w.run(func(s *settings) {
		s.manager.LeaderElection = true
		s.manager.LeaderElectionID, s.manager.LeaderElectionNamespace = lease.Name, lease.Namespace
		s.manager.RetryPeriod = new(200 * time.Millisecond)
		s.manager.NewCache = func(config *rest.Config, o cache.Options) (cache.Cache, error) {
			config = rest.CopyConfig(config)
			config.Wrap(seen.note)
			o.HTTPClient = nil // the manager's does not pass what was just added
			c, err := cache.New(config, o)
			filled = c
			return c, err
		}
	})
	ready := cluster.Ready(filled)
	w.eventually(func() error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody)
		if err != nil {
			return err
		}
		return ready(r)
	})
	watched := seen.kinds()
	for _, kind := range []string{"ingresses", "ingressclasses", "services", "endpointslices", "secrets", "namespaces", "backends", "loadbalancerclasses", "clusterloadbalancerclasses"} {
		if !slices.Contains(watched, kind) {
			t.Errorf("it is ready and does not watch %s, only %v", kind, watched)
		}
	}
	if n := w.gate.writes.Load(); n > 0 || len(w.ingress("shop").Finalizers) > 0 {
		t.Errorf("it has written %d times without the lease", n)
	}

	before := lease.DeepCopy()
	lease.Spec.HolderIdentity = new("")
	if err := w.Patch(t.Context(), lease, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.answers("shop", "http://shop.example/", "web-1")
	if more := seen.kinds(); !slices.Equal(more, watched) {
		t.Errorf("as the leader it watches %v, as a follower it did %v", more, watched)
	}
}

// TestReadinessWaitsForCaches: a cache that is not filled is not ready, and says so in time for the
// probe.
func TestReadinessWaitsForCaches(t *testing.T) {
	w := emptyWorld(t, kube.Shared(t))
	c, err := cache.New(w.cluster.Config, cache.Options{Scheme: cluster.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/readyz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Ready(c)(r); err == nil || ctx.Err() != nil {
		t.Errorf("a cache that never started is %v, %v", err, ctx.Err())
	}
}

// watches are the kinds that somebody watches.
type watches struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (w *watches) note(inner http.RoundTripper) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("watch") != "" {
			w.mu.Lock()
			if w.seen == nil {
				w.seen = map[string]bool{}
			}
			w.seen[r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]] = true
			w.mu.Unlock()
		}
		return inner.RoundTrip(r)
	})
}

func (w *watches) kinds() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.seen))
}
