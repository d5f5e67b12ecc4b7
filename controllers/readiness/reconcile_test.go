package readiness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/controllertest"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/targets"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file has Pods that wait for their gate, in a cluster and a cloud.

// A cloud has targets that are in one state.
type cloud struct {
	providers.Provider
	has   []lb.Target
	state lb.HealthState
	reads int
	fails error
}

func (c *cloud) SetTargets(_ context.Context, _ lb.Key, _ lb.GroupID, want []lb.Target) error {
	c.has = want
	return nil
}

func (c *cloud) Targets(context.Context, lb.Key, lb.GroupID) (out []lb.TargetHealth, err error) {
	c.reads++
	for _, t := range c.has {
		out = append(out, lb.TargetHealth{Target: t, State: c.state})
	}
	return out, c.fails
}

// A trial is a Pod behind a Service that an Ingress names, and the load balancer of that.
type trial struct {
	t      *testing.T
	client client.WithWatch
	cloud  *cloud
	*Reconciler
	key lb.Key
}

var service = cluster.RefTo(cluster.KindService, "shop", "web")

// gated returns a Pod that waits for its gate from now on.
func gated(name, address string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": "web"}}}
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: v1alpha1.TargetHealthGate}}
	pod.Status.PodIPs = []corev1.PodIP{{IP: address}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	return pod
}

func newTrial(t *testing.T, failing interceptor.Funcs, more ...client.Object) *trial {
	t.Helper()
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	s.Spec.Selector, s.Spec.Ports = map[string]string{"app": "web"}, []corev1.ServicePort{{Port: 80}}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: new(int32(8080))}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"10.0.0.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "web-1"},
			Conditions: discoveryv1.EndpointConditions{Ready: new(false)},
		}},
	}
	c := controllertest.NewClient(t, append(more, s, slice, gated("web-1", "10.0.0.1"))...)
	seen := interceptor.NewClient(c, failing)
	g := controllertest.NewGatherer(seen)
	g.Pods = cluster.NewPodReader(seen, true)
	out := &trial{t: t, client: c, cloud: &cloud{state: lb.HealthInitial}, key: "fairlead/shop/web/internal"}
	out.Reconciler = &Reconciler{
		Gatherer: g, Events: events.NewRecorder(seen, seen), Targets: targets.NewBook(t.Context().Done()),
		Writer: seen, Cloud: out.cloud, Limit: 10 * time.Minute,
	}
	return out
}

// named returns an Ingress that names the Service, itself or by a Backend.
func named(byBackend bool) []client.Object {
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	to := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}
	out := []client.Object{ing}
	if byBackend {
		b := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "both"}}
		b.Spec.Services = []v1alpha1.WeightedService{{Name: "web"}}
		to = networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: cluster.KindBackend, Name: "both"}}
		out = append(out, b)
	}
	ing.Spec = networkingv1.IngressSpec{IngressClassName: new("fairlead"), DefaultBackend: &to}
	return out
}

// expect has load balancers depend on the Service, each with a group of its Pods.
func (c *trial) expect(keys ...lb.Key) {
	for _, key := range keys {
		c.Directory.SetReferences(key, []cluster.Ref{service})
		c.Targets.Expect(key, []cluster.Ref{service}, []lb.TargetGroup{c.group()})
	}
}

func (c *trial) group() lb.TargetGroup {
	return lb.TargetGroup{ID: "shop/web:80", Service: "shop/web", Port: "80", TargetType: v1alpha1.TargetTypeIP, Family: "ipv4"}
}

// track has the group exist, without targets.
func (c *trial) track() {
	c.Targets.Track(c.t.Context(), c.key, v1alpha1.LoadBalancerClassSpec{}, lb.Capabilities{}, []lb.ObservedTargetGroup{{TargetGroup: c.group()}})
}

// register has the targets of the group set.
func (c *trial) register() {
	c.t.Helper()
	r := &targets.Reconciler{
		Cache: c.client, Pods: c.Pods, Cloud: c.cloud, Book: c.Targets, Disputes: &queue.Disputes{}, Waiting: &queue.Waits{}, Backlog: &queue.Backlog[lb.GroupKey]{},
		SetRegistered: func(context.Context, lb.Key, lb.GroupID, bool) {}, ReconcileLater: func(context.Context, lb.Key) {},
		Remember: func(context.Context, lb.GroupKey, []lb.Target) error { return nil },
	}
	if _, err := r.Reconcile(c.t.Context(), lb.GroupKey{Key: c.key, ID: "shop/web:80"}); err != nil {
		c.t.Fatal(err)
	}
}

