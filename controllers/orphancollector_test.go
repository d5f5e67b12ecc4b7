package controllers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/controllertest"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// This file tests what is collected, what is not, and what is said of that.

const orphan = lb.Key("fairlead/shop/orphan/internal")

// A setup is a cluster, a cloud and a Collector.
type setup struct {
	*testing.T
	client.WithWatch
	*OrphanCollector
	cloud   *controllertest.Cloud
	woken   []lb.Key
	orphans int            // as they were counted last
	kept    map[string]int // of these
}

// orphaned returns a setup with a load balancer that has no Ingress and no record.
func orphaned(t *testing.T, key lb.Key) *setup {
	t.Helper()
	s := &setup{T: t, WithWatch: controllertest.NewClient(t), cloud: controllertest.NewCloud(t)}
	if _, err := s.cloud.Cloud.Apply(t.Context(), &lb.Observed{Key: key}, plan.CreateLoadBalancer{}); err != nil {
		t.Fatal(err)
	}
	s.succeed()
	return s
}

// succeed has the next leader take over.
func (s *setup) succeed() {
	s.OrphanCollector = &OrphanCollector{
		Gatherer: controllertest.NewGatherer(s.WithWatch), Cloud: s.cloud, Sightings: newOrphanSightings(s.WithWatch, s.WithWatch, ""),
		Count:     func(orphans int, kept map[string]int) { s.orphans, s.kept = orphans, kept },
		Reconcile: func(_ context.Context, keys []lb.Key) { s.woken = append(s.woken, keys...) },
	}
}

// collect makes a pass, and returns the load balancers that it has collected, and what it logs.
func (s *setup) collect() (keys []lb.Key, lines []string) {
	s.Helper()
	ctx := logr.NewContext(s.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	s.woken = nil
	if err := s.pass(ctx); err != nil {
		s.Error(err)
	}
	return s.woken, lines
}

// An orphan is collected by the second pass that finds it, although another replica made the first
// one. One that is found again after it had its owner is new.
func TestAnOrphanIsCollectedByTheSecondPass(t *testing.T) {
	s := orphaned(t, orphan)
	if got, _ := s.collect(); len(got) > 0 {
		t.Errorf("the first pass collects %v", got)
	}
	for range 2 {
		if got, _ := s.collect(); !slices.Equal(got, []lb.Key{orphan}) {
			t.Errorf("the second pass collects %v", got)
		}
	}

	s.succeed()
	if got, _ := s.collect(); !slices.Equal(got, []lb.Key{orphan}) {
		t.Errorf("the first pass of the next leader collects %v", got)
	}
	records, err := s.Records.Store.Load(t.Context())
	if err != nil || len(records) > 0 {
		t.Errorf("a sighting is taken for the record %v, error %v", records, err)
	}

	s.Directory.Place(cluster.RefTo(cluster.KindIngress, "shop", "orphan"), []lb.Key{orphan})
	if got, _ := s.collect(); len(got) > 0 {
		t.Errorf("with an Ingress, %v are collected", got)
	}
	var left v1alpha1.LoadBalancerList
	if err := s.WithWatch.List(t.Context(), &left); err != nil || len(left.Items) > 0 {
		t.Errorf("%d sightings are left, error %v", len(left.Items), err)
	}
	s.Directory.Release(cluster.RefTo(cluster.KindIngress, "shop", "orphan"), orphan)
	if got, _ := s.collect(); len(got) > 0 {
		t.Errorf("found again, %v are collected by the first pass", got)
	}
}

// What has an owner, a record or another operator is no orphan, and an Ingress that is held where
// it belongs keeps none.
func TestWhatStandsForALoadBalancer(t *testing.T) {
	for name, c := range map[string]struct {
		stands func(s *setup)
		orphan bool
	}{
		"nothing": {func(*setup) {}, true},
		"an Ingress": {func(s *setup) {
			s.Directory.Place(cluster.RefTo(cluster.KindIngress, "shop", "a"), []lb.Key{orphan})
		}, false},
		"a record":                     {func(s *setup) { s.remember(orphan) }, false},
		"another operator's namespace": {func(s *setup) { s.Scope = "office" }, false},
		"our only namespace":           {func(s *setup) { s.Scope = "shop" }, true},
		"an Ingress, held, of another": {func(s *setup) {
			s.create(held("shop", "a"))
			s.Directory.Place(cluster.RefTo(cluster.KindIngress, "shop", "a"), []lb.Key{"fairlead/shop/web/internal"})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := orphaned(t, orphan)
			c.stands(s)
			s.collect()
			if got, _ := s.collect(); len(got) > 0 != c.orphan {
				t.Errorf("%v are collected", got)
			}
		})
	}
}

// A pass that finds what the one before found writes nothing.
func TestAQuietPassWritesNothing(t *testing.T) {
	s, creates := orphaned(t, orphan), 0
	s.Sightings.writer = interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		Create: func(ctx context.Context, to client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			creates++
			return to.Create(ctx, o, opts...)
		},
	})
	for range 3 {
		s.collect()
	}
	if creates != 1 {
		t.Errorf("%d sightings are made", creates)
	}
}

