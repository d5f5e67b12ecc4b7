package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// This file tests what pipelines and users of kubectl expect of every command that reads manifests.

// annotated returns an Ingress with annotations, in YAML's flow style.
func annotated(annotations string) string {
	return strings.Replace(ingressYAML("web", "a.example.com", "/"), "namespace: shop",
		"namespace: shop, annotations: {"+annotations+"}", 1)
}

// TestDiagnosticsDecideTheExitCode: B2.
func TestDiagnosticsDecideTheExitCode(t *testing.T) {
	files := map[string]string{"service.yaml": serviceYAML}
	cases := map[string]struct {
		ingress string
		code    map[string]int // by --fail-on; "" is without
	}{
		"an error": {annotated("fairlead.dev/scheme: public"), map[string]int{"": exitFail,
			"error": exitFail, "warning": exitFail, "never": exitDone}},
		"a warning": {annotated("fairlead.dev/healthcheck-path: /x"), map[string]int{"": exitToDo,
			"error": exitToDo, "warning": exitFail, "never": exitToDo}},
		"only steps": {ingressYAML("web", "a.example.com", "/"), map[string]int{"": exitToDo,
			"warning": exitToDo, "info": exitToDo}},
		"a note": {strings.Replace(ingressYAML("web", "a.example.com", "/"), "name: web, port",
			"name: elsewhere, port", 1), map[string]int{"": exitToDo, "warning": exitToDo,
			"info": exitFail}},
	}
	for name, c := range cases {
		files["ingress.yaml"] = c.ingress
		dir := directory(t, files)
		for least, code := range c.code {
			args := []string{"-f", dir}
			if least != "" {
				args = append(args, "--fail-on", least)
			}
			if got := fairlead(t, append([]string{"plan"}, args...)...); got.code != code {
				t.Errorf("%s: plan --fail-on %q ends with %d, want %d:\n%s%s", name, least, got.code, code,
					got.out, got.err)
			}
			if code == exitToDo {
				code = exitDone // validate plans nothing
			}
			if got := fairlead(t, append([]string{"validate"}, args...)...); got.code != code {
				t.Errorf("%s: validate --fail-on %q ends with %d, want %d:\n%s%s", name, least, got.code,
					code, got.out, got.err)
			}
			all := map[int]int{exitFail: exitToDo}[code]
			if got := fairlead(t, append([]string{"explain", "--all"}, args...)...); least != "warning" &&
				got.code != all {
				t.Errorf("%s: explain --all --fail-on %q ends with %d, want %d:\n%s%s", name, least,
					got.code, all, got.out, got.err)
			}
		}
	}
}

// TestWhatIsNotAmongTheFilesIsNoError: the objects may be in the cluster.
func TestWhatIsNotAmongTheFilesIsNoError(t *testing.T) {
	plain := ingressYAML("web", "a.example.com", "/")
	cases := map[string]struct {
		text, provider string
		told           []string
		url, explained string
	}{
		"a Service": {plain, "fake",
			[]string{"info ServiceMissing Ingress shop/web", "Service shop/web is not among the files"},
			"http://a.example.com/", "note "},
		"a Secret": {strings.Replace(plain, "spec:",
			"spec:\n  tls: [{hosts: [a.example.com], secretName: s}]", 1), "fake",
			[]string{"info CertificateMissing",
				"Secret shop/s is not among the files, so "},
			"https://a.example.com/", "note "},
		"a Backend": {strings.Replace(plain, "{service: {name: web, port: {number: 80}}}",
			"{resource: {apiGroup: fairlead.dev, kind: Backend, name: b}}", 1), "fake",
			[]string{"info ResourceMissing", "Backend shop/b is not among the files"},
			"http://a.example.com/", "note "},
		"an IngressClass": {strings.Replace(plain, "ingressClassName: fairlead",
			"ingressClassName: alb", 1), "fake",
			[]string{"warning ClassMissing", "IngressClass alb is not among the files",
				"--from alb assumes it"},
			"http://a.example.com/", "Ingress shop/web asks for it, and is left alone"},
		"an IngressClass of another controller": {strings.Replace(plain, "ingressClassName: fairlead",
			"ingressClassName: alb", 1) + albClass, "fake",
			[]string{"info ClassForeign", "IngressClass alb belongs to the controller ingress.k8s.aws/alb",
				"--from alb takes it for Fairlead's"},
			"http://a.example.com/", "Ingress shop/web asks for it, and is left alone"},
	}
	for name, c := range cases {
		dir := directory(t, map[string]string{"a.yaml": c.text})
		for _, command := range [][]string{{"plan"}, {"validate"}, {"explain", "--all"}} {
			got := fairlead(t, append(command, "-f", dir, "--provider", c.provider)...)
			for _, want := range c.told {
				if command[0] == "explain" { // --all prints no severities
					want = strings.TrimPrefix(strings.TrimPrefix(want, "warning "), "info ")
				}
				if !strings.Contains(got.out, want) {
					t.Errorf("%s: %v does not tell %q:\n%s%s", name, command, want, got.out, got.err)
				}
			}
			fails := strings.Contains(c.text, "ingressClassName: alb") && command[0] != "explain"
			if (got.code == exitFail) != fails || !strings.Contains(got.out, "0 errors") {
				t.Errorf("%s: %v ends with %d:\n%s", name, command, got.code, got.out)
			}
		}
		got := fairlead(t, "explain", c.url, "-f", dir, "--provider", c.provider)
		if got.code != exitDone || !strings.Contains(got.out, c.explained) {
			t.Errorf("%s: explain %s does not say %q:\n%s", name, c.url, c.explained, got.out)
		}
	}
}