// says returns the condition of the Pod's gate: its status, its reason and its message.
func (c *trial) says() string {
	c.t.Helper()
	var pod corev1.Pod
	if err := c.client.Get(c.t.Context(), types.NamespacedName{Namespace: "shop", Name: "web-1"}, &pod); err != nil {
		c.t.Fatal(err)
	}
	said := endpoints.GateCondition(&pod)
	if said == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", said.Status, said.Reason, said.Message)
}

// does reconciles the Pod, and fails the test unless it comes back after a time and its gate says
// something then.
func (c *trial) does(what string, again time.Duration, says string) {
	c.t.Helper()
	result, err := c.Reconcile(c.t.Context(), types.NamespacedName{Namespace: "shop", Name: "web-1"})
	if got := c.says(); err != nil || result.RequeueAfter != again || !strings.HasPrefix(got, says) || (says == "") != (got == "") {
		c.t.Errorf("%s: it comes back in %s, %v, and says %q; want %s, %q", what, result.RequeueAfter, err, got, again, says)
	}
}

// A Pod waits until its group is made, has it for a target, and finds it healthy. What it waits for
// is written once it has waited for some seconds.
func TestAGateOpensOnceThePodIsHealthy(t *testing.T) {
	for _, byBackend := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newTrial(t, interceptor.Funcs{}, named(byBackend)...)
			c.does("at first", time.Second, "")
			time.Sleep(reportDelay)
			c.does("it is not compiled", time.Second, "False Waiting: which load balancers have it for a target is not known yet")
			c.expect(c.key)
			c.does("the group is missing", time.Second, "False Waiting: shop/web:80 of fairlead/shop/web/internal: the target group is yet to be made")
			c.track()
			c.does("it is not registered", time.Second, "False Waiting: shop/web:80 of fairlead/shop/web/internal: not registered yet")
			c.register()
			time.Sleep(5 * time.Second)
			c.does("it is checked", 2*time.Second, "False Waiting: shop/web:80 of fairlead/shop/web/internal: initial")
			c.cloud.state = lb.HealthHealthy
			time.Sleep(time.Second)
			c.does("it is healthy", 0, "True Healthy: in shop/web:80 of fairlead/shop/web/internal")
			c.cloud.state = lb.HealthUnhealthy
			time.Sleep(time.Minute)
			reads := c.cloud.reads
			c.does("it is open", 0, "True Healthy: ")
			if c.cloud.reads != reads {
				t.Error("the cloud is asked about a gate that is open")
			}
		})
	}
}

// A Pod of no load balancer has its gate opened after some seconds: the caches may lack an Ingress
// that was created with it. Ingresses of other Services do not matter.
func TestAGateOfAPodThatIsNotServedOpens(t *testing.T) {
	other := named(false)
	other[0].(*networkingv1.Ingress).Spec.DefaultBackend.Service.Name = "api"
	for _, ingresses := range [][]client.Object{nil, other} {
		synctest.Test(t, func(t *testing.T) {
			c := newTrial(t, interceptor.Funcs{}, ingresses...)
			c.does("at first", time.Second, "")
			time.Sleep(unclaimedDelay)
			c.does("after some seconds", 0, "True NotServed: ")
		})
	}
}

// Pods that wait for the same group share an answer for a second.
func TestAnAnswerIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t, interceptor.Funcs{}, named(false)...)
		c.expect(c.key)
		c.track()
		c.register()
		c.cloud.reads = 0
		for _, wait := range []time.Duration{0, minRecheck - time.Millisecond, time.Millisecond} {
			time.Sleep(wait)
			c.does("it waits", time.Second, "")
		}
		if c.cloud.reads != 2 {
			t.Errorf("the cloud is asked %d times", c.cloud.reads)
		}
	})
}

// A target that another writer has deregistered is looked for again.
func TestADeregisteredTargetIsLookedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t, interceptor.Funcs{}, named(false)...)
		c.expect(c.key)
		c.track()
		c.register()
		c.does("it is there", time.Second, "")
		reads := c.cloud.reads
		if c.register(); c.cloud.reads != reads {
			t.Error("a target that is there is read again")
		}
		c.cloud.has = nil
		time.Sleep(reportDelay)
		c.does("it is deregistered", time.Second, "False Waiting: shop/web:80 of fairlead/shop/web/internal: not registered yet")
		if c.register(); c.cloud.reads != reads+2 || len(c.cloud.has) != 1 {
			t.Errorf("the targets are %v, after %d reads", c.cloud.has, c.cloud.reads-reads)
		}
	})
}

// After its time the gate is open all the same, and the owner of the Pod is told. A Pod that waited
// before this replica began to lead waits anew.
func TestAGateOpensAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t, interceptor.Funcs{}, named(false)...)
		time.Sleep(time.Hour)
		c.lead()
		c.expect(c.key)
		c.does("it waits anew", time.Second, "")
		time.Sleep(c.Limit)
		c.does("the time is up", 0, "True TimedOut: it has waited for 10m0s: shop/web:80 of fairlead/shop/web/internal: the target group is yet to be made")
		var told eventsv1.EventList
		if err := c.client.List(t.Context(), &told); err != nil || len(told.Items) != 1 || told.Items[0].Regarding.Name != "web-1" {
			t.Errorf("there are the events %v, %v", told.Items, err)
		}
	})
}

