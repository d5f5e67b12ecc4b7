package planner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file finds foreign rules: rules in listeners of the operator that are neither wanted nor
// from an earlier plan. A person or another tool created them. They are reported, and deleted like
// other unwanted rules unless the class keeps them.

// A ForeignRule is a rule that was not created by the operator.
type ForeignRule struct {
	Port int32
	lb.ObservedRule
}

// ForeignRules returns the existing rules that are neither wanted nor known to be ours.
func ForeignRules(seen *lb.Observed, want lb.LoadBalancer,
	ours func(port int32, r lb.Rule) bool) []ForeignRule {
	var out []ForeignRule
	for i := range seen.Listeners {
		l := &seen.Listeners[i]
		if want.Leaves(l) {
			continue
		}
		wanted := map[string]bool{}
		for _, r := range rulesAt(want, l.Port) {
			wanted[r.Key()] = true
		}
		for _, r := range l.Rules {
			if !plan.Parked(r.Rule) && !wanted[r.Key()] && !ours(l.Port, r.Rule) {
				out = append(out, ForeignRule{l.Port, r})
			}
		}
	}
	return out
}

// RuleDigest returns a digest of a rule of a port, for records.
func RuleDigest(port int32, r lb.Rule) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", port, r.Key()))
	return hex.EncodeToString(sum[:6])
}

// HasDigest returns a function that reports whether the digest of a rule is in a list.
func HasDigest(digests []string) func(port int32, r lb.Rule) bool {
	set := make(map[string]bool, len(digests))
	for _, d := range digests {
		set[d] = true
	}
	return func(port int32, r lb.Rule) bool { return set[RuleDigest(port, r)] }
}

// MissesRules reports whether a wanted rule does not exist. Then the wanted rules have changed
// since they were last written, and some unwanted rules may be ours.
func MissesRules(seen *lb.Observed, want lb.LoadBalancer) bool {
	return slices.ContainsFunc(want.Listeners, func(w lb.Listener) bool {
		there := map[string]bool{}
		if l := seen.Listener(w.Port); l != nil {
			for _, r := range l.Rules {
				there[r.Key()] = true
			}
		}
		return slices.ContainsFunc(w.Rules, func(r lb.Rule) bool { return !there[r.Key()] })
	})
}

// KeepForeignRules returns the wanted load balancer with foreign rules added, on ports that it has.
// Each stays after the rule that it now follows, if that rule stays.
func KeepForeignRules(want lb.LoadBalancer, seen *lb.Observed,
	foreign []ForeignRule) lb.LoadBalancer {
	want.Listeners = slices.Clone(want.Listeners)
	for i := range want.Listeners {
		w := &want.Listeners[i]
		there := seen.Listener(w.Port)
		if there == nil || there.Protocol != w.Protocol {
			continue
		}
		w.Rules = mergeForeignRules(w.Rules, there.Rules, func(r lb.ObservedRule) bool {
			return slices.ContainsFunc(foreign, func(s ForeignRule) bool {
				return s.Port == w.Port && s.Key() == r.Key()
			})
		})
	}
	return want
}

// mergeForeignRules inserts the foreign rules of the existing ones into the wanted ones.
func mergeForeignRules(want []lb.Rule, there []lb.ObservedRule,
	foreign func(lb.ObservedRule) bool) []lb.Rule {
	old := make([]lb.Rule, len(there))
	for i, r := range there {
		old[i] = r.Rule
	}
	stay := anchors(old, want, lb.Rule.Key)
	var out []lb.Rule
	done := 0 // number of wanted rules that were added
	for i, r := range there {
		if len(stay) > 0 && stay[0].Old == i {
			out = append(out, want[done:stay[0].New+1]...)
			done, stay = stay[0].New+1, stay[1:]
		}
		if foreign(r) {
			out = append(out, r.Rule)
		}
	}
	return append(out, want[done:]...)
}

// Notice returns the diagnostic for a foreign rule, which stays or is deleted.
func (s ForeignRule) Notice(key lb.Key, stays bool) diag.Diagnostic {
	fate := "it is removed, for it lies in a listener of ours; unknownRules: Keep of the class has " +
		"such rules stay"
	if stays {
		fate = "it stays, as the class says, and answers before the rules behind it"
	}
	return diag.Diagnostic{Severity: diag.Warning, Reason: diag.UnknownRule,
		Source: plan.SourceOf(key), Message: fmt.Sprintf(
			"Rule %d of port %d (%s) was created by another writer: %s.", s.Priority, s.Port, s.Rule, fate)}
}

func rulesAt(b lb.LoadBalancer, port int32) []lb.Rule {
	for _, l := range b.Listeners {
		if l.Port == port {
			return l.Rules
		}
	}
	return nil
}
