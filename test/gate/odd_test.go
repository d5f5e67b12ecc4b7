package gate

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// This file has the repositories.

var seed = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of random repositories")

const serviceYAML = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  ports: [{port: 80}]
`

func ingressYAML(name, host, path string) string {
	return `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: ` + name + `, namespace: shop}
spec:
  ingressClassName: fairlead
  rules:
  - host: "` + host + `"
    http:
      paths:
      - path: '` + path + `'
        pathType: Prefix
        backend: {service: {name: web, port: {number: 80}}}
`
}

func annotatedYAML(name, host, path, annotations string) string {
	return strings.Replace(ingressYAML(name, host, path), "namespace: shop", "namespace: shop, annotations: {"+annotations+"}", 1)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// repository makes a repository with a first commit, and works in it.
func repository(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		write(t, name, text)
	}
	runGit(t, "init", "-q", "-b", "main")
	runGit(t, "add", "-A")
	runGit(t, "commit", "-q", "-m", "first")
}

func runGit(t *testing.T, args ...string) {
	t.Helper()
	args = append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)
	if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// A pull is what a pull request changes, and what its pipeline says of it.
type pull struct {
	base, files map[string]string // beside the usual ones; an empty file is deleted
	do          func(t *testing.T)
	passes      bool
	comment     string // a part of it; none where nothing is commented
}

// usual is what each repository has at first.
func usual() map[string]string {
	return map[string]string{"manifests/web.yaml": ingressYAML("web", "a.example.com", "/"), "manifests/service.yaml": serviceYAML}
}

const evilJSON = `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"evil","namespace":"shop","annotations":{"fairlead.dev/scheme":"internet-facing"}},` +
	`"spec":{"ingressClassName":"fairlead","rules":[{"host":"a.example.com","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"web","port":{"number":80}}}}]}}]}}`

// tangled is an Ingress with more combinations of globs and conditions than can be searched.
func tangled(service string) string {
	var conditions, paths []string
	for i := range 80 {
		letters := fmt.Sprintf("%c%c", 'a'+i%26, 'a'+i/26)
		conditions = append(conditions, fmt.Sprintf(`{path: "/*%s*", header: {x-0: ["*h%s*"]}}`, letters, letters))
		paths = append(paths, fmt.Sprintf("      - {path: \"/*%s*\", pathType: ImplementationSpecific, backend: {service: {name: %s, port: {number: 80}}}}\n", letters, service))
	}
	return strings.Replace(`apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: tangled
  namespace: shop
  annotations:
    fairlead.dev/conditions: 'CONDITIONS'
spec:
  ingressClassName: fairlead
  rules:
  - host: t.example.com
    http:
      paths:
`, "CONDITIONS", "["+strings.Join(conditions, ", ")+"]", 1) + strings.Join(paths, "")
}

func in(file, text string) map[string]string { return map[string]string{file: text} }

// pulls are the pull requests.
func pulls() map[string]pull {
	public := annotatedYAML("web", "a.example.com", "/", "fairlead.dev/scheme: internet-facing")
	ticks := annotatedYAML("x", "x.example.com", "/", "fairlead.dev/conditions: '[{header: {X-A: [\"b`;touch pwned;`\"]}}]'")
	hidden := func(file, text string) pull {
		return pull{files: in(file, text), comment: "**less protected**"}
	}
	none := func(file, text, comment string) pull { return pull{files: in(file, text), comment: comment} }
	return map[string]pull{
		"a comment in a file changes":       {files: in("manifests/web.yaml", "# new\n"+ingressYAML("web", "a.example.com", "/")), passes: true},
		"CRLF":                              {files: in("manifests/web.yaml", strings.ReplaceAll(ingressYAML("web", "a.example.com", "/"), "\n", "\r\n")), passes: true},
		"a BOM":                             {files: in("manifests/web.yaml", "\ufeff"+ingressYAML("web", "a.example.com", "/")), passes: true},
		"a file is renamed":                 {files: map[string]string{"manifests/web.yaml": "", "manifests/b/w.yaml": ingressYAML("web", "a.example.com", "/")}, passes: true},
		"a path is added":                   {files: in("manifests/x.yaml", ingressYAML("x", "x.example.com", "/")), passes: true, comment: "x.example.com"},
		"a public Ingress is new":           {files: in("manifests/x.yaml", annotatedYAML("x", "x.example.com", "/", "fairlead.dev/scheme: internet-facing")), passes: true, comment: "new"},
		"a host becomes public":             {files: in("manifests/web.yaml", public), comment: "**less protected**"},
		"everything is deleted":             {files: in("manifests/web.yaml", ""), passes: true, comment: "gone"},
		"a hidden file":                     hidden("manifests/.evil.yaml", evilJSON),
		"a hidden directory":                hidden("manifests/.d/evil.yaml", evilJSON),
		"named as a kustomization":          hidden("manifests/kustomization.yml", evilJSON),
		"a patch in a kustomization":        {base: in("manifests/k/kustomization.yaml", "resources: []\n"), files: in("manifests/k/kustomization.yaml", "patches: [{path: p.txt}]\n"), comment: "Not read"},
		"a kustomization that stays":        {base: in("manifests/k/kustomization.yaml", "resources: []\n"), files: in("manifests/x.yaml", ingressYAML("x", "x.example.com", "/")), passes: true, comment: "x.example.com"},
		"a kustomization without an ending": {files: in("manifests/k/Kustomization", "resources: [../web.yaml]\n"), comment: "Not read"},
		"a list with a second kind":         none("manifests/l.json", `{"apiVersion":"v1","kind":"List","items":[`+evilJSON+`],"Kind":"ConfigMap"}`, "Not read"),
		"a list with second items":          none("manifests/l.json", `{"apiVersion":"v1","kind":"List","items":[`+evilJSON+`],"Items":[]}`, "Not read"),
		"a list that looks like a plan":     none("manifests/l.json", `{"apiVersion":"v1","kind":"List","items":[`+evilJSON+`],"loadBalancers":[],"steps":[],"routing":{}}`, "Not read"),
		"a list in a list":                  hidden("manifests/l.json", `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[`+evilJSON+`]}]}`),
		"JSON before YAML":                  hidden("manifests/l.yaml", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`+"\n---\n"+evilJSON),
		"a file in place of the directory":  {do: func(t *testing.T) { replaceDirectory(t) }, comment: "Not read"},
		"a misspelt kind":                   none("manifests/web.yaml", strings.Replace(ingressYAML("web", "a.example.com", "/"), "kind: Ingress", "kind: Ingres", 1), "Ingres"),
		"a misspelt field":                  none("manifests/web.yaml", strings.Replace(ingressYAML("web", "a.example.com", "/"), "pathType", "pathTyp", 1), "pathTyp"),
		"a field in another case":           none("manifests/web.yaml", strings.Replace(ingressYAML("web", "a.example.com", "/"), "ingressClassName", "IngressClassName", 1), "IngressClassName"),
		"a class that does not exist":       none("manifests/web.yaml", strings.Replace(ingressYAML("web", "a.example.com", "/"), "ClassName: fairlead", "ClassName: fairlaed", 1), "fairlaed"),
		"v1beta1":                           none("manifests/web.yaml", strings.Replace(ingressYAML("web", "a.example.com", "/"), "k8s.io/v1", "k8s.io/v1beta1", 1), "v1beta1"),
		"YAML that is cut off":              none("manifests/web.yaml", "apiVersion: networking.k8s.io/v1\nkind: [", "Not read"),
		"a template":                        none("manifests/t.yaml", "apiVersion: v1\nkind: {{ .Kind }}\n", "Not read"),
		"values of a chart that stay":       {base: in("manifests/values.yaml", "a: b\n"), files: in("manifests/x.yaml", ingressYAML("x", "x.example.com", "/")), passes: true, comment: "x.example.com"},
		"values of a chart that change":     {base: in("manifests/values.yaml", "a: b\n"), files: in("manifests/values.yaml", "a: c\n"), comment: "Not read"},
		"two objects of a name":             none("manifests/y.yaml", ingressYAML("web", "b.example.com", "/"), "second object"),
		"an alias bomb":                     none("manifests/bomb.yaml", bomb(), "Not read"),
		"40,000 empty objects":              none("manifests/many.yaml", strings.Repeat("{}\n---\n", 40_000), "Not read"),
		"a link to a device":                {do: func(t *testing.T) { link(t, "/dev/stdin", "manifests/x.yaml") }, comment: "Not read"},
		"a link to itself":                  {do: func(t *testing.T) { link(t, "x.yaml", "manifests/x.yaml") }, comment: "Not read"},
		"a link out of the repository":      {do: func(t *testing.T) { link(t, "/etc/passwd", "manifests/x.yaml") }, comment: "Not read"},
		"a header that ends the quotes":     {files: in("manifests/x.yaml", ticks), passes: true, comment: "touch pwned"},
		"a path that ends the quotes":       {files: in("manifests/x.yaml", ingressYAML("x", "x.example.com", "/`;touch pwned;`")), passes: true, comment: "new"}, // an ALB has no such path
		"a header with a substitution":      {files: in("manifests/x.yaml", annotatedYAML("x", "x.example.com", "/", "fairlead.dev/conditions: '[{header: {X-A: [\"$(touch pwned)\"]}}]'")), passes: true, comment: "touch pwned"},
		"a path with a bar":                 {files: in("manifests/web.yaml", ingressYAML("web", "a.example.com", "/a|touch pwned")), passes: true, comment: "fixed 404"},
		"a path with HTML":                  {files: in("manifests/web.yaml", ingressYAML("web", "a.example.com", "/<img src=x>")), passes: true, comment: "fixed 404"},
		"a name like a command of a runner": none("manifests/::error file=x::y.yaml", "a: [", "Not read"),
		"globs that cannot be searched":     {base: in("manifests/t.yaml", tangled("web")), files: in("manifests/t.yaml", tangled("other")), comment: "namespace shop"},
		"150 differences and a loss":        {base: many(150, "/"), files: merged(many(150, "/x"), in("manifests/web.yaml", public)), comment: "**less protected**"},
		"150 new load balancers":            {files: many(150, "/"+strings.Repeat("y", 120)), passes: true, comment: " more: there is no room for them"},
		"a filter and a hook":               {do: func(t *testing.T) { execute(t) }, passes: true, comment: "x.example.com"},
		"a bare repository in it":           {do: func(t *testing.T) { bare(t) }, passes: true, comment: "x.example.com"},
		"a foreign annotation that protects": {files: in("manifests/web.yaml", annotatedYAML("web", "a.example.com", "/",
			"nginx.ingress.kubernetes.io/auth-url: https://login.example.com")), passes: true, comment: "no load balancer"},
	}
}

func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// many are so many Ingresses, in a directory.
func many(n int, path string) map[string]string {
	out := map[string]string{}
	for i := range n {
		out[fmt.Sprintf("manifests/many/%d.yaml", i)] = ingressYAML(fmt.Sprintf("many-%d", i), fmt.Sprintf("m%d.example.com", i), path)
	}
	return out
}

func bomb() string {
	text := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		text += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), ", "))
	}
	return text
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

func replaceDirectory(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll("manifests"); err != nil {
		t.Fatal(err)
	}
	write(t, "manifests", `{"apiVersion":"v1","kind":"List","items":[`+evilJSON+`],"loadBalancers":[],"steps":[],"routing":{"tables":[],"secrets":[],"assumed":[]}}`)
}

// execute has git run a command by a filter, a hook and a monitor, if it runs any.
func execute(t *testing.T) {
	t.Helper()
	write(t, ".gitattributes", "*.yaml filter=evil\n")
	write(t, ".git/hooks/post-checkout", "#!/bin/sh\ntouch pwned\n")
	write(t, ".git/hooks/post-index-change", "#!/bin/sh\ntouch pwned\n")
	for _, hook := range []string{"post-checkout", "post-index-change"} {
		if err := os.Chmod(".git/hooks/"+hook, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	runGit(t, "config", "filter.evil.smudge", "touch "+here+"/pwned; cat")
	runGit(t, "config", "core.fsmonitor", "touch "+here+"/pwned; false")
	write(t, "manifests/x.yaml", ingressYAML("x", "x.example.com", "/"))
}

// bare makes the directory a repository by what a pull request can add.
func bare(t *testing.T) {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	write(t, "manifests/HEAD", "ref: refs/heads/main\n")
	write(t, "manifests/objects/x", "")
	write(t, "manifests/refs/x", "")
	write(t, "manifests/config", "[core]\n\tbare = true\n\tfsmonitor = touch "+here+"/pwned\n")
	write(t, "manifests/x.yaml", ingressYAML("x", "x.example.com", "/"))
}

// request is a request in a comment, with its fence.
var request = regexp.MustCompile("(?m)\\| (`+)( ?)(curl .*?[^`])(`+) \\|")

func TestOddRepositories(t *testing.T) {
	if testing.Short() {
		t.Skip("it links the binary")
	}
	commands(t)
	github := script(t, "gh pr comment")
	all := pulls()
	if len(all) < 40 {
		t.Fatalf("there are %d pull requests", len(all))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		t.Run(name, func(t *testing.T) {
			repository(t, merged(usual(), p.base))
			for file, text := range p.files {
				if text == "" {
					if err := os.Remove(file); err != nil {
						t.Fatal(err)
					}
					continue
				}
				write(t, file, text)
			}
			if p.do != nil {
				p.do(t)
			}
			runPipeline(t, github, p.passes)
			text, _ := os.ReadFile("comment.md")
			comment := string(text)
			if !strings.Contains(comment, p.comment) || (p.comment == "") != (comment == "") {
				t.Errorf("the comment is %q, want %q", comment, p.comment)
			}
			if len(comment) > 65_536 {
				t.Errorf("GitHub does not take a comment of %d bytes", len(comment))
			}
			for _, found := range request.FindAllStringSubmatch(comment, 3) {
				paste(t, strings.TrimSuffix(found[3], found[2]))
			}
			if _, err := os.Stat("pwned"); err == nil {
				t.Error("a command of the author has run")
			}
		})
	}
}

// paste runs a request of a comment as a reviewer does who pastes it, with a curl that prints its
// arguments. A table shows `\|` as a bar.
func paste(t *testing.T, request string) {
	t.Helper()
	bin := t.TempDir()
	write(t, filepath.Join(bin, "curl"), "#!/bin/sh\necho \"$@\"\n")
	if err := os.Chmod(filepath.Join(bin, "curl"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", strings.ReplaceAll(request, `\|`, "|"))
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "http") {
		t.Errorf("%s ends with %v:\n%s", request, err, out)
	}
}

// TestTheMoveToV1IsCompared has commits that rewrite Ingresses of v1beta1 for v1, in one or in
// several files. What was not read before is an error, and all that is read is reported.
func TestTheMoveToV1IsCompared(t *testing.T) {
	if testing.Short() {
		t.Skip("it links the binary")
	}
	commands(t)
	github := script(t, "gh pr comment")
	t.Logf("-seed %d", *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	for range 10 {
		before, after := map[string]string{"manifests/service.yaml": serviceYAML}, map[string]string{}
		var hosts []string
		for i := range 1 + random.IntN(5) {
			file := fmt.Sprintf("manifests/%c.yaml", 'a'+random.IntN(3))
			host := fmt.Sprintf("h%d.example.com", i)
			v1 := ingressYAML(fmt.Sprintf("i%d", i), host, "/")
			old := strings.Replace(v1, "k8s.io/v1", "k8s.io/v1beta1", 1)
			old = strings.Replace(old, "  ingressClassName: fairlead\n", "", 1)
			old = strings.Replace(old, "backend: {service: {name: web, port: {number: 80}}}", "backend: {serviceName: web, servicePort: 80}", 1)
			if random.IntN(4) == 0 {
				old = v1 // was moved before
			} else {
				hosts = append(hosts, host)
			}
			before[file] += "---\n" + old
			after[file] += "---\n" + v1
		}
		repository(t, before)
		for file, text := range after {
			write(t, file, text)
		}
		runPipeline(t, github, len(hosts) == 0)
		text, _ := os.ReadFile("comment.md")
		for _, host := range hosts {
			if !strings.Contains(string(text), "`curl http://"+host+"/`") || !strings.Contains(string(text), "v1beta1") {
				t.Errorf("-seed %d: %s is not in the comment\n%s", *seed, host, text)
			}
		}
	}
}
