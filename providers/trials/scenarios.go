package trials

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/selfsigned"
)

// This file has the scenarios in their order: each begins with the load balancers of the one
// before.

// A scenario changes the load balancers, and returns details for its finding.
type scenario struct {
	id, title string
	run       func(context.Context) (string, error)
	// try tests assumptions after it; nil if there are none to test.
	try func(context.Context) []check.Finding
}

// runScenarios runs all scenarios. A failed one ends the run, because the others depend on it.
func (r *run) runScenarios(ctx context.Context) error {
	all, err := r.listScenarios(ctx)
	if err != nil {
		return err
	}
	for n, s := range all {
		r.OnProgress(fmt.Sprintf("%d of %d: %s", n+1, len(all), s.title))
		began := time.Now()
		detail, err := s.run(ctx)
		took := fmt.Sprintf("in %s", time.Since(began).Round(time.Second))
		if detail != "" {
			took += ", " + detail
		}
		if err != nil {
			if ctx.Err() == nil {
				r.note(check.Bad("prove/scenario/"+s.id, s.title, oneLine(err), ""))
			}
			for _, later := range all[n:] {
				if ctx.Err() != nil || later.id != s.id {
					r.note(check.Unsure("prove/scenario/"+later.id, later.title, "not tried", ""))
				}
			}
			return err
		}
		r.note(check.Good("prove/scenario/"+s.id, s.title, took))
		if s.try != nil {
			r.OnProgress("trying what is assumed of the cloud")
			r.findings = append(r.findings, s.try(ctx)...)
		}
	}
	return nil
}

// listScenarios returns the scenarios.
//
//nolint:funlen // a flat table
func (r *run) listScenarios(ctx context.Context) ([]scenario, error) {
	subnets, err := r.subnets(ctx)
	if err != nil {
		return nil, err
	}
	l := life{subnets: subnets, tag: "a"}
	if r.Target != nil {
		l.targets = []lb.Target{*r.Target}
	}
	if r.Adopt {
		return r.adoptions(l)
	}
	old, err := selfsigned.Certificate(Host)
	if err != nil {
		return nil, err
	}
	renewed, err := selfsigned.Certificate(Host)
	if err != nil {
		return nil, err
	}
	later := l
	later.tag = "b"

	home, calls := rule("/*", forward(web)), rule("/api/*", forward(api))
	gone := rule("/old/*", lb.FromRouting(routing.Status(410)))
	split := rule("/both/*", lb.Action{
		Kind: "forward", Targets: []lb.Weighted{{Group: api, Weight: 1}, {Group: web, Weight: 3}},
	})
	lateHome := rule("/*", forward(late))
	secure := rule("/*", lb.FromRouting(routing.Action{Redirect: &routing.Redirect{Status: 301,
		Scheme: "https", Port: "443"}}))
	webGroup, apiGroup, lateGroup := l.group(web, "/"), l.group(api, "/"), l.group(late, "/")
	quicker := l.group(api, "/health")

	plain := func(rules ...lb.Rule) lb.Listener { return listener(80, routing.HTTP, nil, rules...) }
	pair := func(c lb.Certificate, rules ...lb.Rule) lb.Listener {
		return listener(443, routing.HTTPS, []lb.Certificate{c}, rules...)
	}
	groups := func(all ...lb.TargetGroup) []lb.TargetGroup { return all }
	served := func(c lb.Certificate) []lb.Certificate { return []lb.Certificate{c} }
	to := func(want ...lb.LoadBalancer) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			for _, w := range want {
				if err := r.applyAndCheck(ctx, w); err != nil {
					return "", err
				}
			}
			return "", nil
		}
	}

	made := l.balancer(first, groups(webGroup), nil, plain(home))
	inserted := l.balancer(first, groups(apiGroup, webGroup), nil, plain(calls, gone, split, home))
	retargeted := l.balancer(first, groups(apiGroup, lateGroup, webGroup), nil,
		plain(calls, gone, split, lateHome))
	tls := l.balancer(first, groups(apiGroup, lateGroup), served(old), plain(secure),
		pair(old, calls, lateHome))
	renewal := l.balancer(first, groups(apiGroup, lateGroup), served(renewed), plain(secure),
		pair(renewed, calls, lateHome))
	changed := later.balancer(first, groups(quicker, lateGroup), served(renewed), plain(secure),
		pair(renewed, calls, lateHome))
	again := later.balancer(first, groups(quicker, lateGroup), nil, plain(gone, calls, lateHome))
	left := later.balancer(first, groups(quicker), nil, plain(calls))
	other := l.balancer(second, groups(lateGroup), nil, plain(lateHome))

	return []scenario{
		{"missing", "what does not exist is observed as not existing",
			func(ctx context.Context) (string, error) {
				seen, err := r.observe(ctx, first)
				if err == nil && (seen.Exists || len(seen.TargetGroups)+len(seen.Certificates) > 0) {
					err = fmt.Errorf("%s is there", first)
				}
				return "", err
			}, nil},
		{"create", "a load balancer is created", to(made), nil},
		{"insert", "rules are inserted before others", to(inserted),
			func(ctx context.Context) []check.Finding { return r.lab.Try(ctx, first) }},
		{"retarget", "a rule is sent to another target group", func(ctx context.Context) (string, error) {
			err := r.applyAndCheck(ctx, retargeted)
			switch {
			case r.unparked > 0:
				return fmt.Sprintf("%d parking rules were refused, and it went on without", r.unparked), err
			case r.Target == nil:
				return "without targets, so that none was parked until healthy", err
			}
			return "which was parked until it was healthy", err
		}, nil},
		{"tls", "a second port with a certificate, and a redirect to it", to(tls), nil},
		{"renewal", "a certificate is renewed", to(renewal), nil},
		{"settings", "a health check and tags are changed", to(changed), nil},
		{"twice", "each step is made twice, and the second time changes nothing", func(ctx context.Context) (string, error) { return r.applyTwice(ctx, again) }, nil},
		{"move", "a rule moves to another load balancer", to(other, left), nil},
		{"listed", "what is owned is listed", r.awaitListed, nil},
		{"delete", "both are deleted", to(lb.LoadBalancer{Key: first}, lb.LoadBalancer{Key: second}), nil},
	}, nil
}

