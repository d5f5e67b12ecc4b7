package fake_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
)

// What the cloud refuses, and whether it is the objects that must change, or only the time, or the
// caller's picture of the cloud.
func TestApplyRefuses(t *testing.T) {
	caps := lb.ALB()
	caps.Rules, caps.TargetGroups, caps.Listeners, caps.Certificates = 3, 3, 2, 2
	const conflict = "" // an error of no class
	here := rule("shop.example.com /x", fixed(200))
	said := func(c ...lb.Condition) plan.Step {
		return plan.CreateRule{Port: 80, Priority: 7, Rule: lb.Rule{Conditions: c, Action: fixed(200)}}
	}
	host := func(values ...string) lb.Condition { return lb.Condition{Field: "host", Values: values} }
	path := func(values ...string) lb.Condition { return lb.Condition{Field: "path", Values: values} }
	does := func(a lb.Action) plan.Step {
		return plan.CreateRule{Port: 80, Priority: 7, Rule: lb.Rule{Action: a}}
	}
	for name, c := range map[string]struct {
		step  plan.Step
		class string
		want  string
	}{
		"settings of nothing":             {plan.ModifyLoadBalancer{}, conflict, "no load balancer elsewhere"},
		"a port of nothing":               {plan.CreateListener{Listener: http80()}, conflict, "no load balancer elsewhere"},
		"a fourth target group":           {plan.CreateTargetGroup{Group: group("one more")}, "rejected", "too many target groups: 4, the limit is 3: rejected"},
		"a target group in use":           {plan.DeleteTargetGroup{Group: "web"}, "pending", "target group web is in use by rule 80/10: not yet"},
		"one in use by a default":         {plan.DeleteTargetGroup{Group: "fallback"}, "pending", "target group fallback is in use by the default action of port 80: not yet"},
		"targets of an unknown group":     {plan.RegisterTargets{Group: "none"}, conflict, "no target group none"},
		"waiting for an unknown group":    {plan.AwaitTargets{Group: "none"}, conflict, "no target group none"},
		"another check of an unknown one": {plan.ModifyTargetGroup{Group: group("none")}, conflict, "no target group none"},

		"a certificate without a key": {plan.ImportCertificate{Certificate: lb.Certificate{ID: "sha256:2"}}, "rejected",
			"certificate sha256:2 cannot be used: it has no private key: rejected"},
		"a certificate that is none": {plan.ImportCertificate{Certificate: lb.Certificate{ID: "sha256:2", Pair: &lb.KeyPair{}}}, "rejected",
			"certificate sha256:2 cannot be used: tls: failed to find any PEM data in certificate input: rejected"},
		"other tags of an unknown one":              {plan.ModifyCertificate{Certificate: lb.Certificate{ID: "sha256:3"}}, conflict, "no certificate sha256:3"},
		"another in place of one that is not there": {plan.ReplaceCertificate{Old: "sha256:3", New: lb.Certificate{ID: "sha256:4"}}, conflict, "no certificate sha256:3"},
		"another without its key": {plan.ReplaceCertificate{Old: "sha256:1", New: lb.Certificate{ID: "sha256:4"}}, "rejected",
			"certificate sha256:4 cannot be used: it has no private key: rejected"},
		"a certificate in use":     {plan.DeleteCertificate{Certificate: "sha256:1"}, "pending", "certificate sha256:1 is in use on port 443: not yet"},
		"an unknown certificate":   {plan.AttachCertificate{Port: 443, Certificate: "sha256:3"}, conflict, "no certificate sha256:3"},
		"a third extra one":        {plan.AttachCertificate{Port: 443, Certificate: "fake:d"}, "rejected", "too many certificates: 3, the limit is 2: rejected"},
		"the default, taken off":   {plan.DetachCertificate{Port: 443, Certificate: "sha256:1"}, conflict, "sha256:1 is the default certificate of port 443"},
		"one for a port not there": {plan.AttachCertificate{Port: 81, Certificate: "sha256:1"}, conflict, "no listener on port 81"},

		"a third port":           {plan.CreateListener{Listener: lb.Listener{Port: 81, Protocol: "HTTP", Default: fixed(404)}}, "rejected", "too many listeners: 3, the limit is 2: rejected"},
		"a certificate of AWS's": {plan.AttachCertificate{Port: 443, Certificate: "arn:aws:acm:1"}, "rejected", "certificate arn:aws:acm:1 is not one of this cloud's: rejected"},
		"asking clients for certificates": {plan.ModifyListener{Listener: lb.Listener{Port: 443, Protocol: "HTTPS", Default: fixed(404),
			Settings: lb.ListenerSettings{Mutual: &lb.MutualAuthentication{Mode: "verify", TrustStore: "partners"}}}}, "rejected", "port 443: mutual authentication (verify) is not supported: rejected"},
		"HTTPS without certificate": {plan.ModifyListener{Listener: lb.Listener{Port: 443, Protocol: "HTTPS", Default: fixed(404)}}, "rejected", "port 443: an HTTPS listener needs a certificate: rejected"},
		"an unknown protocol":       {plan.ModifyListener{Listener: lb.Listener{Port: 80, Protocol: "QUIC", Default: fixed(404)}}, "rejected", `port 80: protocol "QUIC" is not supported: rejected`},
		"a port that is not open":   {plan.ModifyListener{Listener: lb.Listener{Port: 81, Protocol: "HTTP", Default: fixed(404)}}, conflict, "no listener on port 81"},
		"a port open for another protocol": {plan.CreateListener{Listener: lb.Listener{Port: 443, Protocol: "HTTP", Default: fixed(404)}}, conflict,
			"port 443 is open already, for HTTPS"},

		"a rule at a used priority":    {plan.CreateRule{Port: 80, Priority: 10, Rule: here}, conflict, "priority 80/10 is in use by path = /web → forward web"},
		"a priority out of range":      {plan.CreateRule{Port: 80, Priority: 50001, Rule: here}, "rejected", "priority 50001 is not between 1 and 50000: rejected"},
		"a rule on a closed port":      {plan.CreateRule{Port: 81, Priority: 1, Rule: here}, conflict, "no listener on port 81"},
		"a change of no rule":          {plan.ModifyRule{Port: 80, Priority: 11, Rule: here}, conflict, "no rule 80/11"},
		"another rule than expected":   {plan.DeleteRule{Port: 80, Priority: 10, Rule: here}, conflict, "rule 80/10 is another than the one to delete: path = /web → forward web"},
		"moving onto another rule":     {plan.RespaceRules{Port: 80, To: map[int]int{10: 20}}, conflict, "priority 80/20 is in use"},
		"moving onto one that moves":   {plan.RespaceRules{Port: 80, To: map[int]int{10: 20, 20: 30}}, conflict, "priority 80/20 is in use"},
		"moving out of range":          {plan.RespaceRules{Port: 80, To: map[int]int{10: 0}}, "rejected", "priority 0 is not between 1 and 50000: rejected"},
		"a fourth rule, over both":     {plan.CreateRule{Port: 443, Priority: 1, Rule: here}, "rejected", "too many rules: 4, the limit is 3: rejected"},
		"an unknown target group":      {plan.ModifyRule{Port: 80, Priority: 10, Rule: lb.Rule{Action: forward("none")}}, conflict, "no target group none"},
		"what cannot be authenticated": {plan.ModifyRule{Port: 80, Priority: 10, Rule: lb.Rule{Action: lb.Action{Kind: "forward", Auth: &routing.Auth{Kind: "cognito"}}}}, "rejected", "authentication (cognito) is not supported: rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := start(t, fake.Options{Capabilities: caps})
			full(t, cloud)
			key := shop
			if c.want == "no load balancer elsewhere" {
				key = "elsewhere"
			}
			expect(t, cloud, key, c.step, c.class, c.want)
		})
	}
	for name, c := range map[string]struct {
		step plan.Step
		want string
	}{
		"six values":              {said(path("/1", "/2", "/3", "/4", "/5", "/6")), "too many values in a condition on path: 6, the limit is 5: rejected"},
		"six values in two":       {said(host("a.b", "c.d", "e.f"), path("/1", "/2", "/3")), "too many values in a rule: 6, the limit is 5: rejected"},
		"six wildcards":           {said(path("/*?*", "/*?*")), "too many wildcards in a rule: 6, the limit is 5: rejected"},
		"a host without a dot":    {said(host("localhost")), `host value "localhost" has a character or a form that is not accepted: rejected`},
		"a path with a space":     {said(path("/a b")), `path value "/a b" has a character that is not accepted: rejected`},
		"a source that is none":   {said(lb.Condition{Field: "source", Values: []string{"here"}}), `source value "here" is not an address range: rejected`},
		"an unknown field":        {said(lb.Condition{Field: "cookie", Values: []string{"x"}}), `a condition cannot look at "cookie": rejected`},
		"a broken expression":     {said(lb.Condition{Field: "path", Regex: []string{"^(/a$"}}), "error parsing regexp: missing closing ): `^(/a$`: rejected"},
		"an unknown action":       {does(lb.Action{Kind: "tarpit"}), `action "tarpit" is not supported: rejected`},
		"a redirect to nowhere":   {does(lb.Action{Kind: "redirect", Status: 301}), "a redirect does not say where to: rejected"},
		"no status":               {does(lb.Action{Kind: "fixed", Status: 42}), "42 is not a status that can be answered: rejected"},
		"too many groups at once": {does(forward("web", 1, "web", 1, "web", 1, "web", 1, "web", 1, "web", 1)), "too many target groups in an action: 6, the limit is 5: rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := start(t, fake.Options{Capabilities: lb.ALB()})
			program(t, cloud, loadBalancer(shop, []lb.TargetGroup{group("web")}, http80()))
			expect(t, cloud, shop, c.step, "rejected", c.want)
		})
	}
	t.Run("rewriting where there is none", func(t *testing.T) {
		caps := lb.ALB()
		caps.Rewrites = false
		cloud := start(t, fake.Options{Capabilities: caps})
		program(t, cloud, loadBalancer(shop, nil, http80()))
		expect(t, cloud, shop, does(lb.Action{Kind: "forward", Rewrite: &routing.Rewrite{}}), "rejected", "rewriting requests is not supported: rejected")
	})
	t.Run("a regular expression where there are none", func(t *testing.T) {
		cloud := start(t, fake.Options{Capabilities: lb.ALBGlob()})
		program(t, cloud, loadBalancer(shop, nil, http80()))
		expect(t, cloud, shop, said(lb.Condition{Field: "path", Regex: []string{"^/a$"}}), "rejected", "^/a$: regular expressions are not supported: rejected")
	})
}

