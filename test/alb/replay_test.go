package alb

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/accesslog"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/replay"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file replays access logs that the data plane wrote: every line agrees with the prediction,
// and every line that was changed afterwards does not.

// logSets is how many sets of Ingresses write logs.
func logSets() int {
	if testing.Short() {
		return 4
	}
	return 20
}

// fewerThan reports whether something happened too rarely in all sets. Some of them may lack it.
func fewerThan(least, n int64) bool { return !testing.Short() && n < least }

// logRequests is how many requests each set gets.
const logRequests = 400

// theConditions are those of Ingresses.
var theConditions = []string{
	`"header": {"X-Canary": ["always"]}`, `"header": {"User-Agent": ["*Bot*"]}`,
	`"method": ["GET", "HEAD"]`, `"query": {"v": ["2", "b c"]}`, `"source": ["10.0.0.0/8", "2001:db8::/32"]`,
}

// conditional gives some Services of Ingresses conditions.
func conditional(w *world, rng *rand.Rand) {
	for _, ing := range w.Ingresses {
		if rng.IntN(2) == 0 {
			w.change(ing.Name, func(ing *networkingv1.Ingress) {
				ing.Annotations["fairlead.dev/conditions"] = fmt.Sprintf(`[{"backend": "service-%d", %s}]`, rng.IntN(4), theConditions[rng.IntN(len(theConditions))])
			})
		}
	}
}

// A hit is a request that was sent, and the line that was logged.
type hit struct {
	matching.Request
	line string
}

// hits sends requests to all hosts and paths that Ingresses have, and close to them.
func hits(w *world, rng *rand.Rand, lines *[]string, how matching.Reading) []hit {
	var out []hit
	all := variations()
	for _, p := range crooked {
		all = append(all, requests([]int32{80}, []string{"a.example.com", "x.example.com"}, []string{p.sent})...)
	}
	own := ownRequests(w)
	for i := range logRequests {
		r := all[rng.IntN(len(all))]
		if len(own) > 0 && i%2 == 0 {
			r = own[rng.IntN(len(own))]
		}
		sent := matching.Request{
			Port: r.port, TLS: r.port == 443, SNI: r.host, Host: r.header(), Path: r.path, Method: []string{"GET", "HEAD", "POST"}[rng.IntN(3)],
			Query:  []string{"", "v=2", "v=b+c", "v=b%20c", "w=2&v=1"}[rng.IntN(5)],
			Source: []string{"10.1.2.3", "203.0.113.7", "2001:db8::1"}[rng.IntN(3)],
			Headers: map[string]string{"user-agent": []string{`Mozilla "5.0"`, "GoodBot/1"}[rng.IntN(2)], "x-canary": []string{"always", "never"}[rng.IntN(2)],
				"cookie": []string{"", "AWSELBAuthSessionCookie-0=x"}[rng.IntN(2)]},
		}
		if sent.Port == 443 && rng.IntN(20) == 0 {
			sent.TLS = false // it does not speak TLS
		}
		before := len(*lines)
		w.sim.Ask(w.seen.Address.Hostname, sent, how)
		if len(*lines) > before {
			out = append(out, hit{sent, (*lines)[before]})
		}
	}
	return out
}

// ownRequests are those to the hosts and paths that Ingresses name.
func ownRequests(w *world) []request {
	var out []request
	for _, ing := range w.Ingresses {
		for _, rule := range ing.Spec.Rules {
			host := strings.NewReplacer("*", "x").Replace(orOther(rule.Host))
			if rule.HTTP == nil {
				continue
			}
			for _, p := range rule.HTTP.Paths {
				if !strings.ContainsAny(p.Path, "?é") {
					out = append(out, requests([]int32{80, 443}, []string{host}, []string{strings.ReplaceAll(p.Path, "*", "y")})...)
				}
			}
		}
	}
	return out
}

func orOther(host string) string {
	if host == "" {
		return "other.net"
	}
	return host
}

