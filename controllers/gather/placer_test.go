package gather_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/controllertest"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/settings"
)

var seed = flag.Uint64("seed", 0, "the `seed` of random clusters; 0 draws one")

// A countingCache counts the objects that are read, and lets something happen before each read. An
// object that is created again has another version than before, as on an API server: the client in
// memory begins with 1 each time.
type countingCache struct {
	client.Reader
	objects int
	before  func()
}

func (c *countingCache) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	c.before()
	c.objects++
	err := c.Reader.Get(ctx, key, into, opts...)
	into.SetResourceVersion(string(into.GetUID()) + "." + into.GetResourceVersion())
	return err
}

func (c *countingCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.before()
	err := c.Reader.List(ctx, list, opts...)
	c.objects += meta.LenList(list)
	return err
}

// A fixture is a cluster with classes, namespaces and Ingresses, and a Placer of these.
type fixture struct {
	*testing.T
	client client.Client
	cache  *countingCache
	*gather.Placer
	created int
	placed  map[string]gather.Placement
}

func newFixture(t *testing.T, options ingress.ClassOptions) *fixture {
	c := controllertest.NewClient(t)
	g := controllertest.NewGatherer(c)
	w := &fixture{T: t, client: c, cache: &countingCache{Reader: c, before: func() {}}, placed: map[string]gather.Placement{}}
	g.Cache, g.Options = w.cache, options
	w.Placer = gather.NewPlacer(g)
	return w
}

func (w *fixture) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// put creates or replaces an object.
func (w *fixture) put(o client.Object) {
	w.Helper()
	before := o.DeepCopyObject().(client.Object)
	if w.client.Get(w.Context(), client.ObjectKeyFromObject(o), before) != nil {
		w.created++
		o.SetUID(types.UID(fmt.Sprint(w.created)))
		w.must(w.client.Create(w.Context(), o))
		return
	}
	o.SetUID(before.GetUID())
	o.SetResourceVersion(before.GetResourceVersion())
	w.must(w.client.Update(w.Context(), o))
}

func class(name, parameters string) *networkingv1.IngressClass {
	c := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if c.Spec.Controller = ingress.ControllerName; parameters != "" {
		group := v1alpha1.Group
		c.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: &group, Kind: v1alpha1.KindClusterLoadBalancerClass, Name: parameters}
	}
	return c
}

// parameters let namespaces with a label join the group shared.
func parameters(name, scheme, label string) *v1alpha1.ClusterLoadBalancerClass {
	p := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Scheme = scheme
	p.Spec.Groups = []v1alpha1.SharedGroup{{Name: "shared", NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"team": label}}}}
	return p
}

func namespace(name, team string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
}

// anIngress names a class by the field, or by the annotation where the name begins with "@".
func anIngress(namespace, name, class, group string) *networkingv1.Ingress {
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{}}}
	ing.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}
	switch {
	case class != "" && class[0] == '@':
		ing.Annotations[settings.IngressClass] = class[1:]
	case class != "":
		ing.Spec.IngressClassName = &class
	}
	if group != "" {
		ing.Annotations[settings.Group] = group
	}
	return ing
}

// place places an Ingress as the reconciler does at an event.
func (w *fixture) place(ing *networkingv1.Ingress) {
	w.Helper()
	out, err := w.PlaceOf(w.Context(), ing)
	w.must(err)
	w.placed[ing.Namespace+"/"+ing.Name] = out
	w.Directory.Place(cluster.RefOf(cluster.KindIngress, ing), out.Keys)
}

// affected returns the Ingresses that are to be placed because of a change of an object.
func (w *fixture) affected(o client.Object) (found []*networkingv1.Ingress) {
	w.Helper()
	var err error
	switch o := o.(type) {
	case *networkingv1.IngressClass:
		found, err = w.Affected(w.Context(), cluster.RefOf(cluster.KindIngressClass, o), []string{o.Name})
	case *v1alpha1.ClusterLoadBalancerClass:
		ref := cluster.RefOf(v1alpha1.KindClusterLoadBalancerClass, o)
		classes, failed := w.ClassesOf(w.Context(), ref)
		w.must(failed)
		found, err = w.Affected(w.Context(), ref, classes)
	case *corev1.Namespace:
		found, err = w.AffectedIn(w.Context(), o)
	case *networkingv1.Ingress:
		found = []*networkingv1.Ingress{o}
	}
	w.must(err)
	return found
}

// changed places the Ingresses again that a change of an object concerns.
func (w *fixture) changed(o client.Object) {
	w.Helper()
	for _, ing := range w.affected(o) {
		w.place(ing)
	}
}

