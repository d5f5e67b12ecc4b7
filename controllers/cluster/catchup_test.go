package cluster

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model/ingress/dialect/alb"
)

// TestATermBeginsOnceItsCachesHaveCaughtUp: loops begin when the cache holds at least the versions
// that the API server had when the term began.
func TestATermBeginsOnceItsCachesHaveCaughtUp(t *testing.T) {
	for name, c := range map[string]struct {
		cached  []string // [namespace/]name@version
		there   []string
		list    string   // the version of the list
		changes []string // name@version, without a version for one that is deleted: events of the watch, one a second
		want    int      // after how many of these the term begins; -1 for never
	}{
		"nothing is there":              {list: "9"},
		"all is cached":                 {cached: []string{"web@7"}, there: []string{"web@7"}, list: "9"},
		"the cache is ahead":            {cached: []string{"web@12", "new@13"}, there: []string{"web@7"}, list: "9"},
		"an older version is cached":    {cached: []string{"web@7"}, there: []string{"web@10"}, list: "10", changes: []string{"web@8", "web@10"}, want: 2},
		"versions compare by number":    {cached: []string{"web@99"}, there: []string{"web@100"}, list: "100", changes: []string{"web@100"}, want: 1},
		"one is missing":                {there: []string{"web@7"}, list: "9", changes: []string{"web@7"}, want: 1},
		"one is gone":                   {cached: []string{"web@7"}, list: "9", changes: []string{"web"}, want: 1},
		"one is gone and comes back":    {cached: []string{"web@7"}, list: "9", changes: []string{"web@11"}, want: 1},
		"one is missing, and goes":      {cached: []string{"web@5"}, there: []string{"web@7"}, list: "9", changes: []string{"web"}, want: 1},
		"another one does not count":    {cached: []string{"web@7"}, there: []string{"web@8", "api@9"}, list: "9", changes: []string{"api@9", "web@8"}, want: 2},
		"one of another namespace":      {cached: []string{"web@7", "other/web@7"}, there: []string{"web@7"}, list: "9"},
		"versions that do not compare":  {cached: []string{"web@a"}, there: []string{"web@b"}, list: "c"},
		"the watch does not come back":  {cached: []string{"web@7"}, there: []string{"web@8"}, list: "9", want: -1},
		"the API server does not allow": {list: "", want: -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from := newCachedIngresses(t, c.cached)
				log := &logText{}
				logger := funcr.New(func(_, args string) { log.add(args) }, funcr.Options{})
				caches := NewCatchUp(from, &listedIngresses{there: c.there, at: c.list}, "shop", clientgoscheme.Scheme, logger)
				if err := caches.Add(&networkingv1.Ingress{}); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				for range 2 { // of two loops, the second one asks nothing
					if err := (CaughtUp[string]{caches}).Start(ctx, nil); err != nil {
						t.Fatal(err)
					}
				}
				began := -1
				for i := 0; ; i++ {
					synctest.Wait()
					if isOver(caches.over) {
						began = i
						break
					}
					if i == len(c.changes) {
						break
					}
					from.change(c.changes[i])
				}
				if began != c.want {
					t.Errorf("the term begins after %d changes, want %d", began, c.want)
				}
				err := (CaughtUp[string]{caches}).WaitForSync(ctx)
				if late := strings.Contains(log.text(), "does not hold"); (err != nil) != (c.want < 0) || late != (c.want < 0) {
					t.Errorf("waiting ends with %v, and the log says %q", err, log.text())
				}
				cancel()
				synctest.Wait()
			})
		})
	}
}

// logText is what is logged.
type logText struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *logText) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.WriteString(line)
}

func (l *logText) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func isOver(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// versioned is an Ingress by name@version.
func versioned(of string) *networkingv1.Ingress {
	name, version, _ := strings.Cut(of, "@")
	namespace, name, found := strings.Cut(name, "/")
	if !found {
		namespace, name = "shop", namespace
	}
	return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: version}}
}

// cachedIngresses is a cache of Ingresses, and the events of its watch.
type cachedIngresses struct {
	cache.Informer
	mu       sync.Mutex
	store    map[string]*networkingv1.Ingress
	handlers map[*handled]toolscache.ResourceEventHandler
}

type handled struct {
	toolscache.ResourceEventHandlerRegistration
}

func (*handled) HasSynced() bool { return true }

func newCachedIngresses(t *testing.T, cached []string) *cachedIngresses {
	c := &cachedIngresses{store: map[string]*networkingv1.Ingress{}, handlers: map[*handled]toolscache.ResourceEventHandler{}}
	for _, of := range cached {
		ing := versioned(of)
		c.store[ing.Namespace+"/"+ing.Name] = ing
	}
	t.Cleanup(func() {
		if len(c.handlers) > 0 {
			t.Errorf("%d handlers of events are left", len(c.handlers))
		}
	})
	return c
}

