package expect

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/tables"
)

// This file compares Check with brute force, on random pairs of a table and an expectation.

var (
	seed      = flag.Uint64("seed", 0, "seed of random pairs; 0 takes a new one")
	pairsMade = flag.Int("tables", 2000, "random pairs of a table and an expectation")
	perPair   = flag.Int("requests", 300, "requests for each pair")
)

// A generator makes random expectations.
type generator struct{ tables.Generator }

func newGenerator(a, b uint64) *generator {
	return &generator{tables.Generator{Rand: rand.New(rand.NewPCG(a, b))}}
}

func (g *generator) sometimes() bool { return g.IntN(4) == 0 }

func some[T any](g *generator, from ...T) []T {
	var out []T
	for _, i := range g.Perm(len(from))[:1+g.IntN(min(2, len(from)))] {
		out = append(out, from[i])
	}
	return out
}

// exposed is a configuration with listeners, protection and certificates of all kinds.
func (g *generator) exposed() routing.Config { return g.expose(g.Config()) }

// expose gives a configuration listeners, protection and certificates of all kinds.
func (g *generator) expose(c routing.Config) routing.Config {
	c.Settings.Scheme = []string{"", "internal", "internet-facing"}[g.IntN(3)]
	c.Protection.WebACL = []string{"", routing.NoWebACL, "acl"}[g.IntN(3)]
	c.Certificates = []routing.Certificate{{ID: "one", Hosts: []string{"*.a.test", "bare"}}, {ID: "two", Hosts: []string{"x.a.test"}}}
	for i := range c.Listeners {
		l := &c.Listeners[i]
		if g.sometimes() {
			l.Inbound = some(g, "10.0.0.0/8", "203.0.113.0/24", "2001:db8::/32")
		} else if g.IntN(8) == 0 {
			l.Inbound = []string{"10.0.0.0/8", "pl-0123456789abcdef0"}
		}
		if l.Protocol == routing.HTTPS {
			l.Certificates = some[routing.CertificateID](g, "one", "two")
			l.TLSPolicy = []string{"", "strict"}[g.IntN(2)]
			l.Mutual = []*routing.MutualAuthentication{nil, {Mode: "verify"}, {Mode: "passthrough"}}[g.IntN(3)]
		}
	}
	for i := range c.Routes {
		if g.IntN(6) == 0 {
			c.Routes[i].Action = routing.Action{Forward: []routing.Weighted{{Backend: "A", Weight: int32(g.IntN(2))}, {Backend: "B", Weight: int32(g.IntN(2))}}}
		}
	}
	return c
}

func (g *generator) hosts() []Host {
	return some[Host](g, "x.a.test", "*.a.test", "**.a.test", "**.test", "a.test", "*", "**.x.a.test", "*.example", "bare", "n.q.x.a.test", "**.example")
}

func (g *generator) requests() Requests {
	var r Requests
	if g.IntN(6) == 0 {
		for _, path := range some(g, "/", "/a", "/a/b", "/a?v=1") {
			u, err := urlOf([]string{"http", "https"}[g.IntN(2)] + "://" + []string{"x.a.test", "b.test"}[g.IntN(2)] + path)
			if err != nil {
				panic(err)
			}
			r.URLs = append(r.URLs, u)
		}
	} else {
		if g.sometimes() {
			r.Schemes = some(g, "http", "https")
		}
		if g.sometimes() {
			r.Ports = some[int32](g, 80, 443, 8080)
		}
		if g.IntN(2) == 0 {
			r.Hosts = g.hosts()
		}
		for range g.IntN(3) {
			p := Path{Path: tables.Paths[g.IntN(len(tables.Paths))]}
			p.Decoded = g.sometimes() && (p.Type == routing.Exact || p.Type == routing.Prefix)
			r.Paths = append(r.Paths, p)
		}
		if g.sometimes() {
			r.Query = map[string][]string{"v": some(g, "1", "2*", "*")}
		}
	}
	if g.sometimes() {
		r.Methods = some(g, "GET", "POST", "PURGE")
	}
	if g.sometimes() {
		r.Headers = map[string][]string{[]string{"X-A", "x-b"}[g.IntN(2)]: some(g, "y*", "yes", "*", "N?")}
	}
	if g.sometimes() {
		r.Sources = some(g, "10.0.0.0/8", "10.1.0.0/16", "0.0.0.0/0", "2001:db8::/32")
	}
	if g.sometimes() {
		r.AnsweredBy = g.answerers()
	}
	if g.IntN(8) == 0 {
		r.LoadBalancers = []LoadBalancers{{Classes: []string{"fair*"}}, {Classes: []string{"other"}}, {Schemes: []string{"internal"}}, {Keys: []string{"*/test/*"}}, {OfHost: true}}[g.IntN(5)]
	}
	return r
}

