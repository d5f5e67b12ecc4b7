package requests

import (
	"encoding/binary"
	"slices"

	"fairlead.dev/fairlead/model/routing/language"
)

// This file steps the automata of several patterns over one text, breadth first. It keeps only the
// automata that can still accept, so its cost depends on how much the patterns have in common, not
// on their number.

// A cell is a pattern and the state of its automaton.
type cell struct{ pattern, state int32 }

const (
	// takesAll is the state after which every text is accepted.
	takesAll = -2
	// unknown is the state of a pattern without an automaton.
	unknown = -3
)

// A walk is one search over texts.
type walk struct {
	languages []*language.Language // by pattern
	literals  []string             // the literal text of a pattern, or its beginning; else ""
	allowed   *alphabet

	// narrow drops irrelevant cells. It reports whether longer texts are relevant.
	narrow func(cells []cell) ([]cell, bool)
	// visit is called with the shortest text of each position, and the patterns that accept it.
	visit func(text string, accepting []int32)
	// matches decides for a pattern without an automaton.
	matches func(pattern int32, text string) bool
	meter   *meter
	payers  payers

	positions []position
	seen      map[string]bool
	key       []byte
	spread    [][]byte // by pattern, the characters at which a class of its automaton begins
}

// A position has the cells after a text.
type position struct {
	cells []cell
	from  int32
	by    byte
}

// An alphabet has the characters of texts.
type alphabet [language.LastChar + 2]bool

// costOfPosition is the number of steps that stand for the memory of a position.
const costOfPosition = 32

// run visits the texts that begin with a prefix. It reports whether the remaining steps sufficed.
func (w *walk) run(prefix string) bool {
	w.seen = map[string]bool{}
	w.spread = make([][]byte, len(w.languages))
	w.positions = w.positions[:0]
	cells := make([]cell, 0, len(w.languages))
	for i, l := range w.languages {
		c := cell{pattern: int32(i)}
		if !l.Known() {
			c.state = unknown
		}
		cells = append(cells, c)
	}
	for i := range len(prefix) {
		cells = w.step(cells, prefix[i])
	}
	w.reach(cells, -1, 0)
	for at := 0; at < len(w.positions); at++ {
		cells := w.positions[at].cells
		letters := w.letters(cells)
		steps := (len(cells)+1)*(len(letters)+1) + costOfPosition
		if !w.payers.spend(w.meter, cells, steps) {
			return false
		}
		w.accept(prefix+w.text(at), cells)
		for _, c := range letters {
			if w.allowed[c] {
				w.reach(w.step(cells, c), int32(at), c)
			}
		}
		w.positions[at].cells = nil
	}
	return true
}

// reach adds a position, if it is new and relevant.
func (w *walk) reach(cells []cell, from int32, by byte) {
	cells, matters := w.narrow(cells)
	if !matters {
		return
	}
	w.key = w.key[:0]
	for _, c := range cells {
		w.key = binary.LittleEndian.AppendUint32(w.key, uint32(c.pattern))
		w.key = binary.LittleEndian.AppendUint32(w.key, uint32(c.state))
	}
	if w.seen[string(w.key)] {
		return
	}
	w.seen[string(w.key)] = true
	w.positions = append(w.positions, position{cells, from, by})
}

// step reads a character.
func (w *walk) step(cells []cell, c byte) []cell {
	out := make([]cell, 0, len(cells))
	for _, at := range cells {
		if at.state >= 0 {
			l := w.languages[at.pattern]
			if at.state = l.Next(at.state, c); at.state == language.Dead {
				continue
			}
			if l.TakesAll(at.state) {
				at.state = takesAll
			}
		}
		out = append(out, at)
	}
	return out
}

// letters returns one character of each class that the cells distinguish.
func (w *walk) letters(cells []cell) []byte {
	var cut alphabet
	for c := language.FirstChar; c <= language.LastChar; c++ {
		cut[c] = c == language.FirstChar || w.allowed[c] != w.allowed[c-1]
	}
	for _, at := range cells {
		if at.state < 0 {
			continue
		}
		if text := w.literals[at.pattern]; int(at.state) < len(text) {
			if c := text[at.state]; language.FirstChar <= c && c <= language.LastChar {
				cut[c], cut[c+1] = true, true
			}
			continue
		}
		for _, c := range w.splits(at.pattern) {
			cut[c] = true
		}
	}
	return language.Letters(func(c byte) bool { return cut[c] })
}

// splits returns the characters at which a class of an automaton begins.
func (w *walk) splits(pattern int32) []byte {
	if w.spread[pattern] == nil {
		w.spread[pattern] = []byte{}
		for c := language.FirstChar; c <= language.LastChar; c++ {
			if w.languages[pattern].Splits(byte(c)) {
				w.spread[pattern] = append(w.spread[pattern], byte(c))
			}
		}
	}
	return w.spread[pattern]
}

// accept visits a text.
func (w *walk) accept(text string, cells []cell) {
	var accepting []int32
	for _, c := range cells {
		switch {
		case c.state == takesAll, c.state >= 0 && w.languages[c.pattern].Ends(c.state),
			c.state == unknown && w.matches(c.pattern, text):
			accepting = append(accepting, c.pattern)
		}
	}
	w.visit(text, accepting)
}

// text returns the text that leads to a position, after the prefix.
func (w *walk) text(at int) string {
	var text []byte
	for i := int32(at); w.positions[i].from >= 0; i = w.positions[i].from {
		text = append(text, w.positions[i].by)
	}
	slices.Reverse(text)
	return string(text)
}
