package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/test/kube"
)

// bindingsDefinition is the CRD of TargetGroupBindings, without the rules for its fields.
const bindingsDefinition = `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "targetgroupbindings.elbv2.k8s.aws"},
	"spec": {
		"group": "elbv2.k8s.aws", "scope": "Namespaced",
		"names": {"plural": "targetgroupbindings", "singular": "targetgroupbinding", "kind": "TargetGroupBinding", "listKind": "TargetGroupBindingList"},
		"versions": [{"name": "v1beta1", "served": true, "storage": true, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {
			"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
		}}}]
	}
}`

const (
	blue  lb.GroupID = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/nodes-blue/0123456789abcdef"
	green lb.GroupID = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/green/0123456789abcdef"
)

// A bound has target groups of others, and bindings.
type bound struct {
	*world
	looks *sync.RWMutex // held, a slow cloud does not answer about target groups
}

func newBound(t *testing.T) bound {
	w := bound{emptyWorld(t, kube.Start(t, kube.Options{}), func(o *fake.Options) {
		o.TargetGroups = map[lb.GroupID][]lb.Target{blue: nil, green: nil}
	}), &sync.RWMutex{}}
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{})
	return w
}

// newPermitted returns one that runs, with the kind, and a class that permits all target groups.
func newPermitted(t *testing.T, changes ...func(*settings)) bound {
	t.Helper()
	w := newBound(t)
	w.define()
	w.run(changes...)
	w.permit("arn:*")
	return w
}

// define installs the kind.
func (w bound) define() {
	w.Helper()
	definition := &unstructured.Unstructured{}
	if err := definition.UnmarshalJSON([]byte(bindingsDefinition)); err != nil {
		w.Fatal(err)
	}
	w.create(definition)
}

// bind makes a binding of a Service.
func (w bound) bind(name, service string, group lb.GroupID, edits ...func(*alb.TargetGroupBinding)) {
	w.Helper()
	b := &alb.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	b.Spec.TargetGroupARN, b.Spec.ServiceRef = string(group), alb.BoundService{Name: service, Port: intstr.FromInt32(80)}
	for _, edit := range edits {
		edit(b)
	}
	w.eventually(func() error { return w.Create(w.Context(), b.DeepCopy()) })
}

// binding reads one.
func (w bound) binding(name string) (*alb.TargetGroupBinding, error) {
	b := &alb.TargetGroupBinding{}
	return b, w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, b)
}

// rebind edits a binding.
func (w bound) rebind(name string, edit func(*alb.TargetGroupBinding)) {
	w.Helper()
	w.eventually(func() error {
		b, err := w.binding(name)
		if err != nil {
			return err
		}
		edit(b)
		return w.Update(w.Context(), b)
	})
}

// permit sets the target groups that the class permits.
func (w bound) permit(groups ...string) {
	w.Helper()
	w.eventually(func() error {
		class := &v1alpha1.ClusterLoadBalancerClass{}
		if err := w.Get(w.Context(), client.ObjectKey{Name: w.class}, class); err != nil {
			return err
		}
		class.Spec.TargetGroupBindings = nil
		if len(groups) > 0 {
			class.Spec.TargetGroupBindings = []v1alpha1.BoundTargetGroups{{NamespaceSelector: &metav1.LabelSelector{}, TargetGroups: groups}}
		}
		return w.Update(w.Context(), class)
	})
}

// has waits until a target group has so many targets.
func (w bound) has(group lb.GroupID, want int) {
	w.Helper()
	w.eventually(func() error {
		health, err := w.cloud.Cloud.Targets(w.Context(), routing.NewBindingKey(w.namespace, "any", ""), group)
		n := 0
		for _, h := range health {
			if h.State != lb.HealthDraining {
				n++
			}
		}
		return errors.Join(err, noError(n == want, "%s has %d targets, want %d", group, n, want))
	})
}

// says waits until a binding has the condition for a reason, and some words in its message.
func (w bound) says(name, reason, words string) {
	w.Helper()
	w.eventually(func() error {
		b, err := w.binding(name)
		c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionServed)
		if err != nil || c == nil {
			return cmpError(err, fmt.Errorf("binding %s has no condition", name))
		}
		return noError(c.Reason == reason && strings.Contains(c.Message, words) && (c.Status == metav1.ConditionTrue) == (reason == "Served") &&
			b.Status.ObservedGeneration != nil && *b.Status.ObservedGeneration == b.Generation, "binding %s says %s: %s", name, c.Reason, c.Message)
	})
}

