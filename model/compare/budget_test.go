package compare

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/nightly"
	"fairlead.dev/fairlead/test/tables"
)

// tangled is a configuration in which a namespace has globs on one host, with a condition each. A
// request can match any of them together, so there are 2^n combinations.
func tangled(n int, namespace string, host routing.Host, version int) []routing.Route {
	var out []routing.Route
	for i := range n {
		letters := fmt.Sprintf("%c%c", 'a'+i%26, 'a'+i/26)
		out = append(out, routing.Route{
			Host: host, Path: routing.Path{Type: routing.Glob, Value: "/*" + letters + "*"}, Ports: []int32{80},
			When:   routing.Conditions{{Field: "header", Name: "x-0", Values: []string{"*" + strings.ToUpper(letters) + "*"}}},
			Action: routing.To(routing.BackendID(fmt.Sprintf("%s/s%d:80/%d", namespace, i, version))), Index: i,
			Owner: routing.Owner{Namespace: namespace, Name: "web"},
		})
	}
	return out
}

func together(routes ...[]routing.Route) *precedence.Table {
	c := routing.Config{Key: "fairlead/@all/internal", Listeners: []routing.Listener{{Port: 80, Protocol: routing.HTTP}}}
	for _, some := range routes {
		for _, r := range some {
			r.Index = len(c.Routes)
			c.Routes = append(c.Routes, r)
		}
	}
	return tables.Named(c)
}

// one is a route of a Prefix.
func one(namespace, host, path, service string, when ...routing.Condition) []routing.Route {
	return []routing.Route{{Host: routing.Host(host), Path: routing.Path{Type: routing.Prefix, Value: path}, Ports: []int32{80},
		Action: routing.To(routing.BackendID(namespace + "/" + service + ":80")), Owner: routing.Owner{Namespace: namespace, Name: "web"}, When: when}}
}

func of(t *precedence.Table) []*precedence.Table { return []*precedence.Table{t} }

// TestGlobsCostNoMoreThanTheBudget compares hosts of four namespaces whose globs have more
// combinations than can be searched, with the budgets of a command and of a plan.
func TestGlobsCostNoMoreThanTheBudget(t *testing.T) {
	version := func(v, n int) *precedence.Table {
		var all [][]routing.Route
		for _, namespace := range []string{"a", "b", "c", "d"} {
			all = append(all, tangled(n, namespace, routing.Host(namespace+".example.com"), v))
		}
		return together(all...)
	}
	for _, n := range nightly.Some(t, 4, []int{15, 20, 40, 80}) {
		for name, b := range map[string]requests.Budget{"command": requests.OfCommand, "plan": requests.OfPlan} {
			before, after := version(1, n), version(2, n)
			var report Report
			memory := peakDuring(func() { report = Tables(of(before), of(after), b) })
			if len(report.Undecided) == 0 || report.Protection() != Unknown {
				t.Errorf("%s, %d globs: all is decided", name, n)
			}
			if memory > 192<<20 {
				t.Errorf("%s, %d globs: %d MiB", name, n, memory>>20)
			}
		}
	}
}

// peakDuring returns by how much the heap grows while a function runs.
func peakDuring(do func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as in a command; make test-all has another GOGC
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	began, peak := m.HeapAlloc, m.HeapAlloc
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	}()
	do()
	close(done)
	<-stopped
	return peak - began
}

// TestGlobsCostTheirNamespaceAlone has three namespaces whose globs take all steps of a command, and
// changes a path of a fourth one: it is found, and the others are named.
func TestGlobsCostTheirNamespaceAlone(t *testing.T) {
	version := func(v int) *precedence.Table {
		return together(tangled(80, "a", "a.example.com", v), tangled(80, "b", "b.example.com", v),
			tangled(80, "c", "c.example.com", v), tangled(80, "d", "d.example.com", v),
			one("alice", "z.example.com", "/shop", fmt.Sprint("s", v)), one("alice", "", "/", fmt.Sprint("s", v)))
	}
	report := Tables(of(version(1)), of(version(2)), requests.OfCommand)
	hosts := map[string]bool{}
	for _, u := range report.Undecided {
		if u.Namespace != "" && string(u.Host) != u.Namespace+".example.com" || !strings.Contains(u.Why, cmp.Or(u.Namespace, "its budget")) {
			t.Errorf("%+v", u)
		}
		hosts[string(u.Host)] = true
	}
	if len(hosts) != 4 {
		t.Errorf("undecided: %v", hosts)
	}
	found := map[routing.Host]bool{}
	for _, c := range report.Changes {
		found[c.Host] = found[c.Host] || c.After.Ingress == "alice/web"
	}
	if !found["z.example.com"] || !found[routing.Any] {
		t.Errorf("the changes of alice are not found: %v", found)
	}
}

