// Package scale measures the operator at the size of a large cluster, on a real API server, with
// the fake cloud behind it: how long a cold start takes, what it costs to have nothing to do, how
// fast one change is, and whom it concerns. Every number that it prints has a limit here.
//
//	make scale SCALE='-ingresses 10000 -groups 500 -steady 5m'
package scale

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	gocmp "github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/cputime"
)

var (
	ingresses  = flag.Int("ingresses", 1000, "how many Ingresses there are")
	groups     = flag.Int("groups", 50, "how many load balancers they share")
	classCount = flag.Int("classes", 2, "how many IngressClasses they have, two at least")
	arriving   = flag.Int("arriving", 200, "how many Ingresses come while the operator runs, as many to a group")
	steady     = flag.Duration("steady", time.Minute, "how long nothing may be written")
	limit      = flag.String("memory-limit", "", "the operator's GOMEMLIMIT: 90 % of a container's limit, as in 315MiB")
	profiles   = flag.String("profiles", "", "an absolute `folder` for profiles of the operator")
)

// The limits, for every 2,000 Ingresses.
const (
	mostTime   = time.Minute
	mostWork   = 20 * time.Second // of a processor
	mostMemory = 300              // MiB
)

// mostDelay is how long one change may take.
const mostDelay = 300 * time.Millisecond // 119 and 207 ms were seen beside three other streams of tests

// patience is how long to wait for anything at all, or for 2,000 Ingresses. A busy machine is slow,
// not broken.
const patience = 5 * time.Minute

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	if folder, ok := os.LookupEnv(asOperator); ok {
		os.Exit(serve(folder))
	}
	os.Exit(m.Run())
}

func TestScale(t *testing.T) {
	w := &world{server: newServer(t)}
	w.fleet = newFleet(t, w.server, *ingresses, *groups, *classCount)
	made := w.populate(t)
	w.operator = operate(t, w.Cluster)
	t.Run("a cold start", func(t *testing.T) { w.coldStart(t, made) })
	t.Run("meanwhile", func(t *testing.T) {
		// What waits and what works do not disturb each other.
		t.Run("nothing is written", func(t *testing.T) { t.Parallel(); w.nothing(t) })
		t.Run("Ingresses arrive elsewhere", func(t *testing.T) { t.Parallel(); arrive(t) })
	})
	t.Run("one path", w.onePath)
	t.Run("one EndpointSlice", w.oneSlice)
	t.Run("one class", w.oneClass)
}

// A world is one control plane, what is in it, and the operator that looks after it.
type world struct {
	server
	*fleet
	*operator
}

// coldStart has an operator find all objects there.
func (w *world) coldStart(t *testing.T, made time.Duration) {
	took := w.programmed(t).Sub(w.started)
	w.calm(t) // records are written last
	w.profileHeap(t)
	asked := w.asked(t)
	t.Logf("%d Ingresses of %d groups and %d classes are programmed after %.1f s: %.1f s of processor time, %d MiB at most",
		w.ingresses, w.groups, w.classes, took.Seconds(), w.worked().Seconds(), w.peak())
	t.Logf("the API server was asked for %s", asked)
	// Where other tests take the processors, the API server is as slow for this one.
	if most := max(w.times(mostTime), made*2); took > most {
		t.Errorf("it took %s, want at most %s", took, most)
	}
	w.frugal(t)
	statuses := 4 // the plan's beginning, the members, the address, what came of it
	if took > slow {
		statuses += 2 // that it waits, and does no longer
	}
	for kind, most := range map[string]int{
		"patch ingresses":            w.ingresses, // a finalizer
		"patch ingresses/status":     w.ingresses,
		"create loadbalancers":       w.groups,
		"patch loadbalancers/status": statuses * w.groups,
		"create events":              1, // that it leads
		"create leases":              1,
		"update leases":              2 + int(time.Since(w.started).Seconds()), // every two seconds
	} {
		if asked[kind] > most {
			t.Errorf("%d times %s, want at most %d", asked[kind], kind, most)
		}
		delete(asked, kind)
	}
	// Eight kinds are compared with the caches, 500 objects a page; there are as many Services and
	// EndpointSlices as Ingresses at the most.
	compared := 8 + 3*w.ingresses/500
	if asked.writes() > 0 || asked.count("get", "list") > 10+compared {
		t.Errorf("the API server was also asked for %s", asked)
	}
	w.complete(t)
}