func (g *generator) answerers() Answerers {
	switch g.IntN(4) {
	case 0:
		return Answerers{Ingresses: some(g, "alice/*", "*/ingress-1", "bob/ingress-0")}
	case 1:
		return Answerers{Services: some(g, "A", "B:*", "*")}
	case 2:
		return Answerers{Namespaces: some(g, "alice", "b*"), Services: some(g, "A", "C")}
	}
	return Answerers{Namespaces: some(g, "alice", "bob")}
}

func (g *generator) must() (m Must) {
	b := func() *bool { v := g.IntN(3) > 0; return &v }
	for range 1 + g.IntN(2) {
		switch g.IntN(13) {
		case 0:
			m.Answered = b()
		case 1:
			m.Forwarded = b()
		case 2, 3:
			m.Answerers = g.answerers()
		case 4:
			m.SignIn = b()
		case 5:
			m.SignInWith = some(g, routing.OIDC, routing.JWT)
		case 6:
			m.MutualTLS = b()
		case 7:
			m.Redirect = &Redirect{Schemes: some(g, "http", "https")}
			if g.sometimes() {
				m.Redirect.Statuses = []int32{302}
			}
		case 8:
			m.Statuses = some[int32](g, 404, 301, 302, 503)
		case 9:
			m.LoadBalancerSchemes = some(g, "internal", "internet-facing")
		case 10:
			m.InboundWithin = some(g, "10.0.0.0/8", "203.0.0.0/8", "pl-0123456789abcdef0")
		case 11:
			m.WebACL = b()
		default:
			m.Certificate, m.TLSPolicies = b(), some(g, "strict", "*")
		}
	}
	return m
}

func (g *generator) expectation() Expectation {
	e := Expectation{Name: "random", Requests: g.requests(), Must: g.must()}
	for range g.IntN(3) {
		e.Except = append(e.Except, g.requests())
	}
	return e
}

// request is one at an edge of the table or of the expectation.
func (g *generator) request(c routing.Config, e Expectation) routing.Request {
	r := g.Request(c)
	for _, set := range append([]Requests{e.Requests}, e.Except...) {
		if n := len(set.URLs); n > 0 && g.IntN(2) == 0 {
			u := set.URLs[g.IntN(n)]
			r.Port, r.Host, r.Path = u.Port, string(u.Host), u.Path.Value
		}
		if n := len(set.Hosts); n > 0 && g.IntN(3) == 0 {
			host := string(set.Hosts[g.IntN(n)])
			host = strings.ReplaceAll(host, "**", []string{"q.x", "k", "l.m.n", "x"}[g.IntN(4)])
			r.Host = strings.ReplaceAll(host, "*", []string{"x", "any", "other"}[g.IntN(3)])
		}
		if n := len(set.Paths); n > 0 && g.IntN(3) == 0 {
			p := set.Paths[g.IntN(n)]
			if r.Path = g.Path(p.Path); p.Decoded && g.IntN(2) == 0 {
				r.Path = strings.Replace(r.Path, "a", []string{"A", "%61", "%41", "./a", "/a", "%2e/a"}[g.IntN(6)], 1)
				r.Path += []string{"", "/", "%2f", "/."}[g.IntN(4)]
			}
		}
	}
	return r
}

// plain is an expectation as brute force knows it: with a table and a request in hand.
type plain struct {
	Expectation
	table *precedence.Table
	request
}

