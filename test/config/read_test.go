// Package config tests what is deployed: that each file says what its kind understands, that every
// choice of components builds, that nobody may do more than needed, and that a real API server
// takes all of it.
package config

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/kube"
)

// This file reads and builds what is below config/.

func TestMain(m *testing.M) { kube.Main(m, kube.Options{}) }

// root is where the files are.
const root = "../../config"

// An object is one document: typed, and as it is written.
type object struct {
	runtime.Object
	metav1.TypeMeta
	text []byte
}

// decode reads documents strictly, each into the type of its kind. A kind that is unknown here has
// not been looked at.
func decode(t *testing.T, text []byte) []object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme,
		schedulingv1.AddToScheme, apiextensionsv1.AddToScheme, monitoringv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	var out []object
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		o := object{text: document}
		if err := yaml.Unmarshal(document, &o.TypeMeta); err != nil {
			t.Fatal(err)
		}
		kind := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
		if kind.Group == "kustomize.config.k8s.io" {
			if err := yaml.UnmarshalStrict(document, &types.Kustomization{}); err != nil {
				t.Error(err)
			}
			continue
		}
		if o.Object, err = scheme.New(kind); err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(document, o.Object); err != nil {
			t.Errorf("%s: %s", o.Kind, err)
		}
		out = append(out, o)
	}
}

// build is what kustomize makes of the directory, namespaces and kinds first.
func build(t *testing.T, dir string) []object {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatalf("building %s: %s", dir, err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, text)
}

// with is what kustomize makes of what config/default has, with the components in place of its own.
func with(t *testing.T, components ...string) []object {
	t.Helper()
	k := types.Kustomization{
		TypeMeta:   types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind},
		Labels:     []types.Label{{Pairs: map[string]string{"app.kubernetes.io/name": "fairlead", "app.kubernetes.io/part-of": "fairlead"}}},
		Resources:  []string{"crd", "rbac", "manager", "policy", "class"},
		Components: components,
	}
	if slices.Contains(components, "rbac/manage-class") {
		k.Resources = k.Resources[:4] // the operator makes the class
	}
	return compose(t, k)
}

// namespaced is what kustomize makes of a copy of config/namespaced that names more components,
// where its comments say.
func namespaced(t *testing.T, components ...string) []object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "namespaced", "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var k types.Kustomization
	if err := yaml.UnmarshalStrict(text, &k); err != nil {
		t.Fatal(err)
	}
	for _, paths := range [][]string{k.Resources, k.Components} {
		for i := range paths {
			paths[i] = strings.TrimPrefix(paths[i], "../")
		}
	}
	k.Components = slices.Insert(k.Components, slices.Index(k.Components, "rbac/namespaced"), components...)
	return compose(t, k)
}

// compose is what kustomize makes of a file of somebody's own, whose paths are of what is below
// config/.
func compose(t *testing.T, k types.Kustomization) []object {
	t.Helper()
	dir := t.TempDir()
	from, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	up, err := filepath.Rel(dir, from)
	if err != nil {
		t.Fatal(err)
	}
	k.Resources, k.Components = slices.Clone(k.Resources), slices.Clone(k.Components)
	for _, paths := range [][]string{k.Resources, k.Components} {
		for i := range paths {
			paths[i] = filepath.Join(up, paths[i])
		}
	}
	text, err := yaml.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return build(t, dir)
}

// only are the objects of one type.
func only[T any](objects []object) []T {
	var out []T
	for _, o := range objects {
		if typed, ok := o.Object.(T); ok {
			out = append(out, typed)
		}
	}
	return out
}
