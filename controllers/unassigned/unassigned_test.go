package unassigned

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/controllertest"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/settings"
)

var (
	web        = types.NamespacedName{Namespace: "shop", Name: "web"}
	errRefused = errors.New("refused")
)

// A trial is a Reconciler of a cluster in memory, of which some calls fail.
type trial struct {
	*testing.T
	client.WithWatch
	*Reconciler
	fails client.Object // of which no object is read or created
}

func newTrial(t *testing.T, objects ...client.Object) *trial {
	t.Helper()
	foreign := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}, Spec: networkingv1.IngressClassSpec{Controller: "example.com/other"}}
	c := &trial{T: t}
	c.WithWatch = interceptor.NewClient(controllertest.NewClient(t, append(objects, foreign)...), interceptor.Funcs{
		Get: func(ctx context.Context, from client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if c.refuses(o) {
				return errRefused
			}
			return from.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, from client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, classes := list.(*networkingv1.IngressClassList); classes && c.refuses(&networkingv1.IngressClass{}) {
				return errRefused
			}
			return from.List(ctx, list, opts...)
		},
		Create: func(ctx context.Context, to client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if c.refuses(o) {
				return errRefused
			}
			return to.Create(ctx, o, opts...)
		},
	})
	c.succeed()
	return c
}

func (c *trial) refuses(o client.Object) bool { return reflect.TypeOf(o) == reflect.TypeOf(c.fails) }

// succeed has another process take over.
func (c *trial) succeed() {
	c.Reconciler = &Reconciler{
		Placer: gather.NewPlacer(controllertest.NewGatherer(c.WithWatch)), Events: events.NewRecorder(c.WithWatch, c.WithWatch), Ingresses: ingresses.NewWriter(c.WithWatch),
		Queue: make(chan event.TypedGenericEvent[types.NamespacedName], 1),
	}
}

// told are the reasons of the events that were sent.
func (c *trial) told() (reasons []string) {
	c.Helper()
	var list eventsv1.EventList
	if err := c.List(c.Context(), &list); err != nil {
		c.Fatal(err)
	}
	for _, e := range list.Items {
		reasons = append(reasons, e.Reason)
	}
	slices.Sort(reasons)
	return reasons
}

// held reports whether the Ingress has the finalizer.
func (c *trial) held() bool {
	c.Helper()
	ing := &networkingv1.Ingress{}
	err := c.Get(c.Context(), web, ing)
	if client.IgnoreNotFound(err) != nil {
		c.Fatal(err)
	}
	return err == nil && slices.Contains(ing.Finalizers, v1alpha1.IngressFinalizer)
}

// asking is shop/web, which names a class and has the finalizer.
func asking(class string, change ...func(*networkingv1.Ingress)) *networkingv1.Ingress {
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name, Finalizers: []string{v1alpha1.IngressFinalizer}, Annotations: map[string]string{}}}
	ing.Spec.IngressClassName = &class
	ing.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}
	for _, c := range change {
		c(ing)
	}
	return ing
}

// An Ingress of no load balancer is told why, and loses the finalizer, unless the cloud may have
// something of it.
func TestAnIngressOfNoLoadBalancer(t *testing.T) {
	deleted := func(ing *networkingv1.Ingress) { ing.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time} }
	conflicting := func(ing *networkingv1.Ingress) { ing.Annotations[settings.IngressClass] = "foreign" }
	for name, c := range map[string]struct {
		ing  *networkingv1.Ingress
		on   []lb.Key // load balancers that depend on it
		held bool
		told []string
	}{
		"it is gone":                             {},
		"it has a load balancer":                 {ing: asking("fairlead"), held: true},
		"it is of another controller":            {ing: asking("foreign")},
		"likewise, and a load balancer has it":   {ing: asking("foreign"), on: []lb.Key{"fairlead/shop/web/internal"}, held: true},
		"likewise, with a warning":               {ing: asking("fairlead", conflicting), told: []string{string(diag.ClassConflict)}},
		"its class is missing":                   {ing: asking("missing"), held: true, told: []string{string(diag.ClassMissing)}},
		"its class is missing, it is deleted":    {ing: asking("missing", deleted), told: []string{string(diag.ClassMissing)}},
		"it has a load balancer, and is deleted": {ing: asking("fairlead", deleted), held: true},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			if c.ing != nil {
				objects = append(objects, c.ing)
			}
			r := newTrial(t, objects...)
			r.Directory.Place(cluster.RefTo(cluster.KindIngress, "shop", "web"), c.on)
			if _, err := r.Reconcile(t.Context(), web); err != nil {
				t.Fatal(err)
			}
			if got := r.told(); r.held() != c.held || !slices.Equal(got, c.told) {
				t.Errorf("it is held: %t, and told %q, want %q", r.held(), got, c.told)
			}
		})
	}
}

