package targets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/controllertest"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file reconciles the targets of a Service whose Pods come and go.

const key = lb.Key("fairlead/shop/web/internal")

var group = lb.GroupKey{Key: key, ID: "shop/web:80"}

// A cloud has the targets of one group.
type cloud struct {
	providers.Provider
	has           []lb.TargetHealth
	reads, writes int
	fails         error
	asker         lb.Key // of the last write
}

func (c *cloud) Targets(context.Context, lb.Key, lb.GroupID) ([]lb.TargetHealth, error) {
	c.reads++
	return c.has, c.fails
}

func (c *cloud) SetTargets(ctx context.Context, _ lb.Key, _ lb.GroupID, want []lb.Target) error {
	c.writes++
	c.asker = providers.AskerOf(ctx).Key
	if c.fails != nil {
		return c.fails
	}
	c.set(want)
	return nil
}

// set gives the cloud some targets, which are healthy.
func (c *cloud) set(targets []lb.Target) {
	c.has = nil
	for _, t := range targets {
		c.has = append(c.has, lb.TargetHealth{Target: t, State: lb.HealthHealthy})
	}
}

// A trial is a Service in a cluster, and the group of its Pods in the cloud.
type trial struct {
	t      *testing.T
	client client.WithWatch
	cloud  *cloud
	*Reconciler
	later      int // how often something is reported
	took       []time.Duration
	registered []bool
}

func newTrial(t *testing.T, failing interceptor.Funcs) *trial {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	service.Spec.Type = corev1.ServiceTypeNodePort
	service.Spec.Ports = []corev1.ServicePort{{Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP}}
	c := controllertest.NewClient(t, service)
	cache := interceptor.NewClient(c, failing)
	out := &trial{t: t, client: c, cloud: &cloud{}}
	out.Reconciler = &Reconciler{
		Cache: cache, Pods: cluster.NewPodReader(cache, false), Cloud: out.cloud, Book: NewBook(t.Context().Done()),
		Disputes: &queue.Disputes{}, Waiting: &queue.Waits{}, Backlog: &queue.Backlog[lb.GroupKey]{},
		ObserveTook: func(d time.Duration) { out.took = append(out.took, d) },
		SetRegistered: func(_ context.Context, _ lb.Key, _ lb.GroupID, some bool) {
			out.registered = append(out.registered, some)
		},
		ReconcileLater: func(context.Context, lb.Key) { out.later++ },
	}
	return out
}

// track has the group exist, with a type of targets.
func (c *trial) track(caps lb.Capabilities, targetType string) {
	g := lb.TargetGroup{ID: group.ID, Service: "shop/web", Port: "80", TargetType: targetType, Family: "ipv4"}
	c.Book.Track(c.t.Context(), key, v1alpha1.LoadBalancerClassSpec{}, caps, []lb.ObservedTargetGroup{{TargetGroup: g}})
}

// pods has the Service lead to ready Pods and to others, each by the last number of its address.
// The cluster has all of these Pods but those that are unseen.
func (c *trial) pods(ready, unready []int, unseen ...int) {
	c.t.Helper()
	if err := errors.Join(c.client.DeleteAllOf(c.t.Context(), &discoveryv1.EndpointSlice{}, client.InNamespace("shop")),
		c.client.DeleteAllOf(c.t.Context(), &corev1.Pod{}, client.InNamespace("shop"))); err != nil {
		c.t.Fatal(err)
	}
	port := int32(8080)
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: &port}},
	}
	for _, n := range slices.Concat(ready, unready) {
		name, address := fmt.Sprintf("web-1-%d", n), fmt.Sprintf("10.0.0.%d", n)
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: name},
			Conditions: discoveryv1.EndpointConditions{Ready: new(slices.Contains(ready, n))},
		})
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		pod.Status.PodIPs = []corev1.PodIP{{IP: address}}
		if !slices.Contains(unseen, n) {
			c.create(pod)
		}
	}
	if len(s.Endpoints) > 0 {
		c.create(s)
	}
}

func (c *trial) create(o client.Object) {
	c.t.Helper()
	if err := c.client.Create(c.t.Context(), o); err != nil {
		c.t.Fatal(err)
	}
}

