package lowering

import (
	"hash/fnv"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file turns a block into as few rules as the limits on values allow. It prefers plain values,
// and uses regular expressions where plain values cannot express a path or host, or need more
// rules.

// rules returns the rules of a block. They have the same action, so their order does not matter.
func (s *speller) rules(b *block) []lb.Rule {
	var out []lb.Rule
	for _, when := range splitConditions(s.caps, b.when) {
		hosts := s.hostAtoms(b, wildcardsOf(when))
		out = append(out, s.rulesWhen(b, when, hosts, s.pathAtoms(b, hosts, wildcardsOf(when)))...)
	}
	return out
}

// rulesWhen returns the rules of a block for some of the values of its conditions.
func (s *speller) rulesWhen(b *block, when routing.Conditions, hosts, paths []atom) []lb.Rule {
	var best []lb.Rule
	for _, hostParts := range ways(hosts) {
		for _, pathParts := range ways(paths) {
			var rules []lb.Rule
			for _, h := range hostParts {
				for _, p := range pathParts {
					rules = append(rules, s.grid(b, when, h, p)...)
				}
			}
			if best == nil || len(rules) < len(best) {
				best = rules
			}
			if len(best) == 1 {
				return best
			}
		}
	}
	return best
}

// An atom is a value, or an alternative of a regular expression. It is not divided between rules.
type atom struct {
	spelling
	text string // decides the order of atoms, and the cuts of long lists
	of   int    // the host or path of the block
}

func (s *speller) hostAtoms(b *block, further int) []atom {
	var atoms []atom
	for i, h := range b.hosts {
		some := h.Wildcard() && b.onHost != nil && newNarrower().shareOf(b.onHost, h) == someNames
		switch {
		case h == routing.Any && b.onHost != nil: // what holds for other hosts is a part of it
			atoms, _ = s.conditionAtoms(b.onHost, h, i, further)
			return atoms
		case h == routing.Any:
			return nil // all hosts: no condition
		case some:
			both, _ := s.conditionAtoms(b.onHost, h, i, further)
			atoms = append(atoms, both...)
			continue
		}
		atoms = append(atoms, atom{spelling: s.host(h), text: string(h), of: i})
	}
	slices.SortFunc(atoms, func(a, b atom) int { return strings.Compare(a.text, b.text) })
	return atoms
}

// pathAtoms returns the paths of a block as atoms. Its hosts use some of the wildcards that a rule
// may have, and its other conditions use further ones.
func (s *speller) pathAtoms(b *block, hosts []atom, further int) []atom {
	wild := wildcardsOfAtoms(hosts)
	if b.onHost == nil {
		wild = 0
	}
	for _, h := range b.hosts {
		wild = max(wild, s.hostWildcards(h))
	}
	wild += further
	var atoms []atom
	for i, p := range b.paths {
		if p == routing.Root {
			return nil // all paths: no condition
		}
		atoms = append(atoms, atom{spelling: s.withHostWildcards(s.path(p), wild), text: p.Value, of: i})
	}
	return atoms
}

// A part is a list of atoms that are all written as values, or all as regular expressions.
type part struct {
	atoms []atom
	regex bool
}

// ways returns the ways to write a list of atoms, in order of preference: all as values; as values
// where an atom has some, and the others as regular expressions; all as regular expressions.
func ways(atoms []atom) [][]part {
	if len(atoms) == 0 {
		return [][]part{{{}}}
	}
	var plain, other []atom
	allRegex := true
	for _, a := range atoms {
		if a.values != nil {
			plain = append(plain, a)
		} else {
			other = append(other, a)
		}
		allRegex = allRegex && a.regex != ""
	}
	var out [][]part
	switch {
	case len(other) == 0:
		out = append(out, []part{{atoms: plain}})
	case len(plain) > 0:
		out = append(out, []part{{atoms: plain}, {atoms: other, regex: true}})
	}
	if allRegex {
		out = append(out, []part{{atoms: atoms, regex: true}})
	}
	return out
}

// grid returns the rules for all hosts of one part with all paths of another. Hosts and paths share
// the values and wildcards that a rule may have, so every number of host values is tried. One host
// value always fits.
func (s *speller) grid(b *block, when routing.Conditions, hosts, paths part) []lb.Rule {
	perRule := s.caps.ValuesPerRule
	for _, c := range when {
		perRule -= len(c.Values)
	}
	further := wildcardsOf(when)
	wild := limitWildcards(s.caps.WildcardsPerRule, further)
	var best [][2]chunk // the host values and the path values of each rule
	for share := range s.shares(hosts, paths, perRule) {
		hostChunks := s.pack(hosts, s.hostEnd(), share, wild)
		var cells [][2]chunk
		fits := true
		for _, h := range hostChunks {
			room := limit(s.caps.ValuesPerCondition, perRule, len(h.values))
			for _, p := range s.pack(paths, "$", room, limitWildcards(wild, h.wildcards)) {
				cells = append(cells, [2]chunk{h, p})
				fits = fits && allowsWildcards(s.caps, further+h.wildcards+p.wildcards)
			}
		}
		if fits && (best == nil || len(cells) < len(best)) {
			best = cells
		}
	}
	rules := make([]lb.Rule, len(best))
	for i, cell := range best {
		rules[i] = b.rule(when, cell[0], cell[1])
	}
	return rules
}

// shares yields how many host values a rule may have.
func (s *speller) shares(hosts, paths part, perRule int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		most := len(hosts.atoms)
		if s.caps.ValuesPerRule > 0 {
			forPaths := 0
			if len(paths.atoms) > 0 {
				forPaths = 1
			}
			most = min(most, perRule-forPaths)
		}
		if s.caps.ValuesPerCondition > 0 {
			most = min(most, s.caps.ValuesPerCondition)
		}
		if s.caps.ValuesPerRule == 0 && s.caps.ValuesPerCondition == 0 {
			yield(most)
			return
		}
		for share := max(most, 1); share >= 1; share-- {
			if !yield(share) {
				return
			}
		}
	}
}

