package operator

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/kube"
	"fairlead.dev/fairlead/test/nightly"
)

// This file counts what the operator asks of AWS, as test/alb counts what the provider does: the
// same work, on a real API server and over the wire, with all that an operator does besides.

// sizes are how many Ingresses the group has.
var sizes = flag.String("sizes", "5,20", "how many `Ingresses` a group has whose cost is counted, one after another")

// rest is how long nobody calls AWS before work counts as done: longer than the operator waits
// before it looks again for what is pending.
const rest = 3 * time.Second

func TestCost(t *testing.T) {
	t.Parallel()
	for size := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(size, func(t *testing.T) {
			t.Parallel()
			cost(t, n)
		})
	}
}

func cost(t *testing.T, n int) {
	w := newWorld(t, simulating(t, usual))
	w.begin(t)
	for _, c := range []work{
		w.creation(t, n, w.siteBySite),
		{"restart, nothing changed", n + 11, 0, func() { w.replace(t) }, w.looked(n)},
		{"periodic resync", 0, 0, func() { time.Sleep(2 * rest) }, func() bool { return true }},
		{"insert an Ingress that sorts first, Service already served", 2, 1, func() {
			w.create(t, w.ingress("a-first", backend(0), "/"))
		}, func() bool { return w.served(t, n+1, n) }},
		{"delete it", 2, 1, func() { w.delete(t, w.ingress("a-first", backend(0), "/")) }, func() bool { return w.served(t, n, n) }},
		{"point one Ingress at a Service already served", 3, 2, func() { w.point(t, site(3), backend(4)) }, func() bool { return w.served(t, n, n-1) }},
		{"point one Ingress at a new Service", 12, 7, func() {
			w.serve(t, "service-new", "10.0.109.10", "10.0.109.11")
			w.point(t, site(2), "service-new")
		}, func() bool {
			return w.served(t, n, n-1) && w.targets(t, "service-new") != nil && w.targets(t, backend(2)) == nil
		}},
		{"scale a Service from 2 to 12 pods", 3, 1, func() { w.resize(t, backend(1), pods(1, 12)) }, func() bool { return len(w.targets(t, backend(1))) == 12 }},
		{"a member with a bad annotation", 0, 0, func() {
			edit(t, w, &networkingv1.Ingress{}, site(1), func(ing *networkingv1.Ingress) {
				ing.Annotations["fairlead.dev/health-check-interval-seconds"] = "often"
			})
		}, func() bool { return w.warned(t, site(1)) }},
		{"a good one behind it", 2, 1, func() { w.create(t, w.ingress("z-last", backend(1), "/")) }, func() bool { return w.served(t, n+1, n-1) }},
		w.deletion(t, n),
	} {
		w.count(t, c)
	}
}

// TestCostOnMoto counts against an API that this project did not write, with the rules that it
// understands.
func TestCostOnMoto(t *testing.T) {
	t.Parallel()
	const n = 20
	w := newWorld(t, emulated(t))
	w.begin(t)
	for _, c := range []work{
		w.creation(t, n, w.siteBySite),
		{"restart, nothing changed", n + 11, 0, func() { w.replace(t) }, w.looked(n)},
		{"insert an Ingress that sorts first, Service already served", 2, 1, func() {
			w.create(t, w.ingress("a-first", backend(0), "/"))
		}, func() bool { return w.served(t, n+1, n) }},
		{"delete it", 2, 1, func() { w.delete(t, w.ingress("a-first", backend(0), "/")) }, func() bool { return w.served(t, n, n) }},
		{"scale a Service from 2 to 12 pods", 3, 1, func() { w.resize(t, backend(1), pods(1, 12)) }, func() bool { return len(w.targets(t, backend(1))) == 12 }},
		w.deletion(t, n),
	} {
		w.count(t, c)
	}
}