// does reconciles, and fails the test unless the group comes back after a time and the cloud then has
// the targets on some addresses.
func (c *trial) does(what string, again time.Duration, want ...string) {
	c.t.Helper()
	result, err := c.Reconcile(c.t.Context(), group)
	if err != nil || result.RequeueAfter != again {
		c.t.Errorf("%s: it comes back in %s, %v; want %s", what, result.RequeueAfter, err, again)
	}
	var got []string
	for _, t := range c.cloud.has {
		got = append(got, t.Address)
	}
	if !slices.Equal(got, want) {
		c.t.Errorf("%s: the targets are %q, want %q", what, got, want)
	}
}

// first returns a trial whose group has the first Pod for its only target.
func first(t *testing.T) *trial {
	t.Helper()
	c := newTrial(t, interceptor.Funcs{})
	c.pods([]int{1}, nil)
	c.track(lb.Capabilities{}, v1alpha1.TargetTypeIP)
	c.does("at first", 0, "10.0.0.1")
	return c
}

// The first targets are registered at once, and told. What is registered is not written, and not
// read, once more. Each change is measured.
func TestTheFirstTargetsAreRegistered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t, interceptor.Funcs{})
		c.pods([]int{1, 2}, nil)
		c.does("before the group exists", 0)
		c.track(lb.Capabilities{}, v1alpha1.TargetTypeIP)
		c.Backlog.NoteChange(group)
		time.Sleep(time.Second)
		c.does("at first", 0, "10.0.0.1", "10.0.0.2")
		for range 2 {
			c.does("again", 0, "10.0.0.1", "10.0.0.2")
		}
		if c.cloud.reads != 1 || c.cloud.writes != 1 || c.cloud.asker != key {
			t.Errorf("it is read %d times, and written %d times for %q", c.cloud.reads, c.cloud.writes, c.cloud.asker)
		}
		if !slices.Equal(c.registered, []bool{true}) || !slices.Equal(c.took, []time.Duration{time.Second}) || c.later > 0 {
			t.Errorf("it is told %v, took %v, and is reported %d times", c.registered, c.took, c.later)
		}
		targets, exists := c.Book.TargetsOf(group)
		if want := []lb.Target{{Address: "10.0.0.1", Port: 8080}, {Address: "10.0.0.2", Port: 8080}}; !exists || !slices.Equal(targets, want) {
			t.Errorf("known are %v", targets)
		}
		if now, _ := c.Book.groupCopy(group); !now.set.Equal(time.Now()) {
			t.Errorf("they were set at %s", now.set)
		}
	})
}

// What the cloud has already is not written. Targets that it drains are none.
func TestTargetsThatAreThereAreNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t, interceptor.Funcs{})
		c.pods([]int{1}, nil)
		c.track(lb.Capabilities{}, v1alpha1.TargetTypeIP)
		c.cloud.set([]lb.Target{{Address: "10.0.0.1", Port: 8080}})
		c.cloud.has = append(c.cloud.has, lb.TargetHealth{Target: lb.Target{Address: "10.0.0.9", Port: 8080}, State: lb.HealthDraining})
		for range 2 {
			c.does("there is nothing to do", 0, "10.0.0.1", "10.0.0.9")
		}
		if c.cloud.reads != 1 || c.cloud.writes > 0 || len(c.registered) > 0 {
			t.Errorf("it is read %d times, written %d times, and told %v", c.cloud.reads, c.cloud.writes, c.registered)
		}
	})
}

// While more Pods are coming, additions wait for a second from the first of them. The last one does
// not wait, nor does a removal.
func TestAdditionsAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := first(t)
		c.Backlog.NoteChange(group)
		c.pods([]int{1, 2}, []int{3})
		c.does("one is added", gather, "10.0.0.1")
		time.Sleep(300 * time.Millisecond)
		c.does("a moment later", gather-300*time.Millisecond, "10.0.0.1")
		if len(c.took) > 0 {
			t.Errorf("a change that waits took %v", c.took)
		}
		time.Sleep(gather - 300*time.Millisecond)
		c.does("after a second", 0, "10.0.0.1", "10.0.0.2")
		if !slices.Equal(c.took, []time.Duration{gather}) || len(c.registered) != 1 {
			t.Errorf("the change took %v, and is told %v", c.took, c.registered)
		}
		c.pods([]int{1, 2, 3}, []int{4})
		c.does("another one is added", gather, "10.0.0.1", "10.0.0.2")
		c.pods([]int{1, 2, 3, 4}, nil)
		c.does("the last one is added", 0, "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")
		c.pods([]int{4}, []int{5})
		c.does("most are removed", 0, "10.0.0.4")
	})
}

