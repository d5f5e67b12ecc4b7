package controllers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	fakeinformer "sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/controllertest"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file adds the operator to a manager that has no API server, and records what is added.

// A recordingManager records additions. It refuses the one at the index refused.
type recordingManager struct {
	manager.Manager
	config  *rest.Config
	client  *http.Client
	mapper  meta.RESTMapper
	refused int
	added   []string

	recorders int // of events
}

var errRefused = errors.New("refused")

func (m *recordingManager) record(format string, args ...any) error {
	m.added = append(m.added, fmt.Sprintf(format, args...))
	if len(m.added)-1 == m.refused {
		return errRefused
	}
	return nil
}

// Add records a controller by its name and by how many keys it works on at a time, with those that
// wait for a cloud.
func (m *recordingManager) Add(r manager.Runnable) error {
	v := reflect.Indirect(reflect.ValueOf(r))
	if name := v.FieldByName("Name"); name.IsValid() {
		return m.record("controller %s %v", name, v.FieldByName("MaxConcurrentReconciles"))
	}
	return m.record("%T", r)
}

func (m *recordingManager) AddHealthzCheck(name string, _ healthz.Checker) error {
	return m.record("healthz %s", name)
}

func (m *recordingManager) GetFieldIndexer() client.FieldIndexer { return m }

func (m *recordingManager) GetAPIReader() client.Reader { return m.GetClient() }

func (m *recordingManager) GetConfig() *rest.Config { return m.config }

func (m *recordingManager) GetRESTMapper() meta.RESTMapper { return m.mapper }

func (m *recordingManager) GetEventRecorder(string) recorder.EventRecorder {
	m.recorders++
	return nil
}

func (m *recordingManager) GetHTTPClient() *http.Client { return m.client }

func (m *recordingManager) IndexField(_ context.Context, _ client.Object, field string, _ client.IndexerFunc) error {
	return m.record("index %s", field)
}

// informers are a cache that has an informer for each kind, and for its metadata.
type informers struct{ *informertest.FakeInformers }

func (informers) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return &fakeinformer.FakeInformer{}, nil
}

