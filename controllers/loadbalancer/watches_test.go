package loadbalancer

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/controllertest"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/settings"
)

// This file tests which changes have which load balancers reconciled.

// A watching reconciler is one that only hears of changes.
type watching struct {
	*testing.T
	client.Client
	*Reconciler
	from *informertest.FakeInformers
	q    queue.Queue[lb.Key]
}

func newWatching(t *testing.T, readOnly bool, mode cluster.SecretsMode, objects ...client.Object) *watching {
	t.Helper()
	c := controllertest.NewClient(t, objects...)
	g := controllertest.NewGatherer(c)
	g.Secrets = cluster.NewSecretReader(mode, c, c)
	g.Records = records.NewCache(records.NewStore(c, c, ""), readOnly)
	kinds := cluster.NewScheme()
	kinds.AddKnownTypes(schema.GroupVersion{Group: "meta.k8s.io", Version: "v1"}, &metav1.PartialObjectMetadata{})
	w := &watching{T: t, Client: c, from: &informertest.FakeInformers{Scheme: kinds}}
	w.q = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[lb.Key]())
	w.Reconciler = New(Parts{Gatherer: g, Ingresses: ingresses.NewWriter(c), ReadOnly: true, Unassigned: make(chan event.TypedGenericEvent[types.NamespacedName], 1)})
	w.ReadOnly = readOnly
	t.Cleanup(w.q.ShutDown)
	return w
}

// start starts the watches.
func (w *watching) start() {
	w.Helper()
	for _, s := range w.Sources(w.from) {
		if err := s.Start(w.Context(), w.q); err != nil {
			w.Fatal(err)
		}
		synctest.Wait() // the informers have no lock
	}
}

// enqueued are the keys that wait.
func (w *watching) enqueued() (keys []lb.Key) {
	for synctest.Wait(); w.q.Len() > 0; {
		key, _ := w.q.Get()
		w.q.Done(key)
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// changes changes an object in a way that matters, tells its watch and returns the keys that wait.
func (w *watching) changes(o client.Object, of client.Object) []lb.Key {
	w.Helper()
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		w.Fatal(err)
	}
	before := o.DeepCopyObject().(client.Object)
	o.SetLabels(map[string]string{"changed": time.Now().String()})
	o.SetAnnotations(map[string]string{"changed": "true"})
	o.SetGeneration(o.GetGeneration() + 1)
	if s, is := o.(*corev1.Service); is {
		s.Spec.Ports = []corev1.ServicePort{{Port: 81}}
	}
	if err := w.Update(w.Context(), o); err != nil {
		w.Fatal(err)
	}
	informer, err := w.from.FakeInformerFor(w.Context(), of)
	if err != nil {
		w.Fatal(err)
	}
	if _, metadata := of.(*metav1.PartialObjectMetadata); metadata {
		short := func(o client.Object) client.Object {
			return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), ResourceVersion: o.GetResourceVersion()}}
		}
		informer.Update(short(before), short(o))
	} else {
		informer.Update(before, o)
	}
	return w.enqueued()
}

