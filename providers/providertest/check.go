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

// This file tests the contract on a running provider that may have other load balancers.

// A Subject is a running provider, and what the test needs to create load balancers there.
type Subject struct {
	Provider providers.Provider
	// Prefix begins the keys of all load balancers that the test creates.
	Prefix string
	// Settings are the provider's own settings, as JSON; "" for none.
	Settings string
	// Target is a target that the provider finds healthy; nil: target groups stay empty. Spare is
	// another target, healthy or not.
	Target, Spare *lb.Target
	// TargetOptional: if the provider rejects the target, the test runs without targets.
	TargetOptional bool
	// StepTimeout limits the time for which a step is pending, and CleanupTimeout the time to delete
	// the load balancers of one clause.
	StepTimeout, CleanupTimeout time.Duration
	// OnClause is called before each clause; it may be nil.
	OnClause func(promise string)
}

// Check tests each clause on load balancers of its own. It deletes them, also when the context
// ends.
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

// findPlace looks up subnets and settings for the load balancers. If it finds none, it returns
// findings that say why.
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

// newKey returns a new random key.
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

// dropRejectedTarget removes the target from the place if it is optional and the provider rejects
// it.
func (s Subject) dropRejectedTarget(
	ctx context.Context, w *place,
) (left []string, findings []check.Finding) {
	if !s.TargetOptional || len(w.targets) == 0 {
		return nil, nil
	}
	var err error
	a := &attempt{ctx: ctx}
	a.run(func() {
		c := s.suite(a, *w).cloud()
		g := w.group(web, "/", w.targets...)
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
		return a.left, nil // the clauses find other errors
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

// longestFinding is the longest text of a finding in bytes; the rest is cut off.
const longestFinding = 4096

// clip returns a text in one line, cut off at longestFinding.
func clip(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(text) > longestFinding {
		text = strings.ToValidUTF8(text[:longestFinding], "") + "…"
	}
	return text
}
