package cli

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// This file tests that a gate sees what kubectl sees, or says what it did not read.

const evilJSON = `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"evil",` +
	`"namespace":"shop","annotations":{"fairlead.dev/scheme":"internet-facing"}},"spec":{"ingressClassName":"fairlead",` +
	`"rules":[{"host":"evil.example.com","http":{"paths":[{"path":"/","pathType":"Prefix","backend":` +
	`{"service":{"name":"web","port":{"number":80}}}}]}}]}}`

// listOf is a List of the evil Ingress, with more keys.
func listOf(keys string) string {
	return `{"apiVersion":"v1","kind":"List","items":[` + evilJSON + `]` + keys + `}`
}

// TestNoFileGetsPastTheGate adds an Ingress for everyone to what a pull request compares. Each way is
// one in which kubectl reads it.
func TestNoFileGetsPastTheGate(t *testing.T) {
	for name, c := range map[string]struct{ file, text string }{
		"as any other file":             {"manifests/evil.yaml", evilJSON},
		"in a hidden file":              {"manifests/.evil.yaml", evilJSON},
		"in a hidden directory":         {"manifests/.d/evil.yaml", evilJSON},
		"named as a kustomization":      {"manifests/kustomization.yml", evilJSON},
		"named as no kustomization":     {"manifests/Kustomization.json", evilJSON},
		"in a list with a second kind":  {"manifests/l.json", listOf(`,"Kind":"ConfigMap"`)},
		"in a list with other items":    {"manifests/l.json", listOf(`,"Items":[]`)},
		"in a list with items twice":    {"manifests/l.json", listOf(`,"items":[]`)},
		"in items of another kind":      {"manifests/l.yaml", strings.Replace(listOf(""), `"List"`, `"ConfigMap"`, 1)},
		"in a list in a list":           {"manifests/l.json", `{"apiVersion":"v1","kind":"List","items":[` + listOf("") + `]}`},
		"behind JSON":                   {"manifests/l.yaml", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}` + "\n---\n" + evilJSON},
		"in UTF-16":                     {"manifests/l.yaml", utf16(evilJSON)},
		"in what looks like a plan":     {"manifests/l.json", listOf(`,"loadBalancers":[],"steps":[],"routing":{"tables":[],"secrets":[],"assumed":[]}`)},
		"as a file in place of the dir": {"manifests", listOf(`,"loadBalancers":[],"steps":[],"routing":{"tables":[],"secrets":[],"assumed":[]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			repository(t, map[string]string{"manifests/web.yaml": ingressYAML("web", "a.example.com", "/") + "---\n" + serviceYAML})
			old := directory(t, map[string]string{"web.yaml": ingressYAML("web", "a.example.com", "/") + "---\n" + serviceYAML})
			if c.file == "manifests" {
				if err := os.RemoveAll(c.file); err != nil {
					t.Fatal(err)
				}
			} else if err := os.MkdirAll(filepath.Dir(c.file), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, c.file, c.text)
			for _, args := range [][]string{{"--base", "main", "manifests", "-R"}, {old, "manifests", "-R"}} {
				got := fairlead(t, append([]string{"diff"}, args...)...)
				if got.code == exitDone || got.code != exitFail && !strings.Contains(got.out, "new fairlead/shop/evil/internet-facing") {
					t.Errorf("diff %q: exit code %d\n%s%s", args, got.code, got.out, got.err)
				}
			}
			write(t, "e.yaml", "expectations: [{name: none, requests: {hosts: [evil.example.com]}, must: {neverAnswered: true}}]")
			if got := fairlead(t, "verify", "manifests", "-R", "--expect", "e.yaml"); got.code == exitDone {
				t.Errorf("verify: exit code %d\n%s%s", got.code, got.out, got.err)
			}
			if got := fairlead(t, "plan", "-R", "manifests"); got.code != exitFail && !strings.Contains(got.out, "evil.example.com") {
				t.Errorf("plan: exit code %d\n%s%s", got.code, got.out, got.err)
			}
		})
	}
}

// utf16 is ASCII in UTF-16 with its mark, as some editors of Windows write it.
func utf16(text string) string {
	out := "\xff\xfe"
	for _, c := range []byte(text) {
		out += string([]byte{c, 0})
	}
	return out
}