// slow is a start in which load balancers wait for others for 15 s and more, which their status then says. On a quiet
// machine it takes half as long.
const slow = 30 * time.Second

// times is a limit for as many Ingresses as there are.
func (f *fleet) times(most time.Duration) time.Duration {
	return most * time.Duration(max(1000, f.ingresses)) / 2000
}

// frugal holds the operator's process to its limits.
func (w *world) frugal(t *testing.T) {
	t.Helper()
	if worked, most := w.worked(), w.times(mostWork); cputime.Over(t, worked, most) {
		t.Errorf("it took %s of a processor, want at most %s", worked, most)
	}
	if peak, most := w.peak(), mostMemory*max(2000, w.ingresses)/2000; peak > most {
		t.Errorf("it took %d MiB, want at most %d", peak, most)
	}
}

// complete checks that the cloud has a rule for the host of every Ingress.
func (w *world) complete(t *testing.T) {
	t.Helper()
	var rules strings.Builder
	for _, c := range w.journal(0) {
		if strings.HasPrefix(c.What, "create rule ") {
			fmt.Fprintln(&rules, c.What)
		}
	}
	for i := range w.ingresses {
		if host := name(i) + ".example.com"; !strings.Contains(rules.String(), host) {
			t.Errorf("no rule has the host %s", host)
		}
	}
}

// nothing has the operator look on while nothing happens. It observes each load balancer once more when all writes can be
// found; where that could be meanwhile, it is waited for.
func (w *world) nothing(t *testing.T) {
	if time.Since(w.started)+*steady > providers.ReadLag {
		time.Sleep(providers.ReadLag * 3 / 2)
	}
	asked, calls, worked := w.asked(t), len(w.journal(0)), w.worked()
	select {
	case <-time.After(*steady):
	case <-w.ended:
		t.Fatal("the operator has ended")
	}
	since := w.asked(t).since(asked)
	renewals := since["update leases"]
	t.Logf("in %s: %s, %s of processor time", *steady, since, w.worked()-worked)
	delete(since, "update leases")
	delete(since, "get leases")
	maps.DeleteFunc(since, func(kind string, _ int) bool { return strings.HasPrefix(kind, "watch ") }) // that ended, and began anew
	if len(since) > 0 {
		t.Errorf("though nothing happened the API server was asked for %s", since)
	}
	if renewals == 0 {
		t.Error("the lease was not renewed: nobody was at work")
	}
	for _, c := range w.journal(calls) {
		if c.Method != "List" { // for orphans, once in ten minutes
			t.Errorf("though nothing happened the cloud was asked to %s %s %s", c.Method, c.Key, c.What)
		}
	}
}

// arrive has Ingresses created while an operator runs.
func arrive(t *testing.T) {
	w := &world{server: newServer(t)}
	w.fleet = newFleet(t, w.server, *arriving, max(1, *arriving**groups / *ingresses), *classCount)
	w.operator = operate(t, w.Cluster)
	w.leads(t)
	made := w.populate(t)
	end := time.Now()
	took := w.programmed(t).Sub(end)
	w.calm(t)
	asked := w.asked(t)
	t.Logf("%d Ingresses of %d groups come within %.1f s, the last is programmed %.1f s later: %.1f s of processor time, %d MiB at most",
		w.ingresses, w.groups, made.Seconds(), took.Seconds(), w.worked().Seconds(), w.peak())
	t.Logf("the API server was asked for %s", asked)
	if took > max(mostTime, made) {
		t.Errorf("the last is programmed after %s", took)
	}
	// Each may find its load balancer at rest: then its finalizer, its place among the record's members,
	// the beginning of its plan, the outcome and its address are written for it alone. A load balancer
	// is created, and its record says that its first plan begins and ends, the address, and where its
	// first reconcile waited for long, that it does so, and that it does so no more.
	others := asked["update leases"] + asked["create leases"] + asked["create events"]
	if n, most := asked.writes()-others, 5*w.ingresses+6*w.groups; n > most {
		t.Errorf("%d writes to the API server, want at most %d", n, most)
	}
	w.frugal(t)
	w.complete(t)
}

