package replay

import (
	"slices"

	"fairlead.dev/fairlead/model/routing"
)

// This file finds the effect of a change on a request.

// An effect is whether the answer to a request changes.
type effect uint8

const (
	same effect = iota
	perhaps
	changed
)

// facts are conclusions from the logged answer about conditions that lines do not have.
type facts struct {
	hold []string // keys of conditions that hold
	fail []string // keys of conditions that do not hold
}

// factsOf returns the conclusions from the answer got, the only one that agrees with the line: its
// conditions hold, and for each possible answer before it, a condition does not hold.
func factsOf(before []possible, got possible) facts {
	var out facts
	key := func(c routing.Condition) string { return routing.Conditions{c}.Key() }
	for _, c := range got.unknown {
		out.hold = append(out.hold, key(c))
	}
	for _, p := range before {
		if p.answer == got.answer {
			break
		}
		var open []string
		for _, c := range p.unknown {
			if k := key(c); !slices.Contains(out.hold, k) {
				open = append(open, k)
			}
		}
		if len(open) == 1 {
			out.fail = append(out.fail, open[0])
		}
	}
	return out
}

// narrow returns the possible answers that agree with the facts, in order.
func (f facts) narrow(all []possible) []possible {
	var out []possible
	for _, p := range all {
		left := routing.Conditions{}
		fails := false
		for _, c := range p.unknown {
			k := routing.Conditions{c}.Key()
			fails = fails || slices.Contains(f.fail, k)
			if !slices.Contains(f.hold, k) {
				left = append(left, c)
			}
		}
		if fails {
			continue
		}
		out = append(out, possible{p.answer, left})
		if len(left) == 0 {
			break
		}
	}
	return out
}

// effectOn returns the effect of a change on the requests of a line, from the answers that agree
// with it. Before and after are the possible answers.
func (p *prediction) effectOn(v verdict) (e effect, before, after []possible) {
	if len(p.readings) == 1 && v.wrong == "" && len(v.answers) == 1 {
		got := v.answers[0]
		after = factsOf(p.before, got).narrow(p.readings[0].after)
		before = []possible{{answer: got.answer}}
		return effectOf(before, after), before, after
	}
	for _, r := range p.readings {
		kept := slices.DeleteFunc(slices.Clone(r.before), func(b possible) bool {
			return !slices.ContainsFunc(v.answers, func(a possible) bool { return a.answer == b.answer })
		})
		if len(kept) == 0 {
			continue // the path is read in another way
		}
		if one := effectOf(kept, r.after); len(before) == 0 {
			e = one
		} else if e != one {
			e = perhaps
		}
		before, after = union(before, kept), union(after, r.after)
	}
	return e, before, after
}

// effectOf returns the effect from the answers that a request may get before and after a change.
func effectOf(before, after []possible) effect {
	if equal(before, after) {
		return same
	}
	alike, apart := false, false
	for _, b := range before {
		for _, a := range after {
			if a.key == b.key {
				alike = true
			} else {
				apart = true
			}
		}
	}
	switch {
	case !apart:
		return same
	case !alike:
		return changed
	}
	return perhaps
}

// equal reports whether the same conditions lead to the same answers, in the same order.
func equal(before, after []possible) bool {
	return slices.EqualFunc(before, after, func(a, b possible) bool {
		return a.key == b.key && a.unknown.Key() == b.unknown.Key()
	})
}
