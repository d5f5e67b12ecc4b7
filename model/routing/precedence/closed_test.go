package precedence

import (
	"testing"

	"fairlead.dev/fairlead/model/routing"
)

// A closed host answers 404 on its port, and what covers it answers elsewhere. A rule that names the
// host opens it, on any port; spec.tls does not.
func TestClosedHosts(t *testing.T) {
	const listing = "listing"
	for name, c := range map[string]struct {
		routes []string // each with the Service of its place, A, B, …
		closed routing.Host
		named  string // how else the host is named: listing, or nothing
		miss   routing.HostMiss
		owned  bool
		want   map[string]string // by host and path
	}{
		"below a wildcard":  {routes: []string{"*.a.io /"}, closed: "x.a.io", want: map[string]string{"x.a.io/": "", "y.a.io/": "A"}},
		"of no rule's host": {routes: []string{"- /"}, closed: "x.a.io", want: map[string]string{"x.a.io/": "", "y.a.io/": "A"}},
		"that falls through": {
			routes: []string{"*.a.io /", "- /"}, closed: "x.a.io", miss: routing.MissFallsThrough,
			want: map[string]string{"x.a.io/": "", "y.a.io/": "A", "z.io/": "B"},
		},
		"that a rule names": {routes: []string{"- /", "x.a.io /p"}, closed: "x.a.io", want: map[string]string{"x.a.io/": "", "x.a.io/p": "B"}},
		"that is listed":    {routes: []string{"- /"}, closed: "x.a.io", named: listing, want: map[string]string{"x.a.io/": ""}},
		"a wildcard":        {routes: []string{"- /", "x.a.io /p"}, closed: "*.a.io", want: map[string]string{"y.a.io/": "", "x.a.io/p": "B", "z.io/": "A"}},
		"a wildcard above a host that falls through": {
			routes: []string{"- /", "x.a.io /p"}, closed: "*.a.io", miss: routing.MissFallsThrough,
			want: map[string]string{"x.a.io/": "", "x.a.io/p": "B", "y.a.io/": ""},
		},
		"a wildcard above a host of an owner that falls through": {
			routes: []string{"- /", "x.a.io /p"}, closed: "*.a.io", miss: routing.MissFallsThrough, owned: true,
			want: map[string]string{"x.a.io/": "A", "x.a.io/p": "B", "y.a.io/": ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := routing.Config{HostMiss: c.miss, HostsOwned: c.owned, Listeners: []routing.Listener{{Port: 80, Protocol: "HTTP"}, {Port: 81, Protocol: "HTTP"}}}
			for i, text := range c.routes {
				r := route(older, text, string(rune('A'+i)), i)
				r.Ports = []int32{80, 81}
				config.Routes = append(config.Routes, r)
				if r.Host != routing.Any {
					config.Names = append(config.Names, routing.Name{Host: r.Host, Owner: r.Owner, Ports: r.Ports})
				}
				if c.named == listing {
					r.Listed, r.Host = &routing.Listed{By: r.Host}, c.closed
					config.Routes = append(config.Routes, r)
					config.Names = append(config.Names, routing.Name{Host: r.Host, Owner: r.Owner, Ports: r.Ports, Listed: r.Listed})
				}
			}
			open := New(config)
			config.Closed = []routing.ClosedHost{{Host: c.closed, Port: 80}, {Host: c.closed, Port: 99}}
			table := New(config)
			for url, want := range c.want {
				ask := request(url)
				if got := serviceOf(table.Match(ask)); got != want {
					t.Errorf("%s is answered by %q, want %q", url, got, want)
				}
				ask.Port = 81
				if got, want := serviceOf(table.Match(ask)), serviceOf(open.Match(ask)); got != want {
					t.Errorf("on the other port %s is answered by %q, want %q", url, got, want)
				}
			}
		})
	}
}

func serviceOf(o Outcome) string {
	if len(o.Action.Forward) == 0 {
		return ""
	}
	return string(o.Action.Forward[0].Backend)
}