// An Ingress is told once what is wrong with it, by whichever process, and again if it comes back.
// It is told later where it cannot be told now.
func TestADiagnosticIsToldOnce(t *testing.T) {
	c := newTrial(t, asking("missing"))
	reconcile := func(failure error, events, diagnostics int) {
		t.Helper()
		_, err := c.Reconcile(t.Context(), web)
		if got := c.told(); !errors.Is(err, failure) || len(got) != events || len(c.Diagnostics()) != diagnostics || len(c.reported) != diagnostics {
			t.Errorf("it is told %q, want %d, and there are %v, error %v", got, events, c.Diagnostics(), err)
		}
	}
	c.fails = &eventsv1.Event{}
	reconcile(errRefused, 0, 0)
	c.fails = nil
	reconcile(nil, 1, 1)
	reconcile(nil, 1, 1)
	c.succeed()
	c.fails = &networkingv1.Ingress{}
	reconcile(errRefused, 1, 0)
	c.fails = &networkingv1.IngressClass{}
	reconcile(errRefused, 1, 0)
	c.fails = nil
	reconcile(nil, 1, 1)
	ing := asking("other")
	c.set(ing, "other")
	reconcile(nil, 2, 1)
	c.set(ing, "fairlead")
	reconcile(nil, 2, 0)
	c.set(ing, "third")
	reconcile(nil, 3, 1)
	if err := c.Delete(t.Context(), ing); err != nil {
		t.Fatal(err)
	}
	c.set(ing, "")
	reconcile(nil, 3, 0)
}

// set has the Ingress name another class, or lose its finalizer where that is "".
func (c *trial) set(ing *networkingv1.Ingress, class string) {
	c.Helper()
	if err := c.Get(c.Context(), web, ing); err != nil {
		c.Fatal(err)
	}
	if ing.Spec.IngressClassName = &class; class == "" {
		ing.Finalizers = nil
	}
	if err := c.Update(c.Context(), ing); err != nil {
		c.Fatal(err)
	}
}