type request struct {
	routing.Request
	listener routing.Listener
	outcome  precedence.Outcome
	asked    routing.Action
}

// arrive is what becomes of a request; false where no listener gets it.
func arrive(t *precedence.Table, r routing.Request) (request, bool) {
	at := slices.IndexFunc(t.Listeners, func(l routing.Listener) bool { return l.Port == r.Port })
	if at < 0 {
		return request{}, false
	}
	out := request{r, t.Listeners[at], t.Match(r), routing.NotFound()}
	if out.asked = out.outcome.Action; out.outcome.Route != nil {
		out.asked = out.outcome.Route.Action
	}
	for _, d := range t.Defaults {
		if out.outcome.Route == nil && out.outcome.Owner.Name != "" && d.Source == out.outcome.Source {
			out.asked = d.Action
		}
	}
	connects := len(out.listener.Inbound) == 0
	for _, text := range out.listener.Inbound {
		p, err := netip.ParsePrefix(text)
		connects = connects || err != nil || p.Contains(r.Source)
	}
	return out, connects
}

func (p plain) services() []string {
	var out []string
	for _, f := range p.outcome.Action.Forward {
		out = append(out, string(f.Backend))
	}
	return out
}

func anyOf[T any](of []T, is func(T) bool) bool { return len(of) == 0 || slices.ContainsFunc(of, is) }

// expressions are those of paths, compiled once.
var expressions = map[routing.Path]*regexp.Regexp{}

func matches(p routing.Path, path string) bool {
	if p.Type != routing.Regex {
		return p.Matches(path)
	}
	if _, known := expressions[p]; !known {
		expressions[p] = p.Expression()
	}
	return expressions[p] != nil && expressions[p].MatchString(path)
}

func globs(of []string, text string) bool {
	return anyOf(of, func(g string) bool { return routing.GlobMatch(g, text) })
}

// isHost compares labels.
func isHost(h Host, name string) bool {
	pattern, labels := strings.Split(string(h), "."), strings.Split(name, ".")
	switch pattern[0] {
	case "*":
		return len(pattern) == 1 || len(labels) == len(pattern) && slices.Equal(pattern[1:], labels[1:])
	case "**":
		n := len(pattern) - 1
		return len(labels) > n && slices.Equal(pattern[1:], labels[len(labels)-n:])
	}
	return slices.Equal(pattern, labels)
}

func (p plain) in(s Requests) bool {
	scheme := strings.ToLower(string(p.listener.Protocol))
	url := func(u URL) bool {
		return u.Scheme == scheme && u.Port == p.Port && string(u.Host) == p.Hostname() && u.Path.Value == p.Path && u.Query.Match(p.Request)
	}
	named := false
	for _, n := range p.table.Names {
		named = named || n.Host.Covers(routing.Host(p.Hostname()))
	}
	for _, r := range p.table.Routes { // a condition on the host names it, too
		c := r.When.Host()
		named = named || r.Host == routing.Any && c != nil && c.Matcher()(p.Request)
	}
	balancerScheme := p.table.Settings.Scheme
	if balancerScheme == "" {
		balancerScheme = "internal"
	}
	holds := func(field string, values map[string][]string) bool {
		for name, v := range values {
			if !(routing.Conditions{{Field: field, Name: name, Values: v}}).Match(p.Request) {
				return false
			}
		}
		return true
	}
	return anyOf(s.URLs, url) && (len(s.URLs) == 0 || named) && anyOf(s.Schemes, func(v string) bool { return v == scheme }) &&
		anyOf(s.Ports, func(v int32) bool { return v == p.Port }) &&
		anyOf(s.Hosts, func(h Host) bool { return isHost(h, p.Hostname()) }) &&
		anyOf(s.Paths, func(v Path) bool { return matches(v.pattern(), p.Path) }) &&
		anyOf(s.Methods, func(v string) bool { return v == p.Method }) && holds("header", s.Headers) && holds("query", s.Query) &&
		anyOf(s.Sources, func(v string) bool { return netip.MustParsePrefix(v).Contains(p.Source) }) &&
		globs(s.LoadBalancers.Classes, "fairlead") && globs(s.LoadBalancers.Keys, "fairlead/test/ingress/internal") &&
		anyOf(s.LoadBalancers.Schemes, func(v string) bool { return v == balancerScheme }) && (!s.LoadBalancers.OfHost || named) &&
		(s.AnsweredBy.empty() || p.outcome.Owner.Name != "" && p.by(s.AnsweredBy) &&
			(len(s.AnsweredBy.Services) == 0 || slices.ContainsFunc(p.services(), func(v string) bool { return p.isService(s.AnsweredBy, v) })))
}

