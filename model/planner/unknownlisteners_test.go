package planner

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/proof"
)

// No step is about a listener of others that no Ingress asks for, or takes what it needs away: its rules, target groups and
// certificates, and the load balancer. Plans beside it are proven. One that an Ingress asks for becomes an ordinary one.
func TestListenersOfOthersStay(t *testing.T) {
	for _, c := range []lb.Capabilities{lb.Literal(), lb.ALB()} {
		w := newWorld(t, c.Dialect, forward("A"), forward("B"), forward("C"), fixed(404))
		counts := map[string]int{}
		for seed := range drawn(3000, 300) {
			r := rand.New(rand.NewPCG(uint64(seed), 34))
			seen := ready(w.balancer(r, []int32{80, 443, 8080, 9090}, 5), c)
			seen.Exists, seen.Digest = true, lb.DigestOf("settings")
			for i := range seen.Listeners[2:] {
				seen.Listeners[2+i].Others, seen.Listeners[2+i].Digest = true, ""
			}
			ports := [][]int32{{80}, {80, 443}, {80, 8080}, {}}[r.IntN(4)]
			want := w.balancer(r, ports, 5)
			want.Digest, want.Wanted = lb.DigestOf("others"), len(ports) > 0
			for i := range want.Listeners {
				want.Listeners[i].Digest = lb.DigestOf("settings")
			}
			asked := slices.Contains(ports, 8080)
			p := Diff(seen, want, c)
			if v := proof.Check(seen, want, p, c.Dialect); v.Result != proof.Proven && !w.announces(p) {
				t.Fatalf("seed %d: %s: %s\n%s", seed, v.Result, v.Why, w.describe(seen, want, p))
			}
			w.followed(seen, p, r.IntN, func(o *lb.Observed, step int) {
				for _, l := range seen.Listeners[2:] {
					if (!asked || l.Port != 8080) && !reflect.DeepEqual(o.Listener(l.Port), &l) {
						t.Fatalf("seed %d: step %d changes port %d\n%s", seed, step, l.Port, w.describe(seen, want, p))
					}
					for _, id := range groupsOf(o.Listener(l.Port)) {
						if o.TargetGroup(id) == nil {
							t.Fatalf("seed %d: step %d deletes %s\n%s", seed, step, id, w.describe(seen, want, p))
						}
					}
				}
			})
			after := p.Fold(seen)
			if rest := Diff(after, want, c); len(rest.Steps) > 0 {
				t.Fatalf("seed %d: then %v\n%s", seed, named(rest), w.describe(seen, want, p))
			}
			if asked && after.Listener(8080).Others {
				t.Fatalf("seed %d: the listener is still that of others", seed)
			}
			counts[fmt.Sprint(ports)]++
		}
		if len(counts) != 4 {
			t.Errorf("it drew %v", counts)
		}
	}
}

// announces reports whether a plan says that it has no safe order.
func (w *world) announces(p plan.Plan) bool {
	return slices.ContainsFunc(p.Diagnostics, func(d diag.Diagnostic) bool {
		return d.Reason == diag.RedirectOrder || d.Reason == diag.DeleteFirst
	})
}

// What becomes of a listener of others is said, and the class decides.
func TestWhatBecomesOfListenersOfOthers(t *testing.T) {
	c := lb.ALB()
	rules := []lb.Rule{rule("", "/a", forward("A"))}
	for name, tc := range map[string]struct {
		change func(seen *lb.Observed, want *lb.LoadBalancer)
		steps  string
		said   string // and the severity
	}{
		"it stays": {func(*lb.Observed, *lb.LoadBalancer) {}, "", "info: Others made the listener of port 8080 (HTTP), and no Ingress asks for the port: it stays as it is"},
		"its class says Remove": {func(_ *lb.Observed, w *lb.LoadBalancer) { w.RemoveOthers = true }, "delete listener 8080, delete target group A",
			"warning: Others made the listener of port 8080 (HTTP), and no Ingress asks for the port: it is deleted"},
		"it is none of others": {func(o *lb.Observed, _ *lb.LoadBalancer) { o.Listeners[1].Others = false }, "delete listener 8080, delete target group A", ""},
		"an Ingress asks for the port": {func(_ *lb.Observed, w *lb.LoadBalancer) {
			l := listener(8080, rule("", "/b", fixed(200)))
			l.Digest, l.Rules[0].Origin = lb.DigestOf("ours"), []diag.Source{{Kind: "Ingress", Namespace: "shop", Name: "web"}}
			w.Listeners = append(slices.Clone(w.Listeners), l)
		}, "create rule 8080/", "warning: Others made the listener of port 8080 (HTTP), and it gets the rules of the Ingresses, which ask for the port: Ingress shop/web."},
		"no Ingress asks for the load balancer": {func(_ *lb.Observed, w *lb.LoadBalancer) { *w = lb.LoadBalancer{Key: w.Key} }, "delete listener 80",
			"warning: Others made the listener of port 8080 (HTTP). No Ingress asks for the load balancer any more: it stays for this listener"},
	} {
		t.Run(name, func(t *testing.T) {
			seen := built(grouped(balancer(listener(80, rule("", "/x", fixed(200))), listener(8080, rules...))), c)
			want := balancer(listener(80, rule("", "/x", fixed(200))))
			want.Wanted = true
			seen.Listeners[1].Others = true
			tc.change(seen, &want)
			p := Diff(seen, want, c)
			if got := strings.Join(named(p), ", "); !strings.HasPrefix(got, tc.steps) || tc.steps == "" && got != "" {
				t.Errorf("the steps are %q", got)
			}
			said := ""
			if len(p.Diagnostics) > 0 {
				said = fmt.Sprintf("%s: %s", p.Diagnostics[0].Severity, p.Diagnostics[0].Message)
			}
			if !strings.HasPrefix(said, tc.said) || tc.said == "" && said != "" {
				t.Errorf("it says %q", said)
			}
		})
	}
}

// A certificate of ours that others have put on a listener of theirs stays with it.
func TestCertificatesOfListenersOfOthersStay(t *testing.T) {
	c := lb.ALB()
	ours := lb.Certificate{ID: "C"}
	seen := built(holding([]lb.Certificate{ours}, listener(80), certified(8443, ours)), c)
	seen.Listeners[1].Others = true
	want := balancer(listener(80))
	want.Wanted = true
	if p := Diff(seen, want, c); len(p.Steps) > 0 {
		t.Errorf("the steps are %v", named(p))
	}
	want.RemoveOthers = true
	if p := Diff(seen, want, c); len(p.Steps) != 2 {
		t.Errorf("if its class says so, the steps are %v", named(p))
	}
}

// A target group that such a listener names is checked all the time, so that no parking rule is needed for it.
func TestListenersOfOthersKeepTargetGroupsChecked(t *testing.T) {
	c := lb.ALB()
	seen := built(grouped(balancer(listener(80, rule("", "/a", forward("A"))), listener(8080, rule("", "/b", forward("B"))))), c)
	seen.TargetGroup("A").Ready, seen.Listeners[1].Others = true, true
	want := grouped(balancer(listener(80, rule("", "/a", forward("B")))))
	for _, s := range named(Diff(seen, want, c)) {
		if strings.HasPrefix(s, "create rule") {
			t.Errorf("it plans to %s", s)
		}
	}
}