// replayed is what came of some lines.
func replayed(t *testing.T, setup *replay.Setup, lines []string) replay.Report {
	t.Helper()
	r := replay.New(setup)
	for i, text := range lines {
		var l accesslog.Line
		if err := l.Parse([]byte(text)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		r.Replay(&l, replay.Place{Line: i + 1})
	}
	return replay.Merge(setup, []*replay.Replayer{r}, []string{"log"})
}

// logged runs a test in an account whose load balancer writes logs of random requests.
func logged(t *testing.T, do func(t *testing.T, rng *rand.Rand, w *world, table *precedence.Table, hits []hit)) {
	base := drawn(t)
	for set := range logSets() {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(base, uint64(set)))
			var lines []string
			w := newWorld(t, albsim.Options{AccessLog: func(line string) { lines = append(lines, line) }})
			for i := range 4 {
				w.service(fmt.Sprintf("service-%d", i), rng.IntN(3))
			}
			w.backendNamed("canary", []v1alpha1.BackendSpec{
				weighted("service-0", 1, "service-1", 3),
				{Redirect: &v1alpha1.Redirect{Scheme: "https", StatusCode: 301}},
				{Redirect: &v1alpha1.Redirect{Host: "new.example.com", Path: "/to/#{path}", Query: "from=#{host}&#{query}", StatusCode: 302}},
			}[set%3])
			w.secret("tls", 0, "a.example.com", "b.example.com")
			anyIngresses(w, rng)
			conditional(w, rng)
			w.settle()
			s := w.snapshot()
			table := model.Compile(s, lb.Facts{}, w.caps(s)).Table
			how := []matching.Reading{{}, {Resolved: true}, {Decoded: true, Resolved: true, Merged: true}, {HostWithPort: true, HostAsSent: true}}[set%4]
			do(t, rng, w, table, hits(w, rng, &lines, how))
		})
	}
}

// setupOf is a Setup of one load balancer, with its rules or without.
func setupOf(w *world, table *precedence.Table, rules bool) *replay.Setup {
	b := replay.Balancer{Table: table}
	if rules {
		b.Observed = w.seen
	}
	return &replay.Setup{Balancers: []replay.Balancer{b}}
}

func linesOf(hits []hit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, h.line)
	}
	return out
}

// Every line of the data plane agrees with what is predicted, from the rules and from the Ingresses
// alone, and what answered it is among the answers that are possible.
func TestNoLineOfTheDataPlaneDisagrees(t *testing.T) {
	lines, certain, either := int64(0), int64(0), map[bool]int64{}
	logged(t, func(t *testing.T, _ *rand.Rand, w *world, table *precedence.Table, all []hit) {
		for _, rules := range []bool{true, false} {
			got := replayed(t, setupOf(w, table, rules), linesOf(all))
			for _, d := range got.Disagreements {
				t.Errorf("rules known: %v: %+v", rules, d)
			}
			if got.Summary.Others+got.Summary.NoListener > 0 {
				t.Errorf("lines are left out: %+v", got.Summary)
			}
			lines, either[rules] = lines+got.Summary.Compared, either[rules]+got.Summary.Either
		}
		for _, h := range all {
			certain += attributed(t, w, table, h)
		}
	})
	t.Logf("%d lines, %d of one path; with several possible paths by whether rules are known: %v", lines/2, certain, either)
	if lines < int64(logSets()*logRequests/4) || fewerThan(5, either[false]) || either[false] > lines/10 || either[true] > either[false] || certain < lines/2*9/10 {
		t.Errorf("%d lines, %d of one path; with several possible paths by whether rules are known: %v", lines/2, certain, either)
	}
}

// attributed compares the path that a line is counted for with what the specification says of the
// request that was sent. It is 1 if it is counted for one path alone.
func attributed(t *testing.T, w *world, table *precedence.Table, h hit) int64 {
	t.Helper()
	got := replayed(t, setupOf(w, table, true), []string{h.line})
	if got.Summary.Compared == 0 {
		return 0
	}
	wanted := map[string]bool{}
	for _, path := range readingsOf(h.Path) {
		wanted[table.Match(specified(h.Request, path)).Source.String()] = true
	}
	for _, p := range got.Paths {
		if wanted[p.Source] {
			return p.Requests
		}
	}
	t.Errorf("%s is counted for %+v, want one of %v", h.line, got.Paths, wanted)
	return 0
}

// readingsOf are a path and what AWS may make of it.
func readingsOf(path string) []string {
	out := []string{path}
	for _, p := range crooked {
		if p.sent == path {
			out = append(out, p.resolved, p.merged, p.both, p.decoded)
		}
	}
	return append(out, matching.Reading{Decoded: true, Resolved: true, Merged: true}.Normalised(path))
}

// specified is a request as the specification reads it.
func specified(r matching.Request, path string) routing.Request {
	out := routing.Request{Port: r.Port, Host: r.Host, Path: path, Method: r.Method, Source: netip.MustParseAddr(r.Source), Header: map[string][]string{}, Query: map[string][]string{}}
	for name, value := range r.Headers {
		out.Header[name] = []string{value}
	}
	for _, part := range strings.Split(r.Query, "&") {
		name, value, _ := strings.Cut(part, "=")
		out.Query[name] = append(out.Query[name], value)
	}
	return out
}

