package routing

import (
	"fairlead.dev/fairlead/model/diag"
)

// A Route sends the requests that match a host, a path and further conditions to an action, on
// the ports where it is served.
type Route struct {
	Host   Host
	Listed *Listed // nil if a rule names the host
	Path   Path
	When   Conditions
	Action Action
	Ports  []int32 // ascending
	// Through is the path of the redirect to HTTPS that lets the requests of this route through, and
	// ranks the route; nil for a route of an Ingress. Only levels of a table have such routes.
	Through *Path
	Owner   Owner
	Index   int    // position among the routes of its Ingress
	Spelt   string // the path in its original form
	// BySpelling: the route ranks by its spelling, in place of the text of its path: the longer goes first, then the one
	// that sorts later.
	BySpelling bool
	Source     diag.Source
}

// A Listed marks a route or name whose host is listed in spec.tls but not named by a rule of the
// Ingress: its rules for another host that covers it answer. See listed.go.
type Listed struct {
	By Host // the wildcard that covers the host, or Any
}

// A Name is a host that a rule of an Ingress names, with or without paths, and the ports that serve
// it. Rules without a host never answer for a named host, on any port. A host that spec.tls lists
// is named on Ports only.
type Name struct {
	Host   Host    // never Any
	Listed *Listed // nil if a rule names the host
	Owner  Owner
	Ports  []int32
	// Beside: on ports where this listed host is not named, no wildcard answers for it.
	Beside bool
	Unsaid []int32 // ports whose rules cannot express this host; it counts as not named there
	Source diag.Source
}

// A Default is the defaultBackend of an Ingress, or its redirect of what no rule matches. It answers
// requests that match no path on the hosts of its Ingress, and on Ports requests that match no host
// or path of any rule.
type Default struct {
	Action Action
	Ports  []int32
	Plain  bool // it answers over HTTP alone: it redirects to HTTPS
	Owner  Owner
	Source diag.Source
}
