package cli

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
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
	} `json:"steps"`
	Diagnostics []struct {
		Severity string `json:"severity"`
		Reason   string `json:"reason"`
		Source   string `json:"source"`
		Message  string `json:"message"`
	} `json:"diagnostics"`
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
			if len(report.LoadBalancers) != 2 || len(report.Steps) == 0 {
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
	objects, err := load([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := testProviders().Offline["fake"]()
	if err != nil {
		t.Fatal(err)
	}
	in := input{className: "fairlead"}
	programs, _, err := compile(t.Context(), cloud, objects, in.options(), nil)
	if err != nil {
		t.Fatal(err)
	}
	state := map[lb.Key]*lb.Observed{}
	for _, p := range programs {
		state[p.plan.Key] = p.after
	}
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "state.json")
	write(t, file, string(text))
	return file
}

// Rules that somebody else has made are planned away, unless the class says that they stay, and the operator has
// written down which are its own.
func TestPlanKnowsWhichRulesStay(t *testing.T) {
	objects, err := load([]string{directory(t, map[string]string{"one.yaml": ingressYAML("one", "a.example.com", "/"), "web.yaml": serviceYAML})}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := testProviders().Offline["fake"]()
	if err != nil {
		t.Fatal(err)
	}
	snapshots, _ := ingress.Split(objects, (&input{className: "fairlead"}).options())
	s := snapshots[0]
	planned := func(seen *lb.Observed) program {
		p, err := compileOne(t.Context(), cloud, s, seen)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	made := planned(nil)
	var ours []string
	for _, l := range made.LoadBalancer.Listeners {
		for _, r := range l.Rules {
			ours = append(ours, plan.RuleDigest(l.Port, r))
		}
	}
	plan.CreateRule{Port: 80, Priority: 1, Rule: lb.Rule{
		Conditions: []lb.Condition{{Field: "path", Values: []string{"/closed"}}}, Action: lb.Action{Kind: "fixed", Status: 410},
	}}.Do(made.after, plan.Result{})
	for why, c := range map[string]struct {
		unknown string
		ours    []string
		steps   int
	}{
		"removed like all that is not wanted": {ours: ours, steps: 1},
		"which are ours nobody knows":         {unknown: v1alpha1.UnknownRulesKeep, steps: 1},
		"left where it is":                    {unknown: v1alpha1.UnknownRulesKeep, ours: ours},
	} {
		s.Class.UnknownRules, s.Memory.Rules = c.unknown, c.ours
		got := planned(made.after)
		if len(got.plan.Steps) != c.steps {
			t.Errorf("%s: steps %v, want %d", why, got.plan.Steps, c.steps)
		}
		told := slices.ContainsFunc(got.Diagnostics, func(d diag.Diagnostic) bool { return d.Reason == diag.UnknownRule })
		if told != (c.steps == 0) {
			t.Errorf("%s: %v is told", why, got.Diagnostics)
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
		"class.yaml":   "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: other}\nspec: {controller: example.com/other}\n",
	})
	report, got := planJSON(t, "-f", dir)
	if got.code != exitDone || len(report.LoadBalancers) != 0 || len(report.Diagnostics) != 2 {
		t.Fatalf("exit code %d and %s", got.code, got.out)
	}
	for i, want := range []string{"another controller's class", "names no class"} {
		if d := report.Diagnostics[i]; d.Severity != "info" || !strings.Contains(d.Message, want) {
			t.Errorf("%+v, want something about %q", d, want)
		}
	}
	if text := fairlead(t, "plan", "-f", dir); !strings.HasPrefix(text.out, "nothing to do\n") {
		t.Errorf("text: %q", text.out)
	}
	report, got = planJSON(t, "-f", dir, "--watch-ingress-without-class")
	if got.code != exitToDo || len(report.LoadBalancers) != 1 || len(report.Diagnostics) == 0 {
		t.Errorf("when told to adopt it: exit code %d and %s", got.code, got.out)
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
