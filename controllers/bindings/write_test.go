package bindings

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/controllertest"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/controllers/targets"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/fake"
)

// This file remembers the targets of a binding that shares its target group.

const shared lb.GroupID = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/shared/0123456789abcdef"

var name = types.NamespacedName{Namespace: "shop", Name: "web"}

// newShared returns a reconciler of a binding that shares its target group, and the client.
func newShared(t *testing.T) (*Reconciler, client.Client) {
	t.Helper()
	cloud, err := fake.New(fake.Options{TargetGroups: map[lb.GroupID][]lb.Target{shared: nil}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	b := &alb.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: "1"}}
	b.Spec = alb.BindingSpec{TargetGroupARN: string(shared), MultiClusterTargetGroup: true,
		ServiceRef: alb.BoundService{Name: "web", Port: intstr.FromInt32(80)}}
	class := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "alb"}}
	class.Spec.TargetGroupBindings = []v1alpha1.BoundTargetGroups{{NamespaceSelector: &metav1.LabelSelector{}, TargetGroups: []string{"arn:*"}}}
	of := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "alb"}}
	of.Spec = networkingv1.IngressClassSpec{Controller: ingress.ControllerName, Parameters: &networkingv1.IngressClassParametersReference{
		APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "alb"}}
	c := controllertest.NewClient(t, b, class, of)
	return &Reconciler{Gatherer: controllertest.NewGatherer(c), Events: events.NewRecorder(c, c), Writer: c, Cloud: cloud,
		Book: targets.NewBook(t.Context().Done()), Memories: NewMemories(records.NewBindingStore(c, c, "")), Waits: &queue.Waits{}, Disputes: &queue.Disputes{}, Interval: time.Hour}, c
}

func read(t *testing.T, c client.Client) *alb.TargetGroupBinding {
	t.Helper()
	b := &alb.TargetGroupBinding{}
	if err := c.Get(t.Context(), name, b); err != nil {
		t.Fatal(err)
	}
	return b
}

