package planner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner/rulelist"
)

// This file is about strangers: rules in listeners of ours that are neither wanted nor were made
// for what was wanted before. Somebody has put them there by hand, or another tool has. They are
// told, and go like any rule that is not wanted, unless they are to stay.

// A Stranger is such a rule.
type Stranger struct {
	Port int32
	lb.ObservedRule
}

// Strangers are the rules that are there, not wanted, and not known to be ours.
func Strangers(seen *lb.Observed, want lb.LoadBalancer, ours func(port int32, r lb.Rule) bool) []Stranger {
	var out []Stranger
	for _, l := range seen.Listeners {
		wanted := map[string]bool{}
		for _, r := range rulesAt(want, l.Port) {
			wanted[r.Key()] = true
		}
		for _, r := range l.Rules {
			if !plan.Parked(r.Rule) && !wanted[r.Key()] && !ours(l.Port, r.Rule) {
				out = append(out, Stranger{l.Port, r})
			}
		}
	}
	return out
}

// RuleDigest stands for a rule of a port where rules are remembered.
func RuleDigest(port int32, r lb.Rule) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", port, r.Key()))
	return hex.EncodeToString(sum[:6])
}

// Among reports whether a rule is one of those that some digests stand for.
func Among(digests []string) func(port int32, r lb.Rule) bool {
	set := make(map[string]bool, len(digests))
	for _, d := range digests {
		set[d] = true
	}
	return func(port int32, r lb.Rule) bool { return set[RuleDigest(port, r)] }
}

// Lacks reports whether a rule that is wanted is not there. Then something has changed since rules
// were last written, and some that are not wanted any more may be ours.
func Lacks(seen *lb.Observed, want lb.LoadBalancer) bool {
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

// Keep makes strangers something that is wanted, on ports that are. Each stays behind the rule
// behind which it stands, as far as that one stays.
func Keep(want lb.LoadBalancer, seen *lb.Observed, strangers []Stranger) lb.LoadBalancer {
	want.Listeners = slices.Clone(want.Listeners)
	for i := range want.Listeners {
		w := &want.Listeners[i]
		there := seen.Listener(w.Port)
		if there == nil || there.Protocol != w.Protocol {
			continue
		}
		w.Rules = amid(w.Rules, there.Rules, func(r lb.ObservedRule) bool {
			return slices.ContainsFunc(strangers, func(s Stranger) bool { return s.Port == w.Port && s.Key() == r.Key() })
		})
	}
	return want
}

// amid puts the strangers among rules that are there into those that are wanted.
func amid(want []lb.Rule, there []lb.ObservedRule, strange func(lb.ObservedRule) bool) []lb.Rule {
	old := make([]lb.Rule, len(there))
	for i, r := range there {
		old[i] = r.Rule
	}
	stay := rulelist.Anchors(old, want, lb.Rule.Key)
	var out []lb.Rule
	done := 0 // of what is wanted
	for i, r := range there {
		if len(stay) > 0 && stay[0].Old == i {
			out = append(out, want[done:stay[0].New+1]...)
			done, stay = stay[0].New+1, stay[1:]
		}
		if strange(r) {
			out = append(out, r.Rule)
		}
	}
	return append(out, want[done:]...)
}

// Notice says what becomes of a stranger.
func (s Stranger) Notice(key lb.Key, stays bool) diag.Diagnostic {
	fate := "it is removed, for it lies in a listener of ours; unknownRules: Keep of the class has such rules stay"
	if stays {
		fate = "it stays, as the class says, and answers before the rules behind it"
	}
	return diag.Diagnostic{Severity: diag.Warning, Reason: diag.UnknownRule, Source: plan.SourceOf(key), Message: fmt.Sprintf(
		"Rule %d of port %d (%s) was made by somebody else: %s.", s.Priority, s.Port, s.Rule, fate)}
}

func rulesAt(b lb.LoadBalancer, port int32) []lb.Rule {
	for _, l := range b.Listeners {
		if l.Port == port {
			return l.Rules
		}
	}
	return nil
}
