package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/cli/answer"
	"fairlead.dev/fairlead/cli/comparison"
	"fairlead.dev/fairlead/model/lb"
)

// This file holds the answers of explain to those of diff, and to those that clients of the fake
// cloud get from demo.

var (
	seed   = flag.Uint64("seed", 0, "the `seed` of random manifests; 0 draws one")
	worlds = flag.Int("worlds", 12, "random manifests")
)

// A randomWorld makes manifests.
type randomWorld struct{ *rand.Rand }

func (w randomWorld) one(of ...string) string { return of[w.IntN(len(of))] }

// files returns some Ingresses, of which some share a load balancer, with their Services. Of some
// Services the endpoints are known, and of some of these there are none.
func (w randomWorld) files() map[string]string {
	out := map[string]string{}
	for _, name := range []string{"s0", "s1", "s2"} {
		text := strings.ReplaceAll(serviceYAML, "name: web", "name: "+name)
		switch {
		case name == "s0":
			text += emptySlice(name)
		case name == "s1" && w.IntN(2) == 0:
			continue
		}
		out[name+".yaml"] = text
	}
	for i := range 2 + w.IntN(4) {
		name := fmt.Sprintf("i%d", i)
		out[name+".yaml"] = w.ingress(name)
	}
	return out
}

func emptySlice(service string) string {
	return "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: " + service +
		", namespace: shop, labels: {kubernetes.io/service-name: " + service +
		"}}\naddressType: IPv4\nendpoints: []\nports: [{name: \"\", protocol: TCP, port: 80}]\n"
}

func (w randomWorld) ingress(name string) string {
	var b strings.Builder
	annotations := ""
	if w.IntN(2) == 0 {
		annotations = ", annotations: {fairlead.dev/group: g}"
	}
	fmt.Fprintf(&b, "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: %s, namespace: "+
		"shop%s}\nspec:\n  ingressClassName: fairlead\n", name, annotations)
	backend := func() string {
		return "{service: {name: " + w.one("s0", "s1", "s2") + ", port: {number: 80}}}"
	}
	rules := w.IntN(3)
	if w.IntN(3) == 0 || rules == 0 {
		fmt.Fprintf(&b, "  defaultBackend: %s\n", backend())
	}
	if rules > 0 {
		b.WriteString("  rules:\n")
	}
	for range rules {
		host := w.one(`host: "app1.example.com"`, `host: "app2.example.com"`, `host: "*.example.com"`,
			`host: "a.app.example.com"`, `host: "*.other.org"`, "host: \"\"")
		fmt.Fprintf(&b, "  - %s\n    http:\n      paths:\n", host)
		for range 1 + w.IntN(3) {
			fmt.Fprintf(&b, "      - {path: %s, pathType: %s, backend: %s}\n",
				w.one("/", "/api", "/api/v1", "/app/"), w.one("Exact", "Prefix"), backend())
		}
	}
	return b.String()
}

// answers returns the answer of each load balancer that explain names, as diff writes it.
func answers(e answer.Explanation) map[lb.Key]string {
	out := map[lb.Key]string{}
	add := func(key lb.Key, o answer.Outcome) {
		switch o.Kind {
		case "none":
			out[key] = "no listener"
		case "fixed":
			out[key] = fmt.Sprintf("fixed %d", o.Status)
		default:
			out[key] = fmt.Sprintf("forward %s:%s", o.Service, o.Port)
		}
	}
	if e.LoadBalancer != "" {
		add(e.LoadBalancer, e.Outcome)
	}
	for _, o := range e.Others {
		add(o.LoadBalancer, o.Outcome)
	}
	return out
}

// TestExplainAgreesWithDiff on both sides of random changes.
func TestExplainAgreesWithDiff(t *testing.T) {
	asked, unnamed := 0, 0
	for n, w := range randomWorlds(t) {
		before, after := directory(t, w.files()), directory(t, w.files())
		got := fairlead(t, "diff", before, after, "-o", "json")
		var report comparison.Report
		if err := json.Unmarshal([]byte(got.out), &report); err != nil {
			t.Fatalf("world %d: %v in %s%s", n, err, got.out, got.err)
		}
		for i, c := range report.Changes {
			if i >= 12 {
				break
			}
			for dir, want := range map[string]string{before: c.Before.Action, after: c.After.Action} {
				e := explainJSON(t, c.Request.URL, "-f", dir)
				said, ok := answers(e)[c.LoadBalancer]
				if !ok && (e.Named || want == "no listener" || want == "no load balancer") {
					continue // of load balancers that do not name the host, if another one does
				}
				asked++
				if !e.Named {
					unnamed++
				}
				if said != want {
					t.Errorf("world %d: %s on %s: diff says %q, explain %q of\n%+v", n, c.Request.URL,
						c.LoadBalancer, want, said, e)
				}
			}
		}
	}
	if asked == 0 || unnamed == 0 {
		t.Errorf("%d answers were compared, %d of these for hosts that no rule names", asked, unnamed)
	}
}

// TestExplainAgreesWithTraffic that demo sends to the fake cloud: each answer that demo got is one
// that explain says of the same files.
func TestExplainAgreesWithTraffic(t *testing.T) {
	unnamed, empty := 0, 0
	for n, w := range randomWorlds(t) {
		dir := directory(t, w.files())
		got := fairlead(t, "demo", "--once", "-f", dir)
		if got.code != exitDone {
			t.Fatalf("world %d: %s%s", n, got.out, got.err)
		}
		for line := range strings.Lines(got.out) {
			url, answered, ok := strings.Cut(strings.TrimPrefix(line, "pass "), " is answered by ")
			if !ok {
				continue
			}
			answered = strings.TrimSpace(answered)
			e := explainJSON(t, url, "-f", dir)
			if !e.Named {
				unnamed++
			}
			all := []answer.Outcome{e.Outcome}
			for _, o := range e.Others {
				all = append(all, o.Outcome)
			}
			agree := false
			for _, o := range all {
				agree = agree || o.String() == answered || neverKnown(o, answered)
			}
			if strings.HasPrefix(answered, "503") {
				empty++
			}
			if !agree {
				t.Errorf("world %d: %s is answered by %s, and explain says %v", n, url, answered, all)
			}
		}
	}
	if unnamed == 0 || empty == 0 {
		t.Errorf("%d requests were for hosts that no rule names, %d without targets", unnamed, empty)
	}
}

// neverKnown reports whether demo answered 503 for a Service that is not among the files.
func neverKnown(o answer.Outcome, answered string) bool {
	return o.Status == 0 && o.Service == "shop/s1" &&
		answered == "503, because "+o.String()+" has no targets"
}

// randomWorlds yields worlds of a new seed.
func randomWorlds(t *testing.T) func(yield func(int, randomWorld) bool) {
	from := *seed
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed=%d", from)
	return func(yield func(int, randomWorld) bool) {
		for n := range *worlds {
			if !yield(n, randomWorld{rand.New(rand.NewPCG(from, uint64(n)))}) {
				return
			}
		}
	}
}
