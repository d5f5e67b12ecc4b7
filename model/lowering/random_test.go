package lowering

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/nightly"
)

var seed = flag.Uint64("seed", 0, "the `seed` of random tables; 0 draws one")

// tables is how many random tables a test tries with each kind of cloud: n, a tenth with -short, and ten times as many at
// night. It draws their seed.
func tables(t *testing.T, n int) int {
	t.Helper()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-seed=%d", *seed)
	switch {
	case testing.Short():
		return n / 10
	case nightly.Is():
		return 10 * n
	}
	return n
}

// Larger tables than can be enumerated: several Ingresses, ports, defaults, wildcards of several
// depths, hosts and paths that need a regular expression, both readings of a host's misses.

var (
	manyHosts = []routing.Host{
		"x.a.test", "y.a.test", "*.a.test", "q.x.a.test", "*.x.a.test", "*.test", "a.test", "bare", "num.b1",
		"*.very-long-name-of-a-department.example.test", routing.Any, routing.Any,
	}
	manyPaths = []routing.Path{
		{Type: routing.Exact, Value: "/"}, {Type: routing.Exact, Value: "/a"}, {Type: routing.Exact, Value: "/a/"},
		{Type: routing.Exact, Value: "/a/b"}, {Type: routing.Exact, Value: "/b,c"}, {Type: routing.Exact, Value: "/d%20e"},
		routing.Root, {Type: routing.Prefix, Value: "/a"}, {Type: routing.Prefix, Value: "/a/b"},
		{Type: routing.Prefix, Value: "/b"}, {Type: routing.Prefix, Value: "/b,c"}, {Type: routing.Prefix, Value: "/a/b/c"},
		{Type: routing.Glob, Value: "/a*"}, {Type: routing.Glob, Value: "/*b"}, {Type: routing.Glob, Value: "/a/?"},
		{Type: routing.Glob, Value: "/a/*/c"}, {Type: routing.Glob, Value: "/*/*/*/*/*/*"}, {Type: routing.Glob, Value: "/*a*b*c*d"}, {Type: routing.Glob, Value: "/*"},
		{Type: routing.Regex, Value: "(?:/(?i)a(/|$)(.*)).*"}, {Type: routing.Regex, Value: "(?:/(?i)b).*"},
	}
	challengePaths = []routing.Path{
		routing.Root, {Type: routing.Prefix, Value: "/.well-known"}, routing.ChallengePath, {Type: routing.Exact, Value: "/.well-known/acme-challenge/b"},
		{Type: routing.Glob, Value: "/.well-known/acme-challenge/*"}, {Type: routing.Glob, Value: "/.well-known*"}, {Type: routing.Glob, Value: "/*"},
	}
	manyGridHosts = []string{
		"x.a.test", "Y.A.test", "z.a.test", "q.x.a.test", "r.x.a.test", "s.r.x.a.test", "m.n.a.test", "a.test", "b.test", "m.b.test", "test", "bare", "num.b1",
		"w.very-long-name-of-a-department.example.test", "v.w.very-long-name-of-a-department.example.test",
	}
	manyGridPaths = []string{
		"/", "/a", "/a/", "/a/b", "/a/b/", "/a/b/c", "/a/x", "/a/xx", "/a/x/c", "/ab", "/aa", "/A", "/A/x", "/b", "/B", "/bcd", "/b/", "/b/a", "/bb", "/b,c", "/b,c/d",
		"/abcd", "/zabcd", "/c", "/c/b", "/d%20e", "/d", "/1/2/3/4/5/6", "/a/b/c/d", "/a/b/c/x", "/a/b/c/d/e/f",
		"/.well-known", "/.well-known/x", "/.well-known-too", "/.well-known/acme-challenge", "/.well-known/acme-challenges", "/.well-known/acme-challenge/",
		"/.well-known/acme-challenge/b", "/.well-known/acme-challenge/xb", "/.well-known/acme-challenge/x", "/.well-known/acme-challenge/bcd", "/.well-known/acme-challenge/xbcd", "/.well-known/acme-challenge/1/2/3/4",
	}
)

