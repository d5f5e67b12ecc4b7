package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
)

// contract is what programs that read `plan -o json` rely on, written down a second time so that
// no rename passes unnoticed.
type contract struct {
	LoadBalancers []struct {
		Key          string         `json:"key"`
		Capabilities map[string]any `json:"capabilities"` // added to the promise
		Listeners    []struct {
			Port         int            `json:"port"`
			Protocol     string         `json:"protocol"`
			Certificates []string       `json:"certificates"`
			Rules        []contractRule `json:"rules"`
			Default      map[string]any `json:"default"`
		} `json:"listeners"`
		TargetGroups []struct {
			ID      string `json:"id"`
			Service string `json:"service"`
			Port    any    `json:"port"`
		} `json:"targetGroups"`
	} `json:"loadBalancers"`
	Steps []struct {
		LoadBalancer string `json:"loadBalancer"` // added to the promise
		Op           string `json:"op"`
		ID           string `json:"id"`
		Detail       string `json:"detail"`
		Settings     []struct {
			Name string `json:"name"`
			Old  string `json:"old"`
			New  string `json:"new"`
		} `json:"settings"` // added to the promise
		Compared bool             `json:"compared"` // added to the promise
		WaitsFor []int            `json:"waitsFor"` // added to the promise
		Requests *contractEffects `json:"requests"` // added to the promise
	} `json:"steps"`
	Proofs []struct {
		LoadBalancer, Result, Why string
	}
	Diagnostics []struct {
		Severity string `json:"severity"`
		Reason   string `json:"reason"`
		Source   string `json:"source"`
		Message  string `json:"message"`
		Ports    []int  `json:"ports"` // added to the promise
	} `json:"diagnostics"`
	// Added to the promise.
	Problems []struct {
		File    string `json:"file"`
		Line    int    `json:"line"`
		Object  string `json:"object"`
		Message string `json:"message"`
	} `json:"problems"`
	Summary struct {
		LoadBalancers int `json:"loadBalancers"`
		Create        int `json:"create"`
		Change        int `json:"change"`
		Delete        int `json:"delete"`
		Errors        int `json:"errors"`
		Warnings      int `json:"warnings"`
		Notes         int `json:"notes"`
		LeftOut       int `json:"leftOut"`
	} `json:"summary"`
	State    map[string]any `json:"state"`
	Settings map[string]any `json:"settings"`
	// by load balancer and port
	ForeignRules map[string]map[string][]int `json:"foreignRules"` // added to the promise
	Routing      map[string]any              `json:"routing"`
}

type contractRule struct {
	Priority   int `json:"priority"`
	Conditions []struct {
		Field  string   `json:"field"`
		Name   string   `json:"name"`
		Values []string `json:"values"`
		Regex  []string `json:"regex"`
	} `json:"conditions"`
	Action map[string]any `json:"action"`
}

