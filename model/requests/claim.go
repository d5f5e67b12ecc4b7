package requests

import (
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/routing"
)

// This file decides whether a part of a request can fulfil some conditions and fail others.

// A claim has the conditions that a part of a request must fulfil, and those that it must fail.
type claim struct {
	facts        *facts
	holds, fails map[int]bool
	chosen       []int // values that together fulfil all required conditions
	question     *question
}

// hold adds a condition to fulfil. It returns false if the condition must fail.
func (h *claim) hold(c int) bool {
	h.holds[c] = true
	h.chosen = nil
	return !h.fails[c]
}

// fail adds a condition to fail, until undo.
func (h *claim) fail(c int) (undo func()) {
	before := h.chosen
	h.fails[c] = true
	return func() {
		delete(h.fails, c)
		h.chosen = before
	}
}

// possible reports whether a part of a request can satisfy the claim, and chooses its values.
func (h *claim) possible() bool {
	if h.facts.repeated() && len(h.holds) == 0 {
		return true // the part can be absent
	}
	refused := func(v int) bool { return !h.allows(v) }
	if len(h.chosen) > 0 && !slices.ContainsFunc(h.chosen, refused) {
		return true
	}
	h.chosen = nil
	if one := h.find(nil); one >= 0 {
		h.chosen = []int{one}
		return true
	}
	if !h.facts.repeated() {
		return false
	}
	for _, c := range slices.Sorted(maps.Keys(h.holds)) {
		one := h.find(&c)
		if one < 0 {
			return false
		}
		if !slices.Contains(h.chosen, one) {
			h.chosen = append(h.chosen, one)
		}
	}
	slices.Sort(h.chosen)
	return true
}

// find returns a value that fails the conditions to fail, and fulfils one condition, or all; -1 if
// there is none.
func (h *claim) find(condition *int) int {
	h.question.meter.spend(h.question.namespace, len(h.facts.values)*(1+len(h.fails)))
	return slices.IndexFunc(h.facts.values, func(v value) bool {
		if condition != nil {
			return v.holds[h.facts.place[*condition]] && h.clean(v)
		}
		for c := range h.holds {
			if !v.holds[h.facts.place[c]] {
				return false
			}
		}
		return h.clean(v)
	})
}

func (h *claim) allows(at int) bool { return h.clean(h.facts.values[at]) }

// clean reports whether a value fails all conditions that must fail.
func (h *claim) clean(v value) bool {
	for c := range h.fails {
		if v.holds[h.facts.place[c]] {
			return false
		}
	}
	return true
}

// write sets the chosen values in a request.
func (h *claim) write(r *routing.Request) {
	if len(h.holds) == 0 && h.facts.repeated() {
		return
	}
	for _, at := range h.chosen {
		v := h.facts.values[at]
		switch h.facts.part.field {
		case "method":
			r.Method = v.text
		case "source":
			r.Source = v.source
		case "header":
			r.Header = addText(r.Header, h.facts.part.name, v.text)
		case "query":
			name, text := h.facts.part.name, v.text
			if name == "" {
				name, text = routing.PairOf(v.text)
			}
			r.Query = addText(r.Query, name, text)
		}
	}
}

func addText(m map[string][]string, name, text string) map[string][]string {
	if m == nil {
		m = map[string][]string{}
	}
	m[name] = append(m[name], text)
	return m
}
