package operator

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/traffic"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
	"fairlead.dev/fairlead/test/kube"
)

// TestReplayComparesLogsWithTheCloud: requests go to a load balancer that the operator made, and the
// lines are compared with its rules, read from the cloud or from a state that was saved.
func TestReplayComparesLogsWithTheCloud(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var lines []string
	w := newWorld(t, simulating(t, albsim.Options{AccessLog: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}}))
	w.serve(t, "web", "10.0.0.10")
	w.serve(t, "api", "10.0.0.12")
	w.ask(t, path("/", "web")+", "+path("/api", "api"))
	w.replace(t)
	kube.Eventually(t, "the Ingress is served", func() bool {
		return w.hostname(t, "shop") != "" && len(w.targets(t, "web")) == 1 && len(w.targets(t, "api")) == 1
	})
	w.replica.Kill()
	for _, path := range []string{"/", "/api", "/api/1", "/x"} {
		for _, name := range []string{"shop.example.com", "other.example.com"} {
			w.sim.Ask(w.hostname(t, "shop"), matching.Request{Port: 80, Host: name, Path: path, Source: "10.0.0.9"}, matching.Reading{})
		}
	}
	if len(lines) != 8 {
		t.Fatalf("%d lines were logged, want 8", len(lines))
	}
	dir := t.TempDir()
	state, log := filepath.Join(dir, "state.json"), filepath.Join(dir, "access.log")
	planned, code := run(t, w, "plan", "--live", "-o", "json")
	if code != 0 {
		t.Fatalf("there is something to do: %s", planned)
	}
	save(t, state, planned)
	save(t, log, strings.Join(lines, "\n"))
	for name, source := range map[string][]string{"the cloud": {"--live"}, "the cluster, and a state that was saved": {"--live", "--observed", state}, "a state that was saved": {"--state", state}} {
		got, code := replayed(t, w, append(source, "--logs", log)...)
		if code != 0 || got.Summary.Compared != 8 || !got.LoadBalancers[0].Priorities || got.Summary.Either != 0 || len(got.Paths) != 3 {
			t.Errorf("from %s: exit code %d, %+v", name, code, got)
		}
	}

	changed := filepath.Join(dir, "changed.log")
	save(t, changed, strings.Join(lines[1:], "\n")+"\n"+strings.Replace(lines[0], `"forward"`, `"redirect"`, 1))
	if got, code := replayed(t, w, "--live", "--logs", changed); code != 2 || got.Summary.Disagreements != 1 || got.Disagreements[0].Examples[0].Line != 8 {
		t.Errorf("of a line that was changed: exit code %d, %+v", code, got)
	}
	save(t, changed, lines[0]+"\n"+strings.Replace(lines[0], " app/", " app/another-", 1))
	if got, code := replayed(t, w, "--live", "--logs", changed); code != 0 || got.Summary.Compared != 1 || got.Summary.Others != 1 {
		t.Errorf("of a line of another load balancer: exit code %d, %+v", code, got)
	}
}

// A rule that was created by hand, and that the class keeps, answers a request. Replay counts its
// line as answered by a foreign rule if it has the operator's record. With manifests alone, the line
// disagrees.
func TestReplayTellsLinesOfForeignRules(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var lines []string
	w := newWorld(t, simulating(t, albsim.Options{AccessLog: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}}))
	edit(t, w, &v1alpha1.LoadBalancerClass{}, "class", func(c *v1alpha1.LoadBalancerClass) {
		c.Spec.UnknownRules = v1alpha1.UnknownRulesKeep
	})
	w.serve(t, "web", "10.0.0.10")
	w.ask(t, path("/", "web"))
	w.replace(t)
	kube.Eventually(t, "the Ingress is served", func() bool {
		return w.hostname(t, "shop") != "" && len(w.targets(t, "web")) == 1
	})
	w.foreignRule(t, "/closed")
	kube.Eventually(t, "the operator has found the rule", func() bool {
		text, code := w.plan(t, w.proxy)
		return code == 0 && strings.Contains(text, "UnknownRule")
	})
	w.replica.Kill()
	for _, path := range []string{"/", "/closed", "/closed", "/x"} {
		w.sim.Ask(w.hostname(t, "shop"), matching.Request{
			Port: 80, Host: "shop.example.com", Path: path, Source: "10.0.0.9"}, matching.Reading{})
	}
	dir := t.TempDir()
	state, log := filepath.Join(dir, "state.json"), filepath.Join(dir, "access.log")
	planned, _ := run(t, w, "plan", "--live", "-o", "json")
	save(t, state, planned)
	save(t, log, strings.Join(lines, "\n"))
	for _, source := range [][]string{{"--live"}, {"--state", state}, {"--live", "--observed", state}} {
		got, code := replayed(t, w, append(source, "--logs", log)...)
		if code != 0 || got.Summary.Compared != 4 || got.Summary.Foreign != 2 ||
			got.LoadBalancers[0].Foreign != 2 {
			t.Errorf("from %q: exit code %d, %+v", source, code, got)
		}
	}
	text, code := run(t, w, "replay", "--live", "--logs", log)
	text = strings.NewReplacer(w.namespace+"/"+w.namespace+"/", "fairlead/shop/", w.namespace, "shop").Replace(text)
	if page := exampleOfPage(t); code != 0 || text != page {
		t.Errorf("exit code %d: %s, the page has %s", code, text, page)
	}

	w.withoutForeignRule(t)
	got, code := replayed(t, w, "--live", "--logs", log)
	if code != 2 || got.Summary.Foreign != 0 || got.Summary.Disagreements != 2 {
		t.Errorf("after the rule has gone: exit code %d, %+v", code, got)
	}
}

// exampleOfPage returns what docs/how-to/replay.md says that is printed.
func exampleOfPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/how-to/replay.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "$ fairlead replay --live --logs access.log\n")
	text, _, _ = strings.Cut(text, "```")
	return text
}

// foreignRule makes a rule before all others, which answers a path itself.
func (w *world) foreignRule(t *testing.T, path string) {
	t.Helper()
	for _, l := range w.listeners(t) {
		_, err := w.elb.CreateRule(t.Context(), &elbapi.CreateRuleInput{
			ListenerArn: l.ListenerArn, Priority: new(int32(1)),
			Conditions: []elb.RuleCondition{{Field: new("path-pattern"),
				PathPatternConfig: &elb.PathPatternConditionConfig{Values: []string{path}}}},
			Actions: []elb.Action{{Type: elb.ActionTypeEnumFixedResponse,
				FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: new("410")}}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// withoutForeignRule deletes the rule again.
func (w *world) withoutForeignRule(t *testing.T) {
	t.Helper()
	for _, r := range w.rules(t) {
		if *r.Priority != "1" {
			continue
		}
		_, err := w.elb.DeleteRule(t.Context(), &elbapi.DeleteRuleInput{RuleArn: r.RuleArn})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func save(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// replayed is what replay prints, and how it ends.
func replayed(t *testing.T, w *world, args ...string) (traffic.Report, int) {
	t.Helper()
	text, code := run(t, w, append([]string{"replay", "-o", "json"}, args...)...)
	var out traffic.Report
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s: %s", err, text)
	}
	return out, code
}

// run runs a command against the cluster and the cloud.
func run(t *testing.T, w *world, args ...string) (string, int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), w.cluster.Command(t), slices.Concat(args, []string{"--kubeconfig=" + w.cluster.Kubeconfig}, w.places())...)
	command.Env = slices.Concat(os.Environ(), w.environment())
	command.Stderr = os.Stderr
	said, err := command.Output()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return string(said), command.ProcessState.ExitCode()
}
