package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/cli/answer"
)

// TestStatusIsWhatExplainSays: for each route that requests reach, explain gives the same answer to the request of the route, and
// names the same field.
func TestStatusIsWhatExplainSays(t *testing.T) {
	asked := 0
	ingress := func(name, host, path, kind string) string {
		text := strings.Replace(ingressYAML(name, host, path), "pathType: Prefix", "pathType: "+kind, 1)
		text = strings.Replace(text, `- host: ""`, "-", 1)
		return strings.Replace(text, "namespace: shop", "namespace: shop, annotations: {fairlead.dev/group: all}", 1)
	}
	mixed := directory(t, map[string]string{"service.yaml": serviceYAML,
		"exact.yaml": ingress("exact", "m.example.com", "/a", "Exact"), "prefix.yaml": ingress("prefix", "m.example.com", "/a", "Prefix"),
		"below.yaml": ingress("below", "m.example.com", "/a/b", "Prefix"), "wildcard.yaml": ingress("wildcard", "*.example.com", "/", "Prefix"),
		"none.yaml": ingress("none", "", "/c", "Prefix"),
		"glob.yaml": strings.Replace(ingress("glob", "m.example.com", "/x*y/?", "ImplementationSpecific"), "annotations: {", "annotations: {fairlead.dev/implementation-specific: Glob, ", 1),
	})
	for _, files := range []string{sampleFiles, mixed} {
		var report struct {
			Hosts []struct {
				Host   string `json:"host"`
				Routes []struct {
					URL, When, Source, Answer string
					Unreachable               bool
				}
			}
		}
		got := fairlead(t, "status", "-R", "-f", files, "-o", "json")
		if err := json.Unmarshal([]byte(got.out), &report); err != nil {
			t.Fatalf("%s: %v\n%s%s", files, err, got.out, got.err)
		}
		for _, h := range report.Hosts {
			for _, r := range h.Routes {
				if r.URL == "" || r.When != "" || r.Unreachable {
					continue
				}
				asked++
				var said answer.Explanation
				explained := fairlead(t, "explain", r.URL, "-R", "-f", files, "-o", "json")
				if err := json.Unmarshal([]byte(explained.out), &said); err != nil {
					t.Fatalf("%s: %v\n%s%s", r.URL, err, explained.out, explained.err)
				}
				if said.Source != r.Source || said.Outcome.String() != r.Answer {
					t.Errorf("%s of %s: status says %s by %s, and explain %s by %s", r.URL, files, r.Answer, r.Source, said.Outcome, said.Source)
				}
			}
		}
	}
	if asked < 12 {
		t.Errorf("%d routes were asked about", asked)
	}
}

// TestExplainAnIngress: its name stands for a request for each of its routes.
func TestExplainAnIngress(t *testing.T) {
	got := fairlead(t, "explain", "ingress/pay/pages", "-f", sampleFiles)
	for _, url := range []string{"http://pay.example.com/\n", "https://pay.example.com/\n", "http://pay.example.com/.well-known/acme-challenge\n"} {
		if !strings.Contains(got.out, url) || strings.Contains(got.out, "shop.example.com") {
			t.Errorf("there is no %s, or too much:\n%s%s", url, got.out, got.err)
		}
	}
	if got := fairlead(t, "explain", "ingress/pay/none", "-f", sampleFiles); got.code != exitFail || !strings.Contains(got.err, "no route of an Ingress pay/none is served") {
		t.Errorf("%+v", got)
	}
}

// TestStatusHasWhatIsRefused: a path that loses is beside the one that wins, and an error beside the host that its Ingress names, each
// with its line.
func TestStatusHasWhatIsRefused(t *testing.T) {
	grouped := func(name, path string) string {
		return strings.Replace(ingressYAML(name, "a.example.com", path), "namespace: shop", "namespace: shop, annotations: {fairlead.dev/group: all}", 1)
	}
	dir := directory(t, map[string]string{
		"a.yaml": grouped("web", "/") + "---\n" + grouped("zother", "/") + "---\n" + serviceYAML, "b.yaml": ingressYAML("fine", "b.example.com", "/"),
		"bad.yaml": strings.Replace(strings.Replace(annotated("fairlead.dev/scheme: public"), "name: web", "name: bad", 1), "a.example", "bad.example", 1),
	})
	got := fairlead(t, "status", "-f", dir, "-o", "json")
	for _, want := range []string{`"unreachable": true`, `"behind": [
            "Ingress shop/web spec.rules[0].http.paths[0]"
          ]`, `"reason": "AnnotationInvalid"`, `bad.yaml",
          "line": 3`, `"answer": "not served: the Ingresses that name the host are refused"`, `"host": "bad.example.com"`} {
		if !strings.Contains(got.out, want) {
			t.Errorf("there is no %s:\n%s", want, got.out)
		}
	}
	text := fairlead(t, "status", "-f", dir)
	if text.code != exitDone || !strings.HasPrefix(text.out, "2 load balancers, none needs attention; 4 Ingresses, 3 hosts, 3 routes\n\nfairlead/shop/@all/internal: not known here\n") {
		t.Errorf("the status is\n%s%s", text.out, text.err)
	}
}

