package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cli/manifests"
)

func TestBadInputIsOneClearLine(t *testing.T) {
	good := ingressYAML("web", "a.example.com", "/")
	big := "# " + strings.Repeat("x", 10<<20)
	cases := map[string]struct {
		files map[string]string
		args  []string // besides -f
		want  []string // on one line
	}{
		"a broken manifest names the line of its file": {
			files: map[string]string{"a.yaml": serviceYAML + "---\nkind: Ingress\n  spec: [\n"},
			want:  []string{"a.yaml:8: reading YAML: "},
		},
		"text that is no object": {
			files: map[string]string{"a.yaml": "just words\n"},
			want:  []string{"a.yaml:1: not a Kubernetes object"},
		},

		"a path without a slash": {
			files: map[string]string{"a.yaml": ingressYAML("web", "a.example.com", "cart")},
			want:  []string{"a.yaml:10: Ingress shop/web: spec.rules[0].http.paths[0].path: ", "cart"},
		},
		"a host that is an address": {
			files: map[string]string{"a.yaml": ingressYAML("web", "10.0.0.1", "/")},
			want:  []string{"a.yaml:7: Ingress shop/web: spec.rules[0].host: ", "10.0.0.1"},
		},
		"a field that does not exist": {
			files: map[string]string{"a.yaml": strings.Replace(good, "pathType: Prefix", "pathTyp: Prefix", 1)},
			want:  []string{"a.yaml:11: Ingress shop/web: ", `"spec.rules[0].http.paths[0].pathTyp"`},
		},
		"a field of another type": {
			files: map[string]string{"a.yaml": strings.Replace(good, "number: 80", "number: http", 1)},
			want:  []string{"a.yaml:12: Ingress shop/web: spec.rules[0].http.paths[0].backend.service.port.number: must be of type int32, not string"},
		},
		"a host that YAML takes for a number": {
			files: map[string]string{"a.yaml": strings.Replace(good, `"a.example.com"`, "12", 1)},
			want:  []string{"a.yaml:7: Ingress shop/web: spec.rules[0].host: must be of type string, not number"},
		},
		"a time that is none": {
			files: map[string]string{"a.yaml": strings.Replace(good, "namespace: shop", "namespace: shop, creationTimestamp: yesterday", 1)},
			want:  []string{"a.yaml:3: Ingress shop/web: metadata.creationTimestamp: ", "yesterday"},
		},
		"a key that is written twice": {
			files: map[string]string{"a.yaml": good + "spec: {}\n"},
			want:  []string{"a.yaml:13: ", `"spec"`},
		},
		"a name that YAML takes for a number": {
			files: map[string]string{"a.yaml": strings.Replace(good, "name: web", "name: 7", 1)},
			want:  []string{"a.yaml:3: Ingress: metadata.name: must be of type string, not number"},
		},
		"an Ingress without a name": {
			files: map[string]string{"a.yaml": strings.Replace(good, "name: web, ", "", 1)},
			want:  []string{"a.yaml:3: Ingress: metadata.name: required"},
		},
		"an API that is no longer served": {
			files: map[string]string{"a.yaml": strings.Replace(good, "networking.k8s.io/v1", "networking.k8s.io/v1beta1", 1)},
			want: []string{"a.yaml:1: Ingress shop/web: apiVersion: networking.k8s.io/v1beta1",
				"write networking.k8s.io/v1"},
		},
		"the first API of all": {
			files: map[string]string{"a.yaml": strings.Replace(good, "networking.k8s.io/v1", "extensions/v1beta1", 1)},
			want: []string{"a.yaml:1: Ingress shop/web: apiVersion: extensions/v1beta1",
				"write networking.k8s.io/v1"},
		},

		"a large file": {
			files: map[string]string{"a.yaml": big},
			want:  []string{"a.yaml: larger than 8 MiB"},
		},
		"an empty directory": {
			want: []string{": no .yaml, .yml or .json file there"},
		},
		"a directory with other things only": {
			files: map[string]string{"notes.txt": "hello"},
			want:  []string{": no .yaml, .yml or .json file there"},
		},
		"a directory with a kustomization": { // B6
			files: map[string]string{"kustomization.yaml": "resources: []\n"},
			want:  []string{"it has a kustomization and no manifests: give -k . in place of -f"},
		},
		"manifests without an Ingress": {
			files: map[string]string{"a.yaml": serviceYAML},
			want:  []string{": no Ingress there"},
		},
		"a state file cut short": {
			files: map[string]string{"a.yaml": good, "state": `{"fairlead/shop/web/internal": {"key": "fairlead/sh`},
			args:  []string{"--observed", "state"},
			want:  []string{"state: the state is cut short after 51 bytes"},
		},
		"an empty state file": {
			files: map[string]string{"a.yaml": good, "state": ""},
			args:  []string{"--observed", "state"},
			want:  []string{"state: the state is cut short after 0 bytes"},
		},
		"a state under the wrong name": {
			files: map[string]string{"a.yaml": good, "state": `{"one": {"key": "two"}}`},
			args:  []string{"--observed", "state"},
			want:  []string{"state: one: key: "},
		},
		"a list where a state should be": { // B3
			files: map[string]string{"a.yaml": good, "state": `{"one": []}`},
			args:  []string{"--observed", "state"},
			want:  []string{"state: not a state: "},
		},
		"a plan of before plans had their state": {
			files: map[string]string{"a.yaml": good, "state": `{"loadBalancers": [], "steps": []}`},
			args:  []string{"--observed", "state"},
			want:  []string{"state: not a state: the output of a plan without the key state"},
		},
		"a provider that does not exist": {
			files: map[string]string{"a.yaml": good},
			args:  []string{"--provider", "cumulus"},
			want:  []string{`--provider: "cumulus": it can be aws or fake, or NAME=URL`},
		},
		"a format that does not exist": {
			files: map[string]string{"a.yaml": good},
			args:  []string{"-o", "xml"},
			want:  []string{`--output: "xml": it can be text, json or yaml`},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Chdir(directory(t, c.files))
			got := fairlead(t, append([]string{"plan", "-f", "."}, c.args...)...)
			if got.code != exitFail || got.out != "" || strings.Count(got.err, "\n") != 1 {
				t.Fatalf("exit code %d, want %d, nothing written and one line; wrote %q and said\n%s", got.code, exitFail, got.out, got.err)
			}
			rest := got.err
			for _, want := range c.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("%q is missing, or out of order, in\n%s", want, got.err)
				}
				rest = after
			}
		})
	}
}