// TestAnEventLooksAtItsOwn counts the objects that an event reads in a cluster of 50 classes,
// and of 1,000 Ingresses in 20 namespaces.
func TestAnEventLooksAtItsOwn(t *testing.T) {
	w := newFixture(t, ingress.ClassOptions{})
	var first []client.Object
	for i := range 50 {
		first = append(first, parameters(fmt.Sprint("p", i), "internal", "a"), class(fmt.Sprint("c", i), fmt.Sprint("p", i)))
	}
	for i := range 20 {
		first = append(first, namespace(fmt.Sprint("n", i), "a"))
	}
	var last *networkingv1.Ingress
	for i := range 1000 {
		last = anIngress(fmt.Sprint("n", i%20), fmt.Sprint("i", i), fmt.Sprint("c", i%50), "shared")
		first = append(first, last)
	}
	for _, o := range first {
		w.put(o)
	}
	reads := func(o client.Object, most int) {
		t.Helper()
		w.cache.objects = 0
		w.changed(o)
		t.Logf("%T %s: %d objects", o, o.GetName(), w.cache.objects)
		if w.cache.objects > most {
			t.Errorf("the event of %T %s reads %d objects, want at most %d", o, o.GetName(), w.cache.objects, most)
		}
	}
	const placing = 6 // its class, that class's parameters and its namespace, and each again
	sum := 0
	for _, o := range first {
		w.cache.objects = 0
		w.changed(o)
		sum += w.cache.objects
	}
	t.Logf("the first list: %d objects", sum)
	// An object that comes before the Ingresses is read once or twice.
	if most := placing*1000 + 3*len(first); sum > most {
		t.Errorf("the events of the first list read %d objects, want at most %d", sum, most)
	}
	// The first lists may come in any order.
	reads(first[1], 1)
	reads(first[0], 3)
	reads(first[100], 1)
	reads(last, placing)

	// A class has 20 Ingresses, and so has a class by its parameters. A namespace has 50.
	first[1].SetAnnotations(map[string]string{v1alpha1.PausedAnnotation: "true"})
	w.put(first[1])
	reads(first[1], 2+20+20*placing)
	changed := parameters("p7", "internet-facing", "a")
	w.put(changed)
	reads(changed, 4+20+20*placing)
	other := namespace("n3", "b")
	w.put(other)
	reads(other, 2+50+50*placing)
	for _, o := range []client.Object{first[1], changed, other} {
		reads(o, 3) // again, with nothing changed
	}
	none := class("none", "")
	w.put(none)
	reads(none, 2)
}

// TestAClassConcernsTheIngressesOfItsLoadBalancers has Ingresses that name the class in one of three
// ways, or did so before. The class is created after the Ingresses were placed.
func TestAClassConcernsTheIngressesOfItsLoadBalancers(t *testing.T) {
	w := newFixture(t, ingress.ClassOptions{WithoutClass: "c0"})
	w.put(class("c1", ""))
	moved := anIngress("n0", "moved", "c1", "")
	for _, ing := range []*networkingv1.Ingress{
		anIngress("n0", "field", "c0", ""), anIngress("n0", "annotation", "@c0", ""), anIngress("n0", "none", "", ""),
		moved, anIngress("n0", "other", "c1", ""),
	} {
		w.put(ing)
		w.place(ing)
	}
	w.Directory.Place(cluster.RefOf(cluster.KindIngress, moved), []lb.Key{"c0/n0/moved/internal"})
	changed := class("c0", "") // it did not exist
	w.put(changed)
	var got []string
	for _, ing := range w.affected(changed) {
		got = append(got, ing.Name)
	}
	if want := []string{"annotation", "field", "moved", "none"}; !slices.Equal(got, want) {
		t.Errorf("a change of the class concerns %v, want %v", got, want)
	}
}

// An object that is as it was concerns no Ingress. One that has changed concerns each of its own, and
// each of these is read once.
func TestAnObjectThatHasNotChanged(t *testing.T) {
	w := newFixture(t, ingress.ClassOptions{})
	changed, in := class("c0", ""), namespace("n0", "a")
	ing := anIngress("n0", "web", "c0", "")
	for _, o := range []client.Object{changed, in, ing} {
		w.put(o)
	}
	w.place(ing)
	for _, o := range []client.Object{changed, in} {
		if found := w.affected(o); len(found) > 0 {
			t.Errorf("%T has not changed, and concerns %d Ingresses", o, len(found))
		}
		o.SetAnnotations(map[string]string{"changed": "true"})
		w.put(o)
		w.cache.objects = 0
		if found := w.affected(o); len(found) != 1 || w.cache.objects != 2 {
			t.Errorf("%T has changed, and concerns %d Ingresses; %d objects are read", o, len(found), w.cache.objects)
		}
	}
}