// TestPluginsOfK9s runs the command line of each plugin as k9s would, for an Ingress of the samples and files in place of a cluster.
func TestPluginsOfK9s(t *testing.T) {
	text, err := os.ReadFile("../examples/k9s/plugins.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Plugins map[string]struct {
			ShortCut, Description, Command string
			Scopes, Args                   []string
			Background                     bool
		}
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil || len(file.Plugins) != 2 {
		t.Fatalf("%v: %+v", err, file)
	}
	for name, p := range file.Plugins {
		line, isPiped := strings.CutSuffix(p.Args[len(p.Args)-1], " 2>&1 | less")
		if p.Command != "sh" || p.Args[0] != "-c" || !isPiped || !slices.Equal(p.Scopes, []string{"ingresses"}) || p.ShortCut == "" || p.Description == "" {
			t.Errorf("%s: %+v", name, p)
		}
		words := strings.Fields(strings.NewReplacer("$NAMESPACE", "shop", "$NAME", "shop", "$CONTEXT", "c").Replace(line))
		cmd, args, err := newRoot(testProviders()).Find(words[1:])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := cmd.ParseFlags(args); err != nil { // each flag is one of the command
			t.Errorf("%s: %v", name, err)
		}
		offline := strings.NewReplacer(" --live", " -f "+sampleFiles, " --context c", "", " -n shop", "").Replace(strings.Join(words[1:], " "))
		if got := fairlead(t, strings.Fields(offline)...); !strings.Contains(got.out, "shop") || got.code == exitFail {
			t.Errorf("%s: %s: %+v", name, offline, got)
		}
	}
}

// TestARefusedPathIsBesideWhatAnswersInstead: paths of an Ingress that is refused, or one path that is, with what explain says to
// their requests.
func TestARefusedPathIsBesideWhatAnswersInstead(t *testing.T) {
	grouped := func(name, path, more string) string {
		return strings.Replace(ingressYAML(name, "a.example.com", path), "namespace: shop", "namespace: shop, annotations: {fairlead.dev/group: all"+more+"}", 1)
	}
	long := "/one/" + strings.Repeat("long", 100)
	const second = `      - {path: /one/x, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}` + "\n"
	dir := directory(t, map[string]string{
		"web.yaml": grouped("web", "/one", "") + second + "---\n" + serviceYAML,
		"bad.yaml": grouped("bad", "/one/two", ", fairlead.dev/ssl-redirect: maybe, fairlead.dev/health-check-path: x") + `      - {path: /two, pathType: Exact, backend: {service: {name: web, port: {number: 80}}}}` + "\n",
		"part.yaml": grouped("part", "/one/glob(", ", fairlead.dev/implementation-specific: Regex") + second +
			`      - {path: /one/three, pathType: Exact, backend: {resource: {apiGroup: example.com, kind: Page, name: p}}}` + "\n" + // it answers 503
			`      - {path: ` + long + `, pathType: Exact, backend: {service: {name: web, port: {number: 80}}}}` + "\n",
	})
	text, err := os.ReadFile(dir + "/part.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/part.yaml", strings.Replace(string(text), "pathType: Prefix", "pathType: ImplementationSpecific", 1))
	var report struct {
		Hosts []struct {
			RefusedPaths []struct {
				Path, Type, URL, Answer, Source, RefusedFor string
				Line                                        int
			}
		}
	}
	got := fairlead(t, "status", "--provider", "aws", "-f", dir, "-o", "json")
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || len(report.Hosts) != 1 {
		t.Fatalf("%v\n%s%s", err, got.out, got.err)
	}
	var said []string
	for _, r := range report.Hosts[0].RefusedPaths {
		said = append(said, fmt.Sprintf("%s %s %s:%d %s → %s", r.Path, r.Type, r.Source, r.Line, r.RefusedFor, r.Answer))
		var explained answer.Explanation
		out := fairlead(t, "explain", r.URL, "--provider", "aws", "-f", dir, "-o", "json")
		if err := json.Unmarshal([]byte(out.out), &explained); err != nil || explained.Outcome.String() != r.Answer {
			t.Errorf("%v: explain says %s to %s, and status %s", err, explained.Outcome, r.URL, r.Answer)
		}
	}
	want := []string{
		"/one/two Prefix Ingress shop/bad spec.rules[0].http.paths[0]:10 AnnotationInvalid → Service shop/web port 80",
		"/two Exact Ingress shop/bad spec.rules[0].http.paths[1]:13 AnnotationInvalid → fixed response 404",
		"/one/glob( ImplementationSpecific Ingress shop/part spec.rules[0].http.paths[0]:10 Invalid → Service shop/web port 80",
		long + " Exact Ingress shop/part spec.rules[0].http.paths[3]:15 NotExpressible → Service shop/web port 80",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, got.out)
	}
}