// albClass is an IngressClass as the AWS Load Balancer Controller has it, with parameters.
const albClass = `
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: edge}}
`

// TestAClassIsTakenForOurs although its IngressClass is another controller's, where the command line
// says so. What its parameters restrict is lost, so a warning names them.
func TestAClassIsTakenForOurs(t *testing.T) {
	for _, class := range []string{"alb", "fairlead"} {
		ofClass := func(text string) string {
			text = strings.Replace(text, "ingressClassName: fairlead", "ingressClassName: "+class, 1)
			return strings.Replace(text, "name: alb}", "name: "+class+"}", 1)
		}
		dir := directory(t, map[string]string{"a.yaml": ofClass(ingressYAML("web", "a.example.com", "/") + albClass)})
		got := fairlead(t, "plan", "-f", dir, "--class-name", class)
		if got.code != exitToDo || !strings.Contains(got.out, "warning ClassForeign IngressClass "+class+
			" spec.parameters") || !strings.Contains(got.out, "without its IngressClassParams edge") {
			t.Errorf("class %s, given: %+v", class, got)
		}
		if got := fairlead(t, "plan", "-f", dir); got.code != exitFail ||
			!strings.Contains(got.out, "info ClassForeign Ingress shop/web") {
			t.Errorf("class %s, not given: %+v", class, got)
		}
	}
}

