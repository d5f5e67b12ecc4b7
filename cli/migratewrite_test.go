package cli

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/test/keypair"
	"fairlead.dev/fairlead/test/page"
)

// This file tests migrate --write and verify --attestation.

// migratedFiles are Ingresses by the dialect that they were written in.
var migratedFiles = map[string]string{"alb": migrateFiles, "nginx": "testdata/migrate-nginx"}

// migrated writes the manifests of migratedFiles, and returns them by name, and their attestation.
func migrated(t *testing.T, dialect string) (files map[string]string, attested string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "moved")
	got := fairlead(t, "migrate", "--from", dialect, "--provider", "aws", "-f", migratedFiles[dialect], "--write", dir, "-o", "json")
	if got.code != exitLess {
		t.Fatalf("exit code %d\n%s", got.code, got.err)
	}
	attested = filepath.Join(t.TempDir(), "attested.json")
	write(t, attested, got.out)
	files = map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return files, attested
}

func TestMigrateWrites(t *testing.T) {
	for dialect, want := range map[string]string{"alb": "testdata/migrate-written.txt", "nginx": "testdata/migrate-nginx-written.txt"} {
		files, _ := migrated(t, dialect)
		var all strings.Builder
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(&all, "# %s\n%s", name, files[name])
		}
		page.Check(t, want, all.String())
		again, _ := migrated(t, dialect)
		if !maps.Equal(files, again) {
			t.Errorf("%s: what is written twice differs", dialect)
		}
		if got := fairlead(t, "plan", "--provider", "aws", "-f", directory(t, files)); got.code != exitToDo ||
			strings.Contains(got.out, ".ingress.kubernetes.io") {
			t.Errorf("%s: exit code %d\n%s%s", dialect, got.code, got.out, got.err)
		}
	}
}

func TestMigrateWritesNothing(t *testing.T) {
	full := directory(t, map[string]string{"there": ""})
	refused := directory(t, map[string]string{"a.yaml": migrateIngress("alb.ingress.kubernetes.io/web-acl-id: a")})
	bad := directory(t, map[string]string{"a.yaml": migrateIngress("a: b") + "---\nkind: [\n"})
	// A Service is read with its annotations by an Ingress of another class, too.
	shared := directory(t, map[string]string{"a.yaml": migrateIngress("a: b") + `---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, annotations: {alb.ingress.kubernetes.io/healthcheck-path: /healthz}}
spec: {ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: fairlead}
spec: {controller: fairlead.dev/ingress}
---
` + strings.Replace(ingressYAML("own", "own.example.com", "/"), "pay", "web", 1)})
	unnamed := directory(t, map[string]string{"a.yaml": strings.Replace(migrateIngress("a: b"), "name: web,", "generateName: web-,", 1)})
	for want, from := range map[string]string{
		"is not an empty directory": migrateFiles, "nothing to write": refused, "not everything was read": bad,
		"health check path of fairlead/shop/own":    shared,
		"Ingress shop/web-xxxxx has a generateName": unnamed,
	} {
		dir := filepath.Join(t.TempDir(), "moved")
		if from == migrateFiles {
			dir = full
		}
		got := fairlead(t, "migrate", "--from", "alb", "--provider", "aws", "-f", from, "--write", dir)
		entries, _ := os.ReadDir(dir)
		if got.code != exitFail || !strings.Contains(got.err, want) || len(entries) > 0 && dir != full {
			t.Errorf("exit code %d, %d files, want %q\n%s%s", got.code, len(entries), want, got.out, got.err)
		}
	}
}

