package providertest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file tries the contract on a provider that runs and may have load balancers of others.

// A Subject is such a provider, and what the load balancers need that are made there.
type Subject struct {
	Provider providers.Provider
	// Prefix begins the keys of all load balancers that are made.
	Prefix string
	// Settings are those that only the provider understands, as JSON; "" for none.
	Settings string
	// Target is one that the provider finds healthy; nil: target groups stay empty. Spare is another
	// one, in any health.
	Target, Spare *lb.Target
	// TargetOptional says that the target is only supposed to be one: where the provider rejects it, there
	// is none.
	TargetOptional bool
	// StepTimeout is how long a step may be pending, and Clearing how long what one clause made may take
	// to be deleted.
	StepTimeout, CleanupTimeout time.Duration
	// OnClause is told which clause is tried; it may be nil.
	OnClause func(promise string)
}

// Check tries each clause, on load balancers of its own that it deletes again, also when the
// context ends.
func Check(ctx context.Context, s Subject) []check.Finding {
	w, findings := s.findPlace(ctx)
	if check.AnyWrong(findings) {
		return findings
	}
	left, unfit := s.dropRejectedTarget(ctx, &w)
	findings = append(findings, unfit...)
	for _, c := range clauses {
		if ctx.Err() != nil {
			break
		}
		if s.OnClause != nil {
			s.OnClause(c.promise)
		}
		began, a := time.Now(), &attempt{ctx: ctx}
		a.run(func() { c.try(s.suite(a, w)) })
		left = append(left, a.left...)
		if ctx.Err() == nil {
			findings = append(findings, a.finding(c, time.Since(began)))
		}
	}
	if ctx.Err() != nil {
		findings = append(findings, check.Unsure("contract/interrupted", "the rest of the contract",
			"skipped: the run was interrupted", "run it again"))
	}
	const id, title = "contract/deleted", "what was made for the contract is deleted"
	if len(left) > 0 {
		return append(findings, check.Bad(id, title, strings.Join(left, "; "),
			"let a step that deletes succeed, also where nothing is there"))
	}
	return append(findings, check.Good(id, title, ""))
}

// findPlace is where the load balancers are to stand, and what was found about that.
func (s Subject) findPlace(ctx context.Context) (place, []check.Finding) {
	const id, title = "contract/place", "there is a place for an internal load balancer"
	network := lb.Network{Key: s.newKey(), Scheme: "internal"}
	facts, err := s.Provider.Lookup(ctx, lb.Questions{Network: network, Settings: s.Settings})
	switch {
	case err != nil:
		return place{}, []check.Finding{check.Bad(id, title, err.Error(),
			"answer POST /lookup with the facts that are asked for")}
	case len(facts.Unmet) > 0:
		return place{}, []check.Finding{check.Bad(id, title, strings.Join(facts.Unmet, "; "),
			"give the provider what it needs")}
	case facts.SettingsRefused[s.Settings] != "":
		return place{}, []check.Finding{check.Bad(id, title, facts.SettingsRefused[s.Settings],
			"correct the settings")}
	}
	w := place{
		settings:     routing.Settings{Subnets: facts.Subnets, Provider: s.Settings},
		capabilities: s.Provider.Capabilities(lb.Class{}),
	}
	if s.Target != nil {
		w.targets = []lb.Target{*s.Target}
	}
	findings := []check.Finding{check.Good(id, title, "")}
	for _, what := range w.leftOut() {
		findings = append(findings, check.Unsure("contract/left-out", what,
			"skipped: its capabilities say that its load balancers do not have that", ""))
	}
	return w, findings
}

// newKey is one that nothing else has.
func (s Subject) newKey() lb.Key { return lb.Key(s.Prefix + strings.ToLower(rand.Text()[:12])) }

func (s Subject) suite(t T, w place) suite {
	out := suite{
		t: t, open: func() providers.Provider { return s.Provider }, keys: func() keys {
			return keys{s.newKey(), s.newKey()}
		},
		stages: stages(t, w), timeout: s.StepTimeout, cleanupTimeout: s.CleanupTimeout,
	}
	if len(w.targets) > 0 {
		out.spare = s.Spare
	}
	return out
}

// dropRejectedTarget leaves the target out of the world if it is only supposed to be one and the provider rejects
// it.
func (s Subject) dropRejectedTarget(ctx context.Context, w *place) (left []string, findings []check.Finding) {
	if !s.TargetOptional || len(w.targets) == 0 {
		return nil, nil
	}
	var err error
	a := &attempt{ctx: ctx}
	a.run(func() {
		c := s.suite(a, *w).cloud()
		g := group(web, "/", w.targets...)
		for _, step := range []plan.Step{plan.CreateTargetGroup{Group: g},
			plan.RegisterTargets{Group: g.ID, Targets: g.Targets}} {
			seen := c.observe(c.own)
			err = c.retryPending(func() error { _, err := c.Apply(ctx, seen, step); return err })
			if err != nil {
				return
			}
		}
	})
	if !errors.Is(err, providers.ErrRejected) {
		return a.left, nil // whatever else is wrong is found by the clauses
	}
	w.targets = nil
	return a.left, []check.Finding{check.Unsure("contract/target", "a target on this machine",
		"skipped: "+clip(err.Error()), "give one that the provider can reach")}
}

// finding returns the result of a clause.
func (a *attempt) finding(c clause, took time.Duration) check.Finding {
	id, in := "contract/"+c.id, fmt.Sprintf("in %s", took.Round(time.Millisecond))
	switch {
	case len(a.failures) > 0:
		return check.Bad(id, c.promise, clip(strings.Join(a.failures, "; ")), c.advice)
	case a.skipped != "":
		return check.Unsure(id, c.promise, "skipped: "+a.skipped, "")
	}
	return check.Good(id, c.promise, in)
}

// longestFinding is how many bytes of what is wrong are told: the first differences say the most.
const longestFinding = 4096

// clip is a text in one line, and not too long.
func clip(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(text) > longestFinding {
		text = strings.ToValidUTF8(text[:longestFinding], "") + "…"
	}
	return text
}