// A change of an object has the load balancers reconciled that depend on it, and counts from then
// on. At the start, those are reconciled that are remembered.
func TestWhatALoadBalancerIsReconciledFor(t *testing.T) {
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }
	for name, c := range map[string]struct {
		o, of    client.Object // of is the kind that is watched
		none     cluster.SecretsMode
		readOnly bool
		want     []lb.Key
	}{
		"the Ingress":                     {o: ask("a.example"), want: []lb.Key{benchKey}},
		"the class":                       {o: &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}}, want: []lb.Key{"fairlead/shop/gone/internal", benchKey}},
		"another class":                   {o: &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "edge"}}},
		"parameters of another class":     {o: &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "edge"}}},
		"the namespace":                   {o: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, want: []lb.Key{benchKey}},
		"its Service":                     {o: &corev1.Service{ObjectMeta: in("web")}, want: []lb.Key{benchKey}},
		"another Service":                 {o: &corev1.Service{ObjectMeta: in("other")}},
		"its Backend":                     {o: &v1alpha1.Backend{ObjectMeta: in("split")}, want: []lb.Key{benchKey}},
		"its Secret":                      {o: &corev1.Secret{ObjectMeta: in("tls")}, of: cluster.SecretMetadata(), want: []lb.Key{benchKey}},
		"its Secret, where none are read": {o: &corev1.Secret{ObjectMeta: in("tls")}, of: cluster.SecretMetadata(), none: cluster.SecretsNone},
		"its report":                      {o: &v1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Name(string(benchKey), "")}}, of: records.Metadata(), want: []lb.Key{benchKey}},
		"a report of others":              {o: &v1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Name: "of-others"}}, of: records.Metadata()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				edge := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "edge"}}
				edge.Spec.Controller = ingress.ControllerName
				edge.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "edge"}
				w := newWatching(t, c.readOnly, c.none, ask("a.example"), edge, &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "edge"}}, &v1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Name: "of-others"}},
					&corev1.Service{ObjectMeta: in("web")}, &corev1.Service{ObjectMeta: in("other")}, &v1alpha1.Backend{ObjectMeta: in("split")}, &corev1.Secret{ObjectMeta: in("tls")})
				w.remember(benchKey, "fairlead/shop/gone/internal", "other/shop/gone/internal", "fairlead/shop/has/internal")
				w.Directory.SetReferences(benchKey, []cluster.Ref{
					cluster.RefTo(cluster.KindService, "shop", "web"), cluster.RefTo(cluster.KindBackend, "shop", "split"), cluster.RefTo(cluster.KindSecret, "shop", "tls"),
				})
				w.Directory.Place(cluster.RefTo(cluster.KindIngress, "shop", "missing"), []lb.Key{"fairlead/shop/has/internal"})
				w.start()
				if got := w.enqueued(); len(got) != 4 {
					t.Errorf("at the start, %q are reconciled", got)
				}
				w.onIngress(t.Context(), ask("a.example"))
				if c.of == nil {
					c.of = c.o
				}
				if got := w.changes(c.o, c.of); !slices.Equal(got, c.want) {
					t.Errorf("it has %q reconciled, want %q", got, c.want)
				}
				time.Sleep(time.Second)
				if counts := w.OldestChange() == time.Second; counts != (c.want != nil) {
					t.Errorf("the change is %s old", w.OldestChange())
				}
			})
		})
	}
}

// remember writes records of load balancers, and reads them.
func (w *watching) remember(keys ...lb.Key) {
	w.Helper()
	for _, key := range keys {
		if err := records.NewStore(w, w, "").Save(w.Context(), key, records.Record{Address: "there"}); err != nil {
			w.Fatal(err)
		}
	}
	if err := w.Records.Ready(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// Parameters of both kinds concern the load balancers of their class. An Ingress that names two
// classes is reconciled for the one that counts, or where it joins another load balancer.
func TestWhatAClassConcerns(t *testing.T) {
	class := func(name, kind, namespace string) *networkingv1.IngressClass {
		c := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
		c.Spec.Controller = ingress.ControllerName
		if c.Spec.Parameters = (&networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: kind, Name: "p"}); namespace != "" {
			c.Spec.Parameters.Namespace, c.Spec.Parameters.Scope = &namespace, new(networkingv1.IngressClassParametersReferenceScopeNamespace)
		}
		return c
	}
	ingress := func(name, field, annotation string) *networkingv1.Ingress {
		ing := ask(name + ".example")
		ing.Name, ing.Spec.IngressClassName = name, &field
		ing.Annotations = map[string]string{settings.Group: "all"}
		if annotation != "" {
			ing.Annotations[settings.IngressClass] = annotation
		}
		return ing
	}
	wide := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	narrow := &v1alpha1.LoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "p"}}
	shared := []*networkingv1.Ingress{ingress("a", "wide", ""), ingress("b", "wide", ""), ingress("c", "narrow", ""), ingress("d", "wide", "narrow")}
	const wideKey, narrowKey = lb.Key("wide/shop/@all/internal"), lb.Key("narrow/shop/@all/internal")
	for name, k := range map[string]struct {
		o      client.Object
		joined bool // d is not known to have its load balancer
		want   []lb.Key
	}{
		"parameters":               {o: wide, want: []lb.Key{wideKey}},
		"parameters, and it joins": {o: wide, joined: true, want: []lb.Key{narrowKey, wideKey}},
		"namespaced parameters":    {o: narrow, want: []lb.Key{narrowKey}},
		"the namespace":            {o: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, want: []lb.Key{narrowKey, wideKey}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objects := []client.Object{class("wide", v1alpha1.KindClusterLoadBalancerClass, ""), class("narrow", v1alpha1.KindLoadBalancerClass, "infra"), wide.DeepCopy(), narrow.DeepCopy()}
				for _, ing := range shared {
					objects = append(objects, ing.DeepCopy())
				}
				w := newWatching(t, false, "", objects...)
				w.start()
				for _, ing := range shared {
					if _, err := w.placer.PlaceOf(t.Context(), ing); err != nil {
						t.Fatal(err)
					}
					if !k.joined || ing.Name != "d" && ing.Name != "c" {
						w.onIngress(t.Context(), ing)
					}
				}
				if got := w.changes(k.o, k.o); !slices.Equal(got, k.want) {
					t.Errorf("it concerns %q, want %q", got, k.want)
				}
			})
		})
	}
}

