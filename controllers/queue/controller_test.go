package queue

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/fairlead/controllers/cluster"
)

// This file runs controllers of a manager, with caches that a test fills.

// empty is an API server that has no objects.
type empty struct{ client.Reader }

func (empty) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// newManager returns a manager that has caches and no API server.
func newManager(t *testing.T, from cache.Cache) manager.Manager {
	t.Helper()
	m, err := manager.New(&rest.Config{}, manager.Options{
		Scheme:         clientgoscheme.Scheme,
		NewCache:       func(*rest.Config, cache.Options) (cache.Cache, error) { return from, nil },
		NewClient:      func(*rest.Config, client.Options) (client.Client, error) { return nil, nil },
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return meta.NewDefaultRESTMapper(nil), nil },
		Metrics:        server.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// controllerOf returns a controller of Services by name, of which the first line that each reconcile
// logs is "works".
func controllerOf(from cache.Cache, gather time.Duration, did func(key string)) Controller[string] {
	return Controller[string]{
		Name: "services", Parallel: 1, Gather: gather,
		Reconciler: job(func(ctx context.Context, key string) error {
			log.FromContext(ctx).Info("works")
			did(key)
			return nil
		}),
		Sources: []source.TypedSource[string]{
			source.TypedFunc[string](func(_ context.Context, q Queue[string]) error {
				q.Add("first")
				return nil
			}),
			Watch(from, &corev1.Service{}, ChangedVersion, func(_ context.Context, s *corev1.Service) []string { return []string{s.Name} }),
		},
		About:    func(key string) []any { return []any{"service", key} },
		Caches:   cluster.NewCatchUp(&informertest.FakeInformers{}, empty{}, "", clientgoscheme.Scheme, logr.Discard()),
		Liveness: NewLiveness(time.Hour),
	}
}

// A controller reconciles the keys of its sources. Where changes are gathered, those that come
// together are reconciled once.
func TestAControllerReconcilesWhatIsEnqueued(t *testing.T) {
	for name, c := range map[string]struct {
		gather time.Duration
		want   []string
	}{
		"at once":  {0, []string{"first", "web", "web", "web"}},
		"gathered": {time.Second, []string{"first", "web"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from := &informertest.FakeInformers{}
				var did, lines []string
				logger := funcr.New(func(prefix, args string) { lines = append(lines, prefix+" "+args) }, funcr.Options{})
				m := newManager(t, from)
				l := controllerOf(from, c.gather, func(key string) { did = append(did, key) })
				if err := l.AddTo(t.Context(), m, logger); err != nil {
					t.Fatal(err)
				}
				informer, err := from.FakeInformerFor(t.Context(), &corev1.Service{})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- m.Start(ctx) }()
				time.Sleep(time.Minute)
				synctest.Wait()
				for range 3 {
					informer.Add(service("web", "1"))
					time.Sleep(100 * time.Millisecond)
				}
				time.Sleep(time.Minute)
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if !slices.Equal(did, c.want) {
					t.Errorf("%q are reconciled, want %q", did, c.want)
				}
				for i, line := range lines {
					if !strings.HasPrefix(line, "services ") || !strings.Contains(line, `"msg"="works"`) || !strings.Contains(line, `"service"="`+c.want[i]+`"`) {
						t.Errorf("line %d of the log is %q", i, line)
					}
				}
				if len(lines) != len(c.want) {
					t.Errorf("the log has %q", lines)
				}
			})
		})
	}
}

// A controller is not added where a cache cannot be filled. Where the API server does not know the
// kind, the error says which definitions may be missing.
func TestAControllerOfAKindThatIsNotThereIsNotAdded(t *testing.T) {
	missing := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "fairlead.dev", Kind: "Backend"}}
	const hint = "are the definitions of config/crd installed?"
	for _, c := range []struct {
		err    error
		hinted bool
	}{{missing, true}, {errors.New("connection refused"), false}} {
		from := &informertest.FakeInformers{Error: c.err}
		l := controllerOf(from, 0, func(string) {})
		err := l.AddTo(t.Context(), newManager(t, from), logr.Discard())
		if !errors.Is(err, c.err) || !strings.Contains(err.Error(), "filling the cache with *v1.Service: ") || strings.Contains(err.Error(), hint) != c.hinted {
			t.Errorf("the error is %v, want %v, with a hint: %v", err, c.err, c.hinted)
		}
	}
}
