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

// protection compares how the two candidates of a difference protect a request.
func (d difference) protection(r routing.Request) (Protection, string, []string) {
	old, now := d.old[d.found.First], d.now[d.found.Second]
	before, on := protocolOn(d.before, d.port), protocolOn(d.after, d.port)
	switch {
	case SignsIn(old.Action) && Reaches(now.Action, on) && !SignsIn(now.Action):
		return Less, "users no longer have to sign in", nil
	case SignsIn(old.Action) && SignsIn(now.Action) &&
		Reaches(old.Action, before) && Reaches(now.Action, on):
		p, details := compareAuth(old.Action.Auth, now.Action.Auth)
		return p, becauseOfAuth[p], details
	case SignsIn(now.Action) && Reaches(old.Action, before) && !SignsIn(old.Action):
		return More, "users have to sign in", nil
	case toHTTPS(old.Action, d.before, d.port) && on == routing.HTTP && Reaches(now.Action, on):
		return Less, "clients are no longer sent to HTTPS", nil
	case toHTTPS(now.Action, d.after, d.port) && Reaches(old.Action, routing.HTTP):
		return More, "clients are sent to HTTPS", nil
	case withheldFrom(d.old, d.found.First, now, r):
		return Less, becauseOfAddresses, nil
	case withheldFrom(d.now, d.found.Second, old, r):
		return More, "only clients with some addresses get to the Service", nil
	}
	return Same, "", nil
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
func withheldFrom(list []Candidate, answered int, now Candidate, r routing.Request) bool {
	if len(now.Action.Forward) == 0 {
		return false
	}
	return slices.ContainsFunc(list[:answered], func(c Candidate) bool {
		return c.Route != nil && sharesBackend(c.Action, now.Action) && c.Route.Path.Matches(r.Path) &&
			!c.Route.When.Hold(r) && besidesSource(c.Route.When).Hold(r)
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