// An operator that only plans goes by what the other one remembers, in its own scope.
func TestWhatAnotherOperatorRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatching(t, true, "")
		w.remember()
		report := &v1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Name(string(benchKey), ""), Labels: map[string]string{records.ScopeLabel: ""}}, Spec: v1alpha1.LoadBalancerSpec{Key: string(benchKey)}}
		if err := w.Create(t.Context(), report); err != nil {
			t.Fatal(err)
		}
		report.Status.Memory.Members = []v1alpha1.MemberMemory{{Ingress: "shop/web"}, {Ingress: "shop/api"}}
		if err := w.Status().Update(t.Context(), report); err != nil {
			t.Fatal(err)
		}
		other, planned, noRecord := report.DeepCopy(), report.DeepCopy(), report.DeepCopy()
		noRecord.Labels = map[string]string{v1alpha1.BindingRecord: ""} // of a TargetGroupBinding
		other.Labels = map[string]string{records.ScopeLabel: "another"}
		planned.Labels[v1alpha1.Group+"/read-only"] = "true"
		for i, c := range []struct {
			o    *v1alpha1.LoadBalancer
			want int
		}{{other, 0}, {planned, 0}, {noRecord, 0}, {report, 1}, {report, 0}} {
			if got := w.onWorker(t.Context(), c.o); len(got) != c.want {
				t.Errorf("record %d has %q planned", i, got)
			}
		}
		if r := w.Records.Get(benchKey); records.MemberOf(&r, "shop/web") == nil || records.MemberOf(&r, "shop/api") == nil {
			t.Errorf("remembered is %v", r.Memory)
		}
		w.start()
		if err := w.Delete(t.Context(), report); err != nil {
			t.Fatal(err)
		}
		w.enqueued()
		informer, err := w.from.FakeInformerFor(t.Context(), report)
		if err != nil {
			t.Fatal(err)
		}
		if informer.Delete(report); !slices.Equal(w.enqueued(), []lb.Key{benchKey}) || len(w.Records.Get(benchKey).Memory.Members) > 0 {
			t.Errorf("after it is deleted, remembered is %v", w.Records.Get(benchKey).Memory)
		}
	})
}

// refusing is a keeper that cannot be read some times.
type refusing struct {
	records.Store
	times int
}

func (r *refusing) Load(context.Context) (map[lb.Key]records.Record, error) {
	if r.times--; r.times >= 0 {
		return nil, errors.New("refused")
	}
	return map[lb.Key]records.Record{benchKey: {}}, nil
}

// Records that cannot be read are read again, until the operator ends.
func TestRecordsAreReadUntilTheyCanBe(t *testing.T) {
	for times, want := range map[int]int{0: 1, 2: 1, 1000: 0} {
		synctest.Test(t, func(t *testing.T) {
			w := newWatching(t, false, "")
			w.Records = records.NewCache(&refusing{times: times}, false)
			ctx, end := context.WithCancel(t.Context())
			if err := w.enqueueRemembered(ctx, w.q); err != nil {
				t.Fatal(err)
			}
			time.Sleep(4 * queue.FirstRetry)
			if got := w.enqueued(); len(got) != want {
				t.Errorf("after %d failures, %q are enqueued", times, got)
			}
			end()
			synctest.Wait()
		})
	}
}

// A change of an Ingress by another writer has it reconciled, if it is of what was written.
func TestAnIngressThatOthersChange(t *testing.T) {
	w := newWatching(t, false, "", published(false))
	written := published(false)
	if err := w.Ingresses.AddFinalizer(t.Context(), written); err != nil {
		t.Fatal(err)
	}
	if err := w.Ingresses.Publish(t.Context(), written, written.Status.LoadBalancer.Ingress); err != nil {
		t.Fatal(err)
	}
	emptied := written.DeepCopy()
	emptied.Status.LoadBalancer.Ingress = nil
	asks := written.DeepCopy()
	asks.Generation++
	for name, c := range map[string]struct {
		after *networkingv1.Ingress
		want  bool
	}{"nothing": {written, false}, "its status": {emptied, true}, "what it asks for": {asks, true}} {
		if got := w.changedIngress(written, c.after); got != c.want {
			t.Errorf("%s changes, and it is reconciled: %t", name, got)
		}
	}
}