// limit returns how many values are left for a condition; 0 is no limit.
func limit(perCondition, perRule, used int) int {
	if perRule <= 0 {
		return perCondition
	}
	left := max(perRule-used, 1)
	if perCondition == 0 {
		return left
	}
	return min(perCondition, left)
}

func limitWildcards(perRule, used int) int {
	if perRule == 0 {
		return 0
	}
	return max(perRule-used, 1)
}

// A chunk holds the values of one condition of one rule.
type chunk struct {
	values    []string
	regex     bool
	wildcards int
	of        []int // the hosts or paths of the block
}

// pack fills conditions, each with at most room values and wild wildcards. It cuts long lists at
// places that depend on the atoms there, so that one more atom changes a few conditions and not all
// conditions after it.
func (s *speller) pack(p part, end string, room, wild int) []chunk {
	if len(p.atoms) == 0 {
		return []chunk{{}}
	}
	var chunks []chunk
	for _, segment := range segments(p.atoms, p.regex, room) {
		if p.regex {
			chunks = append(chunks, s.packRegex(segment, end, room)...)
			continue
		}
		chunks = append(chunks, packValues(segment, room, wild)...)
	}
	return chunks
}

func packValues(atoms []atom, room, wild int) []chunk {
	var chunks []chunk
	var open chunk
	for _, a := range atoms {
		for _, v := range a.values {
			full := room > 0 && len(open.values) == room || wild > 0 && open.wildcards+wildcards(v) > wild
			if full && len(open.values) > 0 {
				chunks = append(chunks, open)
				open = chunk{}
			}
			open.values = append(open.values, v)
			open.wildcards += wildcards(v)
			open.of = append(open.of, a.of)
		}
	}
	return append(chunks, open)
}

func (s *speller) packRegex(atoms []atom, end string, room int) []chunk {
	var chunks []chunk
	open := chunk{regex: true}
	var value []atom
	flush := func() {
		if len(value) == 0 {
			return
		}
		if room > 0 && len(open.values) == room {
			chunks = append(chunks, open)
			open = chunk{regex: true}
		}
		open.values = append(open.values, alternation(value, end))
		for _, a := range value {
			open.of = append(open.of, a.of)
		}
		value = nil
	}
	for _, a := range atoms {
		alone := a.whole || len(value) > 0 && value[0].whole
		if longer := alternation(append(slices.Clone(value), a), end); alone || !s.fits(longer) {
			flush()
		}
		value = append(value, a)
	}
	flush()
	return append(chunks, open)
}

