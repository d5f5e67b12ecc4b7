package controllers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/test/kube"
)

// This file starts the operator where another version of it has been. testdata/upgrade is what the
// first one left, as the API server and the fake cloud's file had it: two members of a group, one
// of which is served as it was before it was broken, and an Ingress whose Service is missing.

const left = "testdata/upgrade"

func TestUpgradeDowngradeUpgrade(t *testing.T) {
	t.Parallel()
	w := whereTheFirstVersionWas(t)
	before := w.everything()

	w.runOverAll()
	migrated := w.gate.writes.Load()
	// A report and the ports of a status may gain what the version before did not say: once, and
	// nothing else is touched.
	if most := int32(len(before.reports) + len(before.ingresses)); migrated > most {
		t.Errorf("%d writes to the API server for %d reports and %d Ingresses", migrated, len(before.reports), len(before.ingresses))
	}
	w.same("an upgrade", before)

	w.runOverAll()
	if n := w.gate.writes.Load() - migrated; n > 0 {
		t.Errorf("%d more writes to the API server once everything was migrated", n)
	}

	// The version before goes by what it finds in the cloud, and writes the reports that it wrote.
	for _, o := range readObjects(t) {
		if o.GetKind() == v1alpha1.KindLoadBalancer {
			w.restoreStatus(o)
		}
	}
	again := w.gate.writes.Load()
	w.runOverAll()
	if n := w.gate.writes.Load() - again; n > migrated {
		t.Errorf("%d writes to the API server to upgrade again, %d the first time", n, migrated)
	}
	w.same("a downgrade and another upgrade", before)
}

// TestANewerVersionWasHere: what it said of a load balancer beyond what this one knows is still
// there for it to find.
func TestANewerVersionWasHere(t *testing.T) {
	t.Parallel()
	w := whereTheFirstVersionWas(t)
	before := w.everything()
	w.patch(definitionOf("loadbalancers."+v1alpha1.Group), "", `[{
		"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/newer", "value": {"type": "string"}
	}]`)
	report := &unstructured.Unstructured{}
	report.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.KindLoadBalancer))
	report.SetName(v1alpha1.Name("fairlead/shop/@shop/internal", ""))
	w.eventually(func() error { // the API server learns of the field a moment later
		w.patch(report, "status", `[{"op": "add", "path": "/status/newer", "value": "yes"}]`)
		return noError(report.Object["status"].(map[string]any)["newer"] == "yes", "the API server does not know the field yet")
	})

	w.runOverAll()
	w.same("a downgrade", before)
	w.run(overAll)
	w.change("storefront", func(i *networkingv1.Ingress) { delete(i.Annotations, "fairlead.dev/health-check-path") })
	w.eventually(func() error {
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(report), report); err != nil {
			return err
		}
		diagnostics, _, err := unstructured.NestedSlice(report.Object, "status", "diagnostics")
		return errors.Join(err, noError(len(diagnostics) == 0, "the report still says %v", diagnostics))
	})
	if newer, _, _ := unstructured.NestedString(report.Object, "status", "newer"); newer != "yes" {
		t.Error("what the newer version said is gone with the first report of this one")
	}
}

// TestCertificatesThatNoReportNames are those of a version that did not say which it has of
// Secrets. To learn them writes nothing: they are in the report with the next change.
func TestCertificatesThatNoReportNames(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	secret := w.secret("tls", "shop.example")
	w.create(secret, w.askSecurely("shop", "shop.example", "web"))
	w.answers("shop", "https://shop.example/", "web-1")
	w.quiet()
	w.stop()
	report := w.balancer("shop")
	named := report.Status.Memory.Certificates
	if len(named) != 1 {
		t.Fatalf("the report names the certificates %v", named)
	}
	without := report.DeepCopy()
	without.Status.Memory.Certificates = nil
	if err := w.Status().Patch(t.Context(), without, client.MergeFrom(report)); err != nil {
		t.Fatal(err)
	}

	observed, writes := w.cloud.observed.Load(), w.gate.writes.Load()
	w.run()
	w.eventually(func() error { return noError(w.cloud.observed.Load() > observed, "it has not looked") })
	w.quiet()
	if n := w.gate.writes.Load() - writes; n > 0 {
		t.Errorf("%d writes to the API server to learn a certificate", n)
	}
	secret.Data[corev1.TLSCertKey] = []byte("certificate")
	if err := w.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.keeps("failed to find any PEM data")
	if diff := cmp.Diff(named, w.balancer("shop").Status.Memory.Certificates); diff != "" {
		t.Errorf("certificates that the report names (-before +after):\n%s", diff)
	}
}

