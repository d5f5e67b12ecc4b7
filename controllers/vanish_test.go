package controllers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/kube"
)

// This file is about Ingresses that are gone without having been let go of.

// vanishing is a world whose operator serves an Ingress that has vanished for a grace.
func vanishing(t *testing.T, grace time.Duration) *world {
	t.Helper()
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.run(graced(grace))
	w.serve("web", "web-1")
	return w
}

// vanishingBeside is such a world, and two other namespaces of the same operator, each of which
// serves the Ingress far. Options has an operator serve all of them again.
func vanishingBeside(t *testing.T, grace time.Duration) (w *world, beside []*world, options func(*settings)) {
	t.Helper()
	t.Parallel()
	w = emptyWorld(t, kube.Shared(t))
	namespaces := map[string]cache.Config{w.namespace: {}}
	for range 2 {
		far := &world{T: t, Client: w.Client, cluster: w.cluster, namespace: w.cluster.Namespace(t), class: w.class, cloud: w.cloud}
		beside = append(beside, far)
		namespaces[far.namespace] = cache.Config{}
	}
	options = func(s *settings) {
		graced(grace)(s)
		s.manager.Cache = cache.Options{DefaultNamespaces: namespaces}
	}
	w.run(options)
	w.serve("web", "web-1")
	for i, far := range beside {
		host := fmt.Sprintf("far-%d.example", i)
		far.serve("web", "web-1")
		far.create(far.ask("far", host, "/", "web"))
		far.answers("far", "http://"+host+"/", "web-1")
	}
	return w, beside, options
}

func forceFar(beside []*world) {
	for _, far := range beside {
		far.force("far")
	}
}

func graced(grace time.Duration) func(*settings) {
	return func(s *settings) { s.operator.VanishedGrace = grace }
}

// force takes Ingresses away with their finalizers, as an API server does that is restored from an
// older state.
func (w *world) force(names ...string) {
	w.Helper()
	for _, name := range names {
		if err := w.Delete(w.Context(), w.ingress(name)); err != nil {
			w.Fatal(err)
		}
	}
	for _, name := range names {
		w.eventually(func() error {
			ing := &networkingv1.Ingress{}
			err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, ing)
			if apierrors.IsNotFound(err) {
				return nil
			}
			before := ing.DeepCopy()
			ing.Finalizers = nil
			return client.IgnoreNotFound(w.Patch(w.Context(), ing, client.MergeFrom(before)))
		})
	}
}

// degraded waits until a LoadBalancer says why it is degraded, and returns the message.
func (w *world) degraded(ingress, reason string) (message string) {
	w.Helper()
	w.eventually(func() error {
		c := meta.FindStatusCondition(w.balancer(ingress).Status.Conditions, v1alpha1.ConditionDegraded)
		if c == nil || c.Reason != reason {
			return fmt.Errorf("the condition is %+v, want the reason %s", c, reason)
		}
		message = c.Message
		return nil
	})
	return message
}

// TestAnIngressTakenByForceIsServedForAGrace: it is told, a restart does not begin the grace anew,
// and what is not back by its end is let go.
func TestAnIngressTakenByForceIsServedForAGrace(t *testing.T) {
	const grace = 8 * time.Second
	w := vanishing(t, grace)
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.programmed("shop", v1alpha1.ReasonProgrammed)
	w.calm()
	at, writes := w.address("shop"), w.cloud.writes.Load()

	w.stop()
	w.force("shop")
	w.run(graced(grace))
	begun := time.Now()
	w.degraded("shop", "Vanished")
	w.told("shop", "Vanished")
	w.stop()
	w.run(graced(grace))
	w.calm()
	if err := w.request(at, "http://shop.example/", "web-1"); err != nil || w.cloud.writes.Load() != writes {
		t.Errorf("after %s it is not served as it was: %v, %d writes", time.Since(begun), err, w.cloud.writes.Load()-writes)
	}
	w.gone()
	if took := time.Since(begun); took < grace-2*time.Second || took > grace+5*time.Second {
		t.Errorf("it was served for %s, and the grace is %s", took, grace)
	}
}