// alternation returns one anchored regular expression for several atoms. A slash that all begin
// with, and the end of all prefixes, are written once.
func alternation(atoms []atom, end string) string {
	lead := "/"
	for _, a := range atoms {
		if !strings.HasPrefix(a.regex, "/") {
			lead = ""
		}
	}
	var whole, prefixes []string
	for _, a := range atoms {
		body := a.regex[len(lead):]
		if a.prefix {
			prefixes = append(prefixes, body)
		} else {
			whole = append(whole, body)
		}
	}
	switch {
	case len(prefixes) == 0:
		return "^" + lead + oneOf(whole) + end
	case len(whole) == 0:
		return "^" + lead + oneOf(prefixes) + "(/.*)?" + end
	}
	return "^" + lead + oneOf(append(whole, oneOf(prefixes)+"(/.*)?")) + end
}

func oneOf(alternatives []string) string {
	if len(alternatives) == 1 {
		return alternatives[0]
	}
	return "(" + strings.Join(alternatives, "|") + ")"
}

// segments cuts a long list after atoms that a digest of their text selects. The pieces are so long
// that the unused room in the last condition of each does not matter.
func segments(atoms []atom, regex bool, room int) [][]atom {
	perRule := max(room, 1)
	if regex {
		perRule *= 8 // about as many alternatives as fit into a value
	}
	shortest := 4 * perRule
	var out [][]atom
	for from := 0; from < len(atoms); {
		to := from + 1
		for to < len(atoms) && (to-from < shortest || !cuts(atoms[to].text, shortest)) {
			to++
		}
		if room == 0 {
			to = len(atoms)
		}
		out = append(out, atoms[from:to])
		from = to
	}
	return out
}

func cuts(text string, every int) bool {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()%uint32(every) == 0
}

// rule returns the rule of a block for some of its hosts, its paths and the values of its
// conditions.
func (b *block) rule(when routing.Conditions, hosts, paths chunk) lb.Rule {
	r := lb.Rule{Action: b.action,
		Conditions: append(hosts.condition("host"), paths.condition("path")...)}
	if len(r.Conditions)+len(when) == 0 {
		// a rule needs a condition, and this one matches every request
		r.Conditions = []lb.Condition{{Field: "path", Values: []string{"/*"}}}
	}
	for _, c := range when {
		r.Conditions = append(r.Conditions, lb.ConditionOf(c))
	}
	slices.SortStableFunc(r.Conditions, func(a, b lb.Condition) int {
		return slices.Index(lb.Fields, a.Field) - slices.Index(lb.Fields, b.Field)
	})
	r.Origin = b.originOf(hosts, paths)
	return r
}

// condition returns a chunk as a condition on a field; none if it has no values.
func (c chunk) condition(field string) []lb.Condition {
	switch {
	case len(c.values) == 0:
		return nil
	case c.regex:
		return []lb.Condition{{Field: field, Regex: c.values}}
	}
	return []lb.Condition{{Field: field, Values: c.values}}
}

// originOf returns the sources of the routes of some hosts and paths of a block.
func (b *block) originOf(hosts, paths chunk) []diag.Source {
	if b.byHost == nil {
		b.byHost = make(map[routing.Host][]origin, len(b.hosts))
		for _, o := range b.origins {
			b.byHost[o.host] = append(b.byHost[o.host], o)
		}
		for _, of := range b.byHost {
			slices.SortFunc(of, func(a, b origin) int { return comparePaths(a.path, b.path) })
		}
	}
	var out []diag.Source
	add := func(h routing.Host) {
		of := b.byHost[h]
		note := func(o origin) {
			if o.source != (diag.Source{}) {
				out = append(out, o.source)
			}
		}
		if len(paths.of) == 0 {
			for _, o := range of {
				note(o)
			}
		}
		last := -1
		for _, i := range paths.of {
			if i == last { // a path of several values
				continue
			}
			last = i
			at, _ := slices.BinarySearchFunc(of, b.paths[i], func(o origin, p routing.Path) int {
				return comparePaths(o.path, p)
			})
			for ; at < len(of) && of[at].path == b.paths[i]; at++ {
				note(of[at])
			}
		}
	}
	for _, i := range hosts.of {
		add(b.hosts[i])
	}
	if len(hosts.of) == 0 {
		for _, h := range b.hosts {
			add(h)
		}
	}
	slices.SortFunc(out, diag.Source.Compare)
	return slices.Compact(out)
}