// TestRefusedIngressesStay with the other controller, in their class: without the dialect, nothing would refuse this one.
func TestRefusedIngressesStay(t *testing.T) {
	own := migrateIngress("a: b") + "---\n"
	front := strings.NewReplacer("name: web,", "name: front,", "web.example.com", "front.example.com").Replace(migrateIngress(
		`alb.ingress.kubernetes.io/enable-frontend-nlb: "true"`))
	for what, text := range map[string]string{"of the class": own + front,
		"of no class":   own + strings.Replace(front, "  ingressClassName: alb\n", "", 1),
		"by annotation": own + strings.NewReplacer("  ingressClassName: alb\n", "", "annotations: {", "annotations: {kubernetes.io/ingress.class: alb, ").Replace(front)} {
		dir := filepath.Join(t.TempDir(), "moved")
		got := fairlead(t, "migrate", "--from", "alb", "--provider", "aws", "--watch-ingress-without-class=alb", "-f",
			directory(t, map[string]string{"a.yaml": text}), "--write", dir)
		written, err := os.ReadFile(filepath.Join(dir, "ingress.shop.web.yaml"))
		_, stays := os.Stat(filepath.Join(dir, "ingress.shop.front.yaml"))
		if got.code != exitLess || err != nil || stays == nil || !strings.Contains(string(written), "ingressClassName: fairlead-alb") {
			t.Errorf("%s: exit code %d, %v\n%s%s%s", what, got.code, err, written, got.out, got.err)
		}
		all := fairlead(t, "plan", "--provider", "aws", "-f", dir)
		if all.code != exitToDo || !strings.Contains(all.out, "fairlead-alb/shop") || strings.Contains(all.out, "front") {
			t.Errorf("%s: exit code %d\n%s%s", what, all.code, all.out, all.err)
		}
	}
}

// TestMigrateWritesToADirectory of a name, and files whose names a file system takes.
func TestMigrateWritesToADirectory(t *testing.T) {
	long := strings.Repeat(strings.Repeat("a", 60)+".", 4) + "a"
	from := directory(t, map[string]string{"a.yaml": strings.Replace(migrateIngress("a: b"), "name: web,", "name: "+long+",", 1) + "---\n" + migrateIngress("a: b")})
	if got := fairlead(t, "migrate", "--from", "alb", "--provider", "aws", "-f", from, "--write", ""); got.code != exitFail ||
		!strings.Contains(got.err, "--write needs the name of a directory") {
		t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
	}
	dir := filepath.Join(t.TempDir(), "moved")
	got := fairlead(t, "migrate", "--from", "alb", "--provider", "aws", "-f", from, "--write", dir)
	entries, err := os.ReadDir(dir)
	if got.code != exitDone || err != nil || len(entries) != 4 {
		t.Errorf("exit code %d, %d files, %v\n%s%s", got.code, len(entries), err, got.out, got.err)
	}
	if again := fairlead(t, "plan", "--provider", "aws", "-f", dir); !strings.Contains(again.out, "shop/"+long) {
		t.Errorf("exit code %d\n%s%s", again.code, again.out, again.err)
	}
}

// sharedParameters are two classes, of which one belongs to the AWS Load Balancer Controller. The other one
// has the parameters of its name.
const sharedParameters = `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: own}
spec: {controller: fairlead.dev/ingress, parameters: {apiGroup: fairlead.dev, kind: ClusterLoadBalancerClass, name: alb}}
---
apiVersion: fairlead.dev/v1alpha1
kind: ClusterLoadBalancerClass
metadata: {name: alb}
spec: {scheme: internet-facing}
`

// TestAClassOfOursKeepsItsParameters, where one of the other controller has the same. In the dialect, a path of
// type ImplementationSpecific is no prefix.
func TestAClassOfOursKeepsItsParameters(t *testing.T) {
	prefix := strings.Replace(ingressYAML("own", "own.example.com", "/app"), "ingressClassName: fairlead", "ingressClassName: own", 1)
	theirs := "---\n" + migrateIngress("a: b")
	before := directory(t, map[string]string{"a.yaml": sharedParameters + "---\n" + strings.Replace(prefix, "Prefix", "ImplementationSpecific", 1) + theirs})
	after := directory(t, map[string]string{"a.yaml": sharedParameters + "---\n" + prefix + theirs})
	if got := fairlead(t, "diff", "--provider", "aws", "--from", "alb", before, after); got.code != exitDone {
		t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
	}
	dir := filepath.Join(t.TempDir(), "moved")
	got := fairlead(t, "migrate", "--from", "alb", "--provider", "aws", "-f", before, "--write", dir)
	class, err := os.ReadFile(filepath.Join(dir, "class.alb.yaml"))
	parameters, err1 := os.ReadFile(filepath.Join(dir, "parameters.alb-migrated.yaml"))
	if got.code != exitDone || err != nil || err1 != nil || !strings.Contains(string(class), "name: alb-migrated") ||
		!strings.Contains(string(parameters), "precedence: Order") || !strings.Contains(string(parameters), "scheme: internet-facing") {
		t.Errorf("exit code %d, %v, %v\n%s%s%s%s", got.code, err, err1, class, parameters, got.out, got.err)
	}
}