// TestWhatKubectlDoesNotReadIsTold: a document that it leaves out is not compared in silence.
func TestWhatKubectlDoesNotReadIsTold(t *testing.T) {
	good := ingressYAML("web", "a.example.com", "/")
	for name, c := range map[string]struct{ text, told string }{
		"a document behind its dashes": {good + "--- {a: b}\n", "a.yaml:13: reading YAML: a document begins on the line of its ---"},
		"JSON that breaks off":         {`{"kind":"A","apiVersion":"b"}{"kind":"A","apiVersion":"b"}{"a"`, "a.yaml:1: reading JSON: "},
		"a key written twice in a Service, which is read in part": {`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"ports":[],"ports":[]}}`,
			`duplicate field "spec.ports"`},
		"a key written twice in YAML, which kubectl reads": {"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {}\nspec: {}\n", `a.yaml:5: reading YAML: key "spec" already set`},
		"an item with half of an identity":                 {"apiVersion: v1\nkind: ServiceList\nitems:\n- {kind: Service, metadata: {name: a}}\n", "a.yaml:4: not a Kubernetes object"},
		"a field of a list":                                {"apiVersion: v1\nkind: List\nitems: []\nspec: 1\n", "a.yaml:4: List: spec: a list has no such field"},
		"a kind that is misspelt":                          {"apiVersion: networking.k8s.io/v1\nkind: Ingres\nmetadata: {name: a}\n", "a.yaml:2: Ingres a: kind: networking.k8s.io/v1 has no kind Ingres; did you mean Ingress?"},
		"another kind":                                     {"apiVersion: v1\nkind: Services\nmetadata: {name: a}\n", "did you mean Service?"},
		"a kind in small letters":                          {"apiVersion: networking.k8s.io/v1\nkind: ingress\nmetadata: {name: a}\n", "did you mean Ingress?"},
		"an item that is misspelt":                         {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap}\n- {apiVersion: fairlead.dev/v1alpha1, kind: Backnd}\n", "a.yaml:5: Backnd: kind: fairlead.dev/v1alpha1 has no kind Backnd; did you mean Backend?"},
		"a group that is misspelt":                         {"apiVersion: networking.k8s.oi/v1\nkind: Ingress\nmetadata: {name: a}\n", "a.yaml:1: Ingress a: apiVersion: did you mean networking.k8s.io/v1?"},
		"a plan":                                           {`{"loadBalancers":[],"steps":[]}`, "a.yaml:1: the output of plan, which is no manifest: a flag names it, such as --old-state"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(directory(t, map[string]string{"a.yaml": c.text}))
			got := fairlead(t, "validate", ".")
			told := strings.NewReplacer(" error Invalid: ", " ", " error Invalid ", " ").Replace(got.out)
			if got.code != exitFail || !strings.Contains(told, c.told) || strings.Contains(got.out, " 0 errors") {
				t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
			}
			if got := fairlead(t, "diff", ".", "."); got.code != exitFail {
				t.Errorf("the same on both sides of diff: exit code %d: %s%s", got.code, got.out, got.err)
			}
		})
	}
	// Kinds of others, and those that only resemble by chance.
	t.Chdir(directory(t, map[string]string{"a.yaml": good + "---\napiVersion: v1\nkind: Config\n---\napiVersion: v1\nkind: ConfigMap\n" +
		"---\napiVersion: config.openshift.io/v1\nkind: Ingress\n---\napiVersion: a.example.com/v1\nkind: AllowList\n" +
		"---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n"}))
	if got := fairlead(t, "validate", "."); got.code != exitDone {
		t.Errorf("kinds of others: exit code %d: %s%s", got.code, got.out, got.err)
	}
}

// TestLinesAreThoseOfFields, in lists, in JSON and behind aliases.
func TestLinesAreThoseOfFields(t *testing.T) {
	const list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: networking.k8s.io/v1\n  kind: Ingress\n" +
		"  metadata: {name: a}\n  spec: {rules: []}\n- apiVersion: networking.k8s.io/v1\n  kind: Ingress\n" +
		"  metadata:\n    name: b\n    annotations:\n      a: b\n      fairlead.dev/scheme: x\n  spec:\n    ingressClassName: fairlead\n    defaultBackend: &b\n" +
		"      service: {name: web,\n        port: {number: 80}}\n"
	t.Chdir(directory(t, map[string]string{
		"a.yaml": "# first\n---\n" + list, "b.json": "\n\n{\"apiVersion\": \"v1\",\n\"kind\": \"Secret\",\n\"metadata\": {\n\"name\": 3\n}}\n",
		"c.yaml": "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: c}\nspec:\n  controller: fairlead.dev/ingress\n  unknown: 1\n",
	}))
	got := fairlead(t, "validate", ".")
	for _, want := range []string{
		"a.yaml:9: error Invalid Ingress default/a: spec: ",
		"a.yaml:16: error AnnotationInvalid Ingress default/b metadata.annotations[fairlead.dev/scheme]: ",
		"b.json:6: error Invalid Secret: metadata.name: must be of type string, not number",
		`c.yaml:6: error Invalid IngressClass c: unknown field "spec.unknown"`,
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing in\n%s%s", want, got.out, got.err)
		}
	}
}