func cmpError(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

func (w bound) removeAll(of client.Object) {
	w.Helper()
	if err := w.DeleteAllOf(w.Context(), of, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
}

// A binding is served in the target groups that a class permits: as Pods come and go, when the kind is
// installed late, when the binding or the permission changes, and until it is deleted.
func TestBindingsAreServed(t *testing.T) {
	t.Parallel()
	w := newBound(t)
	w.run()
	w.serve("web", "web-1", "web-2")
	w.define()
	w.bind("web", "web", blue)
	w.says("web", string(diag.TargetGroupNotAllowed), "targetGroupBindings")
	w.permit(string(blue))
	w.has(blue, 2)
	w.says("web", "Served", string(blue))
	w.create(w.pod("web", "web-3"))
	w.has(blue, 3)

	// Another target group: the first loses its targets.
	w.permit(string(blue), string(green))
	w.rebind("web", func(b *alb.TargetGroupBinding) { b.Spec.TargetGroupARN = string(green) })
	w.has(green, 3)
	w.has(blue, 0)

	// The Service is made anew.
	if err := w.Delete(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}); err != nil {
		t.Fatal(err)
	}
	w.says("web", "Served", "there is no Service")
	w.removeAll(&discoveryv1.EndpointSlice{})
	w.has(green, 0)
	w.serve("web", "web-4")
	w.has(green, 1)

	// A mistake leaves it as it is; a permission that is withdrawn does not.
	w.rebind("web", func(b *alb.TargetGroupBinding) { b.Spec.IamRoleArnToAssume = "arn:aws:iam::210987654321:role/theirs" })
	w.says("web", string(diag.BindingUnsupported), "assumes no role")
	w.calm()
	w.has(green, 1)
	w.rebind("web", func(b *alb.TargetGroupBinding) { b.Spec.IamRoleArnToAssume = "" })
	w.says("web", "Served", string(green))
	w.permit(string(blue))
	w.has(green, 0)
	w.eventually(func() error {
		b, err := w.binding("web")
		return errors.Join(err, noError(len(b.Finalizers) == 0, "the finalizers are %q", b.Finalizers))
	})
	w.permit(string(green))
	w.has(green, 1)

	// A class that is missing leaves it as it is.
	class := &networkingv1.IngressClass{}
	if err := w.Get(t.Context(), client.ObjectKey{Name: w.class}, class); err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(t.Context(), &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: w.class}}); err != nil {
		t.Fatal(err)
	}
	w.says("web", string(diag.ClassMissing), "registered as before")
	w.calm()
	w.has(green, 1)

	// An operator that begins anew knows what to leave.
	w.stop()
	class.ResourceVersion, class.UID = "", ""
	w.create(class)
	w.run()
	w.remove("web")
	w.has(green, 0)
}

// others has targets in a target group that no binding has registered.
func (w bound) others(group lb.GroupID, addresses ...string) {
	w.Helper()
	var targets []lb.Target
	for _, a := range addresses {
		targets = append(targets, lb.Target{Address: a, Port: 80})
	}
	if err := w.cloud.Cloud.SetTargets(w.Context(), routing.NewBindingKey(w.namespace, "any", ""), group, targets); err != nil {
		w.Fatal(err)
	}
}

// remove deletes a binding, and waits until it is gone.
func (w bound) remove(name string) {
	w.Helper()
	if err := w.Delete(w.Context(), &alb.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}); err != nil {
		w.Fatal(err)
	}
	w.eventually(func() error {
		_, err := w.binding(name)
		return noError(client.IgnoreNotFound(err) == nil && err != nil, "binding %s is still there: %v", name, err)
	})
}

// restarts has another operator begin.
func (w bound) restarts(edits ...func(*settings)) {
	w.Helper()
	w.stop()
	w.run(edits...)
}