// TestAProblemCostsItself: B4. What cannot be read is reported with its file and line, and everything else
// is planned and explained.
func TestAProblemCostsItself(t *testing.T) {
	good := ingressYAML("web", "a.example.com", "/")
	cases := map[string]struct {
		files map[string]string
		want  []string // on one line
	}{
		"an object without a kind": {
			files: map[string]string{"a.yaml": good + "---\n# nothing\n\nmetadata: {name: x}\n"},
			want:  []string{"a.yaml:16: not a Kubernetes object: apiVersion and kind are required"},
		}, "two documents with one name": {
			files: map[string]string{"a.yaml": good, "b.yaml": serviceYAML + "---\n" + good},
			want:  []string{"b.yaml:9: Ingress shop/web: metadata.name: ", "a.yaml:1"},
		}, "one name in one file, the namespace once left out": {
			files: map[string]string{"a.yaml": strings.ReplaceAll(good, "shop", "default") + "---\n" +
				strings.ReplaceAll(good, ", namespace: shop", "")},
			want: []string{"a.yaml:16: Ingress default/web: metadata.name: ", "a.yaml:1"},
		}, "a kind that Fairlead does not have": {
			files: map[string]string{"a.yaml": good +
				"---\napiVersion: fairlead.dev/v1alpha1\nkind: Backends\nmetadata: {name: x}\n"},
			want: []string{"a.yaml:15: Backends x: kind: fairlead.dev/v1alpha1 has no kind Backends"},
		}, "an Ingress that is invalid": {
			files: map[string]string{"a.yaml": good, "b.yaml": ingressYAML("bad", "BAD_HOST", "/")},
			want:  []string{"b.yaml:7: Ingress shop/bad: spec.rules[0].host: "},
		},
		"values of a chart": {
			files: map[string]string{"a.yaml": good, "values.yaml": "# values\nreplicas: 3\n"},
			want:  []string{"values.yaml:2: not a Kubernetes object"},
		},
		"JSON of another program": {
			files: map[string]string{"a.yaml": good, "trust.json": `{"Version": "2012-10-17"}`},
			want:  []string{"trust.json:1: not a Kubernetes object"},
		},
		"one document of a file is not YAML": {
			files: map[string]string{"a.yaml": "kind: [\n---\n" + good},
			want:  []string{"a.yaml:1: reading YAML: "},
		},
	}
	for name, c := range cases {
		for _, args := range [][]string{{"plan"}, {"explain", "http://a.example.com/"}, {"explain",
			"--all"}, {"validate"}} {
			t.Run(name+" "+strings.Join(args, " "), func(t *testing.T) {
				t.Chdir(directory(t, c.files))
				got := fairlead(t, append(args, "-f", ".")...)
				told := got.err
				if args[0] == "validate" {
					told = strings.NewReplacer(" error Invalid: ", " ", " error Invalid ", " ").Replace(got.out)
				}
				if got.code != exitFail || !strings.Contains(got.out, "1 problem in the files") {
					t.Errorf("exit code %d, want %d, and a summary that tells of the problem in\n%s", got.code,
						exitFail, got.out)
				}
				if args[0] == "plan" && !strings.Contains(got.out, "host = a.example.com → forward ") {
					t.Errorf("the rest is not planned:\n%s", got.out)
				}
				if len(args) > 1 && args[1] != "--all" && !strings.Contains(got.out, "Service ") {
					t.Errorf("the rest is not explained:\n%s", got.out)
				}
				for _, want := range c.want {
					_, after, found := strings.Cut(told, want)
					if told = after; !found {
						t.Fatalf("%q is missing, or out of order, in\n%s%s", want, got.err, got.out)
					}
				}
			})
		}
	}
}