// usual is how AWS takes its time, in a hurry.
var usual = albsim.Options{Provisioning: 2 * time.Second, Propagation: time.Second, Linger: 2 * time.Second, Health: 2 * time.Second}

// triesInAnyOrder is how often a cost may be counted. Objects that come together are taken
// together. On a busy machine an event may be a second late, and cost calls of its own. A cost that
// is too high in every try is not the machine's.
const triesInAnyOrder = 3

// Whatever order the objects come in, they cost the same.
func TestCostInAnyOrder(t *testing.T) {
	t.Parallel()
	const n = 20
	orders := map[string]struct {
		populate, abandon func(*world, *testing.T, int)
	}{
		"an Ingress, and what it refers to afterwards":   {(*world).ingressFirst, (*world).eachBackendFirst},
		"all Ingresses, and then all that they refer to": {(*world).ingressesFirst, (*world).backendsFirst},
		"slowly":                   {populate: (*world).slowly},
		"pods that are ready late": {populate: (*world).podsLast},
	}
	for _, name := range nightly.Some(t, 2, slices.Sorted(maps.Keys(orders))) {
		order := orders[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			over := ""
			for range triesInAnyOrder {
				w := newWorld(t, simulating(t, usual))
				w.begin(t)
				creation := w.creation(t, n, func(t *testing.T, n int) { order.populate(w, t, n) })
				deletion := w.deletion(t, n)
				if order.abandon != nil {
					deletion.do = func() { order.abandon(w, t, n) }
				}
				if over = w.spend(t, creation) + w.spend(t, deletion); over == "" {
					return
				}
				t.Log(over)
			}
			t.Error(over)
		})
	}
}

// A work is something that is done, until it is done, and how many calls it may take.
type work struct {
	what         string
	total, write int
	do           func()
	done         func() bool
}

// begin has an operator that has nothing to do.
func (w *world) begin(t *testing.T) {
	t.Helper()
	w.replace(t)
	kube.Eventually(t, "the operator has nothing to do", func() bool { return w.proxy.asked() && w.proxy.quiet() > rest })
}

// looked reports whether an operator that was started anew has read what there is, the members of n
// target groups last.
func (w *world) looked(n int) func() bool {
	return func() bool { return w.proxy.count("DescribeTargetHealth") >= n }
}

// count counts the calls of some work, which are to be within its budget.
func (w *world) count(t *testing.T, c work) {
	t.Helper()
	if over := w.spend(t, c); over != "" {
		t.Error(over)
	}
}

// spend counts the calls of some work, and returns what is over its budget.
func (w *world) spend(t *testing.T, c work) string {
	t.Helper()
	w.proxy.forget()
	c.do()
	kube.Eventually(t, c.what, func() bool { return c.done() && w.proxy.quiet() > rest })
	total, write, which := w.proxy.cost()
	t.Logf("%-60s %3d / %3d, at most %3d / %3d", c.what, total, write, c.total, c.write)
	if total > c.total || write > c.write {
		return fmt.Sprintf("%s: %d calls, %d of them writes; at most %d and %d: %s\n", c.what, total, write, c.total, c.write, which)
	}
	return ""
}

func (w *world) creation(t *testing.T, n int, populate func(*testing.T, int)) work {
	return work{"create from nothing", 3*n + 25, 3*n + 8, func() { populate(t, n) }, func() bool { return w.served(t, n, n) }}
}

// deletion deletes one Ingress after the other.
func (w *world) deletion(t *testing.T, n int) work {
	return work{"delete everything", n + 10, n + 6, func() {
		var list networkingv1.IngressList
		if err := w.List(t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
			t.Fatal(err)
		}
		w.deleteAtOnce(t, len(list.Items), func(i int) []client.Object { return []client.Object{&list.Items[i]} })
	}, func() bool { return w.ingresses(t) == 0 && w.empty(t) }}
}