// contractEffects are the requests whose answers a step changes.
type contractEffects struct {
	Classes  int  `json:"classes"`
	Complete bool `json:"complete"`
	Request  *struct {
		URL     string              `json:"url"`
		Method  string              `json:"method"`
		Headers map[string][]string `json:"headers"`
		Source  string              `json:"source"`
	} `json:"request"`
	Curl   string `json:"curl"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// TestPlanSaysWhatRequestsGetByEachStep adds a path above another one.
func TestPlanSaysWhatRequestsGetByEachStep(t *testing.T) {
	before := ingressYAML("web", "a.example.com", "/")
	more := `{path: /api, pathType: Prefix, backend: {service: {name: web, port: {number: 81}}}}`
	after := strings.Replace(before, "paths:\n", "paths:\n      - "+more+"\n", 1)
	files := map[string]string{"ingress.yaml": before, "service.yaml": serviceYAML}
	state := stateAfter(t, directory(t, files))
	files["ingress.yaml"] = after
	report, _ := planJSON(t, "-f", directory(t, files), "--observed", state)
	var got []string
	for i, s := range report.Steps {
		for _, w := range s.WaitsFor {
			if w < 1 || w > i {
				t.Errorf("step %d waits for %d", i+1, w)
			}
		}
		if r := s.Requests; r != nil {
			got = append(got, fmt.Sprintf("%s: %d, %v, %s %s: %s → %s", s.Op, r.Classes, r.Complete, r.Request.Method, r.Curl, r.Before, r.After))
		}
	}
	want := []string{"create rule: 1, true, GET curl http://a.example.com/api: forward shop/web:80 → forward shop/web:81"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%+v", diff, report.Steps)
	}
}

// planJSON runs plan and reads what it prints as strictly as the contract says.
func planJSON(t *testing.T, args ...string) (contract, said) {
	t.Helper()
	got := fairlead(t, append([]string{"plan", "-o", "json"}, args...)...)
	if got.err != "" {
		t.Fatal(got.err)
	}
	if strings.Contains(got.out, "null") {
		t.Errorf("a list is null:\n%s", got.out)
	}
	decoder := json.NewDecoder(strings.NewReader(got.out))
	decoder.DisallowUnknownFields()
	var report contract
	if err := decoder.Decode(&report); err != nil {
		t.Fatalf("%v in\n%s", err, got.out)
	}
	return report, got
}

func TestPlanJSONKeepsItsContract(t *testing.T) {
	for _, provider := range []string{"fake", "aws"} {
		t.Run(provider, func(t *testing.T) {
			report, got := planJSON(t, "-f", sampleFiles, "--provider", provider)
			if got.code != exitToDo {
				t.Errorf("exit code %d, want %d", got.code, exitToDo)
			}
			for _, p := range report.Proofs {
				if p.Result != "proven" || p.Why != "" {
					t.Errorf("the plan of %s is %s: %s", p.LoadBalancer, p.Result, p.Why)
				}
			}
			if len(report.Proofs) != 2 || len(report.LoadBalancers) != 2 || len(report.Steps) == 0 {
				t.Fatalf("%d load balancers and %d steps", len(report.LoadBalancers), len(report.Steps))
			}
			kinds := map[string]bool{}
			for _, l := range report.LoadBalancers {
				for _, listener := range l.Listeners {
					checkAction(t, kinds, listener.Default)
					for _, r := range listener.Rules {
						checkAction(t, kinds, r.Action)
					}
					if !slices.IsSortedFunc(listener.Rules, func(a, b contractRule) int { return a.Priority - b.Priority }) {
						t.Errorf("rules of %s port %d are not by priority", l.Key, listener.Port)
					}
				}
			}
			want := map[string]bool{"forward": true, "fixed": true, "redirect": true}
			if diff := cmp.Diff(want, kinds); diff != "" {
				t.Errorf("the samples do not show every kind of action (-want +got):\n%s", diff)
			}
		})
	}
}

// checkAction holds an action to the keys of its kind.
func checkAction(t *testing.T, kinds map[string]bool, action map[string]any) {
	t.Helper()
	keys := map[string][]string{
		"forward":  {"kind", "targets"},
		"fixed":    {"kind", "status"},
		"redirect": {"kind", "location", "status"},
	}
	kind, _ := action["kind"].(string)
	kinds[kind] = true
	if diff := cmp.Diff(keys[kind], slices.Sorted(maps.Keys(action))); diff != "" {
		t.Errorf("keys of a %q action (-want +got):\n%s", kind, diff)
	}
}

func TestPlanSaysByItsExitCodeWhetherThereIsSomethingToDo(t *testing.T) {
	dir := directory(t, map[string]string{
		"one.yaml": ingressYAML("one", "a.example.com", "/"),
		"two.yaml": ingressYAML("two", "b.example.com", "/"),
		"web.yaml": serviceYAML,
	})
	if got := fairlead(t, "plan", "-f", dir); got.code != exitToDo {
		t.Fatalf("from nothing: exit code %d, want %d: %s", got.code, exitToDo, got.err)
	}
	state := stateAfter(t, dir)
	report, got := planJSON(t, "-f", dir, "--observed", state)
	if got.code != exitDone || len(report.Steps) != 0 {
		t.Errorf("with everything there: exit code %d, want %d, and steps %v", got.code, exitDone, report.Steps)
	}
	if len(report.LoadBalancers) != 2 {
		t.Errorf("%d load balancers are shown, want what is there", len(report.LoadBalancers))
	}
	report, got = planJSON(t, "-f", filepath.Join(dir, "one.yaml"), "-f", filepath.Join(dir, "web.yaml"), "--observed", state)
	if got.code != exitToDo || len(report.Steps) == 0 || len(report.LoadBalancers) != 1 {
		t.Errorf("with one Ingress gone: exit code %d, steps %v, load balancers %v", got.code, report.Steps, report.LoadBalancers)
	}
	for _, s := range report.Steps {
		if !strings.Contains(s.LoadBalancer, "two") {
			t.Errorf("a step is about another load balancer than the one that is gone: %v", s)
		}
	}
}

// stateAfter is a state file with what is there once the plan for some manifests has run.
func stateAfter(t *testing.T, dir string) string {
	t.Helper()
	objects, err := manifests.Load([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := testProviders().Clouds["fake"].Offline()
	if err != nil {
		t.Fatal(err)
	}
	in := source.Input{}
	programs, _, err := program.CompileAll(t.Context(), cloud, objects, in.Options(objects), nil)
	if err != nil {
		t.Fatal(err)
	}
	state := map[lb.Key]*lb.Observed{}
	for _, p := range programs {
		state[p.Plan.Key] = p.After
	}
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "state.json")
	write(t, file, string(text))
	return file
}

// Rules that somebody else has made are planned away, unless the class says that they stay, and the
// operator has written down which are its own.
func TestPlanKnowsWhichRulesStay(t *testing.T) {
	objects, err := manifests.Load([]string{directory(t, map[string]string{"one.yaml": ingressYAML("one", "a.example.com", "/"), "web.yaml": serviceYAML})}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := testProviders().Clouds["fake"].Offline()
	if err != nil {
		t.Fatal(err)
	}
	snapshots, _ := ingress.Place(objects, (&source.Input{}).Options(objects))
	s := snapshots[0]
	planned := func(seen *lb.Observed) program.Program {
		p, err := program.Compile(t.Context(), cloud, s, seen)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	made := planned(nil)
	var ours []string
	for _, l := range made.LoadBalancer.Listeners {
		for _, r := range l.Rules {
			ours = append(ours, planner.RuleDigest(l.Port, r))
		}
	}
	plan.CreateRule{Port: 80, Priority: 1, Rule: lb.Rule{
		Conditions: []lb.Condition{{Field: "path", Values: []string{"/closed"}}}, Action: lb.Action{Kind: "fixed", Status: 410},
	}}.Do(made.After, plan.Result{})
	for why, c := range map[string]struct {
		unknown string
		ours    []string
		steps   int
	}{
		"removed like all that is not wanted": {ours: ours, steps: 1},
		"which are ours nobody knows":         {unknown: v1alpha1.UnknownRulesKeep, steps: 1},
		"left where it is":                    {unknown: v1alpha1.UnknownRulesKeep, ours: ours},
	} {
		s.Class.UnknownRules, s.Recorded.Rules = c.unknown, c.ours
		got := planned(made.After)
		if len(got.Plan.Steps) != c.steps {
			t.Errorf("%s: steps %v, want %d", why, got.Plan.Steps, c.steps)
		}
		told := slices.ContainsFunc(got.Diagnostics, func(d diag.Diagnostic) bool { return d.Reason == diag.UnknownRule })
		if told != (c.steps == 0) {
			t.Errorf("%s: %v is reported", why, got.Diagnostics)
		}
	}
}

func TestPlanTextIsPlainWhereNobodyWatches(t *testing.T) {
	got := fairlead(t, "plan", "-f", sampleFiles)
	if strings.Contains(got.out, "\x1b") {
		t.Error("there is colour in what is not a terminal")
	}
	for _, want := range []string{"+ ", "create rule", "CertificateMissing"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing in\n%s", want, got.out)
		}
	}
}

func TestPlanTellsWhomItLeavesAlone(t *testing.T) {
	dir := directory(t, map[string]string{
		"nobody.yaml":  strings.Replace(ingressYAML("nobody", "a.example.com", "/"), "  ingressClassName: fairlead\n", "", 1),
		"foreign.yaml": strings.Replace(ingressYAML("foreign", "b.example.com", "/"), "ingressClassName: fairlead", "ingressClassName: other", 1),
		"legacy.yaml":  byAnnotation("legacy", "other"),
		"unknown.yaml": byAnnotation("unknown", "nginx"),
		"class.yaml":   "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: other}\nspec: {controller: example.com/other}\n",
	})
	report, got := planJSON(t, "-f", dir, "--fail-on", "never")
	if got.code != exitDone || len(report.LoadBalancers) != 0 {
		t.Fatalf("exit code %d and %s", got.code, got.out)
	}
	var told []string
	for _, d := range report.Diagnostics {
		told = append(told, strings.Join([]string{d.Severity, d.Reason, d.Source, d.Message}, " "))
	}
	if diff := cmp.Diff([]string{
		"info ClassForeign Ingress shop/foreign spec.ingressClassName IngressClass other belongs to the controller example.com/other, so Fairlead leaves it alone; --class-name=other takes it for Fairlead's",
		"info ClassForeign Ingress shop/legacy metadata.annotations[kubernetes.io/ingress.class] IngressClass other belongs to the controller example.com/other, so Fairlead leaves it alone; --class-name=other takes it for Fairlead's",
		"info ClassUnset Ingress shop/nobody spec.ingressClassName it names no class, so Fairlead leaves it alone; set spec.ingressClassName, or give --watch-ingress-without-class",
		`warning ClassUnknown Ingress shop/unknown metadata.annotations[kubernetes.io/ingress.class] IngressClass nginx is not among the files, so its Ingresses are left out; --from nginx assumes it`,
	}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if text := fairlead(t, "plan", "-f", dir); !strings.HasPrefix(text.out, "nothing to do\n") {
		t.Errorf("text: %q", text.out)
	}
	report, got = planJSON(t, "-f", dir, "--watch-ingress-without-class", "--fail-on", "never")
	if got.code != exitToDo || len(report.LoadBalancers) != 1 || len(report.Diagnostics) == 0 {
		t.Errorf("when told to adopt it: exit code %d and %s", got.code, got.out)
	}
}

// byAnnotation is an Ingress that names its class in the way of before.
func byAnnotation(name, class string) string {
	text := strings.Replace(ingressYAML(name, name+".example.com", "/"), "  ingressClassName: fairlead\n", "", 1)
	return strings.Replace(text, "namespace: shop}", "namespace: shop, annotations: {kubernetes.io/ingress.class: '"+class+"'}}", 1)
}

// TestPlanMakesUpNoClass: the only class of Fairlead's pins the scheme, and nothing leads around it
// but the flags that say so.
func TestPlanMakesUpNoClass(t *testing.T) {
	const class = `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: pinned}
