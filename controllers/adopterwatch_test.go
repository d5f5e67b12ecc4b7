package controllers_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/controllers"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/controllertest"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
)

// informed are informers without an API server: tests call the handlers.
type informed struct {
	cache.Informers
	mu sync.Mutex
	of map[string][]toolscache.ResourceEventHandler // by kind
}

func (i *informed) GetInformer(_ context.Context, kind client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return &informerOf{informed: i, kind: kindOf(kind)}, nil
}

func kindOf(o client.Object) string {
	switch o.(type) {
	case *networkingv1.Ingress:
		return "Ingress"
	case *networkingv1.IngressClass:
		return "IngressClass"
	case *alb.TargetGroupBinding:
		return "TargetGroupBinding"
	}
	return ""
}

func (i *informed) has(kind string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.of[kind]) > 0
}

// tell has the handlers of a kind told of an object, which is new if there is none before.
func (i *informed) tell(before, after client.Object) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, h := range i.of[kindOf(after)] {
		if before == nil {
			h.OnAdd(after, false)
		} else {
			h.OnUpdate(before, after)
		}
	}
}

type informerOf struct {
	cache.Informer
	*informed
	kind string
}

func (i *informerOf) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.of[i.kind] = append(i.of[i.kind], h)
	return nil, nil
}

func (i *informerOf) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.of, i.kind)
	return nil
}

// TestTakeoversAreLookedAtAfterChanges: within seconds, also in a cluster that gets TargetGroupBindings later.
func TestTakeoversAreLookedAtAfterChanges(t *testing.T) {
	var passes atomic.Int32
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(cluster.NewScheme()).Build(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, more ...client.ListOption) error {
			if _, classes := list.(*networkingv1.IngressClassList); classes {
				passes.Add(1)
			}
			return c.List(ctx, list, more...)
		},
	})
	i := &informed{of: map[string][]toolscache.ResourceEventHandler{}}
	mapper := meta.NewDefaultRESTMapper(nil)
	optional, err := cluster.NewOptional(t.Context(), mapper, i, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	a := &controllers.Adopter{Gatherer: controllertest.NewGatherer(c), Kube: c, Informers: i}
	a.Optional = optional
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Start(ctx) }()
	until := func(what string, so func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !so(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("not within a minute: %s", what)
			}
		}
	}
	held := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"group.ingress.k8s.aws/all"}}}
	ours := &alb.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"ingress.k8s.aws/stack": "all"}}}
	until("it looks at once", func() bool { return passes.Load() == 1 && i.has("Ingress") && i.has("IngressClass") })
	if i.has("TargetGroupBinding") {
		t.Error("it watches a kind that the cluster does not have")
	}
	mapper.Add(alb.ParamsVersion.WithKind(alb.BindingKind), meta.RESTScopeNamespace)
	mapper.Add(alb.ParamsVersion.WithKind(alb.ParamsKind), meta.RESTScopeRoot)
	if err := optional.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	until("it watches a kind that the cluster got", func() bool { return i.has("TargetGroupBinding") })
	for n, tell := range []func(){
		func() { i.tell(nil, ours) },
		func() { i.tell(&networkingv1.Ingress{}, held) },
		func() { i.tell(&networkingv1.IngressClass{}, &networkingv1.IngressClass{}) },
	} {
		tell()
		until("it looks after a change", func() bool { return passes.Load() == int32(n+2) })
	}
	i.tell(nil, &alb.TargetGroupBinding{})
	i.tell(ours, ours)
	i.tell(held, held)
	i.tell(held, &networkingv1.Ingress{})
	time.Sleep(1500 * time.Millisecond)
	if n := passes.Load(); n != 4 {
		t.Errorf("it has looked %d times after changes that do not matter", n-4)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	until("nothing is watched in the end", func() bool { return !i.has("Ingress") && !i.has("TargetGroupBinding") })
}