func TestEveryProblemHasItsLine(t *testing.T) {
	dir := directory(t, map[string]string{
		"a.yaml": ingressYAML("one", "1.2.3.4", "x"),
		"b.yaml": ingressYAML("two", "UPPER", "/"),
	})
	got := fairlead(t, "plan", "-f", dir)
	if lines := strings.Count(got.err, "\n"); got.code != exitFail || lines != 3 {
		t.Errorf("exit code %d and %d lines, want %d and 3:\n%s", got.code, lines, exitFail, got.err)
	}
}

func TestManifestsAreReadInEveryForm(t *testing.T) {
	yaml := ingressYAML("web", "a.example.com", "/")
	json := `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"web"},
		"spec":{"defaultBackend":{"service":{"name":"web","port":{"number":80}}}}}`
	cases := map[string]struct {
		text               string
		ingresses, service int
	}{
		"one document":                        {yaml, 1, 0},
		"documents with empty ones between":   {"---\n# a comment\n---\n" + yaml + "---\n" + serviceYAML + "---\n", 1, 1},
		"a comment behind the dashes":         {yaml + "--- # next\n" + serviceYAML, 1, 1},
		"lines that end as on Windows":        {strings.ReplaceAll(yaml+"---\n"+serviceYAML, "\n", "\r\n"), 1, 1},
		"a byte order mark":                   {"\xef\xbb\xbf" + yaml, 1, 0},
		"dashes within a block of text":       {yaml + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  text: |\n    ---\n    kind: Ingress\n", 1, 0},
		"a time that YAML understands":        {strings.Replace(yaml, "namespace: shop", "creationTimestamp: 2024-01-01T00:00:00Z", 1), 1, 0},
		"JSON":                                {json, 1, 0},
		"JSON objects after each other":       {json + "\n" + strings.Replace(json, `"web"}`, `"two"}`, 1), 2, 0},
		"a list":                              {`{"apiVersion":"v1","kind":"List","items":[` + json + `]}`, 1, 0},
		"a typed list whose items are silent": {`{"apiVersion":"networking.k8s.io/v1","kind":"IngressList","items":[` + strings.Replace(json, `"apiVersion":"networking.k8s.io/v1","kind":"Ingress",`, "", 1) + `]}`, 1, 0},
		"kinds that are none of our business": {yaml + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {whatever: 1}\n", 1, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := manifests.Load([]string{"-"}, strings.NewReader(c.text))
			if err != nil || len(got.Ingresses) != c.ingresses || len(got.Services) != c.service {
				t.Errorf("%d Ingresses and %d Services, want %d and %d; error: %v",
					len(got.Ingresses), len(got.Services), c.ingresses, c.service, err)
			}
		})
	}
}