// randomTable is a table of up to size routes.
func randomTable(rng *rand.Rand, size int) *precedence.Table {
	c := routing.Config{
		HostMiss: routing.HostMiss(rng.IntN(2)), Precedence: routing.Precedence(rng.IntN(2)),
		Listeners: []routing.Listener{{Port: 80, Protocol: "HTTP"}, {Port: 443, Protocol: "HTTPS"}, {Port: 8080, Protocol: "HTTP"}},
	}
	ports := func() []int32 {
		var out []int32
		for _, l := range c.Listeners {
			if rng.IntN(3) > 0 {
				out = append(out, l.Port)
			}
		}
		return out
	}
	owners := 1 + rng.IntN(4)
	hosts := 1 + rng.IntN(len(manyHosts))
	for i := range 1 + rng.IntN(size) {
		owner := fmt.Sprintf("ingress-%d", rng.IntN(owners))
		service := string(rune('A' + rng.IntN(3)))
		r := aRoute(owner, manyHosts[rng.IntN(hosts)], manyPaths[rng.IntN(len(manyPaths))], service, i, ports()...)
		r.BySpelling = r.Path.Type == routing.Regex && rng.IntN(3) > 0
		if rng.IntN(12) == 0 {
			r.Action = routing.Status(404)
		}
		c.Routes = append(c.Routes, r)
	}
	for i := range owners {
		owner := routing.Owner{Namespace: "test", Name: fmt.Sprintf("ingress-%d", i)}
		if rng.IntN(3) == 0 {
			c.Defaults = append(c.Defaults, routing.Default{Owner: owner, Ports: ports(), Action: routing.To(routing.BackendID(rune('A' + rng.IntN(4))))})
		}
		if rng.IntN(3) == 0 {
			c.Names = append(c.Names, routing.Name{Owner: owner, Host: manyHosts[rng.IntN(len(manyHosts)-2)], Ports: ports()})
		}
	}
	for range rng.IntN(4) {
		list(rng, &c, routing.Owner{Namespace: "test", Name: fmt.Sprintf("ingress-%d", rng.IntN(owners))}, ports())
	}
	if rng.IntN(2) == 0 {
		own(rng, &c)
	}
	for range rng.IntN(4) {
		closed := routing.ClosedHost{Host: manyHosts[rng.IntN(len(manyHosts)-2)], Port: c.Listeners[rng.IntN(3)].Port}
		c.Closed = append(c.Closed, closed)
	}
	return tableOf(c)
}

// own gives each Ingress one of two namespaces, and hosts owners.
func own(rng *rand.Rand, c *routing.Config) {
	c.HostsOwned = true
	namespaces := map[string]string{}
	put := func(o *routing.Owner) {
		if namespaces[o.Name] == "" {
			namespaces[o.Name] = []string{"alice", "bob"}[rng.IntN(2)]
		}
		o.Namespace = namespaces[o.Name]
	}
	for i := range c.Routes {
		put(&c.Routes[i].Owner)
	}
	for i := range c.Names {
		put(&c.Names[i].Owner)
		c.Names[i].Beside = c.Names[i].Listed != nil && rng.IntN(2) == 0
	}
	for i := range c.Defaults {
		put(&c.Defaults[i].Owner)
	}
}