// full makes a load balancer that has used up its limits.
func full(t *testing.T, cloud *fake.Cloud) {
	certificate := imported(t, "sha256:1", "shop.example.com")
	plain, secure := http80(), https443([]lb.CertificateID{"sha256:1", "fake:b", "fake:c"})
	plain.Default = forward("fallback")
	for _, step := range []plan.Step{
		plan.ImportCertificate{Certificate: certificate},
		plan.CreateTargetGroup{Group: group("web")},
		plan.CreateTargetGroup{Group: group("fallback")},
		plan.CreateTargetGroup{Group: group("idle")},
		plan.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Key: shop}},
		plan.CreateListener{Listener: plain},
		plan.CreateListener{Listener: secure},
		plan.CreateRule{Port: 80, Priority: 10, Rule: rule("- /web", forward("web"))},
		plan.CreateRule{Port: 80, Priority: 20, Rule: rule("- /gone", fixed(410))},
		plan.CreateRule{Port: 443, Priority: 10, Rule: rule("- /web", forward("web"))},
	} {
		if _, err := cloud.Apply(t.Context(), &lb.Observed{Key: shop}, step); err != nil {
			t.Fatalf("%s %s: %v", step.Op(), step.ID(), err)
		}
	}
}

// expect applies a step that fails, and checks why, and that it has changed nothing.
func expect(t *testing.T, cloud *fake.Cloud, key lb.Key, step plan.Step, class, want string) {
	t.Helper()
	before := observe(t, cloud)
	_, err := cloud.Apply(t.Context(), &lb.Observed{Key: key}, step)
	if err == nil || err.Error() != want {
		t.Fatalf("error %v\nwant  %s", err, want)
	}
	for name, of := range map[string]error{"pending": providers.ErrPending, "rejected": providers.ErrRejected, "denied": providers.ErrDenied} {
		if errors.Is(err, of) != (name == class) {
			t.Errorf("class %q: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, observe(t, cloud)); diff != "" {
		t.Errorf("refused, and yet (-before +after):\n%s", diff)
	}
}

func observe(t *testing.T, cloud *fake.Cloud) *lb.Observed {
	t.Helper()
	o, err := cloud.Observe(t.Context(), shop, false)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// A fault before a step leaves the cloud as it was; one after it does not, and the caller cannot
// tell which. Looking again and planning again arrives all the same.
func TestApplyWithFaults(t *testing.T) {
	fault := errors.New("connection reset")
	want := loadBalancer(shop, []lb.TargetGroup{group("web", lb.Target{Address: "192.0.2.1", Port: 80})},
		http80(rule("- /a", fixed(410)), rule("- -", forward("web"))))
	for _, name := range []string{"before", "after"} {
		t.Run(name, func(t *testing.T) {
			// Every step fails the first time.
			failed := map[string]bool{}
			hook := func(_ lb.Key, s plan.Step) error {
				if id := s.Op() + s.ID(); !failed[id] {
					failed[id] = true
					return fault
				}
				return nil
			}
			var options fake.Options
			if name == "before" {
				options.Before = hook
			} else {
				options.After = hook
			}
			cloud := start(t, options)
			attempts := 0
			for ; attempts < 20; attempts++ {
				seen := observe(t, cloud)
				todo := planner.Diff(seen, want, cloud.Capabilities(lb.Class{}))
				if todo.Empty() {
					break
				}
				if _, err := providers.Run(t.Context(), cloud, seen, todo, providers.Options{Parallel: 1}); err != nil && !errors.Is(err, fault) {
					t.Fatal(err)
				}
			}
			if got := observe(t, cloud); attempts == 20 || got.RuleCount() != 2 {
				t.Errorf("after %d attempts: %+v", attempts, got)
			}
		})
	}
}

// A stale read shows the load balancer some steps ago, and never before it was there.
func TestObserveStale(t *testing.T) {
	ago := 0
	cloud := start(t, fake.Options{Stale: func(lb.Key) int { return ago }})
	program(t, cloud, loadBalancer(shop, nil, http80()))
	for i := range 40 {
		step := plan.CreateRule{Port: 80, Priority: i + 1, Rule: rule("- /x", fixed(410))}
		if _, err := cloud.Apply(t.Context(), &lb.Observed{Key: shop}, step); err != nil {
			t.Fatal(err)
		}
	}
	for steps, want := range map[int]int{0: 40, 1: 39, 10: 30, 1000: 8} {
		ago = steps
		if got := observe(t, cloud).RuleCount(); got != want {
			t.Errorf("%d steps ago there were %d rules, want %d", steps, got, want)
		}
	}
}

// Each call takes its time, and gives up with its context.
func TestLatency(t *testing.T) {
	const latency = 20 * time.Millisecond
	cloud := start(t, fake.Options{Latency: latency})
	for name, call := range map[string]func(ctx context.Context) error{
		"apply": func(ctx context.Context) error {
			_, err := cloud.Apply(ctx, &lb.Observed{Key: shop}, plan.CreateTargetGroup{Group: group("web")})
			return err
		},
		"observe": func(ctx context.Context) error { _, err := cloud.Observe(ctx, shop, false); return err },
		"list":    func(ctx context.Context) error { _, err := cloud.List(ctx); return err },
		"lookup":  func(ctx context.Context) error { _, err := cloud.Lookup(ctx, lb.Questions{}); return err },
	} {
		began := time.Now()
		if err := call(t.Context()); err != nil || time.Since(began) < latency {
			t.Errorf("%s: error %v after %v", name, err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: cancelled: %v", name, err)
		}
	}
}

func TestLookupHasACertificateForEveryHost(t *testing.T) {
	got, err := start(t, fake.Options{}).Lookup(t.Context(), lb.Questions{CertificateHosts: []string{"a.example.com", "*.example.com"}})
	want := map[string][]lb.CertificateID{"a.example.com": {"fake:a.example.com"}, "*.example.com": {"fake:*.example.com"}}
	if diff := cmp.Diff(want, got.Certificates); err != nil || diff != "" {
		t.Errorf("error %v, certificates (-want +got):\n%s", err, diff)
	}
}

func TestListIsSorted(t *testing.T) {
	cloud := start(t, fake.Options{})
	for _, key := range []lb.Key{"b", "c", "a"} {
		program(t, cloud, loadBalancer(key, nil, http80()))
	}
	program(t, cloud, lb.LoadBalancer{Key: "c"})
	got, err := cloud.List(t.Context())
	if err != nil || !slices.Equal(got, []lb.Key{"a", "b"}) {
		t.Errorf("keys %v, error %v", got, err)
	}
}

// The cloud refuses what its capabilities exclude, as a provider does.
func TestExcludedStepsAreRefused(t *testing.T) {
	for _, excluded := range []bool{false, true} {
		c := lb.Literal()
		if excluded {
			c.TargetTypesRefused = []string{"ip"}
		}
		cloud, err := fake.New(fake.Options{Capabilities: c})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cloud.Close)
		_, err = cloud.Apply(t.Context(), &lb.Observed{Key: "k"}, plan.CreateTargetGroup{Group: lb.TargetGroup{ID: "a", TargetType: "ip"}})
		if errors.Is(err, providers.ErrRejected) != excluded || (err != nil) != excluded {
			t.Errorf("excluded: %v; %v", excluded, err)
		}
	}
}
