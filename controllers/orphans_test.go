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

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// This file tests what is collected, what is not, and what is said of that.

const orphan = lb.Key("fairlead/shop/orphan/internal")

// orphaned is a bench with a load balancer that nothing stands for, and a collector.
func orphaned(t *testing.T, key lb.Key) (*bench, *collector) {
	t.Helper()
	b := newBench(t)
	if _, err := b.cloud.Cloud.Apply(t.Context(), &lb.Observed{Key: key}, plan.CreateLoadBalancer{}); err != nil {
		t.Fatal(err)
	}
	return b, b.collector()
}

func (b *bench) collector() *collector {
	return newCollector(b.reconciler, 0, "", &sightings{reader: b.Client, writer: b.Client})
}

// collects are the load balancers that a pass has collected.
func collects(t *testing.T, c *collector) (keys []lb.Key, lines []string) {
	t.Helper()
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	c.reconcile = func(_ context.Context, found []lb.Key) { keys = append(keys, found...) }
	if err := c.pass(ctx); err != nil {
		t.Error(err)
	}
	return keys, lines
}

// An orphan is collected by the second pass that finds it, although another replica made the first
// one. One that is found again after it had its owner is new.
func TestAnOrphanIsCollectedByTheSecondPass(t *testing.T) {
	b, c := orphaned(t, orphan)
	if got, _ := collects(t, c); len(got) > 0 {
		t.Errorf("the first pass collects %v", got)
	}
	for range 2 {
		if got, _ := collects(t, c); !slices.Equal(got, []lb.Key{orphan}) {
			t.Errorf("the second pass collects %v", got)
		}
	}

	b.succeed()
	c = b.collector()
	if got, _ := collects(t, c); !slices.Equal(got, []lb.Key{orphan}) {
		t.Errorf("the first pass of the next leader collects %v", got)
	}
	records, err := b.Memories.Keeper.Load(t.Context())
	if err != nil || len(records) > 0 {
		t.Errorf("a sighting is taken for the record %v, error %v", records, err)
	}

	c.Directory.Place(cluster.RefTo(cluster.KindIngress, "shop", "orphan"), []lb.Key{orphan})
	if got, _ := collects(t, c); len(got) > 0 {
		t.Errorf("with an Ingress, %v are collected", got)
	}
	var left v1alpha1.LoadBalancerList
	if err := b.List(t.Context(), &left); err != nil || len(left.Items) > 0 {
		t.Errorf("%d sightings are left, error %v", len(left.Items), err)
	}
	c.Directory.Release(cluster.RefTo(cluster.KindIngress, "shop", "orphan"), orphan)
	if got, _ := collects(t, c); len(got) > 0 {
		t.Errorf("found again, %v are collected by the first pass", got)
	}
}

// What has an owner, a record or another operator is no orphan, and an Ingress that is held where
// it belongs keeps none.
func TestWhatStandsForALoadBalancer(t *testing.T) {
	for name, c := range map[string]struct {
		stands func(b *bench, c *collector)
		orphan bool
	}{
		"nothing": {func(*bench, *collector) {}, true},
		"an Ingress": {func(b *bench, _ *collector) {
			b.Directory.Place(cluster.RefTo(cluster.KindIngress, "shop", "a"), []lb.Key{orphan})
		}, false},
		"a record":                     {func(b *bench, _ *collector) { b.remember(orphan) }, false},
		"another operator's namespace": {func(_ *bench, c *collector) { c.scope = "office" }, false},
		"our only namespace":           {func(_ *bench, c *collector) { c.scope = "shop" }, true},
		"an Ingress, held, of another": {func(b *bench, _ *collector) {
			b.create(held("shop", "a"))
			b.Directory.Place(cluster.RefTo(cluster.KindIngress, "shop", "a"), []lb.Key{benchKey})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b, collector := orphaned(t, orphan)
			c.stands(b, collector)
			collects(t, collector)
			if got, _ := collects(t, collector); len(got) > 0 != c.orphan {
				t.Errorf("%v are collected", got)
			}
		})
	}
}

