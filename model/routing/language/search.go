package language

import (
	"encoding/binary"
	"slices"
)

// This file searches a text that some patterns match and others do not. It runs their automata in
// parallel over one character of each class, breadth first, and so finds a shortest text.

// A Verdict is the result of a search.
type Verdict uint8

const (
	None   Verdict = iota // there is no such text
	Some                  // there is one, and it was found
	Unsure                // the search exceeded its limits
)

// searchSteps is the most steps of one search: how often one automaton reads one character. Usual
// patterns need a few thousand.
const searchSteps = 1_000_000

// Find searches a text that every pattern of in matches and no pattern of out.
func Find(in, out []string) (string, Verdict) {
	return FindText(languages(in), languages(out), searchSteps)
}

func languages(patterns []string) []*Language {
	out := make([]*Language, len(patterns))
	for i, p := range patterns {
		out[i] = New(p)
	}
	return out
}

// FindText searches a text that is in every language of in and in none of out, in so many steps at
// most.
func FindText(in, out []*Language, most int) (string, Verdict) {
	found := find(in, out, most)
	return found.text, found.verdict
}

// found is the result of a search, with the number of its steps.
type found struct {
	text    string
	verdict Verdict
	steps   int
}

func find(in, out []*Language, most int) found {
	for _, ls := range [][]*Language{in, out} {
		for _, l := range ls {
			if !l.known {
				return found{verdict: Unsure, steps: 1}
			}
		}
	}
	s := &search{all: slices.Concat(in, out), wanted: len(in), most: most}
	s.seen = newSeen(s.all)
	return s.run()
}

// search runs several automata over one text: the first of them must accept it, the others must
// not.
type search struct {
	all    []*Language
	wanted int
	most   int // steps
	seen   *seen
	states []int32 // for each position, the states of all automata
	from   []int32 // the position before each
	by     []byte  // the character between them
}

// run walks breadth first over positions until one is accepted.
func (s *search) run() found {
	k, steps := len(s.all), 0
	letters := alphabet(s.all)
	s.states = append(s.states, make([]int32, k)...)
	s.from, s.by = append(s.from, Dead), append(s.by, 0)
	next := make([]int32, k)
	for at := 0; at < len(s.from); at++ {
		steps += k * (len(letters) + 1)
		if steps > s.most {
			return found{verdict: Unsure, steps: steps}
		}
		here := s.states[at*k : (at+1)*k]
		if s.accepts(here) {
			return found{s.text(at), Some, steps}
		}
		for _, c := range letters {
			if s.advance(next, here, c) && s.seen.add(next) {
				s.states = append(s.states, next...)
				s.from, s.by = append(s.from, int32(at)), append(s.by, c)
				here = s.states[at*k : (at+1)*k] // append may have moved it
			}
		}
	}
	return found{verdict: None, steps: steps}
}

// advance reads one character. It reports whether a continuation may be a searched text.
func (s *search) advance(next, here []int32, c byte) bool {
	for j, l := range s.all {
		to := int32(Dead)
		if here[j] != Dead {
			to = l.Next(here[j], c)
		}
		if j < s.wanted && to == Dead || j >= s.wanted && to != Dead && l.TakesAll(to) {
			return false
		}
		next[j] = to
	}
	return true
}

// accepts reports whether the text so far is a searched one.
func (s *search) accepts(here []int32) bool {
	for j, l := range s.all {
		if (here[j] != Dead && l.Ends(here[j])) != (j < s.wanted) {
			return false
		}
	}
	return true
}

// text returns the text that leads to a position.
func (s *search) text(at int) string {
	var text []byte
	for ; s.from[at] != Dead; at = int(s.from[at]) {
		text = append(text, s.by[at])
	}
	slices.Reverse(text)
	return string(text)
}

// seen holds the positions that were reached: as bits if their numbers are small, otherwise as
// texts.
type seen struct {
	sizes   []uint64 // of the automata, the dead state included
	numbers []uint64
	texts   map[string]bool
	key     []byte
}

// mostNumbers is the most positions that have a bit each.
const mostNumbers = 1 << 20

func newSeen(all []*Language) *seen {
	s := &seen{sizes: make([]uint64, len(all))}
	positions := uint64(1)
	for i, l := range all {
		s.sizes[i] = uint64(l.States() + 1)
		positions = min(positions*s.sizes[i], mostNumbers+1)
	}
	if positions <= mostNumbers {
		s.numbers = make([]uint64, positions/64+1)
	} else {
		s.texts = map[string]bool{}
	}
	return s
}

// add reports whether a position is new.
func (s *seen) add(position []int32) bool {
	if s.texts == nil {
		n := uint64(0)
		for i, state := range position {
			n = n*s.sizes[i] + uint64(state+1)
		}
		bit := uint64(1) << (n % 64)
		old := s.numbers[n/64]&bit != 0
		s.numbers[n/64] |= bit
		return !old
	}
	s.key = s.key[:0]
	for _, state := range position {
		s.key = binary.LittleEndian.AppendUint32(s.key, uint32(state))
	}
	if s.texts[string(s.key)] {
		return false
	}
	s.texts[string(s.key)] = true
	return true
}

// alphabet returns one visible character for each class that the automata distinguish, letters if
// possible.
func alphabet(all []*Language) []byte {
	return Letters(func(c byte) bool {
		return slices.ContainsFunc(all, func(l *Language) bool { return l.cut[c] })
	})
}

// Letters returns one visible character of each class, the readable ones first. Cut reports whether
// a character is the first of its class.
func Letters(cut func(c byte) bool) []byte {
	var letters []byte
	for lo := FirstChar; lo <= LastChar; {
		hi := lo
		for hi < LastChar && !cut(byte(hi+1)) {
			hi++
		}
		pick := byte(lo)
		if lo <= 'z' && hi >= 'a' {
			pick = byte(max(lo, 'a'))
		}
		letters = append(letters, pick)
		lo = hi + 1
	}
	// Short witnesses come from breadth-first search; readable ones from trying letters first.
	slices.SortStableFunc(letters, func(a, b byte) int { return readability(a) - readability(b) })
	return letters
}

func readability(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return 0
	case c == '/' || c == '.':
		return 1
	case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c == '-':
		return 2
	}
	return 3
}