// redirected is a table of which some Ingresses are redirected to HTTPS, with paths at and above those of challenges. Some
// redirect all of HTTP.
func redirected(rng *rand.Rand, t *precedence.Table) *precedence.Table {
	c := t.Config
	c.Routes, c.Defaults = slices.Clone(c.Routes), slices.Clone(c.Defaults)
	to := map[string]*routing.SSLRedirect{}
	for i := range 4 {
		if rng.IntN(2) == 0 {
			to[fmt.Sprintf("ingress-%d", i)] = &routing.SSLRedirect{Port: 443, Challenges: rng.IntN(3) == 0}
		}
	}
	all := map[string]bool{}
	for i := range c.Routes {
		r := &c.Routes[i]
		r.Action.SSLRedirect = to[r.Owner.Name]
		if s := r.Action.SSLRedirect; s != nil && s.Challenges && !all[r.Owner.Name] && !slices.ContainsFunc(c.Defaults, func(d routing.Default) bool {
			return d.Owner.Name == r.Owner.Name
		}) {
			all[r.Owner.Name] = true
			c.Defaults = append(c.Defaults, routing.Default{Owner: r.Owner, Action: s.Redirect(), Plain: true,
				Ports: [][]int32{{80}, {8080}, {80, 8080}, {}}[rng.IntN(4)]})
		}
		if rng.IntN(3) == 0 && r.Listed == nil {
			r.Path = challengePaths[rng.IntN(len(challengePaths))]
			r.Spelt = r.Path.Value
		}
	}
	for i := range c.Defaults {
		if !c.Defaults[i].Plain {
			c.Defaults[i].Action.SSLRedirect = to[c.Defaults[i].Owner.Name]
		}
	}
	return precedence.New(c)
}

// list adds a host that spec.tls lists, with copies of what answers for it.
func list(rng *rand.Rand, c *routing.Config, owner routing.Owner, ports []int32) {
	host, by := manyHosts[rng.IntN(len(manyHosts)-2)], routing.Any
	if parent, ok := host.Parent(); ok && !host.Wildcard() && rng.IntN(2) == 0 {
		by = parent
	}
	answers := []routing.Host{by}
	if c.HostMiss == routing.MissFallsThrough && by != routing.Any {
		answers = append(answers, routing.Any)
	}
	for _, r := range slices.Clone(c.Routes) {
		if r.Owner == owner && r.Listed == nil && slices.Contains(answers, r.Host) {
			r.Listed, r.Host, r.Ports = &routing.Listed{By: r.Host}, host, ports
			c.Routes = append(c.Routes, r)
		}
	}
	c.Names = append(c.Names, routing.Name{Owner: owner, Host: host, Listed: &routing.Listed{By: by}, Ports: ports})
}

// disagreement says where the lowered rules and the specification differ. Refusals are allowed
// here: the specification is then that of the table without what is refused.
func disagreement(table *precedence.Table, c lb.Capabilities, worlds []lb.Dialect) string {
	lowered, served, _ := Lower(table, c)
	for _, l := range lowered.Listeners {
		if problem := beyond(l, c); problem != "" {
			return problem + dump(l)
		}
		requests := grid(l.Port, manyGridHosts, manyGridPaths)
		if !lb.UsualPort(l.Port) {
			for i := range requests {
				requests[i].Host += fmt.Sprintf(":%d", l.Port)
			}
		}
		s := specified(served, l, requests)
		for _, d := range worlds {
			if problem := s.differs(d, d == c.Dialect); problem != "" {
				return problem
			}
		}
	}
	return ""
}

// beyond says which limit a listener's rules break.
func beyond(l lb.Listener, c lb.Capabilities) string {
	for _, r := range l.Rules {
		values, wild := 0, 0
		for _, condition := range r.Conditions {
			all := slices.Concat(condition.Values, condition.Regex)
			values += len(all)
			if c.ValuesPerCondition > 0 && len(all) > c.ValuesPerCondition {
				return fmt.Sprintf("%d values in one condition of %s", len(all), r.Key())
			}
			for _, v := range all {
				if c.ValueLength > 0 && len(v) > c.ValueLength {
					return fmt.Sprintf("value %s has %d characters", v, len(v))
				}
			}
			for _, v := range condition.Values {
				wild += wildcards(v)
			}
			if len(condition.Values) > 0 && len(condition.Regex) > 0 {
				return "values and regular expressions in one condition of " + r.Key()
			}
			if len(condition.Regex) > 0 && !c.Regex {
				return "a regular expression in " + r.Key()
			}
		}
		if c.ValuesPerRule > 0 && values > c.ValuesPerRule {
			return fmt.Sprintf("%d values in %s", values, r.Key())
		}
		if c.WildcardsPerRule > 0 && wild > c.WildcardsPerRule {
			return fmt.Sprintf("%d wildcards in %s", wild, r.Key())
		}
	}
	return ""
}

