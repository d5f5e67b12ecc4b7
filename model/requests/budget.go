package requests

import (
	"fmt"
	"math"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file bounds what searches cost. A judgement, such as a comparison of two configurations or
// all expectations about a plan, has one Budget.
//
// Each search is free up to an amount that is proportional to the length of its patterns. That is
// enough for Exact and Prefix paths, however many there are. What a search takes beyond that is due
// to globs, regular expressions and conditions that many requests fulfil in many combinations, and
// is paid by the namespaces that wrote them.

// A Budget bounds the searches of a judgement. A step takes about 30 ns, and at most 8 bytes until
// the search ends.
type Budget struct {
	// Whole is the number of steps for all namespaces together.
	Whole int
	// Share is the number of steps for each namespace.
	Share int
}

// The budgets of a command, and of a plan in the operator. Administrators choose how many
// namespaces share a load balancer, so their number bounds the cost of a plan.
var (
	OfCommand = Budget{Whole: 48_000_000, Share: 16_000_000}
	OfPlan    = Budget{Whole: math.MaxInt, Share: 8_000_000}
)

// freeSteps is the number of free steps of a search for each byte of its patterns.
const freeSteps = 64

// An Undecided says why a search has not found all requests. Zero if it has.
type Undecided struct {
	Why string
	// Namespace is the namespace whose paths and conditions are the reason; "" if it is the budget
	// of the judgement.
	Namespace string
}

// A meter counts the steps of one search.
type meter struct {
	finder  *Finder
	free    int
	stopped Undecided
}

// over reports whether the search has to end.
func (m *meter) over() bool { return m.stopped != Undecided{} }

// spend counts steps that a namespace pays. It reports whether the search may go on.
func (m *meter) spend(namespace string, steps int) bool {
	if m.free -= steps; m.free >= 0 {
		return !m.over()
	}
	steps, m.free = min(steps, -m.free), 0
	f := m.finder
	left, known := f.shares[namespace]
	if !known {
		left = f.budget.Share
	}
	f.shares[namespace] = left - steps
	f.budget.Whole -= steps
	switch {
	case m.over():
	case left < steps && namespace != "":
		m.stopped = Undecided{outOfShare(namespace), namespace}
	case left < steps, f.budget.Whole < 0:
		m.stopped = Undecided{Why: outOfSteps}
	}
	return !m.over()
}

// The reasons why a search is undecided.
const (
	outOfSteps = "the search needs more steps than its budget has"
	noMachine  = "an automaton cannot say the regular expression "
)

func outOfShare(namespace string) string {
	return fmt.Sprintf("the globs, regular expressions and conditions of namespace %s have too many "+
		"combinations to search; write fewer of them for one host, or simpler ones", namespace)
}

// A payer is the namespace that pays for a pattern, and the weight of the pattern: the number of
// states of its automaton.
type payer struct {
	namespace int32
	weight    int
}

// payers divides the steps of a walk between the namespaces of its patterns.
type payers struct {
	namespaces []string
	of         []payer // by pattern
	owed       []int   // by namespace; reused
}

func (p *payers) add(namespace string, l *language.Language) {
	at := int32(-1)
	for i, known := range p.namespaces {
		if known == namespace {
			at = int32(i)
		}
	}
	if at < 0 {
		at = int32(len(p.namespaces))
		p.namespaces, p.owed = append(p.namespaces, namespace), append(p.owed, 0)
	}
	p.of = append(p.of, payer{at, l.States()})
}

// spend counts the steps of a position. Patterns with more states pay more, as they multiply the
// positions of the others.
func (p *payers) spend(m *meter, cells []cell, steps int) bool {
	if m.free >= steps {
		m.free -= steps
		return !m.over()
	}
	clear(p.owed)
	whole := 0
	for _, c := range cells {
		by := p.of[c.pattern]
		p.owed[by.namespace] += by.weight
		whole += by.weight
	}
	if whole == 0 {
		return m.spend("", steps)
	}
	for i, weight := range p.owed {
		if weight > 0 && !m.spend(p.namespaces[i], steps*weight/whole) {
			return false
		}
	}
	return true
}

// lengthOf returns the number of bytes of the patterns of an entry.
func lengthOf(paths []routing.Path, when routing.Conditions) int {
	n := 0
	for _, p := range paths {
		n += len(p.Value) + 1
	}
	for _, c := range when {
		for _, v := range c.Values {
			n += len(v) + 1
		}
	}
	return n
}