// deleteAtOnce deletes objects one after the other, beside others. The operator takes changes
// together that come within half a second of each other; on a busy machine, 20 requests in a row
// leave longer pauses, and cost as many calls as 20 separate deletions do.
func (w *world) deleteAtOnce(t *testing.T, n int, objects func(i int) []client.Object) {
	t.Helper()
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for _, o := range objects(i) {
				errs[i] = errors.Join(errs[i], w.Delete(t.Context(), o))
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// siteBySite makes the Ingresses and all that they refer to, as they stand in a file.
func (w *world) siteBySite(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		w.serve(t, backend(i), pods(i, 2)...)
		w.create(t, w.sited(i))
	}
}

// slowly makes them over some seconds.
func (w *world) slowly(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		w.serve(t, backend(i), pods(i, 2)...)
		w.create(t, w.sited(i))
		time.Sleep(200 * time.Millisecond)
	}
}

func (w *world) ingressFirst(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		w.create(t, w.sited(i))
		w.serve(t, backend(i), pods(i, 2)...)
	}
}

func (w *world) ingressesFirst(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		w.create(t, w.sited(i))
	}
	for i := range n {
		w.create(t, w.service(backend(i)))
	}
	for i := range n {
		w.create(t, w.endpoints(t, backend(i), pods(i, 2)...))
	}
}

// podsLast has the pods of each Service become ready one by one, once its load balancer is there.
func (w *world) podsLast(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		w.create(t, w.service(backend(i)))
		later := w.endpoints(t, backend(i), pods(i, 2)...)
		for p := range later.Endpoints {
			later.Endpoints[p].Conditions.Ready = new(false)
		}
		w.create(t, later)
		w.create(t, w.sited(i))
	}
	kube.Eventually(t, "there is a load balancer", func() bool { return w.served(t, n, n) })
	for i := range n {
		for p := range 2 {
			edit(t, w, &discoveryv1.EndpointSlice{}, backend(i), func(s *discoveryv1.EndpointSlice) { s.Endpoints[p].Conditions.Ready = new(true) })
		}
	}
}

// eachBackendFirst deletes each Ingress after what it refers to.
func (w *world) eachBackendFirst(t *testing.T, n int) {
	t.Helper()
	endpoints := make([]client.Object, n)
	for i := range endpoints {
		endpoints[i] = w.endpoints(t, backend(i))
	}
	w.deleteAtOnce(t, n, func(i int) []client.Object {
		return []client.Object{w.service(backend(i)), endpoints[i], w.sited(i)}
	})
}

// backendsFirst deletes all Ingresses after all that they refer to.
func (w *world) backendsFirst(t *testing.T, n int) {
	t.Helper()
	endpoints := make([]client.Object, n)
	for i := range endpoints {
		endpoints[i] = w.endpoints(t, backend(i))
	}
	w.deleteAtOnce(t, n, func(i int) []client.Object { return []client.Object{w.service(backend(i))} })
	w.deleteAtOnce(t, n, func(i int) []client.Object { return endpoints[i : i+1] })
	w.deleteAtOnce(t, n, func(i int) []client.Object { return []client.Object{w.sited(i)} })
}

// served reports whether so many Ingresses say where they are reached, and there is a rule for
// each, and so many target groups.
func (w *world) served(t *testing.T, ingresses, groups int) bool {
	t.Helper()
	var list networkingv1.IngressList
	if err := w.List(t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if len(list.Items[i].Status.LoadBalancer.Ingress) == 0 {
			return false
		}
	}
	return len(list.Items) == ingresses && len(w.groups(t)) == groups && len(w.rules(t)) == ingresses+1
}

// warned reports whether an event says that something is wrong with an Ingress.
func (w *world) warned(t *testing.T, name string) bool {
	t.Helper()
	events, err := w.cluster.Client(t).EventsV1().Events(w.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items {
		if e.Regarding.Name == name && e.Type == "Warning" {
			return true
		}
	}
	return false
}
