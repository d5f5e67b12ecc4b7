package bindings

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/controllertest"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/targets"
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
		Book: targets.NewBook(t.Context().Done()), Waits: &queue.Waits{}, Disputes: &queue.Disputes{}, Interval: time.Hour}, c
}

func read(t *testing.T, c client.Client) *alb.TargetGroupBinding {
	t.Helper()
	b := &alb.TargetGroupBinding{}
	if err := c.Get(t.Context(), name, b); err != nil {
		t.Fatal(err)
	}
	return b
}

// What a binding has registered is in its annotation, beside what is needed to leave the target group, for
// addresses of both families. More than an annotation holds is refused before it is registered.
func TestABindingRemembersItsTargets(t *testing.T) {
	r, c := newShared(t)
	k := lb.GroupKey{Key: routing.NewBindingKey(name.Namespace, name.Name, ""), ID: shared}
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
	b := read(t, c)
	got := memoryOf(b)
	if got.Group != shared || got.Class != "alb" || len(got.Targets) != len(own) || slices.ContainsFunc(own, func(o lb.Target) bool { return !slices.Contains(got.Targets, o) }) {
		t.Errorf("it remembers %d targets of %s, permitted by %s", len(got.Targets), got.Group, got.Class)
	}
	if size := len(b.Annotations[v1alpha1.BindingMemory]); size > 64<<10 {
		t.Errorf("the annotation has %d bytes", size)
	}
	if err := r.Remember(t.Context(), k, slices.Repeat(own, 20)); err == nil || !strings.Contains(err.Error(), "cannot hold") {
		t.Errorf("the error is %v", err)
	}
	if !slices.Equal(b.Finalizers, []string{v1alpha1.BindingFinalizer}) || len(b.Status.Conditions) != 1 {
		t.Errorf("the binding has the finalizers %q and the conditions %v", b.Finalizers, b.Status.Conditions)
	}
}

// An annotation that a user has written over is no memory: the binding is held anew.
func TestAForgedMemory(t *testing.T) {
	r, c := newShared(t)
	for _, text := range []string{"", "{", "[]", `{"group": 1}`, `{"group": "", "targets": "a:b :80 [::1]:99999 x"}`} {
		b := read(t, c)
		b.Annotations = map[string]string{v1alpha1.BindingMemory: text}
		if err := c.Update(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Reconcile(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if got := memoryOf(read(t, c)); got.Group != shared || len(got.Targets) > 0 {
			t.Errorf("with the annotation %q, it remembers %+v", text, got)
		}
	}
}