func TestOneFileNamedTwiceIsReadOnce(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": ingressYAML("web", "a.example.com", "/")})
	if _, err := manifests.Load([]string{dir, filepath.Join(dir, "a.yaml"), dir + "/./a.yaml"}, nil); err != nil {
		t.Error(err)
	}
}

func TestASecretsTextIsItsData(t *testing.T) {
	text := ingressYAML("web", "a.example.com", "/") + `---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {tls.crt: chain}
`
	got, err := manifests.Load([]string{"-"}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if data := string(got.Secrets[0].Data["tls.crt"]); data != "chain" {
		t.Errorf("data is %q", data)
	}
}

func TestAFileThatCannotBeReadIsNamed(t *testing.T) {
	got := fairlead(t, "plan", "-f", "nowhere.yaml")
	if got.code != exitFail || got.err != "error: nowhere.yaml: "+os.ErrNotExist.Error()+"\n" && !strings.HasPrefix(got.err, "error: nowhere.yaml: no such file") {
		t.Errorf("%+v", got)
	}
}

// unreadable adds a directory that cannot be read, by root neither: its path is longer than 4,096
// bytes (https://man7.org/linux/man-pages/man7/path_resolution.7.html).
func unreadable(t *testing.T, dir string) {
	t.Helper()
	at, err := os.OpenRoot(dir)
	for range 17 {
		if err == nil {
			name := strings.Repeat("d", 255)
			err = at.Mkdir(name, 0o700)
			inner, wrong := at.OpenRoot(name)
			err = errors.Join(err, wrong, at.Close())
			at = inner
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := at.Close(); err != nil {
		t.Fatal(err)
	}
}

// A directory that cannot be read costs itself, as a file does.
func TestADirectoryThatCannotBeReadCostsItself(t *testing.T) {
	dir := shop(t)
	unreadable(t, dir)
	for _, command := range []string{"validate", "plan"} {
		got := fairlead(t, command, "-R", dir)
		if got.code != exitFail || !strings.Contains(got.out+got.err, "file name too long") ||
			!strings.Contains(got.out, "shop/web") && command == "plan" {
			t.Errorf("%s: exit code %d\n%s%s", command, got.code, got.out, got.err)
		}
	}
	logs := directory(t, map[string]string{"a.log": accessLine("http://a.example.com:80/")})
	unreadable(t, logs)
	report, got := replayJSON(t, "", shop(t), "--logs", logs)
	if report.Summary.Compared != 1 || got.code != exitFail || !strings.Contains(got.err, "file name too long") {
		t.Errorf("%d lines; exit code %d\n%s", report.Summary.Compared, got.code, got.err)
	}
}

// A link to a directory is followed if it is named.
func TestALinkToADirectoryIsFollowed(t *testing.T) {
	manifests, logs := filepath.Join(t.TempDir(), "manifests"), filepath.Join(t.TempDir(), "logs")
	to := directory(t, map[string]string{"a.log": accessLine("http://a.example.com:80/")})
	if err := errors.Join(os.Symlink(shop(t), manifests), os.Symlink(to, logs)); err != nil {
		t.Fatal(err)
	}
	if report, got := replayJSON(t, "", manifests, "--logs", logs); report.Summary.Compared != 1 || got.code != exitDone {
		t.Errorf("%d lines; exit code %d\n%s", report.Summary.Compared, got.code, got.err)
	}
}
