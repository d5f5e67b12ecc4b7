package language

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// This file makes the automaton of a regular expression.

// program compiles an expression; nil if it does not parse, is too long, or uses \b or \B.
func program(pattern string) *syntax.Prog {
	parsed, err := syntax.Parse("(?:"+pattern+")", syntax.Perl)
	if err != nil || instructions(parsed) > mostInstructions {
		return nil
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil
	}
	for _, inst := range prog.Inst {
		if inst.Op == syntax.InstEmptyWidth &&
			syntax.EmptyOp(inst.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 {
			return nil
		}
	}
	return prog
}

// instructions returns about how long an expression is once its counted repetitions are written
// out.
func instructions(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral || re.Op == syntax.OpCharClass {
		n = max(len(re.Rune), 1)
	}
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min+1, re.Max)
	}
	return min(n, 1<<30/1001) // capped: one more repetition, at most 1,000 times, cannot overflow
}

// markCharacters finds the classes of characters that a program distinguishes.
func (l *Language) markCharacters(prog *syntax.Prog) {
	l.cut[FirstChar] = true
	mark := func(lo, hi rune) {
		if lo >= FirstChar && lo <= LastChar {
			l.cut[lo] = true
		}
		if hi+1 >= FirstChar && hi+1 <= LastChar {
			l.cut[hi+1] = true
		}
	}
	for i := range prog.Inst {
		inst := &prog.Inst[i]
		if inst.Op != syntax.InstRune && inst.Op != syntax.InstRune1 {
			continue
		}
		fold := syntax.Flags(inst.Arg)&syntax.FoldCase != 0
		switch {
		case len(inst.Rune) == 1 && fold:
			lower, upper := strings.ToLower(string(inst.Rune)), strings.ToUpper(string(inst.Rune))
			mark(rune(lower[0]), rune(lower[0]))
			mark(rune(upper[0]), rune(upper[0]))
		case len(inst.Rune) == 1:
			mark(inst.Rune[0], inst.Rune[0])
		default:
			for j := 0; j+1 < len(inst.Rune); j += 2 {
				mark(inst.Rune[j], inst.Rune[j+1])
			}
		}
	}
	for c := FirstChar; c <= LastChar; c++ {
		if l.cut[c] {
			l.columns++
		}
		l.column[c] = uint8(l.columns - 1)
	}
}

// build makes the states. Each is the set of instructions that the program may be at.
func (l *Language) build(prog *syntax.Prog) {
	b := &builder{prog: prog, visited: make([]int, len(prog.Inst)), language: l}
	var sets [][]uint32
	known := map[string]int32{}
	add := func(set []uint32, atStart bool) int32 {
		sets = append(sets, slices.Clone(set))
		l.accepts = append(l.accepts, b.matches(set, atStart))
		return int32(len(sets) - 1)
	}
	// The first state is a separate one: texts begin only there.
	add(b.closure([]uint32{uint32(prog.Start)}, true, false), true)
	var reached, key = []uint32{}, []byte{}
	for state := 0; state < len(sets); state++ {
		for c := FirstChar; c <= LastChar; c++ {
			if !l.cut[c] {
				continue
			}
			reached = b.read(reached[:0], sets[state], rune(c))
			if len(reached) == 0 {
				l.next = append(l.next, Dead)
				continue
			}
			set := b.closure(reached, false, false)
			key = keyOfSet(key[:0], set)
			to, old := known[string(key)]
			if !old {
				to = add(set, false)
				known[string(key)] = to
			}
			l.next = append(l.next, to)
		}
		if l.Exceeds() {
			l.next, l.accepts = nil, nil
			return
		}
	}
	l.known = true
	l.classifyStates()
}

func keyOfSet(key []byte, set []uint32) []byte {
	for _, pc := range set {
		key = append(key, byte(pc), byte(pc>>8), byte(pc>>16))
	}
	return key
}

// A builder follows a program. It counts the steps of a language.
type builder struct {
	prog     *syntax.Prog
	language *Language
	visited  []int // the closure that an instruction was last seen in
	closures int
	stack    []uint32
	out      []uint32
}

// read returns the instructions that follow after a character.
func (b *builder) read(out, from []uint32, c rune) []uint32 {
	b.language.Steps += len(from) + 1
	for _, pc := range from {
		inst := &b.prog.Inst[pc]
		switch inst.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if inst.MatchRune(c) {
				out = append(out, inst.Out)
			}
		}
	}
	return out
}

// matches reports whether a text that ends at these instructions matches.
func (b *builder) matches(set []uint32, atStart bool) bool {
	return slices.ContainsFunc(b.closure(set, atStart, true), func(pc uint32) bool {
		return b.prog.Inst[pc].Op == syntax.InstMatch
	})
}

// closure follows the instructions that read no character. An end-of-text assertion is kept unless
// the text ends here. The result is valid until the next call.
func (b *builder) closure(from []uint32, atStart, atEnd bool) []uint32 {
	b.closures++
	b.out, b.stack = b.out[:0], append(b.stack[:0], from...)
	for len(b.stack) > 0 {
		pc := b.stack[len(b.stack)-1]
		b.stack = b.stack[:len(b.stack)-1]
		b.language.Steps++
		if b.visited[pc] == b.closures {
			continue
		}
		b.visited[pc] = b.closures
		inst := &b.prog.Inst[pc]
		switch inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			b.stack = append(b.stack, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			b.stack = append(b.stack, inst.Out)
		case syntax.InstEmptyWidth:
			op := syntax.EmptyOp(inst.Arg)
			begins := op&(syntax.EmptyBeginText|syntax.EmptyBeginLine) != 0
			ends := op&(syntax.EmptyEndText|syntax.EmptyEndLine) != 0
			switch {
			case begins && !atStart:
			case ends && !atEnd:
				b.out = append(b.out, pc)
			default:
				b.stack = append(b.stack, inst.Out)
			}
		case syntax.InstFail:
		default:
			b.out = append(b.out, pc)
		}
	}
	slices.Sort(b.out)
	return b.out
}

// classifyStates makes states from which no text matches dead, and marks states from which every
// text matches as full.
func (l *Language) classifyStates() {
	states := len(l.accepts)
	before := make([][]int32, states)
	for i, to := range l.next {
		if to != Dead {
			before[to] = append(before[to], int32(i/l.columns))
		}
	}
	alive := spread(before, func(s int32) bool { return l.accepts[s] })
	for i, to := range l.next {
		if to != Dead && !alive[to] {
			l.next[i] = Dead
		}
	}
	partial := spread(before, func(s int32) bool {
		return !l.accepts[s] || slices.Contains(l.next[int(s)*l.columns:(int(s)+1)*l.columns], Dead)
	})
	l.full = make([]bool, states)
	for s := range l.full {
		l.full[s] = !partial[s]
	}
}

// spread marks the states from which a state of a kind can be reached.
func spread(before [][]int32, kind func(state int32) bool) []bool {
	marked := make([]bool, len(before))
	var todo []int32
	for s := range before {
		if kind(int32(s)) {
			marked[s] = true
			todo = append(todo, int32(s))
		}
	}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, from := range before[s] {
			if !marked[from] {
				marked[from] = true
				todo = append(todo, from)
			}
		}
	}
	return marked
}