// TestExplainNamesWhoAskedForTheHost: B5, for all reasons why an Ingress is not served.
func TestExplainNamesWhoAskedForTheHost(t *testing.T) {
	plain := ingressYAML("web", "a.example.com", "/")
	const foreign = "---\napiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: other}\nspec: {controller: example.com/other}\n"
	anyHost := strings.Replace(annotated("fairlead.dev/scheme: public"),
		`  - host: "a.example.com"`+"\n    http", "  - http", 1)
	cases := map[string]struct{ text, because, reason string }{
		"refused": {annotated("fairlead.dev/scheme: public"),
			"Ingress shop/web asks for it, and is refused", "AnnotationInvalid"},
		"for any host": {anyHost, "Ingress shop/web asks for it, and is refused", "AnnotationInvalid"},
		"no class": {strings.Replace(plain, "  ingressClassName: fairlead\n", "", 1),
			"Ingress shop/web asks for it, and is left alone", "ClassUnset"},
		"foreign class": {strings.Replace(plain, "ClassName: fairlead", "ClassName: other", 1) +
			foreign, "Ingress shop/web asks for it, and is left alone", "ClassForeign"},
		"unknown legacy": {byAnnotation("a", "nginx"), "Ingress shop/a asks for it, and is left alone",
			"ClassUnknown"},
	}
	for name, c := range cases {
		got := explainJSON(t, "http://a.example.com/", "-f", directory(t,
			map[string]string{"a.yaml": c.text}))
		if got.Outcome.Kind != "none" || !strings.HasSuffix(got.Why, c.because) ||
			len(got.Refused) != 1 || string(got.Refused[0].Reason) != c.reason {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestAPlanIsAState: B3. What plan prints is what --observed reads.
func TestAPlanIsAState(t *testing.T) {
	for _, format := range []string{"json", "yaml"} {
		for _, provider := range []string{"fake", "aws"} {
			first := fairlead(t, "plan", "-f", sampleFiles, "--provider", provider, "-o", format)
			file := filepath.Join(t.TempDir(), "state")
			write(t, file, first.out)
			report, got := planJSON(t, "-f", sampleFiles, "--provider", provider, "--observed", file)
			if got.code != exitDone || len(report.Steps) != 0 || len(report.LoadBalancers) != 2 {
				t.Errorf("%s on %s: exit code %d, steps %v", format, provider, got.code, report.Steps)
			}
		}
	}
}

func TestYAMLIsTheSameAsJSON(t *testing.T) {
	for _, args := range [][]string{{"plan"}, {"validate"}, {"explain", "--all"}, {"explain",
		"http://shop.example.com/"}} {
		args = append(args, "-f", sampleFiles, "-o")
		asJSON, asYAML := fairlead(t, append(args, "json")...), fairlead(t, append(args, "yaml")...)
		again, err := yaml.YAMLToJSON([]byte(asYAML.out))
		if err != nil || strings.HasPrefix(asYAML.out, "{") {
			t.Fatalf("%v: %v in\n%s", args, err, asYAML.out)
		}
		var a, b any
		if json.Unmarshal([]byte(asJSON.out), &a) != nil || json.Unmarshal(again, &b) != nil ||
			fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%v: they differ:\n%s\n%s", args, asJSON.out, asYAML.out)
		}
	}
}

// TestManifestsAreFoundWhereKubectlFindsThem: B6 and B9, and URLs.
func TestManifestsAreFoundWhereKubectlFindsThem(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": ingressYAML("web", "a.example.com", "/")})
	deep := filepath.Join(dir, "deep", "deeper")
	hidden := filepath.Join(dir, ".git")
	for _, d := range []string{deep, hidden} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(deep, "b.yaml"), ingressYAML("deep", "b.example.com", "/"))
	write(t, filepath.Join(hidden, "c.yaml"), ingressYAML("hidden", "c.example.com", "/"))
	server := httptest.NewServer(http.FileServer(http.Dir(deep)))
	defer server.Close()
	stands(t, "kubectl", `[ "$1 $2" = "kustomize --" ] && cat "$3"/kustomization.yaml`)
	built := directory(t, map[string]string{"kustomization.yaml": ingressYAML("built",
		"d.example.com", "/")})

	cases := map[string]struct {
		args []string
		want []string // the Ingresses with load balancers
	}{
		"a directory as an argument": {[]string{dir, "--exclude=deep"}, []string{"web"}},
		"a file as an argument":      {[]string{filepath.Join(deep, "b.yaml")}, []string{"deep"}},
		"both an argument and -f":    {[]string{dir, "-f", deep, "--exclude=deep"}, []string{"deep", "web"}},
		"-R":                         {[]string{"-R", "-f", dir}, []string{"deep", "hidden", "web"}},
		"a URL":                      {[]string{"-f", server.URL + "/b.yaml"}, []string{"deep"}},
		"-k":                         {[]string{"-k", built}, []string{"built"}},
		"-k and -f":                  {[]string{"-k", built, "-f", dir, "--exclude", "deep"}, []string{"built", "web"}},
	}
	for name, c := range cases {
		report, _ := planJSON(t, c.args...)
		var got []string
		for _, l := range report.LoadBalancers {
			got = append(got, strings.Split(l.Key, "/")[2])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: load balancers of %v, want %v", name, got, c.want)
		}
	}
	if got := fairlead(t, "plan", "-f", server.URL+"/none.yaml"); got.code != exitFail ||
		got.err != "error: "+server.URL+"/none.yaml: fetching it: the server answers 404 Not Found\n" {
		t.Errorf("a URL without a manifest: %+v", got)
	}
}

// stands puts a script in the place of a program.
func stands(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, name), "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(filepath.Join(dir, name), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestAKustomizationThatCannotBeBuilt(t *testing.T) {
	stands(t, "kubectl", "echo 'no such\nresource' >&2; exit 3")
	if got := fairlead(t, "plan", "-k", "x"); got.code != exitFail ||
		got.err != "error: x: running kubectl kustomize: exit status 3: no such resource\n" {
		t.Errorf("%+v", got)
	}
	t.Setenv("PATH", t.TempDir())
	if got := fairlead(t, "plan", "-k", "x"); got.code != exitFail ||
		got.err != "error: x: building a kustomization needs kubectl or kustomize, and neither is in PATH\n" {
		t.Errorf("without kubectl: %+v", got)
	}
}