// An edit changes a file: the first text becomes the second, where @ is a random number.
type edit struct{ file, from, to string }

// These edits of the written manifests matter.
var telling = map[string][]edit{"alb": {
	{"ingress.shop.plain.yaml", "host: plain", "host: plain@"},
	{"ingress.shop.plain.yaml", "name: web\n", "name: web@\n"},
	{"ingress.shop.plain.yaml", "number: 80", "number: 80@"},
	{"ingress.shop.plain.yaml", "path: /\n", "path: /@\n"},
	{"ingress.shop.plain.yaml", "pathType: Prefix", "pathType: Exact"},
	{"ingress.shop.plain.yaml", "/healthz", "/healthz/@"},
	{"ingress.shop.plain.yaml", "annotations:\n", "annotations:\n    fairlead.dev/inbound: 10.@.0.0/16\n"},
	{"ingress.shop.plain.yaml", "annotations:\n", "annotations:\n    fairlead.dev/listen-ports: HTTP:8@\n"},
	{"ingress.shop.plain.yaml", "annotations:\n", "annotations:\n    fairlead.dev/tags: a=@\n"},
	{"ingress.shop.plain.yaml", "      - backend:", "      - {path: /@, pathType: Exact, backend: {service: {name: x, port: {number: 80}}}}\n      - backend:"},
	{"ingress.shop.web.yaml", "weight: 90", "weight: 9@"},
	{"ingress.shop.web.yaml", "name: next", "name: next@"},
	{"ingress.shop.web.yaml", "scheme: internet-facing", "scheme: internal"},
	{"ingress.shop.web.yaml", "HTTPS:443", "HTTPS:443,HTTP:8@"},
	{"ingress.shop.web.yaml", "    fairlead.dev/ssl-redirect: 443,all\n", ""},
	{"ingress.shop.web.yaml", "ssl-redirect: 443,all", "ssl-redirect: \"443\""},
	{"ingress.shop.web.yaml", "fairlead.dev/backends: |", "fairlead.dev/tls-policy: p@\n    fairlead.dev/backends: |"},
	{"ingress.shop.other.yaml", "host: other.example.com", "host: \"*.other@.example.com\""},
	{"ingress.shop.other.yaml", "ingressClassName: fairlead-alb", "ingressClassName: alb@"},
	{"parameters.alb.yaml", "targetType: instance", "targetType: ip"},
	{"parameters.alb.yaml", "spec:\n", "spec:\n  attributes: {idle_timeout.timeout_seconds: \"1@\"}\n"},
	{"service.shop.web.yaml", "\"30\"", "\"2@\""},
}, "nginx": {
	{"ingress.shop.web.yaml", "host: shop", "host: shop@"},
	{"ingress.shop.web.yaml", "name: cart\n", "name: cart@\n"},
	{"ingress.shop.web.yaml", "name: http\n", "name: http@\n"},
	{"ingress.shop.web.yaml", "path: /cart/\n", "path: /cart@/\n"},
	{"ingress.shop.web.yaml", "weight: 10", "weight: 1@"},
	{"ingress.shop.web.yaml", "path: /cart\n", "path: /cart@\n"},
	{"ingress.shop.web.yaml", "statusCode: 301", "statusCode: 302"},
	{"ingress.shop.web.yaml", "path: /cart/\n            ", "path: /cart/@\n            "},
	{"ingress.shop.web.yaml", "    fairlead.dev/ssl-redirect: \"443\"\n", ""},
	{"ingress.shop.web.yaml", "  tls:\n  - hosts:\n    - shop.example.com\n    secretName: shop\n", ""},
	{"ingress.shop.web.yaml", "secretName: shop", "secretName: shop@"},
	{"ingress.shop.web.yaml", "group: nginx", "group: nginx@"},
	{"ingress.shop.web.yaml", "ingressClassName: fairlead-nginx", "ingressClassName: nginx@"},
	{"ingress.shop.api.yaml", "path: /(?i)v1(/|$)(.*)", "path: /(?i)v1@(/|$)(.*)"},
	{"ingress.shop.api.yaml", "path: /(?i)v1(/|$)(.*)", "path: /v1(/|$)(.*)"},
	{"ingress.shop.api.yaml", "replacement: /$2", "replacement: /@$2"},
	{"ingress.shop.api.yaml", "pattern: ^/[vV]1", "pattern: ^/[vV]1@"},
	{"ingress.shop.api.yaml", "10.0.0.0/8", "10.@.0.0/16"},
	{"ingress.shop.api.yaml", "statusCode: 403", "statusCode: 41@"},
	{"ingress.shop.api.yaml", "implementation-specific: RegexPrefix", "implementation-specific: Glob"},
	{"ingress.shop.old.yaml", "path: /new", "path: /new@"},
	{"ingress.shop.old.yaml", "scheme: https", "scheme: http"},
	{"ingress.shop.old.yaml", "statusCode: 301", "statusCode: 302"},
	{"ingress.shop.old.yaml", "annotations:\n", "annotations:\n    fairlead.dev/inbound: 10.@.0.0/16\n"},
	{"ingress.shop.next.yaml", "annotations:\n", "annotations:\n    fairlead.dev/listen-ports: HTTP:808@\n"},
	{"parameters.nginx.yaml", "spec: {}\n", "spec:\n  attributes: {idle_timeout.timeout_seconds: \"1@\"}\n"},
	{"parameters.nginx.yaml", "spec: {}\n", "spec: {tlsPolicy: policy@}\n"},
	{"class.fairlead-nginx.yaml", "name: nginx\n", "name: nginx@\n"},
}}