spec: {controller: fairlead.dev/ingress, parameters: {apiGroup: fairlead.dev, kind: ClusterLoadBalancerClass, name: pinned}}
---
apiVersion: fairlead.dev/v1alpha1
kind: ClusterLoadBalancerClass
metadata: {name: pinned}
spec: {scheme: internet-facing, annotations: []}
`
	dir := directory(t, map[string]string{
		"class.yaml":   class,
		"literal.yaml": byAnnotation("literal", "fairlead"),
		"none.yaml":    strings.Replace(ingressYAML("none", "none.example.com", "/"), "  ingressClassName: fairlead\n", "", 1),
	})
	for _, c := range []struct {
		why  string
		args []string
		keys []string
		told []string
	}{
		{"no class is assumed", []string{"--class-name=zzz"}, nil, []string{"warning ClassMissing shop/literal",
			"info ClassUnset shop/none"}},
		{"a literal", []string{"--ingress-class-literal=fairlead"}, []string{"fairlead/shop/literal/internal"}, []string{"info ClassUnset shop/none"}},
		{"a class for those without one", []string{"--watch-ingress-without-class=pinned"},
			[]string{"pinned/shop/none/internet-facing"}, []string{"warning ClassMissing shop/literal"}},
		{"the class that is assumed for those without one", []string{"--class-name=pinned",
			"--watch-ingress-without-class"}, []string{"pinned/shop/none/internet-facing"},
			[]string{"warning ClassMissing shop/literal"}},
		{"a class for those without one that does not exist",
			[]string{"--watch-ingress-without-class=gone"}, nil,
			[]string{"warning ClassMissing shop/literal", "error ClassMissing shop/none"}},
		{"no class for those without one", []string{"--watch-ingress-without-class=false"}, nil,
			[]string{"warning ClassMissing shop/literal", "info ClassUnset shop/none"}},
	} {
		report, _ := planJSON(t, append([]string{"-f", dir, "--fail-on=never"}, c.args...)...)
		var keys, told []string
		for _, b := range report.LoadBalancers {
			keys = append(keys, b.Key)
		}
		for _, d := range report.Diagnostics {
			if strings.HasPrefix(d.Reason, "Class") {
				told = append(told, d.Severity+" "+d.Reason+" "+strings.Fields(d.Source)[1])
			}
		}
		if diff := cmp.Diff(c.keys, keys); diff != "" {
			t.Errorf("%s: load balancers (-want +got):\n%s", c.why, diff)
		}
		if diff := cmp.Diff(c.told, told); diff != "" {
			t.Errorf("%s: told (-want +got):\n%s", c.why, diff)
		}
	}
	for class, keys := range map[string]int{"": 0, "--class-name=true": 0, "--class-name=fairlead": 1} {
		args := []string{"-f", dir, "--fail-on=never"}
		if class != "" {
			args = append(args, class)
		}
		if report, _ := planJSON(t, args...); len(report.LoadBalancers) != keys {
			t.Errorf("files that hold a class, with %q: %d load balancers, want %d", class, len(report.LoadBalancers), keys)
		}
	}
	alone := directory(t, map[string]string{"literal.yaml": byAnnotation("literal", "fairlead")})
	for class, keys := range map[string]int{"true": 1, "false": 0, "": 0, "other": 0} {
		if report, _ := planJSON(t, "-f", alone, "--fail-on=never", "--class-name="+class); len(report.LoadBalancers) != keys {
			t.Errorf("files without classes, with --class-name=%s: %d load balancers, want %d", class, len(report.LoadBalancers), keys)
		}
	}
	for _, command := range [][]string{{"plan"}, {"explain", "http://literal.example.com/"}, {"demo", "--once"}} {
		got := fairlead(t, append(command, "-f", dir, "--ingress-class-literal")...)
		if got.code != exitFail || !strings.Contains(got.err, "--ingress-class-literal") {
			t.Errorf("%s with a literal that has no name: %+v", command[0], got)
		}
		for _, flag := range []string{"--ingress-class-literal=Fair/lead", "--class-name=a/b", "--watch-ingress-without-class=-"} {
			got := fairlead(t, append(command, "-f", dir, flag)...)
			if got.code != exitFail || !strings.Contains(got.err, "RFC 1123") {
				t.Errorf("%s %s: %+v", command[0], flag, got)
			}
		}
	}
	explained := fairlead(t, "explain", "http://literal.example.com/", "-f", dir, "--class-name=zzz", "--ingress-class-literal=fairlead")
	if !strings.Contains(explained.out, "fairlead/shop/literal/internal") {
		t.Errorf("explained with a literal: %+v", explained)
	}
	demo := fairlead(t, "demo", "--once", "-f", dir, "--class-name=zzz", "--watch-ingress-without-class=pinned")
	if demo.code != exitDone || !strings.Contains(demo.out, "pinned/shop/none/internet-facing") || strings.Contains(demo.out, "literal.example.com") {
		t.Errorf("a demo under a class: %+v", demo)
	}
}

func TestPlanTakesFilesAsAShellExpandsThem(t *testing.T) {
	dir := directory(t, map[string]string{
		"one.yaml": ingressYAML("one", "a.example.com", "/"),
		"two.yaml": ingressYAML("two", "b.example.com", "/"),
	})
	report, _ := planJSON(t, "-f", filepath.Join(dir, "one.yaml"), filepath.Join(dir, "two.yaml"))
	if len(report.LoadBalancers) != 2 {
		t.Errorf("%d load balancers, want those of both files", len(report.LoadBalancers))
	}
}

func TestPlanReadsNodes(t *testing.T) {
	dir := directory(t, map[string]string{
		"web.yaml":     strings.Replace(ingressYAML("web", "web.example.com", "/"), "namespace: shop}", "namespace: shop, annotations: {fairlead.dev/target-type: instance}}", 1),
		"service.yaml": strings.Replace(serviceYAML, "{port: 80}", "{port: 80, nodePort: 30080}", 1) + "  type: NodePort\n",
		"node.yaml": `apiVersion: v1
