package language

import (
	"encoding/binary"
	"regexp"
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

// This file compares paths as sets of request paths, within a budget that each Ingress of a load
// balancer has. The steps of a question do not depend on earlier questions, so a compile always
// gives the same answers.

// MemberSteps is the most steps that the questions about one Ingress take in a compile. Later
// questions are not answered. Requests get the same answers all the same, but there may be more
// rules.
const MemberSteps = 30_000_000

// NamespaceSteps is the number of steps in a compile that the Ingresses of one namespace share
// equally. They have as many again in common, for those that need more. Other namespaces do not
// affect either.
const NamespaceSteps = 2 * MemberSteps

// worthKnowing is the least number of steps of an answer that is cached. Others are found again as
// fast.
const worthKnowing = 1000

// questionSteps is the least number of steps of a question.
const questionSteps = 10

// A Cache has the automata of paths, and answers about them. It is valid for every load balancer,
// and may be reused while one is compiled in several ways.
type Cache struct {
	paths    map[routing.Path]*knownPath
	answers  map[string]found
	universe *Language
}

// A knownPath is a path with its automaton.
type knownPath struct {
	id         uint32
	text       string
	expression *regexp.Regexp // of a Regex, that of whole paths
	automaton  *Language      // nil until it is needed
}

// NewCache returns an empty Cache.
func NewCache() *Cache {
	return &Cache{paths: map[routing.Path]*knownPath{}, answers: map[string]found{},
		universe: New(PathUniverse)}
}

// Forget empties the cache.
func (l *Cache) Forget() {
	clear(l.paths)
	clear(l.answers)
}

func (l *Cache) path(p routing.Path) *knownPath {
	known := l.paths[p]
	if known == nil {
		known = &knownPath{id: uint32(len(l.paths)), text: p.Text()}
		if p.Type == routing.Regex {
			known.expression = p.Expression()
		}
		l.paths[p] = known
	}
	return known
}

func (l *Cache) automaton(p routing.Path) *Language {
	known := l.path(p)
	if known.automaton == nil {
		known.automaton = OfPath(p)
	}
	return known.automaton
}

// find searches a request path that every path of in matches and no path of out, in so many steps.
// The cache does not change the result. It stores how far an unfinished search went.
func (l *Cache) find(in, out []routing.Path, most int) found {
	key := make([]byte, 0, 4*(len(in)+len(out)+1))
	for _, p := range in {
		key = binary.LittleEndian.AppendUint32(key, l.path(p).id+1)
	}
	key = binary.LittleEndian.AppendUint32(key, 0)
	for _, p := range out {
		key = binary.LittleEndian.AppendUint32(key, l.path(p).id+1)
	}
	answer, known := l.answers[string(key)]
	if !known || answer.verdict == Unsure && answer.steps <= most {
		all := []*Language{l.universe}
		for _, p := range in {
			all = append(all, l.automaton(p))
		}
		var not []*Language
		for _, p := range out {
			not = append(not, l.automaton(p))
		}
		answer = find(all, not, most)
		if answer.steps >= worthKnowing {
			l.answers[string(key)] = answer
		}
	}
	if answer.steps > most {
		return found{verdict: Unsure, steps: most}
	}
	return answer
}

// A Comparer answers the questions of one compile.
type Comparer struct {
	*Cache
	spent  map[string]int // steps, by the Ingress that they are for
	shares map[string]int // steps that each Ingress of a namespace has for itself
	common map[string]int // steps that the Ingresses of a namespace took beyond that
}

// NewComparer returns a Comparer with a new budget for each of the members.
func NewComparer(l *Cache, members []routing.Owner) *Comparer {
	c := &Comparer{l, map[string]int{}, map[string]int{}, map[string]int{}}
	count := map[string]int{}
	for _, m := range members {
		count[m.Namespace]++
	}
	for namespace, n := range count {
		c.shares[namespace] = NamespaceSteps / n
	}
	return c
}

// stepsLeft returns the number of steps that may still be taken for an Ingress.
func (c *Comparer) stepsLeft(asker string) int {
	spent, namespace := c.spent[asker], namespaceOf(asker)
	own := max(0, c.share(namespace)-spent)
	return min(MemberSteps-spent, own+max(0, NamespaceSteps-c.common[namespace]))
}

// charge counts steps that were taken for an Ingress.
func (c *Comparer) charge(asker string, steps int) {
	namespace := namespaceOf(asker)
	beyond := max(c.spent[asker], c.share(namespace))
	c.spent[asker] += steps
	c.common[namespace] += max(0, c.spent[asker]-beyond)
}

func (c *Comparer) share(namespace string) int {
	if share, known := c.shares[namespace]; known {
		return share
	}
	return NamespaceSteps
}

// namespaceOf returns the namespace in the name of an Owner.
func namespaceOf(asker string) string {
	namespace, _, _ := strings.Cut(asker, "/")
	return namespace
}

// Find searches a request path that every path of in matches and no path of out, for an Ingress.
func (c *Comparer) Find(asker string, in, out []routing.Path) (string, Verdict) {
	left := c.stepsLeft(asker)
	if left <= 0 {
		return "", Unsure
	}
	answer := c.find(in, out, min(searchSteps, left))
	c.charge(asker, questionSteps*(len(in)+len(out))+answer.steps)
	return answer.text, answer.verdict
}

// Has reports whether a path matches the path of a request. The steps count against
// the budget of the asker, an Ingress.
func (c *Comparer) Has(asker string, p routing.Path, path string) Verdict {
	if p.Type == routing.Exact || p.Type == routing.Prefix {
		return verdictOf(p.Matches(path))
	}
	if c.stepsLeft(asker) <= 0 {
		return Unsure
	}
	c.charge(asker, questionSteps+len(path))
	return verdictOf(c.has(p, path))
}

// Under reports whether a path matches some or all paths at and below a prefix. The steps count
// against the asker's budget. Sure is false if this is not known, as may be for globs and regular expressions.
func (c *Comparer) Under(asker string, p, prefix routing.Path) (some, all, sure bool) {
	if c.stepsLeft(asker) <= 0 {
		return false, false, false
	}
	c.charge(asker, questionSteps+len(prefix.Value))
	return c.automaton(p).Under(prefix)
}

// has returns the result of Path.Matches, with cached expressions.
func (l *Cache) has(p routing.Path, path string) bool {
	if p.Type == routing.Exact || p.Type == routing.Prefix {
		return p.Matches(path)
	}
	if has, sure := l.automaton(p).Has(path); sure {
		return has
	}
	if p.Type == routing.Regex {
		re := l.path(p).expression
		return re != nil && re.MatchString(path)
	}
	return p.Matches(path)
}

func verdictOf(is bool) Verdict {
	if is {
		return Some
	}
	return None
}

// Matches reports whether a path matches the path of a request. The expression is compiled once.
// Matches takes no steps of the budget.
func (c *Comparer) Matches(p routing.Path, path string) bool {
	if p.Type != routing.Regex {
		return p.Matches(path)
	}
	return c.has(p, path)
}

// Text returns the path's Text, computed once.
func (c *Comparer) Text(p routing.Path) string {
	if p.Type != routing.Regex {
		return p.Text()
	}
	return c.path(p).text
}

// Spent returns the number of steps that were taken for an Ingress.
func (c *Comparer) Spent(asker string) int {
	return c.spent[asker]
}