// records returns the records of bindings.
func (w bound) records() []v1alpha1.LoadBalancer {
	w.Helper()
	var list v1alpha1.LoadBalancerList
	if err := w.List(w.Context(), &list, client.MatchingLabels{"fairlead.dev/target-group-binding": w.namespace}); err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// An author can write the annotations of a binding, and the whole of it: no targets go from a target group that are
// others', neither of another binding nor of another cluster.
func TestWhatAnAuthorCanWrite(t *testing.T) {
	t.Parallel()
	w := newBound(t)
	w.define()
	w.run()
	w.permit(string(green), string(blue))
	w.others(blue, "10.244.9.1", "10.244.9.2")
	w.serve("web", "web-1")
	shared := func(b *alb.TargetGroupBinding) { b.Spec.MultiClusterTargetGroup = true }
	w.bind("one", "none", blue, shared)
	w.bind("two", "web", blue, shared)
	w.has(blue, 3)
	w.says("one", "Served", string(blue))
	w.stop()
	w.rebind("one", func(b *alb.TargetGroupBinding) {
		b.Annotations = map[string]string{"fairlead.dev/target-group-binding": fmt.Sprintf(
			`{"group": %q, "class": %q, "targets": "10.244.9.1:80 10.244.9.2:80"}`, blue, w.class)}
	})
	w.run()
	w.calm()
	w.has(blue, 3)
	w.remove("one")
	w.calm()
	w.has(blue, 3)
	w.remove("two")
	w.has(blue, 2)
	if left := w.records(); len(left) > 0 {
		t.Errorf("%d records are left", len(left))
	}
}

// A binding that has a mistake, or whose class is renamed or missing, is followed as it was accepted last: as Pods come
// and go, by an operator that begins anew, and until it is deleted.
func TestWhatWasAcceptedLastIsFollowed(t *testing.T) {
	t.Parallel()
	w := newPermitted(t, withGates(time.Hour))
	w.serve("web", "web-1", "web-2")
	w.bind("web", "web", blue)
	w.has(blue, 2)

	w.stop()
	w.rebind("web", func(b *alb.TargetGroupBinding) {
		b.Spec.IamRoleArnToAssume, b.Spec.ServiceRef.Name = "arn:aws:iam::210987654321:role/theirs", "other"
	})
	w.run(withGates(time.Hour))
	w.says("web", string(diag.BindingUnsupported), "until that is corrected, its targets are those of the version that was accepted last")
	w.gated("web", "web-3")
	w.has(blue, 3)
	w.eventually(func() error {
		gate := w.gateOf("web-3")
		return noError(strings.Contains(gate.Message, string(blue)), "the gate does not wait for the health there: %+v", gate)
	})
	w.bind("late", "web", blue)
	w.says("late", string(diag.BindingConflict), "came first")
	w.remove("late")
	w.rebind("web", func(b *alb.TargetGroupBinding) { b.Spec.IamRoleArnToAssume, b.Spec.ServiceRef.Name = "", "web" })
	w.says("web", "Served", string(blue))

	class := &networkingv1.IngressClass{}
	if err := w.Get(t.Context(), client.ObjectKey{Name: w.class}, class); err != nil {
		t.Fatal(err)
	}
	w.stop()
	if err := w.Delete(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	w.run(withGates(time.Hour))
	w.says("web", string(diag.ClassMissing), "registered as before")
	w.create(w.pod("web", "web-4"))
	w.has(blue, 4)
	class.ResourceVersion, class.UID, class.Name = "", "", w.class+"-renamed"
	w.create(class)
	t.Cleanup(func() { _ = w.Delete(context.Background(), class) })
	w.says("web", "Served", class.Name)
	w.restarts(withGates(time.Hour))
	w.create(w.pod("web", "web-5"))
	w.has(blue, 5)

	// What is not known to have been accepted holds no gate, and its author is told.
	w.stop()
	w.rebind("web", func(b *alb.TargetGroupBinding) { b.Spec.IamRoleArnToAssume = "arn:aws:iam::210987654321:role/theirs" })
	for _, record := range w.records() {
		if err := w.Delete(t.Context(), &record); err != nil {
			t.Fatal(err)
		}
	}
	w.run(withGates(time.Hour))
	w.says("web", string(diag.BindingUnsupported), "LoadBalancer that remembers its targets was deleted")
	w.gated("web", "web-6")
	w.eventually(func() error {
		gate := w.gateOf("web-6")
		return noError(gate.Status == corev1.ConditionTrue && gate.Reason == v1alpha1.ReasonNotServed, "the gate is %+v", gate)
	})
}

// A binding that no longer says that it shares its target group still does.
func TestABindingThatStopsSharing(t *testing.T) {
	t.Parallel()
	w := newPermitted(t)
	w.others(blue, "10.244.9.1")
	w.serve("web", "web-1")
	w.serve("api", "api-1")
	shared := func(b *alb.TargetGroupBinding) { b.Spec.MultiClusterTargetGroup = true }
	w.bind("web", "web", blue, shared)
	w.bind("api", "api", blue, shared)
	w.has(blue, 3)
	w.rebind("web", func(b *alb.TargetGroupBinding) { b.Spec.MultiClusterTargetGroup = false })
	w.says("web", string(diag.Invalid), "delete the binding and create it without")
	w.calm()
	w.has(blue, 3)
	w.restarts()
	w.create(w.pod("web", "web-2"))
	w.has(blue, 4)
	w.says("api", "Served", string(blue))
	w.remove("web")
	w.has(blue, 2)
}

// A binding whose finalizer is removed by hand gets it again. One that is gone without having been released is told,
// and its targets go after the grace, even those of a target group that it had for itself: targets that others have
// registered since stay.
func TestFinalizersThatAreRemoved(t *testing.T) {
	t.Parallel()
	w := newPermitted(t)
	w.serve("web", "web-1")
	w.bind("web", "web", blue)
	w.has(blue, 1)
	held := func() {
		w.eventually(func() error {
			b, err := w.binding("web")
			return errors.Join(err, noError(len(b.Finalizers) == 1, "the finalizers are %q", b.Finalizers))
		})
	}
	held()
	w.rebind("web", func(b *alb.TargetGroupBinding) { b.Finalizers = nil })
	held()
	w.calm()
	w.has(blue, 1)

	w.stop()
	w.rebind("web", func(b *alb.TargetGroupBinding) { b.Finalizers = nil })
	if err := w.Delete(t.Context(), &alb.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}); err != nil {
		t.Fatal(err)
	}
	health, err := w.cloud.Cloud.Targets(t.Context(), routing.NewBindingKey(w.namespace, "any", ""), blue)
	if err != nil || len(health) != 1 {
		t.Fatalf("the targets are %v, %v", health, err)
	}
	if err := w.cloud.Cloud.SetTargets(t.Context(), routing.NewBindingKey(w.namespace, "any", ""), blue,
		[]lb.Target{health[0].Target, {Address: "10.244.9.1", Port: 80}}); err != nil {
		t.Fatal(err)
	}
	w.run(func(s *settings) { s.operator.VanishedGrace = 3 * time.Second })
	w.eventOf("TargetGroupBinding", "web", string(diag.Vanished))
	w.has(blue, 2)
	w.has(blue, 1)
	w.eventually(func() error {
		left := w.records()
		return noError(len(left) == 0, "%d records are left", len(left))
	})
	w.calm()
	w.has(blue, 1)
}

// Where the record of a binding that shares its target group is lost, that is told, and what it had registered stays: its
// targets cannot be told from those of others.
func TestARecordOfABindingThatIsLost(t *testing.T) {
	t.Parallel()
	w := newPermitted(t)
	w.others(blue, "10.244.9.1")
	w.serve("web", "web-1")
	w.bind("web", "web", blue, func(b *alb.TargetGroupBinding) { b.Spec.MultiClusterTargetGroup = true })
	w.has(blue, 2)
	w.stop()
	for _, left := range w.records() {
		if err := w.Delete(t.Context(), &left); err != nil {
			t.Fatal(err)
		}
	}
	w.run()
	w.eventOf("TargetGroupBinding", "web", string(diag.BindingForgotten))
	w.calm()
	w.has(blue, 2)
}

// A provider that does not say which target groups of others there are serves no binding: that is told, and is another
// answer than that there is none.
func TestAProviderWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	w := newBound(t)
	w.define()
	w.run(func(s *settings) { s.operator.Cloud = silent{w.cloud} })
	w.permit("arn:*")
	w.serve("web", "web-1")
	w.bind("web", "web", blue)
	w.says("web", string(diag.BindingUnsupported), "class of the built-in provider aws")
	w.eventOf("TargetGroupBinding", "web", string(diag.BindingUnsupported))
}