kind: Node
metadata: {name: a}
spec: {providerID: aws:///eu-west-1a/i-0123}
status:
  addresses: [{type: InternalIP, address: 10.1.0.1}]
  conditions: [{type: Ready, status: "True"}]
`,
	})
	for provider, want := range map[string]string{"fake": "10.1.0.1:30080", "aws": "i-0123:30080"} {
		got := fairlead(t, "plan", "--provider", provider, "-f", dir)
		if got.code != exitToDo || !strings.Contains(got.out, "register targets shop/web:80/instance  "+want) {
			t.Errorf("with %s: exit code %d, and %s is not registered in\n%s%s", provider, got.code, want, got.out, got.err)
		}
	}
}

// TestPlanLiveNamesWhatItCannotRead: the load balancers of the fake cloud are in another process, so
// steps that create them again would be wrong. Diagnostics are right nevertheless.
func TestPlanLiveNamesWhatItCannotRead(t *testing.T) {
	const samples = "../config/samples"
	got := fairlead(t, "plan", "--live", samples)
	want := "2 load balancers of the provider fake cannot be read, so nothing is planned: they are in " +
		"the memory of the operator, unless its --fake-state names a file, and yours the same."
	if got.code != exitFail || !strings.Contains(got.err, want) ||
		!strings.Contains(got.out, "CertificateMissing") ||
		!strings.Contains(got.out, "0 to create, 0 to change, 0 to delete") ||
		strings.Contains(got.out, "nothing to do") {
		t.Errorf("without a state file: %+v", got)
	}
	for _, args := range [][]string{
		{"--live", samples, "--fake-state", filepath.Join(t.TempDir(), "state.json")}, // which is empty
		{samples},
	} {
		if got := fairlead(t, append([]string{"plan"}, args...)...); got.code != exitToDo ||
			!strings.Contains(got.out, "create load balancer") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

// TestAPlanOfFilesSaysWhichHTTPSItLacks: the Secrets of certificates are often not among the files.
func TestAPlanOfFilesSaysWhichHTTPSItLacks(t *testing.T) {
	const says = "Not in this plan: HTTPS with the certificates of these Secrets, which are not among the files: "
	secure := func(name string) string {
		return ingressYAML(name, name+".example.com", "/") + "  tls: [{hosts: [" + name + ".example.com], secretName: " + name + "}]\n"
	}
	all := secure("a0")
	for i := 1; i < 7; i++ {
		all += "---\n" + secure(fmt.Sprint("a", i))
	}
	for name, c := range map[string]struct{ files, want string }{
		"one":   {secure("web"), says + "shop/web. Add them"},
		"seven": {all, says + "shop/a0, shop/a1, shop/a2, shop/a3, shop/a4, 2 more. Add them"},
		"none":  {ingressYAML("web", "a.example.com", "/"), ""},
	} {
		got := fairlead(t, "plan", directory(t, map[string]string{"a.yaml": c.files + "---\n" + serviceYAML}))
		if got.code != exitToDo || !strings.Contains(got.out, c.want) || strings.Contains(got.out, says) != (c.want != "") {
			t.Errorf("%s: exit code %d\n%s%s", name, got.code, got.out, got.err)
		}
	}
}