// These edits do not.
var idle = map[string][]edit{"alb": {
	{"ingress.shop.plain.yaml", "spec:\n", "# a comment of @\nspec:\n"},
	{"ingress.shop.plain.yaml", "annotations:\n", "annotations:\n    example.com/note: \"@\"\n"},
	{"ingress.shop.plain.yaml", "metadata:\n", "metadata:\n  labels: {app: \"@\"}\n"},
	{"ingress.shop.plain.yaml", "annotations:\n", "annotations:\n    fairlead.dev/scheme: internal\n"},
	{"ingress.shop.plain.yaml", "host: plain.example.com", "host: 'plain.example.com' # @"},
	{"ingress.shop.plain.yaml", "        pathType: Prefix\n", "        pathType: Prefix\n      - {path: /@, pathType: Exact, backend: {service: {name: web, port: {number: 80}}}}\n"},
	{"ingress.shop.web.yaml", "path: /static/*", "path: /static@/*"}, // which no request reaches
	{"ingress.shop.web.yaml", "HTTP:80,HTTPS:443", "HTTPS:443, HTTP:80"},
	{"ingress.shop.web.yaml", "metadata:\n", "metadata:\n  labels: {app: \"@\"}\n"},
	{"ingress.shop.other.yaml", "metadata:\n", "metadata:\n  annotations: {fairlead.dev/listen-ports: 'HTTP:80'}\n"},
	{"ingress.shop.other.yaml", "apiVersion: networking.k8s.io/v1\n", "---\n# @\napiVersion: networking.k8s.io/v1\n"},
	{"parameters.alb.yaml", "metadata:\n", "metadata:\n  labels: {app: \"@\"}\n"},
	{"service.shop.web.yaml", "    app: web\n", "    app: web\n    tier: \"@\"\n"},
	{"class.fairlead-alb.yaml", "metadata:\n", "metadata:\n  annotations: {example.com/note: \"@\"}\n"},
}, "nginx": {
	{"ingress.shop.web.yaml", "spec:\n", "# a comment of @\nspec:\n"},
	{"ingress.shop.web.yaml", "owner: web team", "owner: team @"},
	{"ingress.shop.web.yaml", "metadata:\n", "metadata:\n  labels: {app: \"@\"}\n"},
	{"ingress.shop.api.yaml", "name: status.403\n", "name: status.403 # @\n"},
	{"ingress.shop.api.yaml", "      paths:\n", "      paths:\n      # @\n"},
	{"ingress.shop.api.yaml", "status.404:", "status.4@: {fixedResponse: {statusCode: 400}}\n      status.404:"}, // which no path has
	{"ingress.shop.next.yaml", "metadata:\n", "metadata:\n  labels: {app: \"@\"}\n"},
	{"ingress.shop.old.yaml", "apiVersion: networking.k8s.io/v1\n", "---\n# @\napiVersion: networking.k8s.io/v1\n"},
	{"parameters.nginx.yaml", "metadata:\n", "metadata:\n  labels: {app: \"@\"}\n"},
	{"class.fairlead-nginx.yaml", "metadata:\n", "metadata:\n  annotations: {example.com/note: \"@\"}\n"},
}}