// TestOnlyRegularFilesAreRead: git keeps links to devices, and one to a terminal would be waited for.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := directory(t, map[string]string{"web.yaml": ingressYAML("web", "a.example.com", "/")})
	if err := errors.Join(os.Symlink("/dev/stdin", filepath.Join(dir, "a.yaml")), os.Symlink("/dev/zero", filepath.Join(dir, "b.yaml")),
		os.Symlink("..", filepath.Join(dir, "d.yaml")), os.Symlink("/proc/kmsg", filepath.Join(dir, "e.yaml")),
		os.Symlink("web.yaml", filepath.Join(dir, "link.json")),
		syscall.Mkfifo(filepath.Join(dir, "c.yaml"), 0o600)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan said, 1)
	go func() { done <- fairlead(t, "validate", dir) }()
	select {
	case <-ctx.Done():
		t.Fatal("it waits for ever")
	case got := <-done:
		for _, name := range []string{"a.yaml", "b.yaml", "c.yaml", "d.yaml", "e.yaml"} {
			if _, err := os.Stat(dir + "/" + name); err != nil {
				continue // another system has no /proc
			}
			if !strings.Contains(got.out, name+": error Invalid: not a regular file; - reads standard input\n") {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if !strings.Contains(got.out, "web.yaml:3: error Invalid Ingress shop/web: metadata.name: a second") {
			t.Errorf("a link to a file is not read: %+v", got)
		}
	}
	for _, args := range [][]string{
		{"plan", dir + "/web.yaml", "--observed", dir + "/c.yaml"}, {"verify", dir + "/web.yaml", "--expect", dir + "/a.yaml"},
		{"diff", "--old-state", dir + "/c.yaml", dir + "/web.yaml"},
	} {
		if got := fairlead(t, args...); got.code != exitFail || !strings.Contains(got.err, "not a regular file") {
			t.Errorf("%s: %+v", args[0], got)
		}
	}
}

// TestAPipeOfTheShellIsRead, as it names that of <(…).
func TestAPipeOfTheShellIsRead(t *testing.T) {
	read, written, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if _, err := written.WriteString(ingressYAML("web", "a.example.com", "/")); err != nil {
		t.Fatal(err)
	}
	if err := written.Close(); err != nil {
		t.Fatal(err)
	}
	if got := fairlead(t, "validate", "/dev/fd/"+strings.TrimSpace(number(read))); got.code != exitDone {
		t.Errorf("%+v", got)
	}
}

func number(f *os.File) string {
	digits := ""
	for n := f.Fd(); n > 0; n /= 10 {
		digits = string(rune('0'+n%10)) + digits
	}
	return digits
}

// TestOtherYAMLIsANote where both sides of diff have it, and can be left out elsewhere.
func TestOtherYAMLIsANote(t *testing.T) {
	repository(t, map[string]string{"m/web.yaml": ingressYAML("web", "a.example.com", "/"), "m/values.yaml": "replicas: 3\n",
		"m/charts/c/t.yaml": "{{ if .Values.x }}\nkind: Ingress\n{{ end }}\n", "m/charts/c/Chart.yaml": "name: c\n"})
	got := fairlead(t, "diff", "--base", "main", "-R", "m")
	if got.code != exitDone || got.err != "note: not read, and the same in both configurations: "+
		"m/charts/c/Chart.yaml:1, m/charts/c/t.yaml:1, m/values.yaml:1\n" {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
	write(t, "m/values.yaml", "replicas: 4\n")
	got = fairlead(t, "diff", "--base", "main", "-R", "m")
	const want = "not read before: main:m/values.yaml:1: not a Kubernetes object: apiVersion and kind are required; --exclude leaves files out\n" +
		"not read after: m/values.yaml:1: not a Kubernetes object: apiVersion and kind are required; --exclude leaves files out\n"
	if got.code != exitFail || !strings.Contains(got.out, want) || strings.Contains(got.err, "values.yaml") || strings.Contains(got.out+got.err, "fairlead-revision") {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
	for _, command := range []string{"diff --base main", "validate", "plan", "explain --all", "demo --once", "verify --expect e.yaml", "replay --logs a.log"} {
		write(t, "e.yaml", "expectations: [{name: a, must: {forwarded: true}}]")
		write(t, "a.log", accessLine("http://a.example.com:80/"))
		args := append(strings.Fields(command), "-R", "-f", "m", "--exclude", "values.yaml", "--exclude", "charts/*")
		if got := fairlead(t, args...); strings.Contains(got.out+got.err, "not a Kubernetes object") || strings.Contains(got.out+got.err, "reading YAML") {
			t.Errorf("%s: exit code %d: %s%s", command, got.code, got.out, got.err)
		}
	}
	for _, c := range [][2]string{{"m/charts/c", "2"}, {"charts", "1"}, {"charts/", "1"}, {"charts/*/*", "1"}, {"c", "1"}, {"other/values.yaml", "3"}} {
		if got := fairlead(t, "validate", "-R", "m", "--exclude", c[0]); !strings.Contains(got.out, c[1]+" problem") && c[0] != "m/charts/c" {
			t.Errorf("--exclude %s: %s%s", c[0], got.out, got.err)
		}
	}
	if got := fairlead(t, "validate", "-R", "m", "--exclude", "[a"); got.code != exitFail || !strings.Contains(got.err, `--exclude: "[a": syntax error in pattern`) {
		t.Errorf("%+v", got)
	}
}

// TestAKustomizationThatIsNotBuiltIsTold: a patch of it changes what is applied, and no other file.
func TestAKustomizationThatIsNotBuiltIsTold(t *testing.T) {
	const told = "a kustomization, which is not built: -k with its directory builds it, and --exclude leaves it out"
	const plain, patched = "resources: [b.yaml]\n", "resources: [b.yaml]\npatches: [{path: p.yml.txt}]\n"
	files := func(name, text string) map[string]string {
		return map[string]string{"m/web.yaml": ingressYAML("web", "a.example.com", "/"), "k/b.yaml": ingressYAML("b", "b.example.com", "/"), "k/" + name: text}
	}
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		repository(t, files(name, plain))
		write(t, "e.yaml", "expectations: [{name: a, requests: {hosts: [b.example.com]}, must: {forwarded: true}}]")
		got := fairlead(t, "diff", "--base", "main", "-R", ".", "--exclude", "e.yaml")
		if got.code != exitDone || got.err != "note: not read, and the same in both configurations: k/"+name+"\n" {
			t.Errorf("the same on both sides: exit code %d: %s%s", got.code, got.out, got.err)
		}
		write(t, "k/"+name, patched)
		for _, paths := range []string{"-R .", "-R k m", "k m"} {
			for _, command := range []string{"diff --base main", "verify --expect e.yaml", "validate", "plan", "explain --all"} {
				args := strings.Fields(command + " --exclude e.yaml -f " + strings.ReplaceAll(strings.TrimPrefix(paths, "-R "), " ", " -f "))
				if strings.HasPrefix(paths, "-R") {
					args = append(args, "-R")
				}
				if got := fairlead(t, args...); got.code != exitFail || !strings.Contains(got.out+got.err, "k/"+name) || !strings.Contains(got.out+got.err, told) {
					t.Errorf("%q: exit code %d: %s%s", args, got.code, got.out, got.err)
				}
			}
		}
		if got := fairlead(t, "diff", "--base", "main", "-R", ".", "--exclude", "k", "--exclude", "e.yaml"); got.code != exitDone || got.err != "" {
			t.Errorf("left out: exit code %d: %s%s", got.code, got.out, got.err)
		}
	}
	for name, c := range map[string]struct{ file, before, after string }{
		"another file of it":    {"k/p.yml.txt", "a: b\n", "a: c\n"},
		"a file of a directory": {"k/base/p.txt", "a: b\n", "a: c\n"},
		"another directory":     {"m/p.txt", "a: b\n", "a: c\n"},
	} {
		all := files("kustomization.yaml", patched)
		if all[c.file] = c.before; !strings.HasPrefix(c.file, "k/") {
			all["k/kustomization.yaml"] = "resources: [../m]\n"
		}
		repository(t, all)
		write(t, c.file, c.after)
		if got := fairlead(t, "diff", "--base", "main", "-R", "."); got.code != exitFail || !strings.Contains(got.out, told) {
			t.Errorf("%s: exit code %d: %s%s", name, got.code, got.out, got.err)
		}
	}
	stands(t, "kubectl", `cat "$3"/b.yaml`)
	t.Chdir(directory(t, files("kustomization.yaml", plain)))
	if got := fairlead(t, "validate", "-R", "k", "m", "-k", "./k", "--exclude", "b.yaml"); got.code != exitDone {
		t.Errorf("it is built: exit code %d: %s%s", got.code, got.out, got.err)
	}
}

// TestAnIngressWithoutAClassIsTold: a default class of the cluster would have it served.
func TestAnIngressWithoutAClassIsTold(t *testing.T) {
	const told = "Ingress shop/new names no class, and the default class of the cluster is not among the files: " +
		"--watch-ingress-without-class=fairlead serves such Ingresses, and --class-name=fairlead leaves them alone"
	unclassed := strings.NewReplacer("  ingressClassName: fairlead\n", "", "name: new", "name: new, annotations: {fairlead.dev/scheme: internet-facing}").
		Replace(ingressYAML("new", "a.example.com", "/"))
	standard := "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: fairlead, annotations: {ingressclass.kubernetes.io/is-default-class: 'true'}}\nspec: {controller: fairlead.dev/ingress}\n"
	repository(t, map[string]string{"m/web.yaml": ingressYAML("web", "a.example.com", "/")})
	write(t, "m/new.yaml", unclassed)
	write(t, "e.yaml", "expectations: [{name: a, must: {forwarded: true}}]")
	for _, command := range []string{"diff --base main", "verify --expect e.yaml"} {
		args := append(strings.Fields(command), "-f", "m", "-o", "json")
		if got := fairlead(t, args...); got.code != exitFail || !strings.Contains(got.out, told) || !strings.Contains(got.err, told) {
			t.Errorf("%s: exit code %d: %s%s", command, got.code, got.out, got.err)
		}
		if got := fairlead(t, append(args, "--class-name=fairlead")...); got.code == exitFail || strings.Contains(got.out, told) {
			t.Errorf("%s --class-name: exit code %d: %s%s", command, got.code, got.out, got.err)
		}
		if got := fairlead(t, append(args, "--watch-ingress-without-class=fairlead")...); got.code == exitFail || strings.Contains(got.out, told) {
			t.Errorf("%s --watch-ingress-without-class: exit code %d: %s%s", command, got.code, got.out, got.err)
		}
	}
	if got := fairlead(t, "validate", "m"); got.code != exitFail || !strings.Contains(got.err, told) {
		t.Errorf("validate: %+v", got)
	}
	write(t, "m/class.yaml", standard)
	if got := fairlead(t, "diff", "--base", "main", "m"); got.code == exitFail || got.code == exitDone || strings.Contains(got.err, "names no class") {
		t.Errorf("with a default class: exit code %d: %s%s", got.code, got.out, got.err)
	}
}

// TestGeneratedNames are of the objects that an API server would name.
func TestGeneratedNames(t *testing.T) {
	one := strings.Replace(ingressYAML("", "a.example.com", "/"), "name: ,", "generateName: preview-,", 1)
	two := strings.Replace(one, "a.example", "b.example", 1)
	got := fairlead(t, "plan", directory(t, map[string]string{"a.yaml": one + "---\n" + two}))
	if got.code != exitToDo || !strings.Contains(got.out, "fairlead/shop/preview-xxxxx/internal") || !strings.Contains(got.out, "fairlead/shop/preview-x0001/internal") {
		t.Errorf("%+v", got)
	}
}

// TestNothingIsFetched that a kustomization of a directory names, unless a flag says so.
func TestNothingIsFetched(t *testing.T) {
	if _, err := exec.LookPath("kubectl"); err != nil {
		if _, err := os.Stat("../.cache/bin/kubectl"); err != nil {
			t.Skip("there is no kubectl")
		}
		bin, err := filepath.Abs("../.cache/bin")
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	fetched := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetched++
		_, _ = w.Write([]byte(ingressYAML("web", "a.example.com", "/")))
	}))
	defer server.Close()
	url := server.URL + "/a.yaml"
	for name, c := range map[string]struct {
		files map[string]string
		told  string
	}{
		"a resource":           {map[string]string{"kustomization.yaml": "resources:\n- " + url + "\n"}, "kustomization.yaml:2: " + url + " is on another machine; --kustomize-remote permits"},
		"behind an alias":      {map[string]string{"kustomization.yaml": "images: [{name: &u " + url + "}]\nresources: [*u]\n"}, "is on another machine"},
		"of a base":            {map[string]string{"kustomization.yaml": "resources: [base]\n", "base/kustomization.yml": "resources: ['" + url + "']\n"}, "base/kustomization.yml:1: "},
		"a patch":              {map[string]string{"kustomization.yaml": "resources: [a.yaml]\npatches: [{path: '" + url + "'}]\n", "a.yaml": serviceYAML}, "is on another machine"},
		"of a transformer":     {map[string]string{"kustomization.yaml": "resources: [a.yaml]\ntransformers: [t.yaml]\n", "a.yaml": serviceYAML, "t.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\npath: " + url + "\n"}, "t.yaml:4: "},
		"a file of a map":      {map[string]string{"kustomization.yaml": "configMapGenerator: [{name: a, files: ['a=" + url + "']}]\n"}, "is on another machine"},
		"a repository":         {map[string]string{"kustomization.yaml": "resources: ['git@localhost:a/b']\n"}, "--kustomize-remote permits"},
		"another machine's":    {map[string]string{"kustomization.yaml": "resources: ['github.com/a/b?ref=main']\n"}, "--kustomize-remote permits"},
		"a URL in annotations": {map[string]string{"kustomization.yaml": "resources: [a.yaml]\ncommonAnnotations: {a: 'https://a.example.com'}\n", "a.yaml": ingressYAML("web", "a.example.com", "/")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range c.files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, file), text)
			}
			got := fairlead(t, "validate", "-k", dir)
			if fetched > 0 || (got.code == exitFail) != (c.told != "") || !strings.Contains(got.err, c.told) {
				t.Errorf("%d fetched; exit code %d: %s%s", fetched, got.code, got.out, got.err)
			}
		})
	}
	dir := directory(t, map[string]string{"kustomization.yaml": "resources: ['" + url + "']\n"})
	if got := fairlead(t, "validate", "-k", dir, "--kustomize-remote"); got.code != exitDone || fetched == 0 {
		t.Errorf("with the flag: %+v", got)
	}
}

