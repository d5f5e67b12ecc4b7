package expect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file decides an expectation.

// A Verdict is whether an expectation holds.
type Verdict string

// The verdicts. Undecided is for an expectation that exceeds the budget: it never counts as one
// that holds.
const (
	Holds     Verdict = "holds"
	Violated  Verdict = "violated"
	Undecided Verdict = "undecided"
)

// A Result is the result of checking an expectation.
type Result struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	File        string `json:"file,omitempty"`
	// Line is the line of the expectation in its text.
	Line    int     `json:"line"`
	Verdict Verdict `json:"verdict"`
	// Applies is false for an expectation that holds because no load balancer gets such requests.
	Applies    bool                `json:"applies"`
	Violations []Violation         `json:"violations"`
	Undecided  []compare.Undecided `json:"undecided"`
}

// A Violation is a class of requests whose answers violate the expectation.
type Violation struct {
	LoadBalancer routing.Key `json:"loadBalancer"` // empty if no load balancer gets the requests
	Port         int32       `json:"port"`
	Scheme       string      `json:"scheme"`
	// Host is a host, a wildcard, or empty for all hosts without a name in tables. "**.example.com"
	// matches all names below a domain.
	Host Host `json:"host"`
	// Request is a shortest request of the class.
	Request compare.Request `json:"request"`
	Curl    string          `json:"curl"`
	Answer  compare.Answer  `json:"answer"`
	// Place is the file and the line of the answering Ingress, if they are known.
	Place string `json:"place,omitempty"`
	// Source is the field of the answering Ingress; zero if none answers.
	Source diag.Source `json:"-"`
	// Problems has the ways in which the answer violates the expectation.
	Problems []string `json:"problems"`
}

// Check decides an expectation about all load balancers. Expectations that are judged together have
// one Finder.
func Check(e Expectation, tables []*precedence.Table, f *requests.Finder) Result {
	c := newChecker(e, f)
	for _, t := range tables {
		c.check(t)
	}
	if e.Must.Answered != nil && *e.Must.Answered {
		c.checkReached(tables)
	}
	return c.result()
}

// CheckOne decides an expectation about one of several load balancers. It does not check whether
// any load balancer gets the requests.
func CheckOne(e Expectation, table *precedence.Table, f *requests.Finder) Result {
	c := newChecker(e, f)
	c.check(table)
	return c.result()
}

// CheckChange decides an expectation about a change of a load balancer. A violation is a request
// whose next answer violates it, and whose present answer does not. If now is nil, there are no
// present answers.
func CheckChange(e Expectation, now, next *precedence.Table, f *requests.Finder) Result {
	c := newChecker(e, f)
	c.former = now
	c.check(next)
	return c.result()
}

// A checker builds a Result.
type checker struct {
	must          Must
	parts, except []part
	finder        *requests.Finder
	last          searched
	kinds         map[kind][]int    // indices of Violations
	former        *precedence.Table // requests that already violate the expectation there are left out
	Result
}

func newChecker(e Expectation, f *requests.Finder) *checker {
	c := &checker{must: e.Must, parts: e.Requests.parts(), finder: f, kinds: map[kind][]int{}}
	c.Name, c.Description, c.Line = e.Name, e.Description, e.Line
	c.Violations, c.Undecided = []Violation{}, []compare.Undecided{}
	for _, r := range e.Except {
		c.except = append(c.except, r.parts()...)
	}
	return c
}

func (c *checker) result() Result {
	switch {
	case len(c.Violations) > 0:
		c.Verdict = Violated
	case len(c.Undecided) > 0:
		c.Verdict = Undecided
	default:
		c.Verdict = Holds
	}
	return c.Result
}

// check checks each class of hosts on each port of a load balancer.
func (c *checker) check(t *precedence.Table) {
	if t == nil {
		return
	}
	for i := range t.Listeners {
		l := &t.Listeners[i]
		hosts := c.hosts()
		c.addNames(hosts, t, l.Port)
		if c.former != nil {
			c.addNames(hosts, c.former, l.Port)
		}
		sets := compare.NewHostSets()
		for _, of := range []*precedence.Table{t, c.former} {
			for i := range listenersOf(of) { // a condition on any port names its hosts
				sets.AddConditions(of, of.Listeners[i].Port)
			}
		}
		classes, undecided := hosts.classesOf(sets, c.finder)
		if undecided.Why != "" {
			c.addUndecided(place{t, l, ""}, hostClass{}, undecided)
		}
		for _, class := range classes {
			at := place{t, l, class.name}
			if slices.ContainsFunc(c.parts, func(p part) bool { return p.at(at) }) {
				c.Applies = true
				c.checkClass(at, class)
			}
		}
	}
}