// A change that is not needed any more waits no longer: the next one waits for as long as any.
func TestAWaitEndsWithItsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := first(t)
		c.pods([]int{1, 2}, []int{3})
		c.does("one is added", gather, "10.0.0.1")
		c.pods([]int{1}, []int{3})
		c.does("it is gone", 0, "10.0.0.1")
		time.Sleep(time.Minute)
		c.pods([]int{1, 2}, []int{3})
		c.does("it comes back", gather, "10.0.0.1")
	})
}

// The last targets of a Service stay for a moment: the group may be deleted as a whole.
func TestTheLastTargetsStayForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := first(t)
		c.pods(nil, nil)
		c.does("all are gone", lastTargetsStay, "10.0.0.1")
		time.Sleep(lastTargetsStay)
		c.does("after a moment", 0)
		if !slices.Equal(c.registered, []bool{true, false}) {
			t.Errorf("it is told %v", c.registered)
		}
	})
}

// Pods that are not ready are no targets. The last ready one is removed at once, for others of the
// Service are there.
func TestAServiceWithUnreadyPodsIsNotDeserted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := first(t)
		c.pods(nil, []int{1})
		c.does("none is ready", 0)
	})
}

// A group that its load balancer is not going to have keeps its last targets. Others come and go.
func TestAGroupThatGoesKeepsItsLastTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := first(t)
		c.Book.Expect(key, nil, nil)
		c.pods([]int{2}, nil)
		c.does("another Pod", 0, "10.0.0.2")
		c.pods(nil, nil)
		for range 3 {
			c.does("all are gone", lastTargetsStay, "10.0.0.2")
			time.Sleep(time.Minute)
		}
		c.Book.Expect(key, nil, []lb.TargetGroup{{ID: group.ID}})
		c.does("it is wanted again", lastTargetsStay, "10.0.0.2")
		time.Sleep(lastTargetsStay)
		c.does("and still", 0)
	})
}

// Where the cloud takes fewer targets than there are, those that are there stay. It is reported when
// that begins and when it ends, and tried again meanwhile.
func TestMoreTargetsThanTheCloudTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t, interceptor.Funcs{})
		c.pods([]int{2}, nil)
		c.track(lb.Capabilities{TargetsPerGroup: 1}, v1alpha1.TargetTypeIP)
		c.does("one", 0, "10.0.0.2")
		c.pods([]int{1, 2}, nil)
		for range 2 {
			c.does("two", queue.AfterCrowded, "10.0.0.2")
		}
		if c.later != 1 {
			t.Errorf("it is reported %d times", c.later)
		}
		c.pods([]int{1}, nil)
		for range 2 {
			c.does("another one", 0, "10.0.0.1")
		}
		if c.later != 2 {
			t.Errorf("its end is reported %d times", c.later-1)
		}
	})
}

// A Pod that is not seen yet is no new target, and one that is registered stays. It is looked for
// again.
func TestAPodThatIsNotSeenYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := first(t)
		c.pods([]int{1, 2}, nil, 1, 2)
		c.does("two are not seen", cluster.Lag, "10.0.0.1")
		time.Sleep(cluster.Lag)
		c.does("they are still not seen", 0)
		if c.later != 1 {
			t.Errorf("that endpoints are left out is reported %d times", c.later)
		}
		c.pods([]int{1, 2}, nil)
		c.does("they are seen", 0, "10.0.0.1", "10.0.0.2")
		if c.later != 2 {
			t.Errorf("that none are left out is reported %d times", c.later-1)
		}
	})
}

// Nodes are targets at the node port. They do not wait for Pods that are not ready, and stay for a
// while where endpoints are in doubt.
func TestNodesAreTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t, interceptor.Funcs{})
		for n := range 2 {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", n)}}
			node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("192.0.2.%d", n)}}
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			c.create(node)
		}
		c.pods([]int{1}, []int{2})
		c.track(lb.Capabilities{}, v1alpha1.TargetTypeInstance)
		c.does("at first", 0, "192.0.2.0", "192.0.2.1")
		if got := c.cloud.has[0].Port; got != 30080 {
			t.Errorf("the port is %d", got)
		}
		c.pods([]int{1}, nil, 1)
		c.does("the Pod is not seen", cluster.Lag, "192.0.2.0", "192.0.2.1")
		time.Sleep(cluster.Lag)
		c.does("it is still not seen", 0)
	})
}

