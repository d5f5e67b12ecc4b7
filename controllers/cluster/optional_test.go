package cluster

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model/ingress/dialect/alb"
)

// A kind that the cluster does not have at first is found when it is installed, and its cache is
// filled from then on.
func TestAKindThatIsInstalledLaterIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, filled, log := &kindsOf{}, &filledCaches{}, &logText{}
		o, err := NewOptional(t.Context(), server, filled, funcr.New(func(_, args string) { log.add(args) }, funcr.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- o.Start(t.Context()) }()
		time.Sleep(time.Minute)
		if o.Has(KindIngressClassParams) || len(filled.of) > 0 || log.text() != "" {
			t.Fatalf("without the kind, it is there: %t, the caches of %v are filled, and the log is %q", o.Has(KindIngressClassParams), filled.of, log.text())
		}
		server.set(false, errUnavailable) // asked again
		time.Sleep(time.Minute)
		server.set(true, nil)
		select {
		case <-o.Served(KindIngressClassParams):
		case <-time.After(11 * time.Second):
			t.Fatal("it is not found within 11 seconds")
		}
		err = <-ended
		if _, is := filled.of[KindIngressClassParams].(*alb.IngressClassParams); !is || !o.Has(KindIngressClassParams) {
			t.Errorf("the caches of %v are filled; it is there: %t", filled.of, o.Has(KindIngressClassParams))
		}
		if err != nil || !strings.Contains(log.text(), KindIngressClassParams) {
			t.Errorf("the search ends with %v, and the log is %q", err, log.text())
		}
	})
}

// A kind is found although another one stays missing.
func TestOneKindIsInstalled(t *testing.T) {
	for only := range optionalKinds {
		synctest.Test(t, func(t *testing.T) {
			server := &kindsOf{}
			o, err := NewOptional(t.Context(), server, &filledCaches{}, logr.Discard())
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			server.installed, server.only = true, only
			if err := o.Start(ctx); err != nil {
				t.Fatal(err)
			}
			for kind := range optionalKinds {
				if o.Has(kind) != (kind == only) {
					t.Errorf("with %s, there is %s: %t", only, kind, o.Has(kind))
				}
			}
		})
	}
}

// The search ends with the operator.
func TestTheSearchForKindsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, err := NewOptional(t.Context(), &kindsOf{}, &filledCaches{}, logr.Discard())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := o.Start(ctx); err != nil || o.NeedLeaderElection() {
			t.Errorf("it ends with %v, and waits for the lease: %t", err, o.NeedLeaderElection())
		}
	})
}

func TestWhichKindsAreThereAtFirst(t *testing.T) {
	filled := &filledCaches{}
	o, err := NewOptional(t.Context(), &kindsOf{installed: true}, filled, logr.Discard())
	if err != nil || !o.Has(KindIngressClassParams) || len(filled.of) != len(optionalKinds) {
		t.Errorf("a kind that is installed is there: %t, with the error %v", o.Has(KindIngressClassParams), err)
	}
	if err := o.Start(t.Context()); err != nil {
		t.Errorf("with all kinds, the search ends with %v", err)
	}
	for name, c := range map[string]struct {
		*kindsOf
		filledCaches
	}{
		"the API server": {&kindsOf{err: errUnavailable}, filledCaches{}},
		"the cache":      {&kindsOf{installed: true}, filledCaches{err: errUnavailable}},
	} {
		if _, err := NewOptional(t.Context(), c.kindsOf, &c.filledCaches, logr.Discard()); !errors.Is(err, errUnavailable) {
			t.Errorf("%s fails, and the error is %v", name, err)
		}
	}
	var all *Optional
	if !all.Has(KindIngressClassParams) || all.Served(KindIngressClassParams) != nil {
		t.Error("nil does not have all kinds")
	}
}

// kindsOf is an API server that has all kinds, or none.
type kindsOf struct {
	meta.RESTMapper
	mu        sync.Mutex
	installed bool
	only      string // the one kind that is installed; "" for all
	err       error
}

// set changes the server while it is asked.
func (k *kindsOf) set(installed bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.installed, k.err = installed, err
}

func (k *kindsOf) RESTMapping(kind schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil || k.installed && (k.only == "" || k.only == kind.Kind) {
		return nil, k.err
	}
	return nil, &meta.NoKindMatchError{GroupKind: kind}
}

// filledCaches notes which caches are filled.
type filledCaches struct {
	of  map[string]client.Object
	err error
}

func (f *filledCaches) GetInformer(_ context.Context, kind client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	if f.of == nil {
		f.of = map[string]client.Object{}
	}
	for name, of := range optionalKinds {
		if reflect.TypeOf(of) == reflect.TypeOf(kind) {
			f.of[name] = kind
		}
	}
	return nil, f.err
}
