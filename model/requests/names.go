package requests

import (
	"cmp"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file searches host names.

// A HostSet is a set of host names: one name, or those that match an expression, in lower case.
type HostSet struct {
	Name       string
	Expression string // if there is no name
	Namespace  string // that wrote it; "" if none did
}

// hostCharacters has the characters of host names.
var hostCharacters = func() *alphabet {
	var a alphabet
	for c := language.FirstChar; c <= language.LastChar; c++ {
		a[c] = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
	}
	return &a
}()

var possibleHosts = language.New(language.HostUniverse)

// Names returns a shortest name for each combination of sets that a host name can be in, and in none
// of the others. Undecided is the reason why there may be more; zero if these are all.
func (f *Finder) Names(sets []HostSet) (names []string, undecided Undecided) {
	m := &meter{finder: f}
	w := &walk{allowed: hostCharacters, meter: m}
	w.languages, w.literals = []*language.Language{possibleHosts}, []string{""}
	w.payers.add("", possibleHosts)
	for _, s := range sets {
		m.free += freeSteps * (len(s.Name) + len(s.Expression) + 1)
	}
	for _, s := range sets {
		known := true
		if s.Name != "" {
			w.languages = append(w.languages,
				language.OfPath(routing.Path{Type: routing.Exact, Value: s.Name}))
			w.literals = append(w.literals, s.Name)
			w.payers.add(s.Namespace, w.languages[len(w.languages)-1])
		} else {
			known = w.addPattern(s.Expression, s.Namespace)
			m.spend(s.Namespace, w.languages[len(w.languages)-1].Steps)
		}
		if !known {
			return nil, Undecided{noMachine + s.Expression, s.Namespace}
		}
	}
	w.narrow = func(cells []cell) ([]cell, bool) {
		return cells, len(cells) > 0 && cells[0].pattern == 0
	}
	seen := map[string]bool{}
	w.visit = func(text string, accepting []int32) {
		if len(accepting) == 0 || accepting[0] != 0 {
			return
		}
		if key := keyOf(accepting, nil); !seen[key] {
			seen[key] = true
			names = append(names, text)
		}
	}
	if !m.over() {
		w.run("")
	}
	return names, cmp.Or(m.stopped, undecided)
}
