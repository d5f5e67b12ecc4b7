package replay

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file compares the answers that a request may get with the one that was logged.

// logged is the answer in a line.
type logged struct {
	priority      int
	final         string // the kind of the last action; empty if the request did not get that far
	authenticated bool
	status        int    // of a redirect or a fixed response
	elsewhere     uint64 // the places of the possible answers that redirect to another URL
	group         string // the ARN of the target group that it was forwarded to
}

// Errors in lines.
const (
	// WrongRule: another rule decided than those that may answer.
	WrongRule = "rule"
	// WrongAnswer: what was done is not what the Ingress paths that may answer ask for.
	WrongAnswer = "answer"
	// WrongLocation: the redirect led to another URL than the Ingress paths that may answer ask for.
	WrongLocation = "location"
)

// A verdict is what became of a line.
type verdict struct {
	wrong    string     // empty if nothing is
	answers  []possible // those that agree with the line; all that may answer if none does
	expected []int      // priorities that may be logged; nil if they are not known
	foreign  bool       // a foreign rule answered, and no Ingress path
}

// judge compares a line with the rules and the answers that are possible.
func (b *balancer) judge(p *prediction, said logged) verdict {
	out := verdict{expected: p.priorities}
	var decided *rule
	if p.listener != nil {
		decided = p.listener.at(said.priority)
		if decided == nil || !slices.Contains(p.priorities, said.priority) {
			out.wrong, out.answers = WrongRule, p.before
			return out
		}
	}
	if decided != nil && decided.foreign {
		if out.foreign = b.agrees(decided.action, said); !out.foreign {
			out.wrong, out.answers = WrongAnswer, p.before
		}
		return out
	}
	elsewhere := false
	for i, may := range p.before {
		switch {
		case !b.agrees(may.action, said) || decided != nil && !alike(may.action, decided.action):
		case said.elsewhere&placeOf(i) != 0:
			elsewhere = true
		default:
			out.answers = append(out.answers, may)
		}
	}
	switch {
	case len(out.answers) > 0:
	case elsewhere:
		out.wrong, out.answers = WrongLocation, p.before
	default:
		out.wrong, out.answers = WrongAnswer, p.before
	}
	return out
}

// placeOf returns the bit of a possible answer; 0 for those beyond the first 64. The locations of
// these are not compared.
func placeOf(i int) uint64 { return 1 << i }

// agrees reports whether an action may be the one that was logged.
func (b *balancer) agrees(a lb.Action, said logged) bool {
	if said.authenticated && a.Auth == nil {
		return false
	}
	signsIn := a.Auth != nil && a.Auth.Kind != routing.JWT && a.Auth.OnMissing != "allow"
	if said.final != "" && signsIn && !said.authenticated {
		return false
	}
	switch {
	case said.final == "":
		return true
	case said.final != a.Kind:
		return false
	case a.Kind != "forward":
		return said.status == 0 || said.status == a.Status
	}
	return b.isAmong(said.group, a)
}

// isAmong reports whether a target group may be one that an action forwards to.
func (b *balancer) isAmong(arn string, a lb.Action) bool {
	if arn == "" || b.groups == nil {
		return true
	}
	id, known := b.groups[arn]
	if !known {
		return !b.complete
	}
	return slices.Contains(a.Groups(), id)
}

// alike reports whether a rule does what an answer asks for. Weights and stickiness may have been
// another when the line was written.
func alike(a, b lb.Action) bool {
	if a.Kind != b.Kind || a.Status != b.Status || a.Location != b.Location ||
		(a.Auth == nil) != (b.Auth == nil) {
		return false
	}
	groups := func(a lb.Action) []lb.GroupID { return slices.Sorted(slices.Values(a.Groups())) }
	return slices.Equal(groups(a), groups(b))
}
