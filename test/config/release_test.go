package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/kube"
)

// This file has Helm install, upgrade and uninstall on a real API server, as docs/how-to/install.md says.

// TestServerTakesTheChart: of each choice that the chart gives.
func TestServerTakesTheChart(t *testing.T) {
	c := kube.Start(t, kube.Options{}) // elsewhere, kustomize's Deployment has the name
	install(t, c, namespacesOf(build(t, filepath.Join(root, "default"))))
	makeNamespace(t, c, "shop") // which everyValue serves
	for name, values := range map[string]string{
		"defaults":    ``,
		"no Secrets":  `secrets: none`,
		"one replica": `{replicas: 1, leaderElection: false}`,
		"as little as can be": `
serviceAccount: {create: false}
ingressClass: {create: false}
crds: {install: false}
disruptionBudget: {enabled: false}
networkPolicy: {enabled: false}`,
		"everything": strings.Replace(everyValue, "metrics:", "#", 1),
	} {
		t.Run(name, func(t *testing.T) { judge(t, c, mustRender(t, values)) })
	}
}

func namespacesOf(objects []object) []object {
	var out []object
	for _, o := range objects {
		if o.Kind == "Namespace" {
			out = append(out, o)
		}
	}
	return out
}

// TestInstallGuide runs the Helm commands of the guide, in that order, and then the one that
// docs/how-to/uninstall.md has to uninstall, on a cluster that has never seen us.
func TestInstallGuide(t *testing.T) {
	guide, err := os.ReadFile("../../docs/how-to/install.md")
	if err != nil {
		t.Fatal(err)
	}
	c := kube.Start(t, kube.Options{})
	removeKinds(t, c)
	ran := 0
	uninstall := documented(t, "../../docs/how-to/uninstall.md", "`(helm uninstall [^`]+)`")
	for line := range strings.Lines(string(guide) + "\n" + uninstall + "\n") {
		if !strings.HasPrefix(line, "helm ") {
			continue
		}
		args := strings.Fields(strings.ReplaceAll(line, "config/", root+"/"))
		if _, err := helm(t, append(args[1:], "--kubeconfig", c.Kubeconfig)...); err != nil {
			t.Errorf("%s%s", line, err)
		}
		ran++
	}
	if ran < 3 {
		t.Errorf("only %d commands were found", ran)
	}
}

// removeKinds takes away what a test's cluster begins with.
func removeKinds(t *testing.T, c *kube.Cluster) {
	t.Helper()
	api := clientOf(t, c)
	if err := api.DeleteAllOf(t.Context(), &apiextensionsv1.CustomResourceDefinition{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "our kinds are gone", func() bool {
		var list apiextensionsv1.CustomResourceDefinitionList
		return api.List(t.Context(), &list) == nil && len(list.Items) == 0
	})
}

// TestARelease follows one from the first installation to the last, on a cluster that has our kinds
// from elsewhere.
func TestARelease(t *testing.T) {
	c := kube.Start(t, kube.Options{})
	run := func(args ...string) error {
		args = append(args, "--kubeconfig", c.Kubeconfig, "--namespace", home)
		if args[0] == "install" {
			args = append(args, "--set", "image.repository=registry.example.com/fairlead")
		}
		_, err := helm(t, args...)
		return err
	}
	if err := run("install", "fairlead", chart, "--create-namespace"); err == nil || !strings.Contains(err.Error(), "ownership") {
		t.Fatalf("a release takes kinds that are another's, without being told to: %v", err)
	}
	if err := run("install", "fairlead", chart, "--create-namespace", "--take-ownership"); err != nil {
		t.Fatal(err)
	}
	api, report := newLoadBalancer(t, c, "fairlead/@outlives/internal")

	newer := filepath.Join(t.TempDir(), "fairlead")
	if err := os.CopyFS(newer, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(newer, "files/crd/fairlead.dev_backends.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "- be\n", "- be\n    - back\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run("upgrade", "fairlead", newer, "--force-conflicts"); err != nil {
		t.Fatal(err)
	}
	if got := shortNames(t, c); got != "be back" {
		t.Errorf("after the upgrade a Backend is called %q for short: its definition was not upgraded", got)
	}
	if err := run("rollback", "fairlead", "1"); err != nil {
		t.Fatal(err)
	}
	if got := shortNames(t, c); got != "be" {
		t.Errorf("after going back a Backend is called %q for short", got)
	}

	if err := run("uninstall", "fairlead"); err != nil {
		t.Fatal(err)
	}
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(report), &v1alpha1.LoadBalancer{}); err != nil {
		t.Errorf("what the operator remembers went with it: %s", err)
	}
	if _, err := c.Client(t).AppsV1().Deployments(home).Get(t.Context(), "fairlead", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the operator is still there: %v", err)
	}
	if err := run("install", "fairlead", chart); err != nil {
		t.Errorf("the kinds that it kept are not its own any more: %s", err)
	}
}

// shortNames are those of Backends, as the API server knows them.
func shortNames(t *testing.T, c *kube.Cluster) string {
	t.Helper()
	var definition apiextensionsv1.CustomResourceDefinition
	if err := clientOf(t, c).Get(t.Context(), client.ObjectKey{Name: "backends." + v1alpha1.Group}, &definition); err != nil {
		t.Fatal(err)
	}
	return strings.Join(definition.Spec.Names.ShortNames, " ")
}