func (p plain) by(a Answerers) bool {
	return globs(a.Namespaces, p.outcome.Owner.Namespace) && globs(a.Ingresses, p.outcome.Owner.Namespace+"/"+p.outcome.Owner.Name)
}

func (p plain) isService(a Answerers, v string) bool {
	return slices.ContainsFunc(a.Services, func(g string) bool { return routing.GlobMatch(strings.TrimSuffix(g, ":*"), v) })
}

// wrong reports whether the request is in the set and not answered as it must be.
func (p plain) wrong() bool {
	if !p.in(p.Requests) || slices.ContainsFunc(p.Except, p.in) {
		return false
	}
	m, action := p.Must, p.outcome.Action
	answered, forwarded := p.outcome.Owner.Name != "", len(action.Forward) > 0
	differs := func(want *bool, is bool) bool { return want != nil && *want != is }
	status := int32(0)
	if action.Fixed != nil {
		status = int32(action.Fixed.Status)
	} else if action.Redirect != nil {
		status = int32(action.Redirect.Status)
	}
	if differs(m.Answered, answered) || len(m.Statuses) > 0 && !slices.Contains(m.Statuses, status) {
		return true
	}
	if !answered {
		return false
	}
	onlyServices := forwarded
	for _, v := range p.services() {
		onlyServices = onlyServices && p.isService(m.Answerers, v)
	}
	if differs(m.Forwarded, forwarded) || !p.by(m.Answerers) || len(m.Services) > 0 && !onlyServices {
		return true
	}
	https := p.listener.Protocol == routing.HTTPS
	if m.Redirect != nil {
		to := "http"
		if https || action.Redirect != nil && action.Redirect.Scheme == "https" {
			to = "https"
		}
		if action.Redirect == nil || len(m.Redirect.Schemes) > 0 && !slices.Contains(m.Redirect.Schemes, to) ||
			len(m.Redirect.Statuses) > 0 && !slices.Contains(m.Redirect.Statuses, status) {
			return true
		}
	}
	if forwarded {
		signIn := p.asked.Auth
		if differs(m.SignIn, signIn != nil) || len(m.SignInWith) > 0 && (signIn == nil || !slices.Contains(m.SignInWith, signIn.Kind)) ||
			differs(m.MutualTLS, https && p.listener.Mutual != nil && p.listener.Mutual.Mode == "verify") {
			return true
		}
	}
	return p.exposed(https)
}

func (p plain) exposed(https bool) bool {
	m, scheme := p.Must, p.table.Settings.Scheme
	if scheme == "" {
		scheme = "internal"
	}
	if !anyOf(m.LoadBalancerSchemes, func(v string) bool { return v == scheme }) {
		return true
	}
	if acl := p.table.Protection.WebACL; m.WebACL != nil && *m.WebACL != (acl == "acl") {
		return true
	}
	if len(m.InboundWithin) > 0 {
		within := len(p.listener.Inbound) > 0
		for _, r := range p.listener.Inbound {
			inside := slices.Contains(m.InboundWithin, r) || r == "203.0.113.0/24" && slices.Contains(m.InboundWithin, "203.0.0.0/8")
			within = within && inside
		}
		if !within {
			return true
		}
	}
	if !https {
		return false
	}
	certified := false
	for _, id := range p.listener.Certificates {
		hosts := map[routing.CertificateID][]Host{"one": {"*.a.test", "bare"}, "two": {"x.a.test"}}[id]
		certified = certified || slices.ContainsFunc(hosts, func(h Host) bool { return isHost(h, p.Hostname()) })
	}
	return m.Certificate != nil && *m.Certificate != certified || !globs(m.TLSPolicies, p.listener.TLSPolicy)
}

