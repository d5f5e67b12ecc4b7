package replay

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file compares the possible answers to a request with the logged one.

// A logged is the answer in a line.
type logged struct {
	priority      int
	final         string // the kind of the last action; empty if there was none
	authenticated bool
	status        int    // of a redirect or a fixed response
	elsewhere     uint64 // the bits of the possible answers that redirect to another URL
	group         string // the ARN of the target group that it was forwarded to
}

// Errors in lines.
const (
	// WrongRule: an impossible rule decided.
	WrongRule = "rule"
	// wrongAnswer: the action is not that of a possible Ingress path.
	wrongAnswer = "answer"
	// wrongLocation: the redirect is not to the URL of a possible Ingress path.
	wrongLocation = "location"
)

// A verdict is the result for a line.
type verdict struct {
	wrong    string     // the error; empty for none
	answers  []possible // the answers that agree with the line; all possible ones if none does
	expected []int      // possible priorities; nil if they are not known
	foreign  bool       // a foreign rule answered, and no Ingress path
}

// judge compares a line with the possible rules and answers.
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
			out.wrong, out.answers = wrongAnswer, p.before
		}
		return out
	}
	elsewhere := false
	for i, may := range p.before {
		switch {
		case !b.agrees(may.action, said) || decided != nil && !sameKind(may.action, decided.action):
		case said.elsewhere&placeOf(i) != 0:
			elsewhere = true
		default:
			out.answers = append(out.answers, may)
		}
	}
	switch {
	case len(out.answers) > 0:
	case elsewhere:
		out.wrong, out.answers = wrongLocation, p.before
	default:
		out.wrong, out.answers = wrongAnswer, p.before
	}
	return out
}

// placeOf returns the bit of a possible answer; 0 after the first 64, whose locations are not
// compared.
func placeOf(i int) uint64 { return 1 << i }

// agrees reports whether an action may be the logged one.
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
	case said.final == "fixed" && said.status == 503 && b.services.isMissing(a):
		return true // as the other controller answers in place of a Service that is missing
	case said.final != a.Kind:
		return false
	case a.Kind != "forward":
		return said.status == 0 || said.status == a.Status
	}
	return b.isAmong(said.group, a)
}

// isAmong reports whether an action may forward to a target group.
func (b *balancer) isAmong(arn string, a lb.Action) bool {
	switch {
	case arn == "":
		return true
	case b.services != nil:
		return b.services.isAmong(arn, a)
	case b.groups == nil:
		return true
	}
	id, known := b.groups[arn]
	if !known {
		return !b.complete
	}
	return slices.Contains(a.Groups(), id)
}

// sameKind reports whether two actions are equal apart from weights and stickiness, which may have
// changed since the line was written.
func sameKind(a, b lb.Action) bool {
	if a.Kind != b.Kind || a.Status != b.Status || a.Location != b.Location ||
		(a.Auth == nil) != (b.Auth == nil) {
		return false
	}
	groups := func(a lb.Action) []lb.GroupID { return slices.Sorted(slices.Values(a.Groups())) }
	return slices.Equal(groups(a), groups(b))
}
