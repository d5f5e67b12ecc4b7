package compare

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file decides whether requests with another answer are less protected. Newly served requests
// are not: they were not protected before, and the author decides about them.

// A Protection compares the protection of requests, or of a load balancer, after a change with that
// before.
type Protection string

// The values of Protection. Unknown may be either.
const (
	Same    Protection = "same"
	Less    Protection = "less"
	More    Protection = "more"
	Unknown Protection = "unknown"
)

// A difference is a pair of candidates that answer a request differently.
type difference struct {
	pair
	port     int32
	class    HostClass
	old, now []Candidate
	found    requests.Pair
}

// protection compares how the two candidates of a difference protect a request. The worst of what
// the sign-in, HTTPS and the client's address say counts.
func (d difference) protection(r routing.Request) (Protection, string, []string) {
	out := verdict{Protection: Same}
	for _, v := range []verdict{d.signIn(), d.encryption(), d.addresses(r)} {
		if v.worseThan(out) {
			out = v
		}
	}
	return out.Protection, out.because, out.details
}

// signIn compares whether users have to sign in, and how.
func (d difference) signIn() verdict {
	old, now, oldReaches, nowReaches := d.actions()
	switch {
	case SignsIn(old) && nowReaches && !SignsIn(now):
		return verdict{Less, "users no longer have to sign in", nil}
	case SignsIn(old) && SignsIn(now) && oldReaches && nowReaches:
		p, details := compareAuth(old.Auth, now.Auth)
		return verdict{p, becauseOfAuth[p], details}
	case SignsIn(now) && oldReaches && !SignsIn(old):
		return verdict{More, "users have to sign in", nil}
	}
	return verdict{Protection: Same}
}

// encryption compares whether clients are sent to HTTPS.
func (d difference) encryption() verdict {
	old, now, _, nowReaches := d.actions()
	switch {
	case toHTTPS(old, d.before, d.port) && protocolOn(d.after, d.port) == routing.HTTP && nowReaches:
		return verdict{Less, "clients are no longer sent to HTTPS", nil}
	case toHTTPS(now, d.after, d.port) && Reaches(old, routing.HTTP):
		return verdict{More, "clients are sent to HTTPS", nil}
	}
	return verdict{Protection: Same}
}

// addresses compares whether the client's address keeps a request from a Service.
func (d difference) addresses(r routing.Request) verdict {
	old, now, oldReaches, nowReaches := d.actions()
	switch {
	case nowReaches && withheldFrom(d.old, d.found.First, now, r):
		return verdict{Less, becauseOfAddresses, nil}
	case oldReaches && withheldFrom(d.now, d.found.Second, old, r):
		return verdict{More, "only clients with some addresses get to the Service", nil}
	}
	return verdict{Protection: Same}
}

// actions returns both actions, and whether they forward to a Service.
func (d difference) actions() (old, now routing.Action, oldReaches, nowReaches bool) {
	old, now = d.old[d.found.First].Action, d.now[d.found.Second].Action
	return old, now, Reaches(old, protocolOn(d.before, d.port)),
		Reaches(now, protocolOn(d.after, d.port))
}

const becauseOfAddresses = "clients with other addresses get to the Service, too"

// becauseOfAuth says how two sign-ins differ.
var becauseOfAuth = map[Protection]string{
	Less:    "the sign-in asks for less",
	More:    "the sign-in asks for more",
	Unknown: "another identity provider, or other settings of it, decides on the users",
}

// SignsIn reports whether an action is for signed-in users only.
func SignsIn(a routing.Action) bool { return a.Auth != nil && a.Auth.OnMissing != "allow" }

// Reaches reports whether an action forwards to a Service on a port of a protocol.
func Reaches(a routing.Action, on routing.Protocol) bool { return len(a.On(on).Forward) > 0 }

// toHTTPS reports whether clients without HTTPS are redirected to it.
func toHTTPS(a routing.Action, t *precedence.Table, port int32) bool {
	on := protocolOn(t, port)
	a = a.On(on)
	return on == routing.HTTP && a.Redirect != nil && strings.EqualFold(a.Redirect.Scheme, "https")
}

// withheldFrom reports whether the backend that answers now is in an entry before the one that
// answered, for the same path, with a condition on the client's address only that the request
// fails.
func withheldFrom(list []Candidate, answered int, now routing.Action, r routing.Request) bool {
	return slices.ContainsFunc(list[:answered], func(c Candidate) bool {
		return c.Route != nil && sharesBackend(c.Action, now) && c.Route.Path.Matches(r.Path) &&
			!c.Route.When.Match(r) && besidesSource(c.Route.When).Match(r)
	})
}

func sharesBackend(a, b routing.Action) bool {
	return slices.ContainsFunc(a.Forward, func(w routing.Weighted) bool {
		same := func(o routing.Weighted) bool { return o.Backend == w.Backend }
		return slices.ContainsFunc(b.Forward, same)
	})
}

// besidesSource returns conditions without those on the client's address.
func besidesSource(when routing.Conditions) routing.Conditions {
	about := func(c routing.Condition) bool { return c.Field == "source" }
	return slices.DeleteFunc(slices.Clone(when), about)
}