// TestAChangeWhileAnIngressIsPlaced changes the class before each of the reads of a placement, and
// delivers the event at once. Either the event finds the Ingress, which is then placed once more, as
// the queue does after the placement under way; or no version was noted yet that the change makes
// outdated, and the placement has to find the change.
func TestAChangeWhileAnIngressIsPlaced(t *testing.T) {
	for changeBefore := 1; ; changeBefore++ {
		w := newFixture(t, ingress.ClassOptions{})
		w.put(parameters("p0", "internal", "a"))
		w.put(class("c0", "p0"))
		ing := anIngress("n0", "web", "c0", "")
		w.put(ing)
		reads := 0
		var again []*networkingv1.Ingress
		w.cache.before = func() {
			if reads++; reads == changeBefore {
				foreign := class("c0", "")
				foreign.Spec.Controller = "example.com/other"
				w.put(foreign)
				again = w.affected(foreign)
			}
		}
		w.place(ing)
		w.cache.before = func() {}
		if reads < changeBefore {
			return
		}
		t.Logf("the class changes before read %d, and its event finds %d Ingresses", changeBefore, len(again))
		for _, found := range again {
			w.place(found)
		}
		w.compare()
	}
}

// TestRandomEventsLeaveNoIngressBehind changes random objects, delivers each event at some later
// time, and in the middle of other events, and compares the placements with those of a Placer that
// has seen nothing.
func TestRandomEventsLeaveNoIngressBehind(t *testing.T) {
	from := *seed
	if from == 0 {
		from = rand.Uint64()
	}
	t.Logf("-seed %d", from)
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	for round := range rounds {
		randomEvents(t, rand.New(rand.NewPCG(from, uint64(round))))
	}
}

func randomEvents(t *testing.T, r *rand.Rand) {
	options := ingress.ClassOptions{}
	if r.IntN(2) == 0 {
		options.WithoutClass = "c0"
	}
	w := newFixture(t, options)
	one := func(prefix string, n int) string { return fmt.Sprint(prefix, r.IntN(n)) }
	team := func() string { return one("team", 2) }
	change := func() client.Object {
		switch r.IntN(5) {
		case 0:
			return class(one("c", 3), []string{"", "p0", "p1"}[r.IntN(3)])
		case 1:
			return parameters(one("p", 2), []string{"internal", "internet-facing"}[r.IntN(2)], team())
		case 2:
			return namespace(one("n", 2), team())
		}
		return anIngress(one("n", 2), one("i", 6), []string{"", "c0", "c1", "@c2", "@c1", "missing"}[r.IntN(6)], []string{"", "shared"}[r.IntN(2)])
	}
	var pending []client.Object
	alter := func() {
		o := change()
		if r.IntN(4) == 0 {
			if err := w.client.Delete(t.Context(), o); err != nil {
				return // there is none
			}
			if ing, is := o.(*networkingv1.Ingress); is {
				delete(w.placed, ing.Namespace+"/"+ing.Name)
				return
			}
		} else {
			w.put(o)
		}
		pending = append(pending, o)
	}
	// Events of classes and namespaces enqueue Ingresses, which are placed one at a time.
	queued := map[client.ObjectKey]bool{}
	deliver := func() {
		if len(pending) == 0 {
			return
		}
		at := r.IntN(len(pending))
		o := pending[at]
		pending = slices.Delete(pending, at, at+1)
		for _, ing := range w.affected(o) {
			queued[client.ObjectKeyFromObject(ing)] = true
		}
	}
	work := func() {
		if len(queued) == 0 {
			return
		}
		key := slices.Collect(maps.Keys(queued))[0]
		for other := range queued { // the first by name, so that a seed repeats
			if other.String() < key.String() {
				key = other
			}
		}
		delete(queued, key)
		ing := &networkingv1.Ingress{}
		if w.client.Get(t.Context(), key, ing) == nil {
			w.place(ing)
		}
	}
	deep := 0
	w.cache.before = func() { // between two reads, others change objects, and events come
		if deep > 2 || r.IntN(6) > 0 {
			return
		}
		deep++
		defer func() { deep-- }()
		alter()
		if r.IntN(2) == 0 {
			deliver()
		}
	}
	for range 80 {
		[]func(){alter, deliver, work}[r.IntN(3)]()
	}
	w.cache.before = func() {}
	for len(pending)+len(queued) > 0 {
		deliver()
		work()
	}
	w.compare()
}

// compare compares what the events led to with placing each Ingress now.
func (w *fixture) compare() {
	w.Helper()
	var list networkingv1.IngressList
	w.must(w.client.List(w.Context(), &list))
	for i := range list.Items {
		ing := &list.Items[i]
		want, err := w.Gatherer.PlaceOf(w.Context(), ing)
		w.must(err)
		if got := w.placed[ing.Namespace+"/"+ing.Name]; fmt.Sprint(got) != fmt.Sprint(want) {
			w.Errorf("%s/%s has %v, want %v", ing.Namespace, ing.Name, got, want)
		}
	}
}