func (c *cachedIngresses) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return c, nil
}

func (c *cachedIngresses) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ing := range c.store {
		h.OnAdd(ing, true)
	}
	r := &handled{}
	c.handlers[r] = h
	return r, nil
}

func (c *cachedIngresses) RemoveEventHandler(r toolscache.ResourceEventHandlerRegistration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.handlers, r.(*handled))
	return nil
}

// change has the watch tell a change.
func (c *cachedIngresses) change(of string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ing := versioned(of)
	name := ing.Namespace + "/" + ing.Name
	before := c.store[name]
	c.store[name] = ing
	for _, h := range c.handlers {
		switch {
		case ing.ResourceVersion == "":
			h.OnDelete(toolscache.DeletedFinalStateUnknown{Key: name, Obj: before})
		case before == nil:
			h.OnAdd(ing, false)
		default:
			h.OnUpdate(before, ing)
		}
	}
}

// listedIngresses is an API server that lists Ingresses, one a page; one without a version refuses.
type listedIngresses struct {
	client.Reader
	there []string
	at    string
}

func (l *listedIngresses) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	if l.at == "" {
		return apierrors.NewForbidden(networkingv1.Resource("ingresses"), "", nil)
	}
	var o client.ListOptions
	o.ApplyOptions(opts)
	page, at := into.(*metav1.PartialObjectMetadataList), 0
	if kind := page.GroupVersionKind().Kind; kind != KindIngress {
		return fmt.Errorf("the kind is %q", kind)
	}
	if o.Continue != "" {
		if _, err := fmt.Sscan(o.Continue, &at); err != nil {
			return err
		}
	}
	page.ResourceVersion = l.at
	if at < len(l.there) {
		page.Items = []metav1.PartialObjectMetadata{{ObjectMeta: versioned(l.there[at]).ObjectMeta}}
	}
	if at+1 < len(l.there) {
		page.Continue = fmt.Sprint(at + 1)
	}
	return nil
}

// Of a namespace in the scope there is the namespace itself, and the objects in it. What has no
// namespace is in every scope.
func TestWhatIsInTheScope(t *testing.T) {
	namespace := func(name string) client.Object { return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	for name, c := range map[string]struct {
		object client.Object
		scope  string
		want   bool
	}{
		"a namespace, of all":             {namespace("shop"), "", true},
		"the namespace of the scope":      {namespace("shop"), "shop", true},
		"another namespace":               {namespace("blog"), "shop", false},
		"an Ingress, of all":              {versioned("shop/web@1"), "", true},
		"an Ingress of the scope":         {versioned("shop/web@1"), "shop", true},
		"an Ingress of another namespace": {versioned("blog/web@1"), "shop", false},
		"a class, which has no namespace": {&networkingv1.IngressClass{}, "shop", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&CatchUp{scope: c.scope}).inScope(c.object); got != c.want {
				t.Errorf("it is in the scope: %t, want %t", got, c.want)
			}
		})
	}
	l := &lag{covers: func(client.Object) bool { return true }, changed: make(chan struct{}, 1)}
	if l.OnAdd("no object", false); len(l.changed) > 0 {
		t.Error("what is no object is a change")
	}
}

// A cache that is not behind for long is not told.
func TestACacheThatCatchesUpIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &logText{}
		over := logIfLate(funcr.New(func(_, args string) { log.add(args) }, funcr.Options{}), "Ingress")
		time.Sleep(toleratedLag - time.Second)
		over()
		time.Sleep(2 * time.Second)
		if synctest.Wait(); log.text() != "" {
			t.Errorf("the log says %q", log.text())
		}
	})
}

// A kind that the cluster does not have, or has no more, does not delay a term.
func TestAKindThatTheClusterLacksDelaysNoTerm(t *testing.T) {
	for name, c := range map[string]struct {
		informers
		server client.Reader
	}{
		"it never had it":  {&filledCaches{err: &meta.NoKindMatchError{}}, nil},
		"it had it before": {newCachedIngresses(t, nil), lacking{err: apierrors.NewNotFound(schema.GroupResource{}, "")}},
	} {
		caches := NewCatchUp(c.informers, c.server, "", NewScheme(), logr.Discard())
		if err := caches.Add(&alb.IngressClassParams{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := CaughtUp[string]{caches}
		if err := begin.Start(ctx, nil); err != nil {
			t.Fatal(err)
		}
		if err := begin.WaitForSync(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
