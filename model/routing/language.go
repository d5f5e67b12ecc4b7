package routing

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// This file answers questions about sets of texts: is there a path that these patterns match and
// those do not? The answer is found by running the patterns as finite automata side by side over
// one representative of each class of characters, breadth first, so that it comes with a
// shortest witness.

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

// Verdict says whether a search came to an end.
type Verdict uint8

const (
	None   Verdict = iota // there is no such text
	Some                  // there is, and here it is
	Unsure                // the patterns are beyond this search
)

// searchLimit bounds the number of automaton states that a search visits. Patterns as people
// write them need a few dozen.
const searchLimit = 20000

// Find searches a text that every pattern of in matches and no pattern of out.
func Find(in, out []string) (string, Verdict) {
	m := machine{wanted: len(in)}
	for _, pattern := range in {
		if !m.add(pattern) {
			return "", Unsure
		}
	}
	for _, pattern := range out {
		if !m.add(pattern) {
			return "", Unsure
		}
	}
	return m.search()
}

// machine runs several automata over one text.
type machine struct {
	progs  []*syntax.Prog
	wanted int // the first of progs must match, the others must not
}

func (m *machine) add(pattern string) bool {
	parsed, err := syntax.Parse("(?:"+pattern+")", syntax.Perl)
	if err != nil {
		return false
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return false
	}
	for _, inst := range prog.Inst {
		if inst.Op == syntax.InstEmptyWidth && syntax.EmptyOp(inst.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 {
			return false
		}
	}
	m.progs = append(m.progs, prog)
	return true
}

// position is where each automaton stands after some text: the sorted instructions that it may
// be at.
type position [][]uint32

func (p position) key() string {
	var b strings.Builder
	for _, pcs := range p {
		for _, pc := range pcs {
			b.WriteRune(rune(pc + 1))
		}
		b.WriteByte(0)
	}
	return b.String()
}

// search walks breadth first over positions until one is accepted.
func (m *machine) search() (string, Verdict) {
	type visit struct {
		at   position
		from int
		by   byte
	}
	start := make(position, len(m.progs))
	for i, prog := range m.progs {
		start[i] = closure(prog, []uint32{uint32(prog.Start)}, true, false)
	}
	queue := []visit{{at: start, from: -1}}
	seen := map[string]bool{start.key(): true}
	alphabet := m.alphabet()
	for i := 0; i < len(queue); i++ {
		if len(queue) > searchLimit {
			return "", Unsure
		}
		if m.accepts(queue[i].at, i == 0) {
			var text []byte
			for j := i; queue[j].from >= 0; j = queue[j].from {
				text = append(text, queue[j].by)
			}
			slices.Reverse(text)
			return string(text), Some
		}
		for _, c := range alphabet {
			next, alive := m.advance(queue[i].at, c)
			if !alive {
				continue
			}
			if key := next.key(); !seen[key] {
				seen[key] = true
				queue = append(queue, visit{at: next, from: i, by: c})
			}
		}
	}
	return "", None
}

// accepts reports whether the text so far is one that is searched.
func (m *machine) accepts(p position, atStart bool) bool {
	for i, prog := range m.progs {
		ends := closure(prog, p[i], atStart, true)
		matched := slices.ContainsFunc(ends, func(pc uint32) bool { return prog.Inst[pc].Op == syntax.InstMatch })
		if matched != (i < m.wanted) {
			return false
		}
	}
	return true
}

// advance reads one character. It is not alive if a wanted automaton has nowhere to go.
func (m *machine) advance(p position, c byte) (next position, alive bool) {
	next = make(position, len(p))
	for i, prog := range m.progs {
		var out []uint32
		for _, pc := range p[i] {
			inst := &prog.Inst[pc]
			switch inst.Op {
			case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
				if inst.MatchRune(rune(c)) {
					out = append(out, inst.Out)
				}
			}
		}
		if len(out) == 0 && i < m.wanted {
			return nil, false
		}
		next[i] = closure(prog, out, false, false)
	}
	return next, true
}

// closure follows everything that reads no character. An end-of-text assertion is kept until the
// text is known to end there.
func closure(prog *syntax.Prog, from []uint32, atStart, atEnd bool) []uint32 {
	var out []uint32
	visited := make([]bool, len(prog.Inst))
	stack := slices.Clone(from)
	for len(stack) > 0 {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if visited[pc] {
			continue
		}
		visited[pc] = true
		inst := &prog.Inst[pc]
		switch inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			stack = append(stack, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			stack = append(stack, inst.Out)
		case syntax.InstEmptyWidth:
			op := syntax.EmptyOp(inst.Arg)
			begins := op&(syntax.EmptyBeginText|syntax.EmptyBeginLine) != 0
			ends := op&(syntax.EmptyEndText|syntax.EmptyEndLine) != 0
			switch {
			case begins && !atStart:
			case ends && !atEnd:
				out = append(out, pc)
			default:
				stack = append(stack, inst.Out)
			}
		case syntax.InstFail:
		default:
			out = append(out, pc)
		}
	}
	slices.Sort(out)
	return out
}

// alphabet is one visible character for each class that the automata tell apart, letters where
// there is a choice.
func (m *machine) alphabet() []byte {
	const first, last = 0x21, 0x7e
	var cut [last + 2]bool // whether a class begins at a character
	cut[first] = true
	mark := func(lo, hi rune) {
		if lo >= first && lo <= last {
			cut[lo] = true
		}
		if hi+1 >= first && hi+1 <= last {
			cut[hi+1] = true
		}
	}
	for _, prog := range m.progs {
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
	}
	var letters []byte
	for lo := first; lo <= last; {
		hi := lo
		for hi < last && !cut[hi+1] {
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