// lead starts the sources of the reconciler, as when this replica begins to lead.
func (c *trial) lead() (*informertest.FakeInformers, queue.Queue[types.NamespacedName]) {
	c.t.Helper()
	from := &informertest.FakeInformers{}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]())
	c.t.Cleanup(q.ShutDown)
	for _, s := range c.Sources(from) {
		if err := s.Start(c.t.Context(), q); err != nil {
			c.t.Fatal(err)
		}
	}
	synctest.Wait()
	return from, q
}

// Where the cloud does not answer, the error is returned and the Pod waits. Of two groups the first
// by name is named.
func TestACloudThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t, interceptor.Funcs{}, named(false)...)
		c.expect("fairlead/shop/zoo/internal", c.key)
		c.track()
		c.register()
		c.cloud.fails = errors.New("connection refused")
		time.Sleep(reportDelay)
		_, err := c.Reconcile(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web-1"})
		if !errors.Is(err, c.cloud.fails) || !strings.Contains(err.Error(), "reading the health of the targets of ") {
			t.Errorf("the error is %v", err)
		}
		if got := c.says(); got != "False Waiting: shop/web:80 of fairlead/shop/web/internal: the cloud does not say" {
			t.Errorf("it says %q", got)
		}
		c.expect("fairlead/a/first/internal")
		c.cloud.fails = nil
		time.Sleep(time.Second)
		c.does("another group comes first", 1200*time.Millisecond, "False Waiting: shop/web:80 of fairlead/a/first/internal: ")
	})
}

// The groups of a Pod are listed by name, so that what is said changes only with their health.
func TestGroupsAreListedByName(t *testing.T) {
	c := newTrial(t, interceptor.Funcs{})
	c.expect(c.key)
	var groups []lb.TargetGroup
	for n := range 9 {
		g := c.group()
		g.ID = lb.GroupID(fmt.Sprintf("shop/web:%d", n))
		groups = append(groups, g)
	}
	c.Targets.Expect(c.key, []cluster.Ref{service}, groups)
	v, err := c.check(t.Context(), gated("web-1", "10.0.0.1"))
	if err != nil || len(v.findings) != len(groups) || !slices.IsSortedFunc(v.findings, func(a, b finding) int { return strings.Compare(a.group.String(), b.group.String()) }) {
		t.Errorf("the groups are %v, %v", v.findings, err)
	}
}

// What cannot be read leaves the gate shut, and is returned.
func TestAGateStaysShutWhereTheClusterCannotBeRead(t *testing.T) {
	down := errors.New("the cache has ended")
	lists := func(kind client.ObjectList) interceptor.Funcs { return controllertest.FailingList(kind, down) }
	gets := func(kind client.Object) interceptor.Funcs { return controllertest.FailingGet(kind, down) }
	for name, failing := range map[string]interceptor.Funcs{
		"the Pod": gets(&corev1.Pod{}), "Services": lists(&corev1.ServiceList{}), "Ingresses": lists(&networkingv1.IngressList{}),
		"Backends": gets(&v1alpha1.Backend{}), "records": lists(&v1alpha1.LoadBalancerList{}),
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newTrial(t, failing, named(true)...)
			if name == "records" {
				c = newTrial(t, failing, named(false)...)
			}
			time.Sleep(time.Minute)
			if _, err := c.Reconcile(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web-1"}); !errors.Is(err, down) || strings.HasPrefix(c.says(), "True") {
				t.Errorf("%s: the error is %v, and the gate says %q", name, err, c.says())
			}
		})
	}
}

// A condition that cannot be written is tried again, unless the Pod is gone.
func TestAConditionThatCannotBeWritten(t *testing.T) {
	down := errors.New("connection refused")
	for _, c := range []struct{ fails, want error }{{down, down}, {apierrors.NewNotFound(schema.GroupResource{}, "web-1"), nil}} {
		synctest.Test(t, func(t *testing.T) {
			m := newTrial(t, interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
				return c.fails
			}})
			time.Sleep(time.Minute)
			_, err := m.Reconcile(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web-1"})
			if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), "writing the condition of Pod shop/web-1") {
				t.Errorf("the error is %v, want %v", err, c.want)
			}
		})
	}
}