// A list of the cloud that comes back short confirms nothing: what it leaves out is new to the pass
// after it. One that fails is no pass.
func TestAShortListConfirmsNoOrphan(t *testing.T) {
	for name, c := range map[string]struct {
		list func() ([]lb.Key, error)
		then []lb.Key
	}{
		"it holds nothing":    {list: func() ([]lb.Key, error) { return nil, nil }},
		"it holds another":    {list: func() ([]lb.Key, error) { return []lb.Key{"fairlead/shop/other/internal"}, nil }},
		"it fails":            {list: func() ([]lb.Key, error) { return nil, errors.New("timeout") }, then: []lb.Key{orphan}},
		"it fails with a key": {list: func() ([]lb.Key, error) { return []lb.Key{orphan}, errors.New("timeout") }, then: []lb.Key{orphan}},
	} {
		t.Run(name, func(t *testing.T) {
			s := orphaned(t, orphan)
			first, _ := s.collect()
			s.cloud.Lists = c.list
			_, failure := c.list()
			if err := s.pass(t.Context()); (err == nil) != (failure == nil) || len(s.woken) > 0 {
				t.Errorf("the short pass ends with %v, and collects %d load balancers", err, len(s.woken))
			}
			s.cloud.Lists = nil
			if then, _ := s.collect(); len(first) > 0 || !slices.Equal(then, c.then) {
				t.Errorf("the pass before collects %v, the one afterwards %v, want %v", first, then, c.then)
			}
		})
	}
}

// TestAProviderThatCannotBeAskedKeepsNoOrphanOfAnother has one of two providers not list its load
// balancers.
func TestAProviderThatCannotBeAskedKeepsNoOrphanOfAnother(t *testing.T) {
	s := orphaned(t, orphan)
	all := providers.NewRouter("main", map[string]providers.Provider{"main": listing{keys: []lb.Key{orphan}}, "away": listing{err: errors.New("timeout")}})
	s.cloud.Lists = func() ([]lb.Key, error) { return all.List(t.Context()) }
	for range 2 {
		if err := s.pass(t.Context()); err == nil || !strings.Contains(err.Error(), "provider away: timeout") {
			t.Errorf("the pass ends with %v", err)
		}
	}
	if len(s.woken) != 1 {
		t.Errorf("%d load balancers are collected, want the one of the provider that answers", len(s.woken))
	}
}

// A listing provider is one that lists, and does nothing else.
type listing struct {
	providers.Provider
	keys []lb.Key
	err  error
}

func (l listing) List(context.Context) ([]lb.Key, error) { return l.keys, l.err }

// An Ingress that is held and belongs nowhere may be served by what looks like an orphan, and so
// may those of a class that is gone. What keeps orphans is logged and counted, and a pass before it
// was over confirms nothing.
func TestWhatKeepsOrphansIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		key      lb.Key
		begin    func(s *setup)
		end      func(s *setup)
		by, says string
	}{
		"an Ingress that belongs nowhere": {
			key:   orphan,
			begin: func(s *setup) { s.create(held("shop", "lost")) },
			end: func(s *setup) {
				free := held("shop", "lost")
				free.Finalizers = nil
				if err := s.Patch(s.Context(), free, client.MergeFrom(held("shop", "lost"))); err != nil {
					s.Fatal(err)
				}
			},
			by: heldByIngress, says: `"ingresses"=["shop/lost"]`,
		},
		"a class that is missing": {
			key:   "gone/shop/orphan/internal",
			begin: func(*setup) {},
			end: func(s *setup) {
				class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "gone"}}
				class.Spec.Controller = ingress.ControllerName
				s.create(class)
			},
			by: heldByClass, says: `"orphans"=["gone/shop/orphan/internal"]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := orphaned(t, c.key)
			c.begin(s)
			for range 3 {
				got, lines := s.collect()
				if len(got) > 0 || len(lines) != 1 || !strings.Contains(lines[0], c.says) {
					t.Errorf("%v are collected, and the log says %q, want %s", got, lines, c.says)
				}
				if diff := cmp.Diff(map[string]int{c.by: 1}, s.kept); s.orphans != 1 || diff != "" {
					t.Errorf("%d orphans are counted, and what keeps them is (-want +got)\n%s", s.orphans, diff)
				}
			}
			c.end(s)
			if got, lines := s.collect(); len(got) > 0 || len(lines) > 0 {
				t.Errorf("the first pass afterwards collects %v, and says %q", got, lines)
			}
			if got, _ := s.collect(); !slices.Equal(got, []lb.Key{c.key}) {
				t.Errorf("the second pass afterwards collects %v", got)
			}
		})
	}
}

// remember makes a record of a load balancer.
func (s *setup) remember(key lb.Key) {
	s.Helper()
	if err := s.Records.Store.Save(s.Context(), key, records.Record{Address: "there"}); err != nil {
		s.Fatal(err)
	}
}

func (s *setup) create(o client.Object) {
	s.Helper()
	if err := s.Create(s.Context(), o); err != nil {
		s.Fatal(err)
	}
}

// held is an Ingress with the finalizer.
func held(namespace, name string) *networkingv1.Ingress {
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	ing.Finalizers = []string{v1alpha1.IngressFinalizer}
	return ing
}