// A change of an Ingress, of its class, of the parameters of that or of its namespace has it
// reconciled, and so has a load balancer that lets it go.
func TestWhatAnIngressIsReconciledFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		withParameters := func(name, kind, namespace string) *networkingv1.IngressClass {
			c := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.IngressClassSpec{Controller: ingress.ControllerName}}
			if c.Spec.Parameters = (&networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: kind, Name: "edge"}); namespace != "" {
				c.Spec.Parameters.Namespace = &namespace
			}
			return c
		}
		class := withParameters("edge", v1alpha1.KindClusterLoadBalancerClass, "")
		parameters := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "edge"}}
		inNamespace := &v1alpha1.LoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "edge"}}
		ing, other := asking("edge"), asking("namespaced")
		other.Name = "other"
		c := newTrial(t, class, withParameters("namespaced", v1alpha1.KindLoadBalancerClass, "infra"), parameters, inNamespace, ing, other)
		from := &informertest.FakeInformers{Scheme: cluster.NewScheme()}
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]())
		t.Cleanup(q.ShutDown)
		for _, s := range c.Sources(from) {
			if err := s.Start(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the informers have no lock
		}
		enqueued := func() (names []string) {
			for synctest.Wait(); q.Len() > 0; {
				name, _ := q.Get()
				q.Done(name)
				names = append(names, name.String())
			}
			slices.Sort(names)
			return names
		}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
		for _, k := range []struct {
			of   client.Object
			want []string
		}{
			{ing, []string{"shop/web"}}, {class, []string{"shop/web"}}, {parameters, []string{"shop/web"}}, {inNamespace, []string{"shop/other"}}, {namespace, []string{"shop/other", "shop/web"}},
		} {
			for _, i := range []*networkingv1.Ingress{ing, other} {
				if _, err := c.PlaceOf(t.Context(), i); err != nil { // under the versions that there are
					t.Fatal(err)
				}
			}
			informer, err := from.FakeInformerFor(t.Context(), k.of)
			if err != nil {
				t.Fatal(err)
			}
			before := k.of.DeepCopyObject().(client.Object)
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(k.of), before); err != nil {
				t.Fatal(err)
			}
			after := before.DeepCopyObject().(client.Object)
			after.SetLabels(map[string]string{"changed": "true"})
			after.SetAnnotations(map[string]string{"changed": "true"})
			after.SetGeneration(before.GetGeneration() + 1)
			if err := c.Update(t.Context(), after); err != nil {
				t.Fatal(err)
			}
			informer.Update(before, after)
			if got := enqueued(); !slices.Equal(got, k.want) {
				t.Errorf("a change of a %T enqueues %q, want %q", k.of, got, k.want)
			}
		}
		c.Queue <- event.TypedGenericEvent[types.NamespacedName]{Object: web}
		if got := enqueued(); !slices.Equal(got, []string{"shop/web"}) {
			t.Errorf("a load balancer enqueues %q", got)
		}
		c.fails = &networkingv1.IngressClass{}
		informer, err := from.FakeInformerFor(t.Context(), parameters)
		if err != nil {
			t.Fatal(err)
		}
		if informer.Add(parameters); len(enqueued()) > 0 {
			t.Error("where classes cannot be read, Ingresses are enqueued")
		}
	})
}

// The API server drops events after an hour. An Ingress that is refused has no other trace in the
// cluster, so there is always an event about it that is younger, also after another process takes
// over, and none once it is served.
func TestAnEventOfARefusedIngressLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t, asking("missing"))
		kept := func() int {
			c.Helper()
			var list eventsv1.EventList
			if err := c.List(t.Context(), &list); err != nil {
				t.Fatal(err)
			}
			there := 0
			for _, e := range list.Items {
				if there++; time.Since(e.EventTime.Time) >= time.Hour {
					if err := c.Delete(t.Context(), &e); err != nil {
						t.Fatal(err)
					}
					there--
				}
			}
			return there
		}
		next := time.Now()
		for minute := range 5 * 60 {
			if minute == 30 || minute == 130 {
				c.succeed()
				next = time.Now()
			}
			if !next.After(time.Now()) {
				result, err := c.Reconcile(t.Context(), web)
				if err != nil {
					t.Fatal(err)
				}
				if next = time.Now().Add(result.RequeueAfter); result.RequeueAfter <= 0 {
					next = time.Now().Add(24 * time.Hour)
				}
			}
			if n := kept(); n < 1 || n > 2 {
				t.Fatalf("after %d minutes there are %d events", minute, n)
			}
			time.Sleep(time.Minute)
		}
		class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "missing"}, Spec: networkingv1.IngressClassSpec{Controller: ingress.ControllerName}}
		if err := c.Create(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		result, err := c.Reconcile(t.Context(), web)
		if err != nil || result.RequeueAfter > 0 {
			t.Errorf("an Ingress that is not refused is looked at again after %s, %v", result.RequeueAfter, err)
		}
	})
}