// Pods that are gone, have no gate or do not wait for it are left alone.
func TestOnlyPodsThatWaitAreLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain, starting := gated("plain", "10.0.0.2"), gated("starting", "10.0.0.3")
		plain.Spec.ReadinessGates, starting.Status.Conditions = nil, nil
		c := newTrial(t, interceptor.Funcs{}, plain, starting)
		time.Sleep(time.Minute)
		for _, name := range []string{"gone", "plain", "starting"} {
			result, err := c.Reconcile(t.Context(), types.NamespacedName{Namespace: "shop", Name: name})
			if err != nil || result.RequeueAfter > 0 {
				t.Errorf("%s comes back in %s, %v", name, result.RequeueAfter, err)
			}
		}
		for _, p := range []*corev1.Pod{plain, starting} {
			if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(p), p); err != nil || endpoints.GateCondition(p) != nil {
				t.Errorf("the gate of %s says %v, %v", p.Name, endpoints.GateCondition(p), err)
			}
		}
	})
}

// A Pod is reconciled when it begins to wait for its gate, and not while it waits or once it is
// open.
func TestPodsThatBeginToWaitAreReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, q := newTrial(t, interceptor.Funcs{}).lead()
		informer, err := from.FakeInformerFor(t.Context(), &corev1.Pod{})
		if err != nil {
			t.Fatal(err)
		}
		waits, starts := gated("web-1", "10.0.0.1"), gated("web-1", "10.0.0.1")
		starts.Status.Conditions = nil
		open := waits.DeepCopy()
		open.Status.Conditions = append(open.Status.Conditions, gate(true, v1alpha1.ReasonHealthy, ""))
		for name, c := range map[string]struct {
			do   func()
			want bool
		}{
			"it is created, and waits":  {func() { informer.Add(waits) }, true},
			"it is created, and starts": {func() { informer.Add(starts) }, false},
			"it begins to wait":         {func() { informer.Update(starts, waits) }, true},
			"it still waits":            {func() { informer.Update(waits, waits.DeepCopy()) }, false},
			"it still starts":           {func() { informer.Update(starts, starts.DeepCopy()) }, false},
			"its gate opens":            {func() { informer.Update(waits, open) }, false},
		} {
			c.do()
			synctest.Wait()
			var got []string
			for q.Len() > 0 {
				k, _ := q.Get()
				q.Done(k)
				got = append(got, k.String())
			}
			if c.want != slices.Equal(got, []string{"shop/web-1"}) || !c.want && len(got) > 0 {
				t.Errorf("%s: %q are reconciled", name, got)
			}
		}
	})
}

// Answers that are not used any more are dropped when there is another one; never while the cloud is
// asked.
func TestOldAnswersAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var i inquiries
		of := func(id string) *inquiry { return i.inquiryOf(lb.GroupKey{Key: "k", ID: lb.GroupID(id)}) }
		for _, id := range []string{"old", "asked", "new"} {
			of(id).at = time.Now()
		}
		if again := of("old"); again.at.IsZero() || len(i.byGroup) != 3 {
			t.Errorf("there are %d answers, one of them from %s", len(i.byGroup), again.at)
		}
		of("asked").mu.Lock()
		defer of("asked").mu.Unlock()
		time.Sleep(maxRecheck)
		of("another").at = time.Now()
		if len(i.byGroup) != 4 {
			t.Errorf("after %s there are %d answers", maxRecheck, len(i.byGroup))
		}
		of("new").at = time.Now()
		time.Sleep(time.Millisecond)
		of("one more")
		_, old := i.byGroup[lb.GroupKey{Key: "k", ID: "old"}]
		if _, asked := i.byGroup[lb.GroupKey{Key: "k", ID: "asked"}]; old || !asked || len(i.byGroup) != 4 {
			t.Errorf("there is the old one: %v, the one that is asked: %v, of %d", old, asked, len(i.byGroup))
		}
	})
}

// A Pod waits for the target group of a binding, too: until it is known, and until the Pod is healthy there.
func TestAGateWaitsForABinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		served := &alb.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge", Finalizers: []string{v1alpha1.BindingFinalizer}}}
		served.Spec.ServiceRef.Name = "web"
		unserved := &alb.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "refused"}}
		unserved.Spec.ServiceRef.Name = "web"
		c := newTrial(t, interceptor.Funcs{}, served, unserved)
		time.Sleep(reportDelay)
		c.does("before it is bound", time.Second, "False Waiting: which load balancers")
		c.key = routing.NewBindingKey("shop", "edge", "")
		c.Targets.Bind(t.Context(), c.key, targets.Bound{TargetGroup: c.group()})
		c.Targets.SetDecided("shop", "edge", true)
		c.does("before it is registered", time.Second, "False Waiting: shop/web:80 of @binding/shop/edge/")
		c.register()
		c.cloud.state = lb.HealthHealthy
		time.Sleep(time.Second)
		c.does("it is healthy", 0, "True Healthy")
	})
}
