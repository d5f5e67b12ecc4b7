package accesslog

import "bytes"

// This file reads the actions that a load balancer took, in their order, between commas.

// Actions has the actions of a line.
type Actions struct {
	// Final is the action of a rule: forward, redirect or fixed; empty if none was reached, as a
	// firewall refused the request or a user had to sign in first.
	Final string
	// Authenticated: the load balancer signed a user in, or checked the session.
	Authenticated bool
}

// Actions reads the actions of the line. Undocumented words are ignored.
func (l *Line) Actions() Actions {
	var out Actions
	rest := l.fields[ActionsExecuted]
	for found := true; found; {
		var action []byte
		action, rest, found = bytes.Cut(rest, []byte(","))
		out.Final = ""
		switch string(action) {
		case "authenticate":
			out.Authenticated = true
		case "forward":
			out.Final = "forward"
		case "redirect":
			out.Final = "redirect"
		case "fixed-response":
			out.Final = "fixed"
		}
	}
	return out
}