// TestAnIngressThatComesBackChangesNothing: neither what the cloud has nor who is asked.
func TestAnIngressThatComesBackChangesNothing(t *testing.T) {
	w := vanishing(t, time.Minute)
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.programmed("shop", v1alpha1.ReasonProgrammed)
	w.calm()
	at, writes := w.address("shop"), w.cloud.writes.Load()
	end := w.load(func() error { return w.request(at, "http://shop.example/", "web-1") })

	w.stop()
	w.force("shop")
	w.run(graced(time.Minute))
	w.degraded("shop", "Vanished")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.degraded("shop", v1alpha1.ReasonAsExpected)
	w.answers("shop", "http://shop.example/", "web-1")
	w.calm()
	end()
	if n := w.cloud.writes.Load() - writes; n > 0 {
		t.Errorf("%d writes to the cloud", n)
	}
	for _, m := range w.balancer("shop").Status.Memory.Members {
		if m.VanishedAt != nil || m.Unconfirmed {
			t.Errorf("it is remembered as %+v", m)
		}
	}
}

// many serves Ingresses, each on a load balancer of its own but for those of the group, and returns
// their names.
func (w *world) many(apart, together int) (names []string) {
	w.Helper()
	for i := range apart + together {
		name := fmt.Sprintf("shop-%d", i)
		ing := w.ask(name, name+".example", "/", "web")
		if i >= apart {
			ing = groupOf(ing)
		}
		w.create(ing)
		names = append(names, name)
	}
	for _, name := range names {
		w.answers(name, "http://"+name+".example/", "web-1")
	}
	w.calm()
	return names
}

// TestWhatNamespacesLoseGoesOnlyOnceConfirmed: after a restart, as after a restore of etcd, 27
// Ingresses of three namespaces are gone, some with their whole load balancers. Nothing is deleted
// when the grace is over; what is confirmed goes, and what is not stays.
func TestWhatNamespacesLoseGoesOnlyOnceConfirmed(t *testing.T) {
	const grace = 5 * time.Second
	w, beside, options := vanishingBeside(t, grace)
	names := w.many(5, 20)
	first, last := w.address(names[0]), w.address(names[24])
	writes := w.cloud.writes.Load()

	w.stop()
	w.force(names...)
	forceFar(beside)
	w.run(options)
	said := w.degraded(names[0], "Vanished")
	time.Sleep(grace)
	w.calm()
	if n := w.cloud.writes.Load() - writes; n > 0 {
		t.Errorf("%d writes to the cloud, of 27 Ingresses that vanished", n)
	}
	if err := w.request(first, "http://shop-0.example/", "web-1"); err != nil {
		t.Error(err)
	}

	_, order, _ := strings.Cut(said, v1alpha1.ConfirmVanishedAnnotation+"=")
	at, _, _ := strings.Cut(order, " ")
	w.annotate(names[0], v1alpha1.ConfirmVanishedAnnotation, at)
	w.eventually(func() error {
		err := w.Get(t.Context(), client.ObjectKey{Name: w.reportName(names[0])}, &v1alpha1.LoadBalancer{})
		return noError(apierrors.IsNotFound(err), "the load balancer that was confirmed is still there: %v", err)
	})
	w.calm()
	if err := w.request(last, "http://shop-24.example/", "web-1"); err != nil {
		t.Errorf("of the group, which was not confirmed: %v", err)
	}
	group := w.report(w.sharedReport())
	if n := len(group.Status.Memory.Members); n != 20 || group.Status.MemberCount != 20 {
		t.Errorf("the group has %d members, and remembers %d", group.Status.MemberCount, n)
	}

	// What comes back is served again as ever; an order from before it vanished confirms nothing.
	old := group.DeepCopy()
	group.Annotations = map[string]string{v1alpha1.ConfirmVanishedAnnotation: group.CreationTimestamp.Add(-time.Hour).Format(time.RFC3339)}
	if err := w.Patch(t.Context(), group, client.MergeFrom(old)); err != nil {
		t.Fatal(err)
	}
	w.create(groupOf(w.ask("shop-24", "shop-24.example", "/", "web")))
	w.answers("shop-24", "http://shop-24.example/", "web-1")
	w.calm()
	if err := w.request(last, "http://shop-23.example/", "web-1"); err != nil {
		t.Error(err)
	}
	old = w.report(w.sharedReport())
	group = old.DeepCopy()
	group.Annotations = map[string]string{v1alpha1.ConfirmVanishedAnnotation: time.Now().Format(time.RFC3339)}
	if err := w.Patch(t.Context(), group, client.MergeFrom(old)); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error {
		got := w.report(w.sharedReport()).Status.Members
		return noError(cmp.Equal(got, []string{w.namespace + "/shop-24"}), "the members are %v", got)
	})
	w.calm()
	if err := w.request(last, "http://shop-23.example/", "web-1"); err == nil {
		t.Error("what was confirmed is still served")
	}
	if err := w.request(last, "http://shop-24.example/", "web-1"); err != nil {
		t.Error(err)
	}
}