// worlds are the readings of a cloud that its documentation leaves open.
func worlds(c lb.Capabilities) []lb.Dialect {
	out := []lb.Dialect{c.Dialect}
	if c.Doubt.HostPort {
		d := c.Dialect
		d.Doubt.HostPort = false
		out = append(out, d)
	}
	if c.Doubt.HostCase {
		d := c.Dialect
		d.Doubt.HostCase = false
		out = append(out, d)
	}
	if !c.HostStarIsLabel {
		d := c.Dialect
		d.HostStarIsLabel = true
		out = append(out, d)
	}
	return out
}

func TestRandomTablesAreExactInEveryWorld(t *testing.T) {
	n := tables(t, 100)
	for i, c := range allCapabilities() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(*seed, uint64(i)))
			for n := range n {
				table := randomTable(rng, 4+n%30)
				for _, table := range []*precedence.Table{table, redirected(rand.New(rand.NewPCG(uint64(n), uint64(i))), table)} {
					if problem := disagreement(table, c, worlds(c)); problem != "" {
						t.Fatalf("table %d (host miss %d): %s", n, table.HostMiss, problem)
					}
				}
			}
		})
	}
}

func FuzzLowerIsExact(f *testing.F) {
	f.Add(uint64(1), uint64(2), uint8(8))
	f.Add(uint64(20), uint64(7), uint8(40))
	f.Fuzz(func(t *testing.T, a, b uint64, size uint8) {
		rng := rand.New(rand.NewPCG(a, b))
		table := randomTable(rng, 1+int(size)%60)
		if a%2 == 0 {
			table = redirected(rng, table)
		}
		for _, c := range allCapabilities() {
			if problem := disagreement(table, c, worlds(c)); problem != "" {
				t.Fatalf("%s: %s", c.Name, problem)
			}
		}
	})
}

func TestHostsAndPathsShareTheWildcardsOfARule(t *testing.T) {
	glob := func(value string) routing.Path { return routing.Path{Type: routing.Glob, Value: value} }
	cases := map[string]struct {
		routes  []routing.Route
		refused []int // under alb-glob
	}{
		"what fits beside one host takes a rule a host": {routes: []routing.Route{
			aRoute("one", "*.a.test", glob("/*a*b*c*d"), "A", 0, 80), aRoute("one", "*.b.test", glob("/*a*b*c*d"), "A", 1, 80)}},
		"what fits beside no wildcard is refused for wildcards": {refused: []int{0}, routes: []routing.Route{
			aRoute("one", "*.a.test", glob("/*a*b*c*d*"), "A", 0, 80), aRoute("one", "m.b.test", glob("/*a*b*c*d*"), "A", 1, 80)}},
		"what is for any host is repeated in front of a wildcard": {refused: []int{1}, routes: []routing.Route{
			aRoute("one", "*.a.test", routing.Root, "A", 0, 80),
			aRoute("one", routing.Any, glob("/*a*b*c*"), "B", 1, 80), aRoute("one", routing.Any, glob("/*a*b*d"), "B", 2, 80)}},
		"where there is no wildcard it is not": {routes: []routing.Route{
			aRoute("one", "x.a.test", routing.Root, "A", 0, 80), aRoute("one", routing.Any, glob("/*a*b*c*d*"), "B", 1, 80)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			table := tableOf(routing.Config{Routes: c.routes})
			for _, caps := range allCapabilities() {
				if problem := disagreement(table, caps, worlds(caps)); problem != "" {
					t.Errorf("%s: %s", caps.Name, problem)
				}
			}
			_, served, _ := Lower(table, lb.ALBGlob())
			for i, r := range c.routes {
				kept := slices.ContainsFunc(served.Routes, func(s routing.Route) bool { return s.Index == r.Index })
				if kept == slices.Contains(c.refused, i) {
					t.Errorf("route %d is served: %v", i, kept)
				}
			}
		})
	}
}
