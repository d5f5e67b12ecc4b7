package compare

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/tables"
)

// base has a host on ports 80 and 443.
func base() routing.Config {
	return routing.Config{
		Key:      "fairlead/shop/web/internal",
		Settings: routing.Settings{Scheme: "internal"},
		Listeners: []routing.Listener{
			{Port: 80, Protocol: routing.HTTP, Inbound: []string{"10.0.0.0/8"}},
			{Port: 443, Protocol: routing.HTTPS, Inbound: []string{"10.0.0.0/8"}, Certificates: []routing.CertificateID{"one"}},
		},
		Certificates: []routing.Certificate{{ID: "one", Hosts: []string{"x.test"}}, {ID: "two", Hosts: []string{"*.test"}}, {ID: "other", Hosts: []string{"y.test"}}},
		Routes: []routing.Route{{Host: "x.test", Path: routing.Root, Spelt: "/", Ports: []int32{80, 443}, Action: routing.To("shop/web:80"),
			Owner: routing.Owner{Namespace: "shop", Name: "web"}}},
	}
}

func TestExposures(t *testing.T) {
	cases := map[string]struct {
		before, after func(*routing.Config) // nil: as base has it
		want          []string
	}{
		"nothing differs": {},
		"the internet reaches what it did not": {
			after: func(c *routing.Config) {
				c.Key, c.Settings.Scheme = "fairlead/shop/web/internet-facing", "internet-facing"
			},
			want: []string{"scheme: internal, internet-facing, less"}},
		"a part of the ranges": {
			after: func(c *routing.Config) { c.Listeners[0].Inbound = []string{"10.1.0.0/16"} },
			want:  []string{"inbound ranges: 10.0.0.0/8, 10.1.0.0/16, more"}},
		"the same range in halves": {
			after: func(c *routing.Config) { c.Listeners[0].Inbound = []string{"10.0.0.0/9", "10.128.0.0/9"} }},
		"other ranges": {
			after: func(c *routing.Config) { c.Listeners[0].Inbound = []string{"192.0.2.0/24"} },
			want:  []string{"inbound ranges: 10.0.0.0/8, 192.0.2.0/24, less"}},
		"everybody": {
			after: func(c *routing.Config) { c.Listeners[0].Inbound = nil },
			want:  []string{"inbound ranges: 10.0.0.0/8, everybody, less"}},
		"a list besides": {
			after: func(c *routing.Config) { c.Listeners[0].Inbound = []string{"10.0.0.0/8", "pl-1"} },
			want:  []string{"inbound ranges: 10.0.0.0/8, 10.0.0.0/8, pl-1, less"}},
		"clients no longer show certificates": {
			before: func(c *routing.Config) { c.Listeners[1].Mutual = &routing.MutualAuthentication{Mode: "verify"} },
			want:   []string{"mutual TLS: verify, off, less"}},
		"another trust store": {
			before: func(c *routing.Config) {
				c.Listeners[1].Mutual = &routing.MutualAuthentication{Mode: "verify", TrustStore: "a"}
			},
			after: func(c *routing.Config) {
				c.Listeners[1].Mutual = &routing.MutualAuthentication{Mode: "verify", TrustStore: "b"}
			},
			want: []string{"mutual TLS: verify with trust store a, verify with trust store b, unknown"}},
		"a web ACL": {
			after: func(c *routing.Config) { c.Protection.WebACL = "edge" },
			want:  []string{"web ACL: none, edge, more"}},
		"no web ACL": {
			before: func(c *routing.Config) { c.Protection.WebACL = "edge" },
			after:  func(c *routing.Config) { c.Protection.WebACL = routing.NoWebACL },
			want:   []string{"web ACL: edge, none, less"}},
		"a port for all": {
			after: func(c *routing.Config) {
				c.Listeners = append(c.Listeners, routing.Listener{Port: 8080, Protocol: routing.HTTP})
			},
			want: []string{"port: closed, HTTP for everybody, less"}},
		"HTTPS for those who could connect over HTTP": {
			before: func(c *routing.Config) { c.Listeners = c.Listeners[:1] },
			want:   []string{"port: closed, HTTPS for 10.0.0.0/8, same"}},
		"HTTPS for others as well": {
			before: func(c *routing.Config) { c.Listeners = c.Listeners[:1] },
			after:  func(c *routing.Config) { c.Listeners[1].Inbound = nil },
			want:   []string{"port: closed, HTTPS for everybody, less"}},
		"a port is closed": {
			after: func(c *routing.Config) { c.Listeners = c.Listeners[1:] },
			want:  []string{"port: HTTP for 10.0.0.0/8, closed, more"}},
		"no encryption": {
			after: func(c *routing.Config) { c.Listeners[1].Protocol = routing.HTTP },
			want:  []string{"protocol: HTTPS, HTTP, less"}},
		"a certificate for another host": {
			after: func(c *routing.Config) { c.Listeners[1].Certificates[0] = "other" },
			want: []string{"certificate for x.test: one for x.test, other for y.test (not for this host), less",
				"certificate for : one for x.test (not for this host), other for y.test (not for this host), same"}},
		"a certificate of unknown names": {
			after: func(c *routing.Config) { c.Listeners[1].Certificates[0] = "arn" },
			want: []string{"certificate for x.test: one for x.test, arn (its names are not known), unknown",
				"certificate for : one for x.test (not for this host), arn (its names are not known), same"}},
		"a certificate of known names": {
			before: func(c *routing.Config) { c.Listeners[1].Certificates[0] = "arn" },
			want: []string{"certificate for x.test: arn (its names are not known), one for x.test, same",
				"certificate for : arn (its names are not known), one for x.test (not for this host), same"}},
		"a new host with its certificate": {
			after: func(c *routing.Config) {
				c.Listeners[1].Certificates = []routing.CertificateID{"one", "other"}
				c.Routes = append(c.Routes, c.Routes[0])
				c.Routes[1].Host = "y.test"
			},
			want: []string{"certificate for y.test: one for x.test (not for this host), other for y.test, same"}},
		"a host that goes with its certificate": {
			before: func(c *routing.Config) {
				c.Listeners[1].Certificates = []routing.CertificateID{"one", "other"}
				c.Routes = append(c.Routes, c.Routes[0])
				c.Routes[1].Host = "y.test"
			},
			want: []string{"certificate for y.test: other for y.test, one for x.test (not for this host), same"}},
		"a wildcard's certificate": {
			after: func(c *routing.Config) { c.Listeners[1].Certificates[0] = "two" },
			want: []string{"certificate for x.test: one for x.test, two for *.test, same",
				"certificate for : one for x.test (not for this host), two for *.test (not for this host), same"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := base(), base()
			for config, edit := range map[*routing.Config]func(*routing.Config){&before: c.before, &after: c.after} {
				if edit != nil {
					edit(config)
				}
			}
			var got []string
			report := Tables([]*precedence.Table{tables.Named(before)}, []*precedence.Table{tables.Named(after)}, requests.OfCommand)
			for _, e := range report.Exposures {
				setting := e.Setting
				if e.Setting == "certificate" {
					setting += " for " + string(e.Host)
				}
				got = append(got, setting+": "+e.Before+", "+e.After+", "+string(e.Protection))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRequestsAreLessProtected is about changes of routes that let more people through.
func TestRequestsAreLessProtected(t *testing.T) {
	signIn := routing.To("shop/web:80")
	signIn.Auth = &routing.Auth{Kind: routing.OIDC, Issuer: "https://id.test", OnMissing: "authenticate", SecurePort: 443}
	optional := routing.To("shop/web:80")
	optional.Auth = &routing.Auth{Kind: routing.OIDC, Issuer: "https://id.test", OnMissing: "allow", SecurePort: 443}
	office := routing.Conditions{{Field: "source", Values: []string{"10.0.0.0/8"}}}
	cases := map[string]struct {
		before, after routing.Action
		when          routing.Conditions // before
		want          Protection
	}{
		"another Service":                              {before: routing.To("shop/web:80"), after: routing.To("shop/new:80"), want: Same},
		"no sign-in any more":                          {before: signIn, after: routing.To("shop/web:80"), want: Less},
		"who is not signed in passes":                  {before: signIn, after: optional, want: Less},
		"a sign-in":                                    {before: routing.To("shop/web:80"), after: signIn, want: More},
		"nothing is served any more":                   {before: signIn, after: routing.NotFound(), want: Same},
		"addresses do not matter":                      {before: routing.To("shop/web:80"), when: office, after: routing.To("shop/web:80"), want: Less},
		"addresses did not matter for another Service": {before: routing.To("shop/old:80"), when: office, after: routing.To("shop/web:80"), want: Same},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := base(), base()
			before.Routes[0].Action, before.Routes[0].When, after.Routes[0].Action = c.before, c.when, c.after
			report := Tables([]*precedence.Table{tables.Named(before)}, []*precedence.Table{tables.Named(after)}, requests.OfCommand)
			if len(report.Changes) == 0 || report.Protection() != c.want {
				t.Errorf("%s: %+v", report.Protection(), report.Changes)
			}
		})
	}
}

// TestTheWorstCounts has a path whose address condition is dropped, beside sign-ins.
func TestTheWorstCounts(t *testing.T) {
	with := func(a routing.Action) routing.Action {
		a.Auth = &routing.Auth{Kind: routing.OIDC, Issuer: "https://id.test", OnMissing: "authenticate", SecurePort: 443}
		return a
	}
	office := routing.Conditions{{Field: "source", Values: []string{"10.0.0.0/8"}}}
	for name, root := range map[string]routing.Action{
		"the same sign-in for the path above": with(routing.To("shop/pub:80")),
		"no sign-in for the path above":       routing.To("shop/pub:80"),
	} {
		t.Run(name, func(t *testing.T) {
			config := func(when routing.Conditions) []*precedence.Table {
				c := base()
				admin := c.Routes[0]
				admin.Path, admin.Spelt = routing.NewPath(routing.Prefix, "/admin"), "/admin"
				admin.Action, admin.When = with(routing.To("shop/web:80")), when
				c.Routes[0].Action = root
				c.Routes = append(c.Routes, admin)
				return []*precedence.Table{tables.Named(c)}
			}
			report := Tables(config(office), config(nil), requests.OfCommand)
			if report.Protection() != Less {
				t.Errorf("%s: %+v", report.Protection(), report.Changes)
			}
		})
	}
}

// TestMoveBelowWildcard has an Ingress that moves to a load balancer with a wildcard for its host, which another Service
// answered there.
func TestMoveBelowWildcard(t *testing.T) {
	signIn := routing.To("shop/web:80")
	signIn.Auth = &routing.Auth{Kind: routing.OIDC, Issuer: "https://id.test", OnMissing: "authenticate", SecurePort: 443}
	both := routing.Action{Forward: []routing.Weighted{{Backend: "shop/pub:80", Weight: 1}, {Backend: "shop/web:80", Weight: 1}}}
	serving := func(group, scheme string, host routing.Host, a routing.Action) routing.Config {
		c := base()
		c.Key, c.Settings.Scheme = routing.Key("fairlead/shop/"+group+"/"+scheme), scheme
		c.Listeners[0].Inbound, c.Listeners[1].Inbound = nil, nil
		c.Routes[0].Host, c.Routes[0].Action = host, a
		return c
	}
	admin := serving("adm", "internal", "x.test", signIn)
	public := serving("pub", "internet-facing", "*.test", routing.To("shop/pub:80"))
	moved := func(a routing.Action) []routing.Config {
		c := public
		c.Routes = append(slices.Clone(c.Routes), serving("", "", "x.test", a).Routes...)
		return []routing.Config{c}
	}
	for name, c := range map[string]struct {
		after []routing.Config
		want  Protection
	}{
		"to the load balancer with the wildcard": {moved(routing.To("shop/web:80")), Less},
		"as one of two Services":                 {moved(both), Less},
		"to one beside it": {
			[]routing.Config{public, serving("new", "internet-facing", "x.test", routing.To("shop/web:80"))}, Less},
		"the wildcard's Service has the host": {moved(routing.To("shop/pub:80")), Same},
	} {
		t.Run(name, func(t *testing.T) {
			named := func(all ...routing.Config) (out []*precedence.Table) {
				for _, c := range all {
					out = append(out, tables.Named(c))
				}
				return out
			}
			report := Tables(named(admin, public), named(c.after...), requests.OfCommand)
			if report.Protection() != c.want {
				t.Errorf("%s: %+v", report.Protection(), report.Changes)
			}
		})
	}
}

func TestRequestsAreCommandLines(t *testing.T) {
	r := Written("https", routing.Request{
		Port: 8443, Host: "x.test", Path: "/a[b]/..", Method: "PUT",
		Header: map[string][]string{"x-a": {"it's", ""}}, Query: map[string][]string{"v": {"a/b", "1 2"}},
	})
	const want = `curl --path-as-is -g -X PUT -H 'x-a: it'\''s' -H 'x-a;' 'https://x.test:8443/a[b]/..?v=a/b&v=1%202'`
	if got := r.Curl(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
