package language

import (
	"regexp/syntax"

	"fairlead.dev/fairlead/model/routing"
)

// This file turns regular expressions into sets of texts that can be compared: deterministic
// automata over the visible characters. The work is counted in steps and bounded: an expression of
// a few dozen characters can take millions.

// PathUniverse and HostUniverse match all possible paths and hosts.
const (
	PathUniverse = `/[!"$->@-~]*`
	HostUniverse = `[a-z0-9_-]+(\.[a-z0-9_-]+)*`
)

// MostSteps is the most steps that the automaton of one expression may take. Usual globs and
// expressions take a few hundred.
const MostSteps = 1_000_000

// mostInstructions is the most instructions of an expression once its counted repetitions are
// written out.
const mostInstructions = 20_000

// FirstChar to LastChar are the characters of texts.
const FirstChar, LastChar = 0x21, 0x7e

// A Language is the set of texts that an expression matches whole. Its states are numbered from 0,
// before the first character. In state Dead, no continuation matches. The Language of an Exact path
// or a Prefix has no table: a state is the number of characters read, and one more state is for
// paths below the prefix.
type Language struct {
	// Steps is the number of instructions that were looked at to make it.
	Steps int
	// known is false for an expression that takes too many steps or is not supported.
	known bool

	text   string // of an Exact path or a Prefix
	prefix bool

	cut     [LastChar + 2]bool  // whether the expression distinguishes a character from the one before
	column  [LastChar + 1]uint8 // of each character, in next
	columns int
	next    []int32 // by state and column
	accepts []bool  // whether the text may end here
	full    []bool  // whether every continuation matches
}

// Dead is the state from which no text matches.
const Dead = -1

// New returns the language of an expression.
func New(pattern string) *Language {
	l := &Language{}
	if prog := program(pattern); prog != nil {
		l.markCharacters(prog)
		l.build(prog)
	}
	return l
}

// OfPath returns the language of a path.
func OfPath(p routing.Path) *Language {
	if p.Type != routing.Exact && p.Type != routing.Prefix {
		return New(p.Pattern())
	}
	l := &Language{known: true, text: p.Value, prefix: p.Type == routing.Prefix}
	l.cut[FirstChar] = true
	l.cut['/'], l.cut['/'+1] = true, true
	for _, c := range []byte(p.Value) {
		if c >= FirstChar && c <= LastChar {
			l.cut[c], l.cut[c+1] = true, true
		}
	}
	return l
}

// States returns the number of states.
func (l *Language) States() int {
	if l.text != "" {
		return len(l.text) + 2
	}
	return len(l.accepts)
}

// Next returns the state after a character.
func (l *Language) Next(state int32, c byte) int32 {
	if l.text == "" {
		return l.next[int(state)*l.columns+int(l.column[c])]
	}
	switch at := int(state); {
	case at < len(l.text):
		if l.text[at] == c {
			return state + 1
		}
	case at > len(l.text):
		return state
	case l.prefix && (c == '/' || l.text == routing.Root.Value):
		return state + 1
	}
	return Dead
}

// Ends reports whether a text may end in a state.
func (l *Language) Ends(state int32) bool {
	if l.text == "" {
		return l.accepts[state]
	}
	return int(state) >= len(l.text)
}

// TakesAll reports whether every continuation matches.
func (l *Language) TakesAll(state int32) bool {
	if l.text == "" {
		return l.full[state]
	}
	return int(state) > len(l.text) ||
		l.prefix && l.text == routing.Root.Value && int(state) == len(l.text)
}

// Known reports whether there is an automaton. There is none for an expression that takes too many
// steps or is not supported.
func (l *Language) Known() bool { return l.known }

// Splits reports whether the expression distinguishes a visible character from the one before it.
func (l *Language) Splits(c byte) bool { return l.cut[c] }

// Exceeds reports whether the expression takes more steps than MostSteps.
func (l *Language) Exceeds() bool { return l.Steps > MostSteps }

// StepsOf returns the number of steps of a path's automaton, and 10 for each instruction of its
// expression. An invalid expression counts one step for each character.
func StepsOf(p routing.Path) int {
	pattern := p.Pattern()
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return len(pattern)
	}
	if n := instructions(parsed); n <= mostInstructions {
		return 10*n + OfPath(p).Steps
	}
	return MostSteps + 1
}

// Has reports whether a text is in the language, and false for sure if that is not known.
func (l *Language) Has(text string) (has, sure bool) {
	state, sure := l.stateAfter(text)
	return sure && state != Dead && l.Ends(state), sure
}

// Under reports whether some or all paths at and below a prefix are in the language. Sure is false
// if the automaton cannot decide this.
func (l *Language) Under(prefix routing.Path) (some, all, sure bool) {
	state, sure := l.stateAfter(prefix.Value)
	switch {
	case !sure || state == Dead:
		return false, false, sure
	case prefix == routing.Root:
		return true, l.TakesAll(state), true
	}
	below := l.Next(state, '/')
	return l.Ends(state) || below != Dead, l.Ends(state) && below != Dead && l.TakesAll(below), true
}

// stateAfter returns the state after a text. Sure is false if the automaton lacks a character.
func (l *Language) stateAfter(text string) (state int32, sure bool) {
	if !l.known {
		return Dead, false
	}
	for _, c := range []byte(text) {
		if c < FirstChar || c > LastChar {
			return Dead, false
		}
		if state != Dead {
			state = l.Next(state, c)
		}
	}
	return state, true
}
