package lowering

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// TestAPortIsClosedWhoseProtectionACloudLacks asks for a protection of port 443 that a cloud does
// not have.
func TestAPortIsClosedWhoseProtectionACloudLacks(t *testing.T) {
	able := lb.Literal()
	able.Inbound = true
	for name, c := range map[string]struct {
		listener routing.Listener
		lack     func(*lb.Capabilities)
		why      string
	}{
		"ranges of addresses":    {routing.Listener{Inbound: []string{"10.0.0.0/8"}}, func(c *lb.Capabilities) { c.Inbound = false }, "literal cannot limit their addresses"},
		"client certificates":    {routing.Listener{Mutual: &routing.MutualAuthentication{Mode: "verify"}}, func(c *lb.Capabilities) { c.NoClientCertificates = true }, "literal does not ask for one"},
		"TLS policies":           {routing.Listener{TLSPolicy: "modern"}, func(c *lb.Capabilities) { c.NoTLSPolicies = true }, "literal has none to choose from"},
		"one of the policies":    {routing.Listener{TLSPolicy: "modern"}, func(c *lb.Capabilities) { c.TLSPolicies = []string{"old", "older"} }, "those of literal are old, older"},
		"two lacks, two reasons": {routing.Listener{TLSPolicy: "modern", Inbound: []string{"10.0.0.0/8"}}, func(c *lb.Capabilities) { c.NoTLSPolicies, c.Inbound = true, false }, "cannot limit their addresses"},
	} {
		t.Run(name, func(t *testing.T) {
			c.listener.Port, c.listener.Protocol = 443, "HTTPS"
			table := precedence.New(routing.Config{
				Listeners: []routing.Listener{{Port: 80, Protocol: "HTTP"}, c.listener},
				Routes:    []routing.Route{aRoute("one", "x.a.test", routing.Root, "A", 0, 80, 443)},
				Backends:  map[routing.BackendID]routing.Backend{"A": {ID: "A"}},
			})
			if got, _, refusals := Lower(table, able); len(refusals) > 0 || len(got.Listeners) != 2 {
				t.Fatalf("a cloud that has it opens %d ports and refuses %v", len(got.Listeners), refusals)
			}
			lacking := able
			c.lack(&lacking)
			got, _, refusals := Lower(table, lacking)
			if len(got.Listeners) != 1 || got.Listeners[0].Port != 80 {
				t.Errorf("ports %v are open, want 80 alone", got.Listeners)
			}
			if len(refusals) != 1 || !strings.Contains(refusals[0].Why, c.why) || len(refusals[0].Ports) != 1 || refusals[0].Ports[0] != 443 {
				t.Errorf("told %v, want %q about port 443", refusals, c.why)
			}
		})
	}
}

// TestWhatACloudLacksIsRefusedByName asks for conditions and actions that not every cloud has.
func TestWhatACloudLacksIsRefusedByName(t *testing.T) {
	lacking := lb.Literal()
	lacking.FieldsRefused, lacking.NoStickyForward = []string{"header", "method", "query", "source"}, true
	for field, why := range map[string]string{
		"header": "no conditions on headers", "method": "no conditions on methods", "query": "no conditions on query parameters", "source": "no conditions on source addresses",
	} {
		r := aRoute("one", "x.a.test", routing.Root, "A", 0, 80)
		r.When = routing.Conditions{{Field: field, Name: "x", Values: []string{"192.0.2.1/32"}}}
		refusedFor(t, r, lacking, why)
	}
	r := aRoute("one", "x.a.test", routing.Root, "A", 0, 80)
	r.Action = routing.Action{Forward: []routing.Weighted{{Backend: "A", Weight: 1}, {Backend: "B", Weight: 1}}, StickySeconds: 60}
	refusedFor(t, r, lacking, "does not keep clients with one of several Services")
}

// refusedFor expects a route to be refused, and served where nothing is lacking.
func refusedFor(t *testing.T, r routing.Route, c lb.Capabilities, why string) {
	t.Helper()
	table := tableOf(routing.Config{Routes: []routing.Route{r}})
	if _, served, refusals := Lower(table, c); len(served.Routes) > 0 || len(refusals) != 1 || !strings.Contains(refusals[0].Why, why) {
		t.Errorf("%d routes are served, and told is %v, want %q", len(served.Routes), refusals, why)
	}
	if _, _, refusals := Lower(table, lb.Literal()); len(refusals) > 0 {
		t.Errorf("a cloud that lacks nothing refuses %v", refusals)
	}
}