func TestNamespaceIsThatOfKubectl(t *testing.T) {
	silent := strings.Replace(ingressYAML("silent", "b.example.com", "/"), ", namespace: shop", "", 1)
	dir := directory(t, map[string]string{"a.yaml": ingressYAML("web", "a.example.com", "/") +
		"---\n" + silent})
	for _, c := range []struct{ namespace, want string }{
		{"", "fairlead/default/silent/internal fairlead/shop/web/internal"},
		{"shop", "fairlead/shop/silent/internal fairlead/shop/web/internal"},
		{"pay", "fairlead/pay/silent/internal"},
	} {
		args := []string{"-f", dir}
		if c.namespace != "" {
			args = append(args, "-n", c.namespace)
		}
		report, _ := planJSON(t, args...)
		var keys []string
		for _, l := range report.LoadBalancers {
			keys = append(keys, l.Key)
		}
		if got := strings.Join(keys, " "); got != c.want {
			t.Errorf("-n %q: %s, want %s", c.namespace, got, c.want)
		}
	}
}

// TestContextNamesACluster: --context, and B8.
func TestContextNamesACluster(t *testing.T) {
	home := t.TempDir()
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", home)
	got := fairlead(t, "explain", "--live", "http://a.example.com/", "--context", "away")
	if got.code != exitFail || !strings.Contains(got.err, "finding the cluster") ||
		!strings.Contains(got.err, "away") {
		t.Errorf("a context that does not exist: %+v", got)
	}
	if help := fairlead(t, "plan", "--help").out; !strings.Contains(help, "~/.kube/config") {
		t.Error("the help of --kubeconfig does not name ~/.kube/config")
	}
	config := filepath.Join(t.TempDir(), "config")
	write(t, config, `apiVersion: v1
kind: Config
current-context: here
clusters: [{name: here, cluster: {server: "http://127.0.0.1:1"}}, {name: away, cluster: {server: "http://127.0.0.1:2"}}]
contexts: [{name: here, context: {cluster: here}}, {name: away, context: {cluster: away}}]
`)
	for context, port := range map[string]string{"": "127.0.0.1:1", "away": "127.0.0.1:2"} {
		got := fairlead(t, "explain", "--live", "http://a.example.com/", "--kubeconfig", config,
			"--context", context)
		if got.code != exitFail || !strings.Contains(got.err, port) {
			t.Errorf("context %q: %+v, want an error about %s", context, got, port)
		}
		u := &pageSource{live: true}
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		u.cluster.ConnectionFlags(flags)
		if err := flags.Parse([]string{"--kubeconfig", config, "--context", context}); err != nil {
			t.Fatal(err)
		}
		if of := u.Of(); of != "Cluster: "+cmp.Or(context, "here")+" (http://"+port+")." {
			t.Errorf("the page is about %q", of)
		}
	}
}