// TestTheOneWithManyStatesPays has two globs of bob with thousands of states on a host where alice
// has ten simple ones: bob is the reason why it is undecided, although he has fewer patterns.
func TestTheOneWithManyStatesPays(t *testing.T) {
	version := func(v int) *precedence.Table {
		alice := tangled(10, "alice", "h.example.com", v)
		for i := range alice {
			alice[i].When = nil
		}
		bob := append(one("bob", "h.example.com", "", "s1"), one("bob", "h.example.com", "", fmt.Sprint("s", v))...)
		for i, glob := range []string{"/*de????????????f1", "/*bc????????????d2"} {
			bob[i].Path = routing.Path{Type: routing.Glob, Value: glob}
			bob[i].When = routing.Conditions{{Field: "header", Name: "x-b", Values: []string{fmt.Sprint(i)}}}
		}
		return together(alice, bob)
	}
	report := Tables(of(version(1)), of(version(2)), requests.OfPlan)
	if len(report.Undecided) != 1 || report.Undecided[0].Namespace != "bob" {
		t.Errorf("undecided: %+v", report.Undecided)
	}
}

// TestALossOfProtectionIsFoundBesideGlobs opens a path that was for one network, and edits 80 globs
// of the same host in the same change.
func TestALossOfProtectionIsFoundBesideGlobs(t *testing.T) {
	office := routing.Condition{Field: "source", Values: []string{"10.0.0.0/8"}}
	const path = "/internal/administration/of/everything"
	before := together(tangled(80, "shop", "h.example.com", 1), one("shop", "h.example.com", path, "admin", office))
	after := together(tangled(80, "shop", "h.example.com", 2), one("shop", "h.example.com", path, "admin"))
	report := Tables(of(before), of(after), requests.OfCommand)
	if len(report.Undecided) == 0 {
		t.Error("all is decided")
	}
	if !slices.ContainsFunc(report.Changes, func(c Change) bool {
		return c.Protection == Less && strings.HasSuffix(c.Request.URL, path)
	}) {
		t.Errorf("the path is not found among %d changes", len(report.Changes))
	}
}

// edited is a load balancer with another configuration.
func edited(t *precedence.Table, edit func(*routing.Config)) *precedence.Table {
	c := t.Config
	edit(&c)
	return precedence.New(c)
}

func movedTo(key routing.Key, t *precedence.Table) *precedence.Table {
	return edited(t, func(c *routing.Config) { c.Key = key })
}

// protections are those of a path of a load balancer, by the reason that says that they are lost.
func protections(path string) map[string]*precedence.Table {
	office := routing.Condition{Field: "source", Values: []string{"10.0.0.0/8"}}
	return map[string]*precedence.Table{
		becauseOfAddresses: together(one("shop", "h.example.com", path, "admin", office)),
		"web ACL: edge, now none": edited(together(one("shop", "h.example.com", path, "admin")), func(c *routing.Config) {
			c.Protection.WebACL = "edge"
		}),
	}
}

// TestALossOfProtectionByAMoveIsFoundBesideGlobs moves a path to another load balancer, where globs
// of its host are edited. The path is found, and the rest is undecided.
func TestALossOfProtectionByAMoveIsFoundBesideGlobs(t *testing.T) {
	const path = "/internal/administration/of/everything"
	for because, protected := range nightly.Cases(t, protections(path)) {
		before := []*precedence.Table{protected, movedTo("fairlead/shop/web/internal", together(tangled(80, "shop", "h.example.com", 1)))}
		after := together(tangled(80, "shop", "h.example.com", 2), one("shop", "h.example.com", path, "admin"))
		wantLoss(t, Tables(before, of(movedTo("fairlead/shop/web/internal", after)), requests.OfCommand), because, path)
	}
}

// TestALossOfProtectionIsFoundBesideManyPorts has more load balancers with different rules for a host
// than are searched together. One of them protected a path that another one serves now.
func TestALossOfProtectionIsFoundBesideManyPorts(t *testing.T) {
	for because, protected := range protections("/admin") {
		before := of(protected)
		for i := range mostWays + 1 {
			key := routing.Key(fmt.Sprintf("fairlead/shop/other-%d/internal", i))
			before = append(before, movedTo(key, together(one("shop", "h.example.com", fmt.Sprint("/x", i), "admin"))))
		}
		after := slices.Concat(before[1:], of(movedTo("fairlead/shop/web/internal", together(one("shop", "h.example.com", "/admin", "admin")))))
		wantLoss(t, Tables(before, after, requests.OfCommand), because, "/admin")
	}
}

// wantLoss wants one path less protected, for a reason, in a report that is not complete.
func wantLoss(t *testing.T, report Report, because, path string) {
	t.Helper()
	if len(report.Undecided) == 0 {
		t.Errorf("%s: all is decided", because)
	}
	if !slices.ContainsFunc(report.Changes, func(c Change) bool {
		return c.Protection == Less && c.Because == because && strings.HasSuffix(c.Request.URL, path)
	}) {
		t.Errorf("%s: the path is not found among %d changes", because, len(report.Changes))
	}
}

// TestAnExpressionWithoutAnAutomatonIsUndecided names the namespace that has it.
func TestAnExpressionWithoutAnAutomatonIsUndecided(t *testing.T) {
	before, after := base(), base()
	after.Routes[0].Path = routing.Path{Type: routing.Regex, Value: `/.*\b`}
	report := Tables(of(tables.Named(before)), of(tables.Named(after)), requests.OfCommand)
	if len(report.Undecided) == 0 || report.Empty() || report.Undecided[0].Namespace != after.Routes[0].Owner.Namespace {
		t.Errorf("%+v", report)
	}
}