// TestNoLineIsACommandOfActions, whatever files and objects are named.
func TestNoLineIsACommandOfActions(t *testing.T) {
	evil := "::error title=x::pwned ##[group]x.yaml"
	t.Chdir(directory(t, map[string]string{evil: "kind: [", "web.yaml": ingressYAML("web", "a.example.com", "/") + "---\n" + serviceYAML,
		"b.yaml": "apiVersion: fairlead.dev/v1alpha1\nkind: Backend\nmetadata: {name: b, namespace: shop}\nspec:\n  fixedResponse:\n    statusCode: 200\n" +
			"    contentType: text/plain\n    body: \"a\\n::error::pwned\\n##[group]x\"\n---\n" + strings.Replace(ingressYAML("fixed", "b.example.com", "/"),
			"service: {name: web, port: {number: 80}}", "resource: {apiGroup: fairlead.dev, kind: Backend, name: b}", 1)}))
	write(t, "../e.yaml", "expectations: [{name: '::error::pwned', must: {redirected: true}}]")
	for _, command := range []string{"validate .", "plan .", "plan . -o yaml", "plan . -o json", "explain --all -f .", "diff . web.yaml",
		"diff web.yaml .", "diff . web.yaml -o yaml", "verify . --expect ../e.yaml", "verify . --expect ../e.yaml -o yaml", "plan " + evil} {
		args := strings.Fields(command)
		if command == "plan "+evil {
			args = []string{"plan", evil, "::warning::none.yaml"}
		}
		got := fairlead(t, args...)
		if got.code == exitDone {
			t.Errorf("%s ends with 0", command)
		}
		for line := range strings.Lines(got.out + got.err) {
			if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
				t.Errorf("%s prints %s", command, line)
			}
		}
	}
}