// TestRepeatedDiagnosticsAreFolded counts the lines about 30 Ingresses with the same mistake.
func TestRepeatedDiagnosticsAreFolded(t *testing.T) {
	var text strings.Builder
	for i := range 30 {
		text.WriteString(strings.Replace(annotated("fairlead.dev/scheme: public"), "name: web,",
			fmt.Sprintf("name: web-%d,", i), 1) + "---\n")
	}
	text.WriteString(strings.Replace(annotated("fairlead.dev/target-type: pod"), "name: web,",
		"name: other,", 1))
	got := fairlead(t, "plan", "-f", directory(t, map[string]string{"a.yaml": text.String()}))
	lines := strings.Count(got.out, "AnnotationInvalid")
	if lines != 4 || !strings.Contains(got.out,
		"AnnotationInvalid: 28 more like the last one; -o json and -o yaml have all") ||
		!strings.Contains(got.out, "31 errors") {
		t.Errorf("%d lines:\n%s", lines, got.out)
	}
	report, _ := planJSON(t, "-f", directory(t, map[string]string{"a.yaml": text.String()}))
	if len(report.Diagnostics) != 31 {
		t.Errorf("JSON has %d diagnostics, want all 31", len(report.Diagnostics))
	}
}

func TestCompletionKnowsValues(t *testing.T) {
	for flag, want := range map[string]string{"--output": "yaml", "--fail-on": "warning"} {
		for _, command := range []string{"plan", "explain", "validate"} {
			if got := fairlead(t, "__complete", command, flag, ""); !strings.Contains(got.out, want+"\n") {
				t.Errorf("completing %s %s does not offer %s:\n%s", command, flag, want, got.out)
			}
		}
	}
}

// TestValidateHasPlaces looks for the place of a diagnostic of the compiler.
func TestValidateHasPlaces(t *testing.T) {
	t.Chdir(directory(t, map[string]string{"a.yaml": serviceYAML + "---\n" +
		annotated("fairlead.dev/scheme: public")}))
	got := fairlead(t, "validate", "a.yaml")
	if got.code != exitFail || !strings.HasPrefix(got.out,
		"a.yaml:9: error AnnotationInvalid Ingress shop/web metadata.annotations[fairlead.dev/scheme]: ") {
		t.Errorf("%+v", got)
	}
	var found validation
	if err := json.Unmarshal([]byte(fairlead(t, "validate", "a.yaml", "-o", "json").out),
		&found); err != nil || len(found.Findings) != 1 || found.Findings[0].Line != 9 {
		t.Errorf("%+v, error %v", found, err)
	}
}

// TestValidateSaysTheSameOnce of several Ingresses. Errors have a line each.
func TestValidateSaysTheSameOnce(t *testing.T) {
	var texts []string
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		texts = append(texts, strings.Replace(annotated("fairlead.dev/colour: red"), "name: web", "name: "+name, 1))
	}
	t.Chdir(directory(t, map[string]string{"a.yaml": serviceYAML + "---\n" + strings.Join(texts, "---\n")}))
	got := fairlead(t, "validate", "a.yaml")
	if got.code != exitDone || strings.Count(got.out, "no annotation has this name") != 1 ||
		!strings.Contains(got.out, "the same in 4 more: Ingress shop/b metadata.annotations[fairlead.dev/colour] (a.yaml:") || !strings.Contains(got.out, "…; -o json has all") {
		t.Errorf("%+v", got)
	}
	if got := fairlead(t, "validate", "a.yaml", "-o", "json"); strings.Count(got.out, "no annotation has this name") != 5 {
		t.Errorf("%+v", got)
	}
	for i := range texts {
		texts[i] = strings.Replace(texts[i], "fairlead.dev/colour: red", "fairlead.dev/scheme: public", 1)
	}
	write(t, "a.yaml", serviceYAML+"---\n"+strings.Join(texts, "---\n"))
	if got := fairlead(t, "validate", "a.yaml"); strings.Count(got.out, "error AnnotationInvalid") != 5 {
		t.Errorf("%+v", got)
	}
}