// Lines that are changed after they were written are all found: with the priority of a rule that
// could not decide, with the target group of another rule, with another action, and with another location.
func TestPlantedLiesInLogsAreFound(t *testing.T) {
	planted := map[string]int{}
	logged(t, func(t *testing.T, rng *rand.Rand, w *world, table *precedence.Table, all []hit) {
		setup := setupOf(w, table, true)
		some := all[:min(len(all), 20)]
		redirected := func(h hit) bool { return fieldsOf(h.line)[fieldActions] == `"redirect"` }
		for _, h := range all[len(some):] {
			if len(some) < 30 && redirected(h) {
				some = append(some[:len(some):len(some)], h)
			}
		}
		for _, h := range some {
			for kind, line := range lies(rng, w, h) {
				planted[kind]++
				lines := linesOf(all)
				at := rng.IntN(len(lines))
				lines[at] = line
				got := replayed(t, setup, lines)
				if got.Summary.Disagreements != 1 || got.Disagreements[0].Examples[0].Line != at+1 {
					t.Errorf("%s, in line %d: %s\nfound: %+v", kind, at+1, line, got.Disagreements)
				}
			}
		}
	})
	t.Logf("%v", planted)
	for _, kind := range []string{"another priority", "a priority that no rule has", "another target group", "another action", "another location"} {
		if fewerThan(20, int64(planted[kind])) {
			t.Errorf("%d lines with %s, of %v", planted[kind], kind, planted)
		}
	}
}

// The places of fields in a line without spaces in quotes.
const (
	fieldGroup    = 16
	fieldPriority = 20
	fieldActions  = 22
	fieldLocation = 23
)

// lies are lines with one thing changed that cannot be so.
func lies(rng *rand.Rand, w *world, h hit) map[string]string {
	fields := fieldsOf(h.line)
	priority, err := strconv.Atoi(fields[fieldPriority])
	if err != nil {
		return nil // no rule decided
	}
	changed := func(field int, to string) string {
		f := slices.Clone(fields)
		f[field] = to
		return strings.Join(f, " ")
	}
	out := map[string]string{"a priority that no rule has": changed(fieldPriority, "49999")}
	rules := w.seen.Listener(h.Port).Rules
	for _, i := range rng.Perm(len(rules)) {
		if other := rules[i]; other.Priority != priority && !fits(other.Rule, h) {
			out["another priority"] = changed(fieldPriority, strconv.Itoa(other.Priority))
			break
		}
	}
	switch fields[fieldActions] {
	case `"forward"`:
		out["another action"] = changed(fieldActions, `"redirect"`)
		at := slices.IndexFunc(rules, func(r lb.ObservedRule) bool { return r.Priority == priority })
		own := w.seen.Listener(h.Port).Default
		if at >= 0 {
			own = rules[at].Action
		}
		for _, g := range w.seen.TargetGroups {
			if !slices.Contains(own.Groups(), g.ID) {
				out["another target group"] = changed(fieldGroup, g.Handle)
			}
		}
	case `"redirect"`:
		out["another location"] = changed(fieldLocation, `"https://elsewhere.example.com:443/"`)
	case `"fixed-response"`:
		out["another action"] = changed(fieldActions, `"forward"`)
	}
	return out
}

// fits reports whether a rule may be for a request: by its host and its path.
func fits(r lb.Rule, h hit) bool {
	var conditions []lb.Condition
	for _, c := range r.Conditions {
		if c.Field == "host" || c.Field == "path" {
			conditions = append(conditions, c)
		}
	}
	one := lb.Listener{Port: h.Port, Rules: []lb.Rule{{Conditions: conditions}}}
	return slices.ContainsFunc(readingsOf(h.Path), func(path string) bool {
		at, _ := one.Match(routing.Request{Port: h.Port, Host: strings.ToLower(h.Host), Path: path}, lb.Dialect{})
		return at == 0
	})
}

// fieldsOf are the fields of a line, with their quotes.
func fieldsOf(line string) []string {
	var out []string
	for line != "" {
		end := strings.IndexByte(line, ' ')
		if line[0] == '"' {
			end = strings.Index(line[1:], `"`) + 2
		}
		if end < 0 || end >= len(line) {
			return append(out, line)
		}
		out, line = append(out, line[:end]), line[end+1:]
	}
	return out
}
