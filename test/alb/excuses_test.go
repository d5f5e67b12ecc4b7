package alb

import (
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file says which requests a plan may lead astray: those that a step concerns which comes
// before others that should come first, as a diagnostic of the plan tells. All others are judged.

// An excuse is for some requests.
type excuse struct {
	why    diag.Reason
	covers func(request) bool
}

// hear adds what a plan says of what is seen now.
func (j *judge) hear(p plan.Plan) {
	dialect := j.caps(j.snapshot()).Dialect
	for i, s := range p.Steps {
		if s.Early == "" {
			continue
		}
		now := plan.Plan{Key: p.Key, Steps: p.Steps[:i]}.Fold(j.seen)
		if covers := j.concerned(now, s.Step, dialect); covers != nil {
			j.excuses = append(j.excuses, excuse{s.Early, covers})
		} else {
			j.Errorf("no request is known that %s %s concerns", s.Step.Op(), s.Step.ID())
		}
	}
}

// excused reports whether a request may be answered by what neither side of the change says.
func (j *judge) excused(r request) bool {
	return slices.ContainsFunc(j.excuses, func(e excuse) bool { return e.why == diag.DeleteFirst && e.covers(r) })
}

// misled reports whether a redirect of one request may lead to an answer to another that is of the
// other side.
func (j *judge) misled(from, to request) bool {
	return slices.ContainsFunc(j.excuses, func(e excuse) bool { return e.covers(from) || e.covers(to) })
}

// concerned are the requests that a step about a port gives another answer; nil for a step of
// another kind.
func (j *judge) concerned(now *lb.Observed, s plan.Step, d lb.Dialect) func(request) bool {
	switch s := s.(type) {
	case plan.CreateRule:
		return j.matching(s.Port, d, s.Rule)
	case plan.DeleteRule:
		return j.matching(s.Port, d, s.Rule)
	case plan.ModifyRule:
		rules := []lb.Rule{s.Rule}
		for _, r := range now.Listener(s.Port).Rules {
			if r.Priority == s.Priority {
				rules = append(rules, r.Rule)
			}
		}
		return j.matching(s.Port, d, rules...)
	case plan.ModifyListener:
		ruled := j.matching(s.Listener.Port, d, now.Listener(s.Listener.Port).Plain().Rules...)
		return func(r request) bool { return r.port == s.Listener.Port && !ruled(r) }
	case plan.CreateListener:
		return func(r request) bool { return r.port == s.Listener.Port }
	case plan.DeleteListener:
		return func(r request) bool { return r.port == s.Port }
	}
	return nil
}

// matching are the requests to a port that one of some rules is for.
func (j *judge) matching(port int32, d lb.Dialect, rules ...lb.Rule) func(request) bool {
	matcher := lb.NewMatcher(lb.Listener{Rules: rules}, d)
	return func(r request) bool {
		sent := r.sent()
		if j.normalised != nil {
			sent.Path = j.normalised(sent.Path)
		}
		at, _ := matcher.Match(sent)
		return r.port == port && at >= 0
	}
}