// sharedReport is the name of the LoadBalancer of the group.
func (w *world) sharedReport() string {
	return v1alpha1.Name(strings.Join([]string{w.class, w.namespace, "@g", v1alpha1.SchemeInternal}, "/"), w.namespace)
}

func groupOf(ing *networkingv1.Ingress) *networkingv1.Ingress {
	ing.Annotations["fairlead.dev/group"] = "g"
	return ing
}

// TestAllThatVanishedComesBack: as where a backup is put back after a restore.
func TestAllThatVanishedComesBack(t *testing.T) {
	const grace = 5 * time.Second
	w, beside, options := vanishingBeside(t, grace)
	names := w.many(2, 4)
	writes := w.cloud.writes.Load()
	var kept []*networkingv1.Ingress
	for _, name := range names {
		ing := w.ingress(name)
		ing.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: name, Annotations: ing.Annotations, Finalizers: ing.Finalizers}
		kept = append(kept, ing)
	}
	w.stop()
	w.force(names...)
	forceFar(beside)
	w.run(options)
	w.degraded(names[0], "Vanished")
	time.Sleep(grace)
	for i, ing := range kept { // one by one: the last is not let go of because all others are back
		w.create(ing)
		if i == len(kept)-2 {
			time.Sleep(2 * grace)
		}
	}
	w.degraded(names[0], v1alpha1.ReasonAsExpected)
	for _, name := range names {
		w.answers(name, "http://"+name+".example/", "web-1")
	}
	w.calm()
	if n := w.cloud.writes.Load() - writes; n > 0 {
		t.Errorf("%d writes to the cloud", n)
	}
}

// TestADeletionIsNoVanishing: it is carried out at once, however many there are, and also where the
// operator ends between its last write of the record and its last finalizer.
func TestADeletionIsNoVanishing(t *testing.T) {
	w := vanishing(t, time.Hour)
	names := w.many(3, 6)
	w.gate.shut.Store(new("/ingresses/")) // no finalizer can be taken
	for _, name := range names {
		if err := w.Delete(t.Context(), w.ingress(name)); err != nil {
			t.Fatal(err)
		}
	}
	w.gone()
	w.stop()
	for _, name := range names {
		if len(w.ingress(name).Finalizers) == 0 {
			t.Errorf("%s has no finalizer", name)
		}
	}
	w.force(names[0], names[8]) // as if the operator had got so far, and no further
	w.gate.shut.Store(nil)
	w.run(graced(time.Hour))
	for _, name := range names {
		w.eventually(func() error {
			err := w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &networkingv1.Ingress{})
			return noError(apierrors.IsNotFound(err), "%s is still there: %v", name, err)
		})
	}
	w.gone()
	w.eventually(func() error {
		var list v1alpha1.LoadBalancerList
		if err := w.List(t.Context(), &list, client.MatchingLabels{"fairlead.dev/scope": w.namespace}); err != nil {
			return err
		}
		return noError(len(list.Items) == 0, "%d records are left", len(list.Items))
	})
}

// TestManyOfOneNamespaceThatVanishGo: a namespace whose finalizers are removed by force keeps no
// load balancer longer than the grace.
func TestManyOfOneNamespaceThatVanishGo(t *testing.T) {
	const grace = 2 * time.Second
	w := vanishing(t, grace)
	w.force(w.many(5, 3)...)
	w.gone()
}
