package controllers

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
)

// A classMaker creates an IngressClass whenever it is missing. It never changes an existing one:
// spec.controller is immutable, and the owner of the cluster sets the parameters and the default.
type classMaker struct {
	name   string
	cache  client.Reader
	writer client.Client
	// events is nil if the operator may not write to the namespace default, which has the events
	// about classes.
	events  events.EventRecorder
	records *records.Cache

	last *networkingv1.IngressClassSpec // of the class before it was deleted
}

// newManagedClass returns a reconciler that creates an IngressClass whenever it is missing, and the sources
// that trigger it. Without a recorder it sends no events.
func newManagedClass(name string, from cache.Cache, c client.Client, recorder events.EventRecorder,
	known *records.Cache) (reconcile.TypedReconciler[string], []source.TypedSource[string]) {
	maker := &classMaker{name: name, cache: c, writer: c, events: recorder, records: known}
	return maker, maker.sources(from)
}

// Reconcile creates the class, or logs that another controller has it.
func (c *classMaker) Reconcile(ctx context.Context, name string) (reconcile.Result, error) {
	there, err := cluster.Get[networkingv1.IngressClass](ctx, c.cache,
		cluster.RefTo("IngressClass", "", name))
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case there == nil:
		return reconcile.Result{}, c.create(ctx)
	case there.Spec.Controller == ingress.ControllerName:
		c.last = &there.Spec
		return reconcile.Result{}, nil
	}
	taken := fmt.Sprintf("it belongs to the controller %s, so it is left as it is, and "+
		"--manage-ingress-class has no effect", there.Spec.Controller)
	log.FromContext(ctx).Info("cannot manage the IngressClass", "problem", taken)
	if c.events != nil {
		c.events.Eventf(there, nil, corev1.EventTypeWarning, string(diag.ClassTaken), "Manage",
			"%s", taken)
	}
	return reconcile.Result{}, nil
}

// create creates the class with its last spec. It logs a problem if the parameters are lost.
func (c *classMaker) create(ctx context.Context) error {
	class := &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: c.name},
		Spec:       networkingv1.IngressClassSpec{Controller: ingress.ControllerName},
	}
	if c.last != nil {
		class.Spec = *c.last
	} else if lost, err := c.lostParameters(ctx); err != nil {
		return err
	} else if lost {
		log.FromContext(ctx).Info("cannot manage the IngressClass", "problem",
			"it is missing, and the parameters of its load balancers are lost; create it by hand")
		return nil
	}
	if err := c.writer.Create(ctx, class); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating IngressClass %s: %w", c.name, err)
	}
	return nil
}

// lostParameters reports whether a load balancer of the class has parameters. Without them it might
// be open to more clients than its owner allows.
func (c *classMaker) lostParameters(ctx context.Context) (bool, error) {
	if err := c.records.Ready(ctx); err != nil {
		return false, fmt.Errorf("reading the records: %w", err)
	}
	for _, key := range c.records.Keys() {
		spec := c.records.Get(key).Memory.Class
		if strings.HasPrefix(string(key), c.name+"/") && spec != nil &&
			!equality.Semantic.DeepEqual(*spec, v1alpha1.LoadBalancerClassSpec{}) {
			return true, nil
		}
	}
	return false, nil
}

// sources returns the watch of the class, and one request at the start, when it may be missing.
func (c *classMaker) sources(from cache.Cache) []source.TypedSource[string] {
	return []source.TypedSource[string]{
		queue.Watch(from, &networkingv1.IngressClass{}, queue.ChangedSpec,
			func(_ context.Context, class *networkingv1.IngressClass) []string {
				if class.Name != c.name {
					return nil
				}
				return []string{class.Name}
			}),
		source.TypedFunc[string](func(_ context.Context, q queue.Queue[string]) error {
			q.Add(c.name)
			return nil
		}),
	}
}