// leads waits until the operator has its lease.
func (w *world) leads(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for w.asked(t)["create leases"] == 0 {
		if time.Now().After(deadline) {
			t.Fatal("the operator does not begin")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// onePath has paths added to some Ingresses, one after the other.
func (w *world) onePath(t *testing.T) {
	const changes = 50
	asked, from := w.asked(t), len(w.journal(0))
	reports, err := w.Watch(t.Context(), &v1alpha1.LoadBalancerList{})
	if err != nil {
		t.Fatal(err)
	}
	defer reports.Stop()
	var programmed, reported []time.Duration
	for n := range changes {
		i := n * 37 % w.ingresses
		path := fmt.Sprintf("/added-%d", n)
		begin := time.Now()
		w.addPath(t, i, path)
		done := w.await(from, path+" to be programmed", func(c call) bool {
			return c.Method == "Apply" && strings.Contains(c.What, path)
		})
		programmed = append(programmed, done.At.Sub(begin))
		for e := range reports.ResultChan() {
			if o, ok := e.Object.(*v1alpha1.LoadBalancer); ok && planned(o, path) {
				reported = append(reported, time.Since(begin))
				break
			}
		}
		if done.Key != w.key(w.group(i)) {
			t.Errorf("%s of %s went to %s", path, name(i), done.Key)
		}
	}
	w.calm(t)
	since := w.asked(t).since(asked)
	t.Logf("a path is programmed after %s, and reported after %s", spread(programmed), spread(reported))
	t.Logf("for %d paths the API server was asked for %s", changes, since)
	if median := middle(programmed); median > mostDelay {
		t.Errorf("one in two changes takes more than %s, want at most %s", median, mostDelay)
	}
	if median := middle(reported); median > mostDelay {
		t.Errorf("one in two reports takes more than %s, want at most %s", median, mostDelay)
	}
	writes := 0
	for _, c := range w.journal(from) {
		if c.writes() {
			writes++
		}
	}
	if writes > 2*changes { // a rule that is full makes two of one
		t.Errorf("%d writes to the cloud for %d paths", writes, changes)
	}
	// Each plan begins with the record and ends with it.
	if n := since["patch loadbalancers/status"]; n != 2*changes || since.writes()-since["update leases"] != 2*changes {
		t.Errorf("for %d paths the API server was asked for %s, want two reports each", changes, since)
	}
}

// addPath adds a path to an Ingress, for the Service that it shares: its own has all other paths.
func (w *world) addPath(t *testing.T, i int, path string) {
	t.Helper()
	ing := w.ingress(i)
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(ing), ing); err != nil {
		t.Fatal(err)
	}
	before := ing.DeepCopy()
	paths := &ing.Spec.Rules[0].HTTP.Paths
	added := (*paths)[len(*paths)-1]
	added.Path = path
	*paths = append(*paths, added)
	if err := w.Patch(t.Context(), ing, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// planned reports whether the last plan of a load balancer is about a text.
func planned(o *v1alpha1.LoadBalancer, text string) bool {
	return o.Status.LastPlan != nil && slices.ContainsFunc(o.Status.LastPlan.Steps, func(s v1alpha1.PlanStep) bool {
		return strings.Contains(s.Detail, text)
	})
}

// oneSlice takes an endpoint away from a Service that two groups serve.
func (w *world) oneSlice(t *testing.T) {
	asked, from := w.asked(t), len(w.journal(0))
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace(0), Name: w.shared(0)}}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(slice), slice); err != nil {
		t.Fatal(err)
	}
	before := slice.DeepCopy()
	slice.Endpoints = slice.Endpoints[1:]
	begin := time.Now()
	if err := w.Patch(t.Context(), slice, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.calm(t)
	var last time.Duration
	var calls []string
	for _, c := range w.withoutSecondLooks(from) {
		last = max(last, c.At.Sub(begin))
		calls = append(calls, c.Method+" "+string(c.Key))
	}
	var want []string
	for g := range min(w.groups, w.groupsPerShared) {
		want = append(want, "SetTargets "+string(w.key(g)))
	}
	if diff := gocmp.Diff(want, slices.Sorted(slices.Values(calls))); diff != "" {
		t.Errorf("calls of the cloud, of which a reconcile would make others: %s", diff)
	}
	if since := w.asked(t).since(asked); since.writes() > since["update leases"] {
		t.Errorf("the API server was asked for %s", since)
	}
	t.Logf("an endpoint has left %d groups after %s", len(want), last.Round(time.Millisecond))
	if last > mostDelay {
		t.Errorf("an endpoint has left only after %s", last)
	}
}

// oneClass changes what one of two classes says.
func (w *world) oneClass(t *testing.T) {
	from := len(w.journal(0))
	class := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: rare}}
	changed := class.DeepCopy()
	changed.Spec.Attributes = map[string]string{"idle_timeout.timeout_seconds": "61"} // of the load balancer alone
	if err := w.Patch(t.Context(), changed, client.MergeFrom(class)); err != nil {
		t.Fatal(err)
	}
	w.await(from, "the class's load balancer to change", call.writes)
	w.calm(t)
	counts := map[string]int{}
	for _, c := range w.withoutSecondLooks(from) {
		counts[strings.TrimSpace(c.Method+" "+string(c.Key))]++
	}
	// Each reconcile looks something up. There may be a second one, where the API server tells of the
	// report before the answer to its being written has come.
	if counts["Lookup"] == 2 {
		counts["Lookup"] = 1
	}
	want := map[string]int{"Lookup": 1, "Apply " + string(w.key(w.groups-1)): 1}
	if diff := gocmp.Diff(want, counts); diff != "" {
		t.Errorf("calls of the cloud: %s", diff)
	}
}