// classOf is the class of a host name: the most specific host that has it.
func classOf(e Expectation, port int32, name string, some ...*precedence.Table) Host {
	var known []Host
	for _, t := range some {
		for _, level := range t.Levels(port) {
			if level.Host != routing.Any {
				known = append(known, Host(level.Host))
			}
		}
	}
	for _, s := range append([]Requests{e.Requests}, e.Except...) {
		known = append(known, s.Hosts...)
		for _, u := range s.URLs {
			known = append(known, u.Host)
		}
	}
	if e.Must.Certificate != nil {
		known = append(known, "*.a.test", "bare", "x.a.test")
	}
	for _, h := range slices.Clone(known) {
		if domain, deep := strings.CutPrefix(string(h), "**."); deep {
			known = append(known, Host("*."+domain))
		}
	}
	best, rank := Host(""), 0
	for _, h := range known {
		r := 1000
		if strings.HasPrefix(string(h), "*") {
			if r = 900; strings.HasPrefix(string(h), "**") {
				r = len(h)
			}
		}
		if h != "*" && r > rank && isHost(h, name) {
			best, rank = h, r
		}
	}
	return best
}

// disagreement says where Check differs from what requests get.
func disagreement(g *generator, c routing.Config, e Expectation, count int) (problem string, violated bool) {
	t := tables.Named(c)
	result := CheckOne(e, t, requests.NewFinder(requests.OfCommand))
	if len(result.Undecided) > 0 {
		return fmt.Sprintf("undecided: %+v", result.Undecided), false
	}
	for _, v := range result.Violations {
		r, connects := arrive(t, v.Request.Routed)
		if p := (plain{e, t, r}); !connects || !p.wrong() {
			return fmt.Sprintf("%s is not wrong: %+v", v.Curl, v), true
		}
		if class := classOf(e, v.Port, r.Hostname(), t); class != v.Host {
			return fmt.Sprintf("%s is of %q, not of %q", v.Curl, class, v.Host), true
		}
	}
	for range count {
		r, connects := arrive(t, g.request(c, e))
		if !connects || !(plain{e, t, r}).wrong() {
			continue
		}
		class, source := classOf(e, r.Port, r.Hostname(), t), ""
		if r.outcome.Owner.Name != "" {
			source = r.outcome.Source.String()
		}
		if !slices.ContainsFunc(result.Violations, func(v Violation) bool {
			return v.Port == r.Port && v.Host == class && v.Answer.Source == source && len(v.Request.Routed.Path) <= len(r.Path)
		}) {
			return fmt.Sprintf("not told: %+v\nof %q, answered by %q", r.Request, class, source), true
		}
	}
	return "", len(result.Violations) > 0
}

func TestCheckAgainstBruteForce(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	if testing.Short() {
		*pairsMade = min(*pairsMade, 200)
	}
	t.Logf("-seed=%d", *seed)
	violated := 0
	for n := range *pairsMade {
		g := newGenerator(*seed, uint64(n))
		c, e := g.exposed(), g.expectation()
		problem, is := disagreement(g, c, e, *perPair)
		if problem != "" {
			t.Fatalf("-seed=%d, pair %d: %+v\n%s", *seed, n, e, problem)
		}
		if is {
			violated++
		}
	}
	if violated < *pairsMade/5 || violated > *pairsMade*4/5 {
		t.Errorf("of %d pairs %d are violated: too few, or too many, to show anything", *pairsMade, violated)
	}
	t.Logf("%d pairs, %d of them violated", *pairsMade, violated)
}

func FuzzCheck(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		g := newGenerator(a, b)
		c, e := g.exposed(), g.expectation()
		if problem, _ := disagreement(g, c, e, 100); problem != "" {
			t.Fatalf("%+v\n%s", e, problem)
		}
	})
}
