package plan

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
)

// This file chooses what to delete before its successor exists, where a limit leaves no other way.

// A victim is a rule that goes before its time.
type victim struct {
	step       DeleteRule
	diagnostic diag.Diagnostic
}

// sacrifice chooses a rule that is to go anyway: one whose requests then meet the default or
// what they would meet anyway, or else the one furthest down.
func sacrifice(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities) (victim, bool) {
	var found *victim
	all := compare(seen, want, c)
	crowded := slices.ContainsFunc(all, comparison.crowded)
	for _, ch := range all {
		if crowded && !ch.crowded() {
			continue
		}
		for i := len(ch.lines) - 1; i >= 0; i-- {
			l := ch.lines[i]
			if l.fate != goes {
				continue
			}
			harmless := !exposes(ch.old[l.old:], c.Dialect)
			if found == nil || harmless {
				found = newVictim(want.Key, ch.port, ch.old[l.old], c)
			}
			if harmless {
				return *found, true
			}
		}
	}
	if found == nil {
		return victim{}, false
	}
	return *found, true
}

// exposes reports whether the first of some rules covers a later one with another action.
func exposes(list []lb.ObservedRule, d lb.Dialect) bool {
	for _, r := range list[1:] {
		if !sameAction(r.Action, list[0].Action) && lb.Overlap(r.Rule, list[0].Rule, d) {
			return true
		}
	}
	return false
}

func newVictim(key lb.Key, port int32, r lb.ObservedRule, c lb.Capabilities) *victim {
	return &victim{
		step: DeleteRule{port, r.Priority, r.Rule},
		diagnostic: diag.Diagnostic{
			Severity: diag.Warning, Reason: diag.DeleteFirst,
			Source: diag.Source{Kind: "LoadBalancer", Name: string(key)},
			Message: fmt.Sprintf("All %d rules are in use, so the rule %s (%s) is deleted before its successor exists. "+
				"Until then its requests may get the default answer.", c.Rules, ruleID(port, r.Priority), r.MatchKey()),
		},
	}
}

// haste says that a step is taken before one that should come first.
func haste(key lb.Key, s Step) diag.Diagnostic {
	d := diag.Diagnostic{Severity: diag.Warning, Source: diag.Source{Kind: "LoadBalancer", Name: string(key)}}
	switch s := s.(type) {
	case DetachCertificate:
		d.Reason = diag.DeleteFirst
		d.Message = fmt.Sprintf("All places for certificates are in use, so %s is taken from port %d before its successor is there.", s.Certificate, s.Port)
	default:
		d.Reason = diag.RedirectOrder
		d.Message = fmt.Sprintf("Ports that redirect to each other change in ways that depend on each other. From %q %s until the plan is done, "+
			"a redirected request may arrive at a port that has changed already, or has yet to change.", s.Op(), s.ID())
	}
	return d
}
