package routing

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// This file turns regular expressions into sets of texts that can be compared: deterministic
// automata over the visible characters. What that takes is counted in steps, so that it can be
// bounded: an expression of a few dozen characters can take millions.

// PathUniverse and HostUniverse are what can arrive as a path and as a host at all.
const (
	PathUniverse = `/[!"$->@-~]*`
	HostUniverse = `[a-z0-9_-]+(\.[a-z0-9_-]+)*`
)

// Pattern is the path as an unanchored regular expression that is meant to match whole texts.
func (p Path) Pattern() string {
	switch p.Type {
	case Exact:
		return regexp.QuoteMeta(p.Value)
	case Prefix:
		if p == Root {
			return `/.*`
		}
		return regexp.QuoteMeta(p.Value) + `(/.*)?`
	case Glob:
		return GlobPattern(p.Value)
	default:
		return p.Value
	}
}

// GlobPattern is a glob as a regular expression.
func GlobPattern(glob string) string {
	quoted := regexp.QuoteMeta(glob)
	return strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(quoted)
}

// LanguageSteps is the most steps that the automaton of one expression may take. Globs and
// expressions as people write them take a few hundred.
const LanguageSteps = 1_000_000

// mostInstructions is how long an expression may be once its counted repetitions are written out.
const mostInstructions = 20_000

// FirstChar to LastChar are the characters that a text consists of.
const FirstChar, LastChar = 0x21, 0x7e

// A Language is the texts that an expression matches whole. Its states are numbered from 0, before
// the first character, and dead where no text that goes on is matched. That of an Exact path or a
// Prefix has no table: its states are how much of the text has been read, and one more for what is
// below.
type Language struct {
	// Steps is how many instructions of the expression were looked at to make it.
	Steps int
	// known is false of an expression that takes too many steps, or that says what an automaton
	// cannot.
	known bool

	text   string // of an Exact path or a Prefix
	prefix bool

	cut     [LastChar + 2]bool  // whether the expression tells a character from the one before
	column  [LastChar + 1]uint8 // of each character, in next
	columns int
	next    []int32 // by state and column
	accepts []bool  // whether the text may end here
	full    []bool  // whether whatever follows is matched
}

// Dead is the state from which no text is matched any more.
const Dead = -1

// NewLanguage is the language of an expression.
func NewLanguage(pattern string) *Language {
	l := &Language{}
	if prog := program(pattern); prog != nil {
		l.mark(prog)
		l.build(prog)
	}
	return l
}

// languageOf is the language of a path.
func languageOf(p Path) *Language {
	if p.Type != Exact && p.Type != Prefix {
		return NewLanguage(p.Pattern())
	}
	l := &Language{known: true, text: p.Value, prefix: p.Type == Prefix}
	l.cut[FirstChar] = true
	l.cut['/'], l.cut['/'+1] = true, true
	for _, c := range []byte(p.Value) {
		if c >= FirstChar && c <= LastChar {
			l.cut[c], l.cut[c+1] = true, true
		}
	}
	return l
}

// states is how many states there are.
func (l *Language) states() int {
	if l.text != "" {
		return len(l.text) + 2
	}
	return len(l.accepts)
}

// Move is the state behind a character.
func (l *Language) Move(state int32, c byte) int32 {
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
	case l.prefix && (c == '/' || l.text == Root.Value):
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

// TakesAll reports whether whatever follows is matched.
func (l *Language) TakesAll(state int32) bool {
	if l.text == "" {
		return l.full[state]
	}
	return int(state) > len(l.text) || l.prefix && l.text == Root.Value && int(state) == len(l.text)
}

// Known reports whether there is an automaton: of an expression that takes too many steps, or that
// says what an automaton cannot, there is none.
func (l *Language) Known() bool { return l.known }

// Splits reports whether the expression tells a visible character from the one before it.
func (l *Language) Splits(c byte) bool { return l.cut[c] }

// Exceeds reports whether the expression takes more steps than LanguageSteps.
func (l *Language) Exceeds() bool { return l.Steps > LanguageSteps }

// program compiles an expression; nil if it is too long, or says something of words.
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
		if inst.Op == syntax.InstEmptyWidth && syntax.EmptyOp(inst.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 {
			return nil
		}
	}
	return prog
}

// StepsOf is how many steps the automaton of a path takes, and 10 for each instruction of its
// expression. An expression that is none takes as many as it has characters.
func StepsOf(p Path) int {
	pattern := p.Pattern()
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return len(pattern)
	}
	if n := instructions(parsed); n <= mostInstructions {
		return 10*n + languageOf(p).Steps
	}
	return LanguageSteps + 1
}

// instructions are about how long an expression is once its counted repetitions are written out.
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
	return min(n, 1<<30/1001) // which a repetition, at most 1,000 times, takes to less than overflows
}

// mark finds the characters that a program tells apart.
func (l *Language) mark(prog *syntax.Prog) {
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

// build makes the states, each a set of instructions that the program may be at.
func (l *Language) build(prog *syntax.Prog) {
	b := &builder{prog: prog, visited: make([]int, len(prog.Inst)), language: l}
	var sets [][]uint32
	known := map[string]int32{}
	add := func(set []uint32, atStart bool) int32 {
		sets = append(sets, slices.Clone(set))
		l.accepts = append(l.accepts, b.matches(set, atStart))
		return int32(len(sets) - 1)
	}
	add(b.closure([]uint32{uint32(prog.Start)}, true, false), true) // a state of its own: only there do texts begin
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
	l.trim()
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

// read is where a character leads from some instructions.
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

// matches reports whether a text that ends at some instructions is matched.
func (b *builder) matches(set []uint32, atStart bool) bool {
	return slices.ContainsFunc(b.closure(set, atStart, true), func(pc uint32) bool { return b.prog.Inst[pc].Op == syntax.InstMatch })
}

// closure follows everything that reads no character. An end-of-text assertion is kept until the
// text is known to end there. The result is good until the next call.
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

// trim marks the states that no text, or every text, leads on from to a match.
func (l *Language) trim() {
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

// spread marks the states from which one of some kind is reached.
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

// Has reports whether a text is in the language, and false for told if that is not known.
func (l *Language) Has(text string) (has, told bool) {
	state, told := l.after(text)
	return told && state != Dead && l.Ends(state), told
}

// Under says which paths at and below a prefix are in the language: some, or all of them. It is not
// told of what the automaton does not know.
func (l *Language) Under(prefix Path) (some, all, told bool) {
	state, told := l.after(prefix.Value)
	switch {
	case !told || state == Dead:
		return false, false, told
	case prefix == Root:
		return true, l.TakesAll(state), true
	}
	below := l.Move(state, '/')
	return l.Ends(state) || below != Dead, l.Ends(state) && below != Dead && l.TakesAll(below), true
}

// after is the state behind a text, if the automaton knows all of its characters.
func (l *Language) after(text string) (state int32, told bool) {
	if !l.known {
		return Dead, false
	}
	for _, c := range []byte(text) {
		if c < FirstChar || c > LastChar {
			return Dead, false
		}
		if state != Dead {
			state = l.Move(state, c)
		}
	}
	return state, true
}