// A group that chooses Nodes has those with its labels. An operator that never compiled it, as it is
// leaving, does not know the labels, and leaves its targets as they are.
func TestNodesWithLabelsAreTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t, interceptor.Funcs{})
		for n := range 2 {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", n)}}
			node.Labels = map[string]string{"pool": "web", "zone": strconv.Itoa(n)}
			node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("192.0.2.%d", n)}}
			c.create(node)
		}
		c.pods([]int{1}, nil)
		g := lb.TargetGroup{ID: "shop/web:80/instance/nodes-0123456789abcdef", Service: "shop/web", Port: "80", TargetType: v1alpha1.TargetTypeInstance, Family: "ipv4"}
		k := lb.GroupKey{Key: key, ID: g.ID}
		reconcile := func(want ...string) {
			t.Helper()
			result, err := c.Reconcile(t.Context(), k)
			var got []string
			for _, h := range c.cloud.has {
				got = append(got, h.Target.Address)
			}
			if err != nil || result.RequeueAfter != 0 || !slices.Equal(got, want) {
				t.Errorf("targets %v, %v, %v; want %v", got, result, err, want)
			}
		}
		track := func() {
			c.Book.Track(t.Context(), key, v1alpha1.LoadBalancerClassSpec{}, lb.Capabilities{}, observed(g))
		}
		woken := func() (n int) {
			for len(c.Book.wake) > 0 {
				<-c.Book.wake
				n++
			}
			return n
		}
		track()
		reconcile()
		woken()
		wanted := g
		wanted.NodeLabels = "pool=web,zone=1"
		c.Book.Expect(key, nil, []lb.TargetGroup{wanted})
		track()
		if n := woken(); n != 1 {
			t.Errorf("%d groups are reconciled once the labels are known", n)
		}
		reconcile("192.0.2.1")
		c.Book.Expect(key, nil, nil) // it is leaving
		track()
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
		if err := c.client.Delete(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		reconcile()
		if n := woken(); n != 0 {
			t.Errorf("%d groups are reconciled", n)
		}
	})
}

// Where the cloud knows Nodes by their instances, these are the targets.
func TestInstancesAreTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t, interceptor.Funcs{})
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Spec: corev1.NodeSpec{ProviderID: "aws:///eu-west-1a/i-1"}}
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
		c.create(node)
		c.pods([]int{1}, nil)
		c.track(lb.Capabilities{InstanceIDs: true}, v1alpha1.TargetTypeInstance)
		c.does("at first", 0, "i-1")
	})
}

// A Service that is a name has no endpoints, and a target all the same, where the class and the cloud
// allow that.
func TestANameIsATarget(t *testing.T) {
	for addressesOnly, want := range map[bool][]string{false: {"a.example"}, true: nil} {
		synctest.Test(t, func(t *testing.T) {
			c := newTrial(t, interceptor.Funcs{})
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "name"}}
			service.Spec.Type, service.Spec.ExternalName = corev1.ServiceTypeExternalName, "a.example"
			c.create(service)
			class := v1alpha1.LoadBalancerClassSpec{AllowExternalNames: true}
			g := lb.TargetGroup{ID: group.ID, Service: "shop/name", Port: "443", TargetType: v1alpha1.TargetTypeIP, Family: "ipv4"}
			c.Book.Track(t.Context(), key, class, lb.Capabilities{AddressesOnly: addressesOnly}, observed(g))
			c.does("at first", 0, want...)
		})
	}
}

// A class that allows only some ports has no other targets.
func TestTheClassDecidesAboutPorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := first(t)
		g := lb.TargetGroup{ID: group.ID, Service: "shop/web", Port: "80", TargetType: v1alpha1.TargetTypeIP, Family: "ipv4"}
		c.Book.Track(t.Context(), key, v1alpha1.LoadBalancerClassSpec{TargetPorts: []string{"9000"}}, lb.Capabilities{}, []lb.ObservedTargetGroup{{TargetGroup: g}})
		c.does("another port is allowed", 0)
	})
}

