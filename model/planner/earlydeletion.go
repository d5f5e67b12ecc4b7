package planner

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file chooses a rule to delete before its successor exists, if a limit requires this.

// An earlyDeletion is a step that deletes a rule before its successor exists.
type earlyDeletion struct {
	step       plan.Step
	diagnostic diag.Diagnostic
}

// chooseEarlyDeletion chooses a rule to delete first, by the limit that is reached.
func chooseEarlyDeletion(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities,
	lacking [kinds]bool) (earlyDeletion, bool) {
	all := compare(seen, want, c)
	if crowded := slices.DeleteFunc(slices.Clone(all), func(co comparison) bool {
		return co.fits
	}); len(crowded) > 0 {
		return earlyRule(crowded, want.Key, c)
	}
	if lacking[rules] {
		if v, ok := earlyRule(all, want.Key, c); ok {
			return v, true
		}
	}
	if lacking[groups] {
		return earlyRuleOfGroup(all, seen, want, c)
	}
	return earlyDeletion{}, false
}

// earlyRule chooses a rule among those to delete: one whose requests then get the default action or
// their next answer, else the last one, else all rules of a port that closes.
func earlyRule(all []comparison, key lb.Key, c lb.Capabilities) (earlyDeletion, bool) {
	because := fmt.Sprintf("All %d rules are in use", c.Rules)
	var found earlyDeletion
	ok := false
	for _, co := range all {
		for _, l := range slices.Backward(co.lines) {
			if l.Change != Removed {
				continue
			}
			harmless := !coversAnother(co.old[l.Old:], c.Dialect)
			if !ok || harmless {
				found, ok = deleteRuleEarly(key, co.port, co.old[l.Old], because), true
			}
			if harmless {
				return found, true
			}
		}
	}
	closing := slices.IndexFunc(all, func(co comparison) bool {
		return co.want == nil && len(co.seen.Rules) > 0
	})
	if !ok && closing >= 0 {
		return deleteDefaultEarly(key, all[closing], because), true
	}
	return found, ok
}

// earlyRuleOfGroup chooses a rule of the target group to delete that the fewest rules use: all of
// these must be deleted before the group.
func earlyRuleOfGroup(all []comparison, seen *lb.Observed, want lb.LoadBalancer,
	c lb.Capabilities) (earlyDeletion, bool) {
	because := fmt.Sprintf("All %d target groups are in use", c.TargetGroups)
	users := map[lb.GroupID][]earlyDeletion{}
	for _, co := range all {
		if co.seen == nil {
			continue
		}
		for _, r := range slices.Backward(co.old) {
			for _, g := range r.Action.Groups() {
				users[g] = append(users[g], deleteRuleEarly(want.Key, co.port, r, because))
			}
		}
		for _, g := range co.seen.Default.Groups() {
			users[g] = append(users[g], deleteDefaultEarly(want.Key, co, because))
		}
	}
	var found earlyDeletion
	fewest := 0
	for _, g := range seen.TargetGroups {
		wanted := slices.ContainsFunc(want.TargetGroups, func(w lb.TargetGroup) bool {
			return w.ID == g.ID
		})
		if n := len(users[g.ID]); !wanted && n > 0 && (fewest == 0 || n < fewest) {
			found, fewest = users[g.ID][0], n
		}
	}
	return found, fewest > 0
}

// deleteDefaultEarly replaces the default action early: it answers 503 until the plan is done.
func deleteDefaultEarly(key lb.Key, co comparison, because string) earlyDeletion {
	if co.want == nil {
		return earlyDeletion{plan.DeleteListener{Port: co.port},
			deleteFirst(key, fmt.Sprintf("%s, so port %d closes first.", because, co.port))}
	}
	until := *co.want
	until.Default = lb.FromRouting(routing.Status(503))
	until.Protocol, until.Certificates = co.seen.Protocol, co.seen.Certificates
	until.Verifies = until.Verifies && until.Protocol == routing.HTTPS
	return earlyDeletion{plan.ModifyListener{Listener: until}, deleteFirst(key, fmt.Sprintf(
		"%s, so the default of port %d is taken away before its successor exists. Until then it "+
			"answers 503.", because, co.port))}
}

// coversAnother reports whether the first rule of a list covers a later one with another action.
func coversAnother(list []lb.ObservedRule, d lb.Dialect) bool {
	for _, r := range list[1:] {
		if !lb.SameAction(r.Action, list[0].Action) && lb.Overlap(r.Rule, list[0].Rule, d) {
			return true
		}
	}
	return false
}

func deleteRuleEarly(key lb.Key, port int32, r lb.ObservedRule, because string) earlyDeletion {
	step := plan.DeleteRule{Port: port, Priority: r.Priority, Rule: r.Rule}
	return earlyDeletion{step, deleteFirst(key, fmt.Sprintf(
		"%s, so the rule %s (%s) is deleted before its successor exists. Until then its requests get "+
			"the answer of what is left below it, which may be the default.", because, step.ID(),
		r.MatchKey()))}
}

func deleteFirst(key lb.Key, message string) diag.Diagnostic {
	return diag.Diagnostic{Severity: diag.Warning, Reason: diag.DeleteFirst,
		Source: plan.SourceOf(key), Message: message}
}

// targetsUnchecked returns the diagnostic for target groups of unknown health that take over
// requests.
func targetsUnchecked(key lb.Key) diag.Diagnostic {
	return diag.Diagnostic{Severity: diag.Warning, Reason: diag.Unparked, Source: plan.SourceOf(key),
		Message: "There is no room for a rule that has targets checked before requests are sent to " +
			"them. Requests that other targets answer now may be answered 503 until the first check " +
			"is over."}
}

// settingsUnread returns the diagnostic for settings that could not be compared with the wanted
// ones.
func settingsUnread(key lb.Key, why string) diag.Diagnostic {
	return diag.Diagnostic{Severity: diag.Warning, Reason: diag.Unread, Source: plan.SourceOf(key),
		Message: "Settings could not be read, and are assumed to be as they were written: " + why}
}

// stepComesEarly returns the diagnostic for a step that runs before one that should come first.
func stepComesEarly(key lb.Key, s plan.Step) diag.Diagnostic {
	if s, ok := s.(plan.DetachCertificate); ok {
		return deleteFirst(key,
			fmt.Sprintf("All places for certificates are in use, so %s is taken from port %d before its "+
				"successor is there.", s.Certificate, s.Port))
	}
	return diag.Diagnostic{Severity: diag.Warning, Reason: diag.RedirectOrder,
		Source: plan.SourceOf(key), Message: fmt.Sprintf(
			"Ports that redirect to each other change in ways that depend on each other. From %q %s until "+
				"the plan is done, "+
				"a redirected request may arrive at a port that has changed already, or has yet to change.",
			s.Op(), s.ID())}
}