// TestPlanShowsTheValuesThatChange gives the output of one plan to the next (H1, H4).
func TestPlanShowsTheValuesThatChange(t *testing.T) {
	const class = `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: fairlead}
spec: {controller: fairlead.dev/ingress, parameters: {apiGroup: fairlead.dev, kind: ClusterLoadBalancerClass, name: c}}
---
apiVersion: fairlead.dev/v1alpha1
kind: ClusterLoadBalancerClass
metadata: {name: c}
spec: {attributes: {idle_timeout.timeout_seconds: "SECONDS"}, tags: {team: shop}}
---
`
	text := class + serviceYAML + "---\n" + annotated("fairlead.dev/health-check-path: /HEALTH")
	written := func(seconds, health string) string {
		text := strings.NewReplacer("SECONDS", seconds, "HEALTH", health).Replace(text)
		return directory(t, map[string]string{"a.yaml": text})
	}
	first := fairlead(t, "plan", "--provider", "aws", written("60", "old"))
	for _, want := range []string{"attribute: idle_timeout.timeout_seconds 60\n", "tag: team shop\n", "path /old", "create rule 80  host"} {
		if !strings.Contains(first.out, want) {
			t.Errorf("%q is missing in\n%s%s", want, first.out, first.err)
		}
	}
	if by := fairlead(t, "plan", "--provider", "aws", "--priorities", written("60", "old")); !strings.Contains(by.out, "create rule 80/24992  host") {
		t.Errorf("--priorities prints none:\n%s", by.out)
	}
	state := filepath.Join(t.TempDir(), "state.json")
	write(t, state, fairlead(t, "plan", "--provider", "aws", "-o", "json", written("60", "old")).out)
	second := fairlead(t, "plan", "--provider", "aws", "--observed", state, written("300", "new"))
	if !strings.Contains(second.out, "modify load balancer fairlead/shop/web/internal\n      attribute idle_timeout.timeout_seconds: 60 → 300\n") ||
		!strings.Contains(second.out, "\n      health check path: /old → /new\n") || strings.Contains(second.out, "team") {
		t.Errorf("the plan of a change:\n%s%s", second.out, second.err)
	}
}

// TestAClassesAttributesAreChecked: H3. A wrong one is told, and the rest is planned without it.
func TestAClassesAttributesAreChecked(t *testing.T) {
	const class = `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: fairlead}
spec: {controller: fairlead.dev/ingress, parameters: {apiGroup: fairlead.dev, kind: ClusterLoadBalancerClass, name: c}}
---
apiVersion: fairlead.dev/v1alpha1
kind: ClusterLoadBalancerClass
metadata: {name: c}
spec: {attributes: {routing.http2.enabled: "false", NAME: "VALUE"}}
---
`
	for attribute, want := range map[string]string{
		"idle_timeout=60":                                "load balancers of alb have no attribute idle_timeout; it is left out",
		"idle_timeout.timeout_seconds=4001":              `cannot be "4001": it has to be `,
		"idle_timeout.timeout_seconds=0":                 `cannot be "0": it has to be `,
		"client_keep_alive.seconds=59":                   `cannot be "59": it has to be `,
		"deletion_protection.enabled=yes":                `cannot be "yes": it has to be `,
		"routing.http.xff_header_processing.mode=add":    `cannot be "add": it has to be `,
		"load_balancing.cross_zone.enabled=false":        `cannot be "false": it has to be `,
		"idle_timeout.timeout_seconds=4000":              "",
		"client_keep_alive.seconds=604800":               "",
		"access_logs.s3.prefix=logs":                     "",
		"routing.http.desync_mitigation_mode=strictest":  "",
		"routing.http.xff_header_processing.mode=remove": "",
	} {
		name, value, _ := strings.Cut(attribute, "=")
		text := strings.NewReplacer("NAME", name, "VALUE", value).Replace(class)
		dir := directory(t, map[string]string{"a.yaml": text + serviceYAML + "---\n" + ingressYAML("web", "a.example.com", "/")})
		got := fairlead(t, "plan", "--provider", "aws", dir)
		if !strings.Contains(got.out, "routing.http2.enabled false\n") && want != "" || !strings.Contains(got.out, "create rule 80") {
			t.Errorf("%s: the rest is not planned:\n%s", attribute, got.out)
		}
		told := strings.Contains(got.out, "error NotExpressible ")
		if told != (want != "") || !strings.Contains(got.out, want) || (got.code == exitFail) != told || (strings.Contains(got.out, name+" "+value) || strings.Contains(got.out, name+": "+value)) == told {
			t.Errorf("%s: exit code %d, want %q in\n%s%s", attribute, got.code, want, got.out, got.err)
		}
		if got := fairlead(t, "plan", "--provider", "fake", dir); got.code != exitToDo {
			t.Errorf("%s on the fake cloud, which takes any attribute:\n%s", attribute, got.out)
		}
	}
}