// What a binding has registered is in a LoadBalancer, beside what is needed to leave the target group, for addresses
// of both families. An operator that begins anew reads it. More than an object holds is refused before it is
// registered.
func TestABindingRemembersItsTargets(t *testing.T) {
	r, c := newShared(t)
	k := lb.GroupKey{Key: routing.NewBindingKey(name.Namespace, name.Name, ""), ID: shared}
	if err := r.Memories.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Remember(t.Context(), k, nil); err == nil {
		t.Error("targets are remembered of a binding that is not held")
	}
	if _, err := r.Reconcile(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	own := []lb.Target{{Address: "10.0.0.1", Port: 80}, {Address: "2001:db8::1", Port: 65535}, {Address: "i-0123456789abcdef0", Port: 30080}}
	for i := range 1000 {
		own = append(own, lb.Target{Address: fmt.Sprintf("2001:db8:0:0:ffff:ffff:ffff:%x", 0x1000+i), Port: 8080})
	}
	if err := r.Remember(t.Context(), k, own); err != nil {
		t.Fatal(err)
	}
	anew := NewMemories(records.NewBindingStore(c, c, ""))
	if err := anew.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := anew.of(name)
	if got == nil || got.Group != shared || got.Class.Name != "alb" || len(got.Targets) != len(own) || slices.ContainsFunc(own, func(o lb.Target) bool { return !slices.Contains(got.Targets, o) }) {
		t.Fatalf("what is remembered is %+v", got)
	}
	if !equality.Semantic.DeepEqual(got.Last, r.Memories.of(name).Last) {
		t.Errorf("what is read is %+v, and %+v was stored", got.Last, r.Memories.of(name).Last)
	}
	var stored v1alpha1.LoadBalancerList
	if err := c.List(t.Context(), &stored, client.MatchingLabels{v1alpha1.BindingRecord: ""}); err != nil || len(stored.Items) != 1 {
		t.Fatalf("there are %d records, %v", len(stored.Items), err)
	}
	if size := len(stored.Items[0].Status.Memory.Binding.Targets); size > 64<<10 {
		t.Errorf("the targets have %d bytes", size)
	}
	if err := r.Remember(t.Context(), k, slices.Repeat(own, 20)); err == nil || !strings.Contains(err.Error(), "more than can be remembered") {
		t.Errorf("the error is %v", err)
	}
	b := read(t, c)
	if !slices.Equal(b.Finalizers, []string{v1alpha1.BindingFinalizer}) || len(b.Status.Conditions) != 1 {
		t.Errorf("the binding has the finalizers %q and the conditions %v", b.Finalizers, b.Status.Conditions)
	}
}

// Two write what is remembered of a binding: the reconciler of the binding, and that of its targets. None undoes what
// the other has written, also if a third one has written in between.
func TestWritersOfAMemory(t *testing.T) {
	r, c := newShared(t)
	if _, err := r.Reconcile(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	k := lb.GroupKey{Key: routing.NewBindingKey(name.Namespace, name.Name, ""), ID: shared}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if i%2 == 0 {
				if _, err := r.Reconcile(t.Context(), name); err != nil {
					t.Error(err)
				}
			} else if err := r.Remember(t.Context(), k, append([]lb.Target{{Address: "10.0.0.1", Port: 80}}, r.Memories.of(name).Targets...)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := r.Memories.of(name).Targets; len(got) == 0 {
		t.Error("targets are forgotten")
	}
	var stored v1alpha1.LoadBalancerList
	if err := c.List(t.Context(), &stored); err != nil {
		t.Fatal(err)
	}
	stored.Items[0].Labels["example.com/team"] = "edge"
	if err := c.Update(t.Context(), &stored.Items[0]); err != nil {
		t.Fatal(err)
	}
	next := []lb.Target{{Address: "10.0.0.2", Port: 80}}
	if err := r.Remember(t.Context(), k, next); err == nil {
		t.Error("a version that another writer has changed is written over")
	}
	if err := r.Remember(t.Context(), k, next); err != nil || !slices.Equal(r.Memories.of(name).Targets, next) {
		t.Errorf("%v is remembered, %v", r.Memories.of(name).Targets, err)
	}
}

// A record that cannot be read is none: the binding is held anew.
func TestARecordThatCannotBeRead(t *testing.T) {
	for _, m := range []*v1alpha1.BindingMemory{nil, {}, {TargetGroup: string(shared)}, {TargetGroup: string(shared), Spec: &runtime.RawExtension{Raw: []byte("[]")}}} {
		r, c := newShared(t)
		record := &v1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Name("@binding/shop/web/", "") + ".binding", Labels: map[string]string{v1alpha1.BindingRecord: ""}}}
		record.Spec.Key = "@binding/shop/web/"
		if err := c.Create(t.Context(), record); err != nil {
			t.Fatal(err)
		}
		record.Status.Memory.Binding = m
		if err := c.Status().Update(t.Context(), record); err != nil {
			t.Fatal(err)
		}
		short := &v1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Name: "short.binding", Labels: record.Labels}}
		short.Spec.Key = "@binding/x"
		if err := c.Create(t.Context(), short); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Reconcile(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if got := r.Memories.of(name); got == nil || got.Group != shared || len(got.Targets) > 0 {
			t.Errorf("with the record %+v, it remembers %+v", m, got)
		}
	}
}

// A binding that is deleted after its record was lost is told what may be left of it. One that was released is not,
// while the cache still shows its finalizer.
func TestABindingThatGoesWithoutARecord(t *testing.T) {
	for what, lost := range map[string]bool{"its record is lost": true, "it was released": false} {
		r, c := newShared(t)
		if _, err := r.Reconcile(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(t.Context(), read(t, c)); err != nil { // it stays for its finalizer
			t.Fatal(err)
		}
		late := read(t, c)
		if lost {
			if err := c.DeleteAllOf(t.Context(), &v1alpha1.LoadBalancer{}); err != nil {
				t.Fatal(err)
			}
			r.Memories = NewMemories(records.NewBindingStore(c, c, ""))
		} else {
			r.Cloud = &asked{Provider: r.Cloud, none: true}
			if _, err := r.Reconcile(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			late.ResourceVersion, late.DeletionTimestamp = "", nil
			if err := errors.Join(c.Create(t.Context(), late), c.Delete(t.Context(), late)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Reconcile(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		var told eventsv1.EventList
		if err := c.List(t.Context(), &told); err != nil {
			t.Fatal(err)
		}
		if is := slices.ContainsFunc(told.Items, func(e eventsv1.Event) bool { return e.Reason == string(diag.BindingForgotten) }); is != lost {
			t.Errorf("%s: what may be left is told: %t", what, is)
		}
	}
}