// A write that fails leaves the targets unknown, so that they are read before the next one. A cloud
// without room is tried again when targets may have left.
func TestAWriteThatFails(t *testing.T) {
	for _, fails := range []error{errors.New("connection refused"), providers.ErrNoRoom} {
		synctest.Test(t, func(t *testing.T) {
			c := first(t)
			c.pods([]int{1, 2}, nil)
			c.Backlog.NoteChange(group)
			c.cloud.fails = fails
			_, err := c.Reconcile(t.Context(), group)
			if !errors.Is(err, fails) || errors.Is(err, queue.ErrCrowded) != errors.Is(fails, providers.ErrNoRoom) || !strings.Contains(err.Error(), "setting the targets of shop/web:80 in "+string(key)) {
				t.Errorf("the error is %v", err)
			}
			_, err = c.Reconcile(t.Context(), group)
			if !errors.Is(err, fails) || !strings.Contains(err.Error(), "reading the targets of shop/web:80") || c.cloud.writes != 2 {
				t.Errorf("the next error is %v, after %d writes", err, c.cloud.writes)
			}
			if len(c.took) > 0 {
				t.Errorf("what failed took %v", c.took)
			}
			c.cloud.fails = nil
			time.Sleep(time.Minute)
			c.does("it works again", 0, "10.0.0.1", "10.0.0.2")
			if c.cloud.reads != 3 || !slices.Equal(c.took, []time.Duration{time.Minute}) {
				t.Errorf("it is read %d times, and took %v", c.cloud.reads, c.took)
			}
		})
	}
}

// A write that waits for long for the cloud's rate is reported.
func TestALongWaitForTheRateIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := first(t)
		c.Waiting.Begin(key, v1alpha1.ReasonRateLimited)
		time.Sleep(queue.LongWait)
		c.pods([]int{2}, nil)
		c.does("it has waited", 0, "10.0.0.2")
		if c.later != 1 {
			t.Errorf("it is reported %d times", c.later)
		}
	})
}

// Targets that another writer has changed twice in a row stay as they are, until the Service has
// others.
func TestTargetsThatAreUndoneTwiceAreNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := first(t)
		theirs := []lb.Target{{Address: "10.9.9.9", Port: 80}}
		undo := func() {
			time.Sleep(providers.ReadLag + time.Second)
			c.cloud.set(theirs)
			c.Book.Recheck(t.Context(), key)
		}
		undo()
		c.does("undone once", 0, "10.0.0.1")
		undo()
		result, err := c.Reconcile(t.Context(), group)
		if err != nil || result.RequeueAfter != 10*time.Minute || c.cloud.has[0].Address != "10.9.9.9" || c.later != 1 {
			t.Errorf("undone twice, it comes back in %s, %v, with %v, reported %d times", result.RequeueAfter, err, c.cloud.has, c.later)
		}
		if now, _ := c.Book.groupCopy(group); now.doubted {
			t.Error("one look counts more than once")
		}
		time.Sleep(time.Minute)
		c.does("a minute later", 9*time.Minute, "10.9.9.9")
		undo()
		c.does("it is observed meanwhile", 9*time.Minute-providers.ReadLag-time.Second, "10.9.9.9")
		c.pods([]int{2}, nil)
		c.does("the Service has another Pod", 0, "10.0.0.2")
		undo()
		c.does("that one is undone, too", 5*time.Minute-2*time.Second, "10.9.9.9")
	})
}

// failing returns lists that fail.
func failing(err error) func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
	return func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return err }
}

// Errors of the cluster are returned, and nothing is written.
func TestErrorsOfTheClusterAreReturned(t *testing.T) {
	down := errors.New("the cache has ended")
	lists := func(kind client.ObjectList) interceptor.Funcs { return controllertest.FailingList(kind, down) }
	gets := func(kind client.Object) interceptor.Funcs { return controllertest.FailingGet(kind, down) }
	for name, failing := range map[string]interceptor.Funcs{
		"the Service": gets(&corev1.Service{}), "its EndpointSlices": lists(&discoveryv1.EndpointSliceList{}),
		"Nodes": lists(&corev1.NodeList{}), "Pods": gets(&corev1.Pod{}),
	} {
		c := newTrial(t, failing)
		c.pods([]int{1}, nil)
		c.track(lb.Capabilities{}, v1alpha1.TargetTypeInstance)
		if result, err := c.Reconcile(t.Context(), group); !errors.Is(err, down) || result != (reconcile.Result{}) || c.cloud.reads+c.cloud.writes > 0 {
			t.Errorf("%s: it ends with %v, %v, after %d calls", name, result, err, c.cloud.reads+c.cloud.writes)
		}
	}
}