// TestAttestationsFailForEditsThatMatter, and for no others.
func TestAttestationsFailForEditsThatMatter(t *testing.T) {
	from := cmp.Or(*seed, rand.Uint64())
	t.Logf("-seed %d", from)
	random := rand.New(rand.NewPCG(from, 0))
	for dialect := range migratedFiles {
		t.Run(dialect, func(t *testing.T) { testEdits(t, random, dialect) })
	}
}

// testEdits edits 200 times in a way that matters, and 200 times in another way.
func testEdits(t *testing.T, random *rand.Rand, dialect string) {
	files, attested := migrated(t, dialect)
	for name, text := range files { // in the form in which edits name places
		var fields map[string]any
		if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
			t.Fatal(err)
		}
		plain, err := yaml.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(plain)
	}
	n := 200
	if testing.Short() {
		n = len(telling[dialect])
	}
	for i := range 2 * n {
		some, matters := telling[dialect], true
		if i%2 == 1 {
			some, matters = idle[dialect], false
		}
		e := some[i/2%len(some)]
		if !strings.Contains(files[e.file], e.from) {
			t.Fatalf("%s has no %q", e.file, e.from)
		}
		changed := maps.Clone(files)
		changed[e.file] = strings.Replace(files[e.file], e.from,
			strings.ReplaceAll(e.to, "@", fmt.Sprint(1+random.IntN(9))), 1)
		got := fairlead(t, "verify", "--provider", "aws", "--attestation", attested, directory(t, changed))
		if (got.code != exitDone) != matters {
			t.Errorf("exit code %d, and the edit matters: %t\n%s%s%s", got.code, matters, changed[e.file], got.out, got.err)
		}
	}
}

// TestAttestationsWithTheirSecrets hold: migrate assumed one that was not among the files.
func TestAttestationsWithTheirSecrets(t *testing.T) {
	files, attested := migrated(t, "nginx")
	secret := corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop"},
		Type: corev1.SecretTypeTLS, Data: keypair.Data(keypair.For(t, "shop.example.com"))}
	text, err := yaml.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	files["secret.yaml"] = string(text)
	if got := fairlead(t, "verify", "--provider", "aws", "--attestation", attested, directory(t, files)); got.code != exitDone {
		t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
	}
}

func TestAttestationsThatAreNone(t *testing.T) {
	files, attested := migrated(t, "alb")
	dir := directory(t, files)
	text, err := os.ReadFile(attested)
	if err != nil {
		t.Fatal(err)
	}
	for want, file := range map[string]string{
		"no attestation": `{"summary": {}}`, "it was changed since": strings.Replace(string(text), "/healthz", "/health", 1),
		"attested": "{",
	} {
		name := filepath.Join(t.TempDir(), "attested")
		write(t, name, file)
		if got := fairlead(t, "verify", "--provider", "aws", "--attestation", name, dir); got.code != exitFail ||
			!strings.Contains(got.err, want) {
			t.Errorf("exit code %d, want %q\n%s", got.code, want, got.err)
		}
	}
	if got := fairlead(t, "verify", "--attestation", attested, dir); got.code != exitFail ||
		!strings.Contains(got.err, "--provider aws") {
		t.Errorf("another provider: exit code %d\n%s", got.code, got.err)
	}
	if got := fairlead(t, "verify", "--attestation", attested); got.code != exitFail {
		t.Errorf("no files: exit code %d", got.code)
	}
}