// withoutSecondLooks returns the calls from the given one on, but for those of load balancers that are
// observed once more because they were changed longer than ReadLag ago. A slow machine comes to that.
// Each such look is a Lookup and an Observe, and asks for the health of each target group.
func (w *world) withoutSecondLooks(from int) []call {
	written, looks := map[lb.Key]time.Time{}, 0
	for _, c := range w.journal(0)[:from] {
		if c.writes() {
			written[c.Key] = c.At
		}
	}
	late := func(c call) bool {
		at, known := written[c.Key]
		return known && (c.Method == "Observe" || c.Method == "Targets") && c.At.Sub(at) >= providers.ReadLag
	}
	var left []call
	for _, c := range w.journal(from) {
		switch {
		case !late(c):
			left = append(left, c)
		case c.Method == "Observe":
			looks++
		}
	}
	return slices.DeleteFunc(left, func(c call) bool {
		if c.Method != "Lookup" || looks == 0 {
			return false
		}
		looks--
		return true
	})
}

// calm waits until the cloud has not been called for a while.
func (w *world) calm(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for n := -1; n != len(w.journal(0)); {
		n = len(w.journal(0))
		select {
		case <-time.After(1500 * time.Millisecond): // longer than additions of targets are gathered
		case <-ctx.Done():
			t.Fatal("the cloud is still being called")
		}
	}
}

// spread is what to say of several times.
func spread(times []time.Duration) string {
	return fmt.Sprintf("%s (median of %d; %s at most)", middle(times).Round(time.Millisecond), len(times), slices.Max(times).Round(time.Millisecond))
}

func middle(times []time.Duration) time.Duration {
	return slices.SortedFunc(slices.Values(times), cmp.Compare[time.Duration])[len(times)/2]
}