// A pass that finds what the one before found writes nothing.
func TestAQuietPassWritesNothing(t *testing.T) {
	b, collector := orphaned(t, orphan)
	writer := b.archive("")
	collector.sightings.writer = writer.Store.Writer
	for range 3 {
		collects(t, collector)
	}
	if writer.creates != 1 {
		t.Errorf("%d sightings are made", writer.creates)
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
			b, collector := orphaned(t, orphan)
			pass := func() []lb.Key {
				keys, _ := collects(t, collector)
				return keys
			}
			first := pass()
			b.cloud.list = c.list
			_, failure := c.list()
			if err := collector.pass(t.Context()); (err == nil) != (failure == nil) || len(b.wake) > 0 {
				t.Errorf("the short pass ends with %v, and collects %d load balancers", err, len(b.wake))
			}
			b.cloud.list = nil
			if then := pass(); len(first) > 0 || !slices.Equal(then, c.then) {
				t.Errorf("the pass before collects %v, the one afterwards %v, want %v", first, then, c.then)
			}
		})
	}
}

// TestAProviderThatCannotBeAskedKeepsNoOrphanOfAnother has one of two providers not list its load
// balancers.
func TestAProviderThatCannotBeAskedKeepsNoOrphanOfAnother(t *testing.T) {
	b, collector := orphaned(t, orphan)
	all := providers.NewSeveral("main", map[string]providers.Provider{"main": listing{keys: []lb.Key{orphan}}, "away": listing{err: errors.New("timeout")}})
	b.cloud.list = func() ([]lb.Key, error) { return all.List(t.Context()) }
	for range 2 {
		if err := collector.pass(t.Context()); err == nil || !strings.Contains(err.Error(), "provider away: timeout") {
			t.Errorf("the pass ends with %v", err)
		}
	}
	if len(b.wake) != 1 {
		t.Errorf("%d load balancers are collected, want the one of the provider that answers", len(b.wake))
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
		begin    func(b *bench)
		end      func(b *bench)
		by, says string
	}{
		"an Ingress that belongs nowhere": {
			key:   orphan,
			begin: func(b *bench) { b.create(held("shop", "lost")) },
			end: func(b *bench) {
				free := held("shop", "lost")
				free.Finalizers = nil
				if err := b.Patch(b.Context(), free, client.MergeFrom(held("shop", "lost"))); err != nil {
					b.Fatal(err)
				}
			},
			by: heldByIngress, says: `"ingresses"=["shop/lost"]`,
		},
		"a class that is missing": {
			key:   "gone/shop/orphan/internal",
			begin: func(*bench) {},
			end: func(b *bench) {
				class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "gone"}}
				class.Spec.Controller = ingress.Controller
				b.create(class)
			},
			by: heldByClass, says: `"orphans"=["gone/shop/orphan/internal"]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, collector := orphaned(t, c.key)
			c.begin(b)
			for range 3 {
				got, lines := collects(t, collector)
				if len(got) > 0 || len(lines) != 1 || !strings.Contains(lines[0], c.says) {
					t.Errorf("%v are collected, and the log says %q, want %s", got, lines, c.says)
				}
				_, orphans, kept := b.counters.read()
				if diff := cmp.Diff(map[string]int{c.by: 1}, kept); orphans != 1 || diff != "" {
					t.Errorf("%d orphans are counted, and what keeps them is (-want +got)\n%s", orphans, diff)
				}
			}
			c.end(b)
			if got, lines := collects(t, collector); len(got) > 0 || len(lines) > 0 {
				t.Errorf("the first pass afterwards collects %v, and says %q", got, lines)
			}
			if got, _ := collects(t, collector); !slices.Equal(got, []lb.Key{c.key}) {
				t.Errorf("the second pass afterwards collects %v", got)
			}
		})
	}
}

// remember makes a record of a load balancer.
func (b *bench) remember(key lb.Key) {
	b.Helper()
	if err := b.archive("").Save(b.Context(), key, records.Record{Address: "there"}); err != nil {
		b.Fatal(err)
	}
}

// held is an Ingress with our finalizer.
func held(namespace, name string) *networkingv1.Ingress {
	ing := ask()
	ing.Namespace, ing.Name, ing.Finalizers = namespace, name, []string{v1alpha1.IngressFinalizer}
	return ing
}