// silent does not answer which target groups there are, as a provider over the protocol.
type silent struct{ providers.Provider }

func (s silent) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	q.TargetGroups = nil
	return s.Provider.Lookup(ctx, q)
}

// A binding that shares its target group leaves the targets of another one, also of the same Service, and takes
// its own with it.
func TestABindingThatSharesIsRenamed(t *testing.T) {
	t.Parallel()
	w := newBound(t)
	w.define()
	w.run()
	w.permit(string(blue))
	w.serve("web", "web-1", "web-2")
	w.serve("api", "api-1")
	shared := func(b *alb.TargetGroupBinding) { b.Spec.MultiClusterTargetGroup = true }
	for _, b := range [][2]string{{"one", "web"}, {"two", "web"}, {"three", "api"}} {
		w.bind(b[0], b[1], blue, shared)
		w.says(b[0], "Served", string(blue))
	}
	w.has(blue, 3)
	w.calm()
	w.remove("three")
	w.calm()
	w.has(blue, 2)
	w.remove("one")
	w.calm()
	w.has(blue, 2)
}

// Bindings that others have first, or that the controller made for itself, are left alone.
func TestBindingsThatAreNotServed(t *testing.T) {
	t.Parallel()
	w := newPermitted(t)
	w.serve("web", "web-1")
	w.serve("api", "api-1", "api-2")
	w.bind("theirs", "web", green, func(b *alb.TargetGroupBinding) {
		b.Labels = map[string]string{"ingress.k8s.aws/stack": "edge"}
		b.Finalizers = []string{"elbv2.k8s.aws/resources"}
	})
	w.bind("web", "web", blue)
	w.has(blue, 1)
	w.bind("api", "api", blue)
	w.says("api", string(diag.BindingConflict), "came first")
	w.bind("gone", "api", lb.GroupID(strings.Replace(string(green), "/green/", "/gone/", 1)))
	w.says("gone", string(diag.TargetGroupMissing), "there is no target group")
	w.calm()
	w.has(blue, 1)
	w.has(green, 0)
	theirs, err := w.binding("theirs")
	if err != nil || len(theirs.Status.Conditions) > 0 || !slices.Equal(theirs.Finalizers, []string{"elbv2.k8s.aws/resources"}) || len(theirs.Annotations) > 0 {
		t.Errorf("the binding of the controller is %+v, %v", theirs, err)
	}

	// A label, which anybody can write, takes a target group from no binding.
	w.bind("late", "api", green)
	w.has(green, 2)

	// The next one has the target group when the first is deleted.
	if err := w.Delete(t.Context(), &alb.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}); err != nil {
		t.Fatal(err)
	}
	w.has(blue, 2)
	w.says("api", "Served", string(blue))

	// The kind goes with its objects, and the target groups are left.
	if err := w.Delete(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "targetgroupbindings.elbv2.k8s.aws"}}}); err != nil {
		t.Fatal(err)
	}
	w.has(blue, 0)
}

// Targets that another program removes come back when the cloud is asked again, those of all bindings of the target
// group.
func TestTargetsOfBindingsAreCompared(t *testing.T) {
	t.Parallel()
	w := newPermitted(t, func(s *settings) { s.operator.DriftInterval = time.Second })
	w.serve("web", "web-1", "web-2")
	w.serve("api", "api-1")
	w.bind("web", "web", blue)
	shared := func(b *alb.TargetGroupBinding) { b.Spec.MultiClusterTargetGroup = true }
	w.bind("one", "web", green, shared)
	w.bind("two", "api", green, shared)
	for group, n := range map[lb.GroupID]int{blue: 2, green: 3} {
		w.has(group, n)
		if err := w.cloud.Cloud.SetTargets(t.Context(), routing.NewBindingKey(w.namespace, "any", ""), group, nil); err != nil {
			t.Fatal(err)
		}
		w.has(group, n)
	}
}