// whereTheFirstVersionWas is a cluster and a cloud as it left them, with no operator yet.
func whereTheFirstVersionWas(t *testing.T) *world {
	t.Helper()
	state := filepath.Join(t.TempDir(), "cloud.json")
	for _, suffix := range []string{"", ".targets"} {
		text, err := os.ReadFile(filepath.Join(left, "cloud.json"+suffix))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(state+suffix, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cloud, err := fake.New(fake.Options{State: state})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	cluster := kube.Start(t, kube.Options{})
	api, err := client.New(cluster.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Client: api, cluster: cluster, namespace: "shop", class: "fairlead", cloud: &meter{Cloud: cloud}}
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
	for _, o := range readObjects(t) {
		w.create(o.DeepCopy())
		if o.Object["status"] != nil && o.GetKind() != "Service" {
			w.restoreStatus(o)
		}
	}
	return w
}

func readObjects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(left, "objects.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
	for {
		o := &unstructured.Unstructured{}
		err := documents.Decode(o)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
}

// restoreStatus makes a status what it was.
func (w *world) restoreStatus(o *unstructured.Unstructured) {
	w.Helper()
	value, err := json.Marshal(o.Object["status"])
	if err != nil {
		w.Fatal(err)
	}
	w.patch(o.DeepCopy(), "status", `[{"op": "add", "path": "/status", "value": `+string(value)+`}]`)
}

// patch changes an object, or a part of it, as somebody who knows its kind better than this
// version.
func (w *world) patch(o *unstructured.Unstructured, part, patch string) {
	w.Helper()
	var err error
	if part == "" {
		err = w.Patch(w.Context(), o, client.RawPatch(types.JSONPatchType, []byte(patch)))
	} else {
		err = w.SubResource(part).Patch(w.Context(), o, client.RawPatch(types.JSONPatchType, []byte(patch)))
	}
	if err != nil {
		w.Fatal(err)
	}
}

func definitionOf(kind string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("apiextensions.k8s.io/v1")
	o.SetKind("CustomResourceDefinition")
	o.SetName(kind)
	return o
}

// overAll has an operator look after all namespaces.
func overAll(s *settings) {
	s.manager.Cache, s.operator.Namespace = cluster.Cache(cluster.SecretsAll, ""), ""
}

// runOverAll runs an operator until it has looked at everything, and has nothing more to write.
func (w *world) runOverAll() {
	w.Helper()
	observed := w.cloud.observed.Load()
	w.run(overAll)
	w.eventually(func() error {
		return noError(w.cloud.observed.Load()-observed >= 2, "it has not looked at both load balancers")
	})
	w.quiet()
	w.stop()
}

// quiet waits until nothing has been written to the API server for a while.
func (w *world) quiet() {
	w.Helper()
	last, since := w.gate.writes.Load(), time.Now()
	w.eventually(func() error {
		if n := w.gate.writes.Load(); n != last {
			last, since = n, time.Now()
		}
		return noError(time.Since(since) > 1500*time.Millisecond, "it is still writing")
	})
}

// An inventory is what users see of an operator.
type inventory struct {
	ingresses map[string]string // resource versions
	reports   []string
	events    int
}

// apartFromPorts is an Ingress as users know it, without what its status says of ports.
func apartFromPorts(o unstructured.Unstructured) string {
	entries, _, _ := unstructured.NestedSlice(o.Object, "status", "loadBalancer", "ingress")
	var addresses []any
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		delete(entry, "ports")
		addresses = append(addresses, entry)
	}
	return fmt.Sprint(o.GetGeneration(), o.GetAnnotations(), o.GetFinalizers(), addresses)
}

func (w *world) everything() inventory {
	w.Helper()
	out := inventory{ingresses: map[string]string{}}
	for kind, note := range map[string]func(unstructured.Unstructured){
		"networking.k8s.io/v1, Ingress":       func(o unstructured.Unstructured) { out.ingresses[o.GetName()] = apartFromPorts(o) },
		"fairlead.dev/v1alpha1, LoadBalancer": func(o unstructured.Unstructured) { out.reports = append(out.reports, o.GetName()) },
		"events.k8s.io/v1, Event":             func(unstructured.Unstructured) { out.events++ },
	} {
		group, name, _ := bytes.Cut([]byte(kind), []byte(", "))
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(string(group))
		list.SetKind(string(name) + "List")
		if err := w.List(w.Context(), list); err != nil {
			w.Fatal(err)
		}
		for _, o := range list.Items {
			note(o)
		}
	}
	slices.Sort(out.reports)
	return out
}

// same checks that an operator changed nothing of what users see, here or in the cloud.
func (w *world) same(after string, before inventory) {
	w.Helper()
	if n := w.cloud.writes.Load(); n > 0 {
		w.Errorf("after %s: %d writes to the cloud", after, n)
	}
	now := w.everything()
	if !maps.Equal(before.ingresses, now.ingresses) || !slices.Equal(before.reports, now.reports) || before.events != now.events {
		w.Errorf("after %s (-before +now):\n%s", after, cmp.Diff(before, now, cmp.AllowUnexported(inventory{})))
	}
}