// newRecordingManager returns a manager that knows the kinds of the operator.
func newRecordingManager(t *testing.T) *recordingManager {
	t.Helper()
	kinds := cluster.NewScheme()
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind := range kinds.AllKnownTypes() {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	m, err := manager.New(&rest.Config{}, manager.Options{
		Scheme: kinds,
		NewCache: func(*rest.Config, cache.Options) (cache.Cache, error) {
			return informers{&informertest.FakeInformers{Scheme: kinds}}, nil
		},
		NewClient: func(*rest.Config, client.Options) (client.Client, error) {
			return fake.NewClientBuilder().WithScheme(kinds).Build(), nil
		},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
		Metrics:        server.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &recordingManager{Manager: m, config: &rest.Config{}, client: http.DefaultClient, mapper: mapper, refused: -1}
}

// usual is what an operator without options adds. A controller works on 16 keys more than it does in
// parallel, which wait for a cloud.
func usual() []string {
	return []string{
		"index service", "index pods", "index class", "index parameters", "*cluster.Optional",
		"metrics.exposition", "healthz workers",
		"controller loadbalancers 20", "controller targets 20", "controller bindings 20", "*records.Sweeper", "*controllers.OrphanCollector",
		"controller unassigned 17",
	}
}

func TestWiringAddsTheControllersThatTheOptionsAskFor(t *testing.T) {
	const beforeSweeper, beforeUnassigned = 10, 12
	for name, c := range map[string]struct {
		options Options
		want    []string
	}{
		"no options":    {Options{}, usual()},
		"it only reads": {Options{ReadOnly: true, ReadinessGates: true, ManageClass: "fairlead"}, usual()[:8]},
		"Pods have gates": {Options{ReadinessGates: true},
			slices.Insert(usual(), beforeSweeper, "controller gates 20")},
		"it makes its class": {Options{ManageClass: "fairlead"},
			slices.Insert(usual(), beforeUnassigned, "controller ingressclass 17")},
		"it makes its class from one namespace": {Options{ManageClass: "fairlead", Namespace: "team"},
			slices.Insert(usual(), beforeUnassigned, "controller ingressclass 17")},
		"workers are many": {Options{Workers: 5, ReadinessGates: true}, []string{
			"index service", "index pods", "index class", "index parameters", "*cluster.Optional",
			"metrics.exposition", "healthz workers",
			"controller loadbalancers 21", "controller targets 21", "controller bindings 21", "controller gates 21", "*records.Sweeper",
			"*controllers.OrphanCollector", "controller unassigned 17",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newRecordingManager(t)
			if err := Add(t.Context(), m, c.options.forTest(t)); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(c.want, m.added); diff != "" {
				t.Error(diff)
			}
			if want := c.options.ManageClass != "" && c.options.Namespace == "" && !c.options.ReadOnly; m.recorders > 0 != want {
				t.Errorf("%d recorders of events, want one: %t", m.recorders, want)
			}
		})
	}
}

// forTest returns the options with a cloud, and with metrics of their own.
func (o Options) forTest(t *testing.T) Options {
	o.Cloud, o.Metrics = controllertest.NewCloud(t), prometheus.NewRegistry()
	return o
}

// Nothing is added after an addition that is refused, and the error is reported.
func TestWiringEndsAtTheFirstError(t *testing.T) {
	options := Options{ReadinessGates: true, ManageClass: "fairlead"}
	all := slices.Insert(usual(), 12, "controller ingressclass 17")
	all = slices.Insert(all, 10, "controller gates 20")
	for refused, addition := range all {
		t.Run(addition, func(t *testing.T) {
			m := newRecordingManager(t)
			m.refused = refused
			if err := Add(t.Context(), m, options.forTest(t)); !errors.Is(err, errRefused) {
				t.Errorf("the error is %v", err)
			}
			if diff := gocmp.Diff(all[:refused+1], m.added); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Without its kinds, or without a client, nothing is added.
func TestWiringNeedsKindsAndAClient(t *testing.T) {
	m := newRecordingManager(t)
	m.mapper = meta.NewDefaultRESTMapper(nil)
	if err := Add(t.Context(), m, Options{}.forTest(t)); !meta.IsNoMatchError(err) || m.added != nil {
		t.Errorf("error %v, added %v", err, m.added)
	}
	m = newRecordingManager(t)
	m.client, m.config = nil, &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: "missing"}}
	if err := Add(t.Context(), m, Options{}.forTest(t)); !errors.Is(err, fs.ErrNotExist) || len(m.added) != 4 {
		t.Errorf("error %v, added %v", err, m.added)
	}
}

func TestWiringCompletesOptions(t *testing.T) {
	m := newRecordingManager(t)
	o := Options{}.withDefaults(m)
	if o.DriftInterval != 10*time.Hour || o.OrphanInterval != 10*time.Minute {
		t.Errorf("intervals: %s and %s", o.DriftInterval, o.OrphanInterval)
	}
	if o.Logger.IsZero() || o.Metrics != ctrlmetrics.Registry || o.Requests == nil || o.Reads == nil {
		t.Errorf("not all is set: %+v", o)
	}
	given := Options{
		DriftInterval: time.Minute, OrphanInterval: time.Second, Metrics: prometheus.NewRegistry(),
		Requests: metrics.NewRequests(), Reads: &metrics.Reads{}, Cloud: controllertest.NewCloud(t),
		Logger: logr.New(discard{}),
	}
	if got := given.withDefaults(m); !reflect.DeepEqual(got, given) {
		t.Errorf("%+v\nwant %+v", got, given)
	}
	given.ReadOnly = true
	if _, err := given.withDefaults(m).Cloud.Apply(t.Context(), &lb.Observed{}, plan.CreateLoadBalancer{}); err == nil {
		t.Error("an operator that only reads writes to the cloud")
	}
}

// An operator that only reads keeps its reports beside the records, which it does not change.
func TestWiringKeepsRecords(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		m := newRecordingManager(t)
		w, err := newWiring(t.Context(), m, Options{ReadOnly: readOnly}.forTest(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Records.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.Records.Save(t.Context(), "fairlead/shop/web/internal", records.Record{}); err != nil {
			t.Fatal(err)
		}
		var kept v1alpha1.LoadBalancerList
		if err := m.GetClient().List(t.Context(), &kept); err != nil {
			t.Fatal(err)
		}
		if len(kept.Items) != 1 || records.IsPlanned(&kept.Items[0]) != readOnly {
			t.Errorf("only reads: %t, records %+v", readOnly, kept.Items)
		}
	}
}

func TestWiringCompletesItsParts(t *testing.T) {
	w, err := newWiring(t.Context(), newRecordingManager(t), Options{}.forTest(t))
	if err != nil {
		t.Fatal(err)
	}
	if w.options.OrphanInterval != 10*time.Minute || w.Metrics == nil || w.Options.Check == nil || w.Options.NGINX == nil {
		t.Errorf("interval %s, metrics %v, check of classes %t, memory %v", w.options.OrphanInterval, w.Metrics, w.Options.Check != nil, w.Options.NGINX)
	}
}

// discard is a sink that is none of those of others.
type discard struct{ logr.LogSink }

func (discard) Init(logr.RuntimeInfo) {}
