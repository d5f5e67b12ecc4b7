package config

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/test/kube"
)

// This file has the API server judge what config/prometheus says, by the schemas that the
// Prometheus operator installs: they refuse what Go types let pass.

// monitoring are the resources of that operator which we write.
var monitoring = []string{"servicemonitors", "prometheusrules"}

func TestMonitoringIsWhatItsSchemasTake(t *testing.T) {
	c := kube.Shared(t)
	installMonitoring(t, c)
	objects := with(t, "prometheus")
	install(t, c, objects)

	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	for i, damage := range []func(spec map[string]any){
		func(monitor map[string]any) { monitor["endpoints"].([]any)[0].(map[string]any)["interval"] = "often" },
		func(rule map[string]any) {
			delete(rule["groups"].([]any)[0].(map[string]any)["rules"].([]any)[0].(map[string]any), "expr")
		},
	} {
		t.Run(monitoring[i], func(t *testing.T) {
			o := ofResource(t, objects, monitoring[i])
			damage(o.Object["spec"].(map[string]any))
			resource := client.Resource(monitoringv1.SchemeGroupVersion.WithResource(monitoring[i])).Namespace(o.GetNamespace())
			options := metav1.ApplyOptions{FieldManager: "test", Force: true, DryRun: []string{metav1.DryRunAll}}
			if _, err := resource.Apply(t.Context(), o.GetName(), o, options); err == nil {
				t.Error("the API server takes what is wrong: it judges by other schemas")
			}
		})
	}
}

// installMonitoring installs the kinds for as long as the test runs.
func installMonitoring(t *testing.T, c *kube.Cluster) {
	t.Helper()
	var kinds []object
	for _, resource := range monitoring {
		text, err := os.ReadFile(filepath.Join(prometheusOperator(t), "example", "prometheus-operator-crd", monitoringv1.SchemeGroupVersion.Group+"_"+resource+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, decode(t, text)...)
	}
	install(t, c, kinds)
	t.Cleanup(func() {
		client, err := dynamic.NewForConfig(c.Config)
		definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
		for _, resource := range monitoring {
			if err == nil {
				err = client.Resource(definitions).Delete(context.Background(), resource+"."+monitoringv1.SchemeGroupVersion.Group, metav1.DeleteOptions{})
			}
		}
		if err != nil {
			t.Error(err)
		}
	})
	kube.Eventually(t, "the kinds of the Prometheus operator are served", func() bool {
		served, err := c.Client(t).Discovery().ServerResourcesForGroupVersion(monitoringv1.SchemeGroupVersion.String())
		return err == nil && !slices.ContainsFunc(monitoring, func(resource string) bool {
			return !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == resource })
		})
	})
}

// prometheusOperator is where Go keeps the sources of the Prometheus operator.
func prometheusOperator(t *testing.T) string {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/prometheus-operator/prometheus-operator")
	download.Dir = "monitoring"
	said, err := download.Output()
	var module struct{ Dir, Error string }
	if err := errors.Join(err, json.Unmarshal(said, &module)); err != nil {
		t.Fatalf("downloading the Prometheus operator: %s %s", err, module.Error)
	}
	return module.Dir
}

// ofResource is the one object of a resource, as it is written.
func ofResource(t *testing.T, objects []object, resource string) *unstructured.Unstructured {
	t.Helper()
	for _, o := range objects {
		kind := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
		if plural, _ := meta.UnsafeGuessKindToResource(kind); plural.Resource != resource {
			continue
		}
		out := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(o.text, &out.Object); err != nil {
			t.Fatal(err)
		}
		return out
	}
	t.Fatalf("nothing is of the resource %s", resource)
	return nil
}