// subnets returns the subnets for the load balancers.
func (r *run) subnets(ctx context.Context) ([]string, error) {
	facts, err := retryCall(ctx, r, func() (lb.Facts, error) {
		return r.cloud.Lookup(ctx, lb.Questions{Network: lb.Network{Key: first, Scheme: "internal"}})
	})
	if err != nil {
		return nil, err
	}
	if len(facts.Unmet) > 0 {
		return nil, fmt.Errorf("there is nowhere to stand: %s", facts.Unmet[0])
	}
	return facts.Subnets, nil
}

// applyAndCheck applies the wanted load balancer, and checks that no steps are left.
func (r *run) applyAndCheck(ctx context.Context, want lb.LoadBalancer) error {
	if err := r.applyUntilDone(ctx, want, isTemporary); err != nil {
		return err
	}
	return r.awaitRead(ctx, want.Key, r.noSteps(want))
}

// noSteps returns a check that no steps are left to a wanted load balancer.
func (r *run) noSteps(want lb.LoadBalancer) func(*lb.Observed) error {
	return func(seen *lb.Observed) error {
		steps := planner.Diff(seen, want, r.cloud.Capabilities(lb.Class{})).Steps
		if len(steps) == 0 {
			return nil
		}
		return fmt.Errorf("%d steps are left to do, of which the first is %s %s", len(steps),
			steps[0].Step.Op(), steps[0].Step.ID())
	}
}

// readLag is the time by which reads may lag behind writes. One that is current may be followed by
// one that is not.
const readLag = 3 * time.Minute

// awaitRead observes a load balancer until a check passes, and returns the last error after the
// readLag.
func (r *run) awaitRead(ctx context.Context, key lb.Key, check func(*lb.Observed) error) error {
	for deadline := time.Now().Add(readLag); ; {
		seen, err := r.observe(ctx, key)
		if err != nil {
			return err
		}
		if err := check(seen); err == nil || time.Now().After(deadline) {
			return err
		}
		if err := pause(ctx, r.Pause); err != nil {
			return err
		}
	}
}

// checkState checks that the observation equals the state that the steps have updated.
func (r *run) checkState(ctx context.Context, seen *lb.Observed) error {
	want := inComparableForm(seen)
	return r.awaitRead(ctx, seen.Key, func(there *lb.Observed) error {
		if got := inComparableForm(there); got != want {
			return fmt.Errorf("what is observed is not what was kept: %s", firstDifference(want, got))
		}
		return nil
	})
}

// inComparableForm returns an observation as text, without the fields that can change at any time.
// It clears them in the observation.
func inComparableForm(o *lb.Observed) string {
	o.Active = false
	for i := range o.TargetGroups {
		o.TargetGroups[i].Ready = false
	}
	text, _ := json.Marshal(o) // plain data, without an error
	return string(text)
}

// firstDifference returns the parts of two texts around their first difference.
func firstDifference(kept, observed string) string {
	at := 0
	for at < len(kept) && at < len(observed) && kept[at] == observed[at] {
		at++
	}
	part := func(s string) string { return s[max(0, min(at, len(s))-40):min(len(s), at+40)] }
	return fmt.Sprintf("kept …%s…, observed …%s…", part(kept), part(observed))
}

// applyTwice applies each step of a plan twice.
func (r *run) applyTwice(ctx context.Context, want lb.LoadBalancer) (string, error) {
	seen, err := r.observe(ctx, want.Key)
	if err != nil {
		return "", err
	}
	steps := planner.Diff(seen, want, r.cloud.Capabilities(lb.Class{})).Steps
	for _, s := range steps {
		var result plan.Result
		for _, time := range []string{"first", "second"} {
			result, err = retryCall(ctx, r, func() (plan.Result, error) {
				return r.cloud.Apply(context.WithoutCancel(ctx), seen, s.Step)
			})
			if err != nil {
				return "", fmt.Errorf("%s %s, the %s time: %w", s.Step.Op(), s.Step.ID(), time, err)
			}
		}
		s.Step.Do(seen, result)
	}
	return fmt.Sprintf("%d steps", len(steps)), r.applyAndCheck(ctx, want)
}

// awaitListed waits until both load balancers are listed, and returns the time that it took, in
// words.
func (r *run) awaitListed(ctx context.Context) (string, error) {
	for began := time.Now(); ; {
		keys, err := retryCall(ctx, r, func() ([]lb.Key, error) { return r.cloud.List(ctx) })
		if err != nil {
			return "", err
		}
		lag := time.Since(began)
		if slices.Contains(keys, first) && slices.Contains(keys, second) {
			return fmt.Sprintf("found by their tags after %s", lag.Round(time.Second)), nil
		}
		if lag > readLag {
			return "", fmt.Errorf("after %s, the keys %v are listed", lag.Round(time.Second), keys)
		}
		if err := pause(ctx, r.Pause); err != nil {
			return "", err
		}
	}
}
