package config

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/clouds"
)

// This file does what the guide to AWS tells people to do, as far as that goes without AWS.

// TestGuideToAWS builds the guide's kustomization and renders its release: they are the same
// objects.
func TestGuideToAWS(t *testing.T) {
	made := sameObjects(t, "../../docs/tutorials/eks.md")
	if !slices.ContainsFunc(made, func(o object) bool { return bytes.Contains(o.text, []byte("--aws-cluster-name=my-cluster")) }) {
		t.Error("the operator is not told the cluster's name: nodes do not let load balancers in")
	}
}

// TestInstallGuideChoosesAnImageAndAProvider: its kustomization and its release are the same
// objects, with an image of the reader's registry, and not with the fake cloud.
func TestInstallGuideChoosesAnImageAndAProvider(t *testing.T) {
	made := sameObjects(t, "../../docs/how-to/install.md")
	for _, text := range []string{"image: REGISTRY/fairlead:v0.1.0", "--provider=aws"} {
		if !slices.ContainsFunc(made, func(o object) bool { return o.Kind == "Deployment" && bytes.Contains(o.text, []byte(text)) }) {
			t.Errorf("the Deployment has no %s", text)
		}
	}
}

// sameObjects builds the first kustomization of a guide, compares it with its first release, and
// returns the objects.
func sameObjects(t *testing.T, guide string) []object {
	t.Helper()
	written := documented(t, guide, "(?s)```yaml\n(.*?)```")
	command := documented(t, guide, `(?m)^helm install .*$`)
	top := t.TempDir()
	config, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(top, "config"), os.DirFS(config)); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "fairlead")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(written), 0o600); err != nil {
		t.Fatal(err)
	}
	made := build(t, dir)
	want := byName(t, made)
	delete(want, "Namespace /"+home)

	args := strings.Fields(strings.ReplaceAll(command, "config/", root+"/"))
	rendered, err := helm(t, append([]string{"template"}, args[2:]...)...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, byName(t, decode(t, []byte(rendered)))); diff != "" {
		t.Errorf("-kustomize +helm:\n%s", diff)
	}
	return made
}

// TestGuidePlansItsIngress runs the guide's plan: there is something to do, and nothing to complain
// about.
func TestGuidePlansItsIngress(t *testing.T) {
	t.Chdir("../..")
	command := documented(t, "docs/tutorials/eks.md", `(?m)^go run \. (plan .*)$`)
	out, said, code := fairlead(t, command)
	if code != 2 || said != "" || !strings.Contains(out, "create load balancer fairlead/default/echo/internet-facing") || !strings.Contains(out, "0 errors, 0 warnings, 0 notes") {
		t.Errorf("code %d, said %q, planned:\n%s", code, said, out)
	}
}

// TestMigrationGuideLooksFirst runs what the guide has people run before anything is changed, on
// what they have: an Ingress of another controller.
func TestMigrationGuideLooksFirst(t *testing.T) {
	const guide = "../../docs/how-to/migrate.md"
	migrate := documented(t, guide, `(?m)^fairlead (migrate .*)$`)
	config, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(config, "config"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("now.yaml", []byte(ofAnother), 0o600); err != nil {
		t.Fatal(err)
	}
	out, said, code := fairlead(t, migrate)
	if code != 0 || !strings.Contains(out, "scheme") || !strings.Contains(out, "target-type") {
		t.Errorf("code %d, said %q, reported:\n%s", code, said, out)
	}
}

// ofAnother is what kubectl prints of a cluster that another controller serves.
const ofAnother = `apiVersion: v1
kind: List
items:
- apiVersion: networking.k8s.io/v1
  kind: Ingress
  metadata:
    namespace: shop
    name: web
    annotations:
      alb.ingress.kubernetes.io/scheme: internet-facing
      alb.ingress.kubernetes.io/target-type: ip
  spec:
    ingressClassName: alb
    rules:
    - host: shop.example.com
      http:
        paths:
        - path: /
          pathType: Prefix
          backend: {service: {name: web, port: {number: 80}}}
- apiVersion: v1
  kind: Service
  metadata: {namespace: shop, name: web}
  spec:
    ports: [{port: 80}]
`

// documented is what a pattern finds in a guide.
func documented(t *testing.T, guide, pattern string) string {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s has nothing like %s", guide, pattern)
	}
	return string(found[len(found)-1])
}

// fairlead runs a command.
func fairlead(t *testing.T, command string) (out, said string, code int) {
	t.Helper()
	var prints, errs bytes.Buffer
	plugged := cli.Providers{Clouds: map[string]clouds.Cloud{"aws": aws.Plug()}}
	code = cli.Run(t.Context(), strings.Fields(command), plugged, cli.Streams{In: strings.NewReader(""), Out: &prints, Err: &errs})
	return prints.String(), errs.String(), code
}
