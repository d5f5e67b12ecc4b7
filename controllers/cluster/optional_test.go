package cluster

import (
	"context"
	"errors"
	"strings"
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
		if o.Has(KindIngressClassParams) || filled.of != nil || log.text() != "" {
			t.Fatalf("without the kind, it is there: %t, the cache of %T is filled, and the log is %q", o.Has(KindIngressClassParams), filled.of, log.text())
		}
		server.err = errUnavailable // asked again
		time.Sleep(time.Minute)
		server.installed, server.err = true, nil
		select {
		case <-o.Served(KindIngressClassParams):
		case <-time.After(11 * time.Second):
			t.Fatal("it is not found within 11 seconds")
		}
		if _, is := filled.of.(*alb.IngressClassParams); !is || !o.Has(KindIngressClassParams) {
			t.Errorf("the cache of %T is filled; it is there: %t", filled.of, o.Has(KindIngressClassParams))
		}
		if err := <-ended; err != nil || !strings.Contains(log.text(), KindIngressClassParams) {
			t.Errorf("the search ends with %v, and the log is %q", err, log.text())
		}
	})
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
	if err != nil || !o.Has(KindIngressClassParams) || filled.of == nil {
		t.Errorf("a kind that is installed is there: %t, with the error %v", o.Has(KindIngressClassParams), err)
	}
	if err := o.Start(t.Context()); err != nil {
		t.Errorf("with all kinds, the search ends with %v", err)
	}
	for name, c := range map[string]struct {
		kindsOf
		filledCaches
	}{
		"the API server": {kindsOf{err: errUnavailable}, filledCaches{}},
		"the cache":      {kindsOf{installed: true}, filledCaches{err: errUnavailable}},
	} {
		if _, err := NewOptional(t.Context(), &c.kindsOf, &c.filledCaches, logr.Discard()); !errors.Is(err, errUnavailable) {
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
	installed bool
	err       error
}

func (k *kindsOf) RESTMapping(kind schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	if k.err != nil || k.installed {
		return nil, k.err
	}
	return nil, &meta.NoKindMatchError{GroupKind: kind}
}

// filledCaches notes which cache is filled.
type filledCaches struct {
	of  client.Object
	err error
}

func (f *filledCaches) GetInformer(_ context.Context, kind client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	f.of = kind
	return nil, f.err
}