func listenersOf(t *precedence.Table) []routing.Listener {
	if t == nil {
		return nil
	}
	return t.Listeners
}

// hosts returns the hosts that the expectation names.
func (c *checker) hosts() *hostNames {
	out := newHostNames()
	for _, p := range slices.Concat(c.parts, c.except) {
		out.add(p.hosts)
	}
	return out
}

// addNames adds the hosts that a table distinguishes.
func (c *checker) addNames(to *hostNames, t *precedence.Table, port int32) {
	to.addTable(t, port)
	if c.must.Certificate != nil {
		to.addCertificates(t)
	}
}

// checkClass checks the possible answers to requests for a class of hosts. Candidates with the same
// exceptions are searched together.
func (c *checker) checkClass(at place, class hostClass) {
	next, former := c.judge(at), c.judgeFormer(at)
	if former != nil && next.equal(*former) {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(next.groups)) {
		found, undecided := c.search(next, former, key)
		if undecided.Why != "" {
			c.addUndecided(at, class, undecided)
		}
		for _, f := range found {
			c.addViolation(at, class, next.candidates[f.First], f.Request)
		}
	}
}

// concerns reports whether requests with an answer can be in the set. All parts of the set have the
// same answerers.
func (c *checker) concerns(a answer) bool {
	some := c.parts[0].answeredBy
	return some.empty() || a.answered() && some.has(a)
}

// exceptions returns the exceptions that apply to requests with an answer, and a key that is equal
// for equal ones.
func (c *checker) exceptions(a answer) (key string, out []part) {
	key = "with"
	for i, p := range c.except {
		if p.answeredBy.empty() || a.answered() && p.answeredBy.has(a) {
			key, out = fmt.Sprintf("%s %d", key, i), append(out, p)
		}
	}
	return key, out
}

func (c *checker) addUndecided(at place, class hostClass, u requests.Undecided) {
	c.Undecided = append(c.Undecided, compare.Undecided{LoadBalancer: at.table.Key,
		Port: at.listener.Port, Host: routing.Host(class.host), Why: u.Why, Namespace: u.Namespace})
}

// addViolation adds a violation, if Table.Match confirms it.
func (c *checker) addViolation(
	at place, class hostClass, candidate compare.Candidate, r routing.Request,
) {
	r.Port, r.Host, r.Method = at.listener.Port, at.host, cmp.Or(r.Method, "GET")
	outcome := at.table.Match(r)
	a := answer{at, outcome.Action, candidate.Action, outcome.Owner}
	v := Violation{
		LoadBalancer: at.table.Key, Port: r.Port, Scheme: at.scheme(), Host: class.host,
		Request: compare.Written(at.scheme(), r), Answer: compare.AnswerOf(candidate, outcome),
		Problems: c.must.problems(a), Source: outcome.Source,
	}
	v.Curl = v.Request.Curl()
	if len(v.Problems) == 0 || outcome.Route != candidate.Route || !c.contains(a, r) {
		c.addUndecided(at, class, requests.Undecided{
			Why: "a defect of Fairlead: the specification confirms no violation by " + v.Curl})
		return
	}
	k := kind{v.LoadBalancer, v.Port, v.Host, v.Source, v.Answer.Route, fmt.Sprintf("%q", v.Problems)}
	other := func(at int) bool { return c.Violations[at].Request.Routed.Host != v.Request.Routed.Host }
	switch i := slices.IndexFunc(c.kinds[k], other); {
	case i < 0:
		c.kinds[k] = append(c.kinds[k], len(c.Violations))
		c.Violations = append(c.Violations, v)
	case len(v.Request.Routed.Path) < len(c.Violations[c.kinds[k][i]].Request.Routed.Path):
		c.Violations[c.kinds[k][i]] = v
	}
}

// kind is equal for violations of other names of one host, which a condition on the host divides.
type kind struct {
	loadBalancer routing.Key
	port         int32
	host         Host
	source       diag.Source
	route        string
	problems     string
}

// contains reports whether a request with an answer is in the set.
func (c *checker) contains(a answer, r routing.Request) bool {
	_, except := c.exceptions(a)
	has := func(p part) bool {
		matches := func(path routing.Path) bool { return path.Matches(r.Path) }
		return p.at(a.place) && slices.ContainsFunc(p.paths, matches) && p.when.Match(r)
	}
	return c.concerns(a) && slices.ContainsFunc(c.parts, has) && !slices.ContainsFunc(except, has) &&
		clientsCondition(a.listener).Match(r)
}
