package precedence_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/nightly"
	"fairlead.dev/fairlead/test/tables"
)

// With redirects, a request over HTTP gets the answer that it gets without them, but for a redirect where what answers it
// has one and it is no challenge. So redirects change no precedence.
func TestRedirectsChangeNoPrecedence(t *testing.T) {
	redirected, through := 0, 0
	for n := range nightly.Times(2000) {
		g := &tables.Generator{Rand: rand.New(rand.NewPCG(44, uint64(n)))}
		with := g.Config()
		without := with
		without.Routes, without.Defaults = slices.Clone(with.Routes), slices.Clone(with.Defaults)
		for i := range without.Routes {
			without.Routes[i].Action.SSLRedirect = nil
		}
		for i := range without.Defaults {
			without.Defaults[i].Action.SSLRedirect = nil
		}
		table, plain := tables.Named(with), tables.Named(without)
		for range 100 {
			r := g.Request(with)
			if g.IntN(3) == 0 {
				r.Path = routing.ChallengePath.Value + []string{"", "/", "/a", "/b/c", "s"}[g.IntN(5)]
			}
			got, before := table.Match(r), plain.Match(r)
			to := redirectOf(table, before, r)
			want := before.Action
			switch challenge := routing.ChallengePath.Matches(r.Path); {
			case to == nil || r.Port == 443:
			case before.Route != nil && before.Route.Path.Type == routing.Regex && challenge:
				continue // it may redirect them
			case !challenge || to.Challenges:
				want = to.Redirect()
				redirected++
			default:
				through++
			}
			if got.Action.Key() != want.Key() || got.Source != before.Source {
				t.Fatalf("table %d, %s%s on %d: %s of %s (%s), want %s of %s", n, r.Host, r.Path, r.Port, got.Action.Key(), got.Source, got.Why(), want.Key(), before.Source)
			}
		}
	}
	if least := nightly.Times(1000); redirected < least || through < least {
		t.Errorf("%d requests are redirected, and %d let through: too few to show anything", redirected, through)
	}
}

// redirectOf returns the redirect of what answers a request: of a default backend only if a name of its Ingress has the
// host on both ports.
func redirectOf(t *precedence.Table, o precedence.Outcome, r routing.Request) *routing.SSLRedirect {
	for i := range t.Routes {
		if o.Route != nil && t.Routes[i].Source == o.Source {
			return t.Routes[i].Action.SSLRedirect
		}
	}
	if o.Miss == nil {
		return nil
	}
	for _, d := range t.Defaults {
		if d.Source != o.Source || d.Action.SSLRedirect == nil {
			continue
		}
		port := d.Action.SSLRedirect.Port
		if o.Host == routing.Any && slices.Contains(d.Ports, port) || o.Host != routing.Any && slices.ContainsFunc(t.Names, func(n routing.Name) bool {
			return n.Host == o.Host && n.Owner.String() == d.Owner.String() && slices.Contains(n.Ports, port) && slices.Contains(n.Ports, r.Port)
		}) {
			return d.Action.SSLRedirect
		}
	}
	return nil
}

// A redirect of all requests answers over HTTP what no route matches, and nothing else: neither what routes answer, nor HTTPS.
func TestRedirectsOfAllAnswerMissesOverHTTP(t *testing.T) {
	redirected, same := 0, 0
	for n := range nightly.Times(2000) {
		g := &tables.Generator{Rand: rand.New(rand.NewPCG(45, uint64(n)))}
		with := g.Config()
		with.HostsOwned = false // with owners, what is for any host is of one namespace
		without := with
		without.Defaults = slices.DeleteFunc(slices.Clone(with.Defaults), func(d routing.Default) bool { return d.Plain })
		if len(with.Defaults) == len(without.Defaults) {
			continue
		}
		table, plain := tables.Named(with), tables.Named(without)
		for range 100 {
			r := g.Request(with)
			got, before := table.Match(r), plain.Match(r)
			switch {
			case got.Miss != nil && got.Miss.Plain && before.Route == nil && r.Port == 80 && got.Action.Redirect != nil:
				redirected++
			case got.Action.Key() == before.Action.Key() && got.Source == before.Source:
				same++
			default:
				t.Fatalf("table %d, %s%s on %d: %s of %s (%s), and before %s of %s", n, r.Host, r.Path, r.Port, got.Action.Key(), got.Source, got.Why(), before.Action.Key(), before.Source)
			}
		}
	}
	if least := nightly.Times(1000); redirected < least || same < least {
		t.Errorf("%d requests are redirected, and %d are answered as before: too few to show anything", redirected, same)
	}
}
