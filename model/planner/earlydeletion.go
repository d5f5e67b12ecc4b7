package planner

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner/rulelist"
	"fairlead.dev/fairlead/model/planner/schedule"
	"fairlead.dev/fairlead/model/routing"
)

// This file chooses what to delete before its successor exists, where a limit leaves no other way.

// A victim is a rule that goes before its time.
type victim struct {
	step       plan.Step
	diagnostic diag.Diagnostic
}

// sacrifice chooses a rule to delete first, by what is lacking.
func sacrifice(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities, lacking [schedule.Kinds]bool) (victim, bool) {
	all := compare(seen, want, c)
	if crowded := slices.DeleteFunc(slices.Clone(all), func(co comparison) bool { return co.fits }); len(crowded) > 0 {
		return forRule(crowded, want.Key, c)
	}
	if lacking[schedule.Rules] {
		if v, ok := forRule(all, want.Key, c); ok {
			return v, true
		}
	}
	if lacking[schedule.Groups] {
		return forGroup(all, seen, want, c)
	}
	return victim{}, false
}

// forRule chooses a rule that is to go anyway: one whose requests then meet the default or what
// they would meet anyway, or else the one furthest down, or else all those of a port that closes
// anyway.
func forRule(all []comparison, key lb.Key, c lb.Capabilities) (victim, bool) {
	because := fmt.Sprintf("All %d rules are in use", c.Rules)
	var found victim
	ok := false
	for _, co := range all {
		for _, l := range slices.Backward(co.lines) {
			if l.Change != rulelist.Removed {
				continue
			}
			harmless := !exposes(co.old[l.Old:], c.Dialect)
			if !ok || harmless {
				found, ok = newVictim(key, co.port, co.old[l.Old], because), true
			}
			if harmless {
				return found, true
			}
		}
	}
	closing := slices.IndexFunc(all, func(co comparison) bool { return co.want == nil && len(co.seen.Rules) > 0 })
	if !ok && closing >= 0 {
		return newDefault(key, all[closing], because), true
	}
	return found, ok
}

// forGroup chooses a rule that forwards to a target group that is to go: to one that the fewest
// rules use, all of which must go before it can.
func forGroup(all []comparison, seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities) (victim, bool) {
	because := fmt.Sprintf("All %d target groups are in use", c.TargetGroups)
	users := map[lb.GroupID][]victim{}
	for _, co := range all {
		if co.seen == nil {
			continue
		}
		for _, r := range slices.Backward(co.old) {
			for _, g := range r.Action.Groups() {
				users[g] = append(users[g], newVictim(want.Key, co.port, r, because))
			}
		}
		for _, g := range co.seen.Default.Groups() {
			users[g] = append(users[g], newDefault(want.Key, co, because))
		}
	}
	var found victim
	fewest := 0
	for _, g := range seen.TargetGroups {
		wanted := slices.ContainsFunc(want.TargetGroups, func(w lb.TargetGroup) bool { return w.ID == g.ID })
		if n := len(users[g.ID]); !wanted && n > 0 && (fewest == 0 || n < fewest) {
			found, fewest = users[g.ID][0], n
		}
	}
	return found, fewest > 0
}

// newDefault is the default action as a victim: until all else is done, it answers 503.
func newDefault(key lb.Key, co comparison, because string) victim {
	if co.want == nil {
		return victim{plan.DeleteListener{Port: co.port}, deleteFirst(key, fmt.Sprintf("%s, so port %d closes first.", because, co.port))}
	}
	until := *co.want
	until.Default = lb.FromRouting(routing.Status(503))
	until.Protocol, until.Certificates = co.seen.Protocol, co.seen.Certificates
	until.Verifies = until.Verifies && until.Protocol == routing.HTTPS
	return victim{plan.ModifyListener{Listener: until}, deleteFirst(key, fmt.Sprintf(
		"%s, so the default of port %d is taken away before its successor exists. Until then it answers 503.", because, co.port))}
}

// exposes reports whether the first of some rules covers a later one with another action.
func exposes(list []lb.ObservedRule, d lb.Dialect) bool {
	for _, r := range list[1:] {
		if !lb.SameAction(r.Action, list[0].Action) && lb.Overlap(r.Rule, list[0].Rule, d) {
			return true
		}
	}
	return false
}

func newVictim(key lb.Key, port int32, r lb.ObservedRule, because string) victim {
	step := plan.DeleteRule{Port: port, Priority: r.Priority, Rule: r.Rule}
	return victim{step, deleteFirst(key, fmt.Sprintf(
		"%s, so the rule %s (%s) is deleted before its successor exists. Until then its requests get "+
			"the answer of what is left below it, which may be the default.", because, step.ID(), r.MatchKey()))}
}

func deleteFirst(key lb.Key, message string) diag.Diagnostic {
	return diag.Diagnostic{Severity: diag.Warning, Reason: diag.DeleteFirst, Source: plan.SourceOf(key), Message: message}
}

// noParking says that target groups take over requests though their health is not known.
func noParking(key lb.Key) diag.Diagnostic {
	return diag.Diagnostic{Severity: diag.Warning, Reason: diag.Unparked, Source: plan.SourceOf(key), Message: "There is no room for a rule " +
		"that has targets checked before requests are sent to them. Requests that other targets answer now may be answered 503 until the first check is over."}
}

// unread says that settings could not be compared with the wanted ones.
func unread(key lb.Key, why string) diag.Diagnostic {
	return diag.Diagnostic{Severity: diag.Warning, Reason: diag.Unread, Source: plan.SourceOf(key), Message: "Settings could not be read, and are assumed to be as they were written: " + why}
}

// haste says that a step is taken before one that should come first.
func haste(key lb.Key, s plan.Step) diag.Diagnostic {
	if s, ok := s.(plan.DetachCertificate); ok {
		return deleteFirst(key, fmt.Sprintf("All places for certificates are in use, so %s is taken from port %d before its successor is there.", s.Certificate, s.Port))
	}
	return diag.Diagnostic{Severity: diag.Warning, Reason: diag.RedirectOrder, Source: plan.SourceOf(key), Message: fmt.Sprintf(
		"Ports that redirect to each other change in ways that depend on each other. From %q %s until the plan is done, "+
			"a redirected request may arrive at a port that has changed already, or has yet to change.", s.Op(), s.ID())}
}
