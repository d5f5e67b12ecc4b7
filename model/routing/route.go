package routing

import (
	"fairlead.dev/fairlead/model/diag"
)

// A Route sends the requests that match a host, a path and further conditions to an action, on
// the ports where it is served.
type Route struct {
	Host   Host
	Listed *Listed // nil where a rule names the host
	Path   Path
	When   Conditions
	Action Action
	Ports  []int32 // ascending
	Owner  Owner
	Index  int    // position among the routes of its Ingress
	Spelt  string // the path as its author wrote it
	Source diag.Source
}

// Listed says of a route or a name that spec.tls lists its host, and that no rule of the Ingress
// names it: the Ingress's rules for another host, which stands for it too, answer for it. See
// listed.go.
type Listed struct {
	By Host // the wildcard that stands for the host, or Any
}

// A Name says that a rule of an Ingress names a host, whether or not it has paths, and on which
// ports the Ingress is served for it. A host that a rule names is never answered by host-less
// rules, on any port. A host that spec.tls lists is named on Ports only.
type Name struct {
	Host   Host    // never Any
	Listed *Listed // nil where a rule names the host
	Owner  Owner
	Ports  []int32
	// no wildcard answers for the host, which is only listed, on ports where it is not named
	Beside bool
	Unsaid []int32 // ports whose rules cannot say this host; there it is as if not named
	Source diag.Source
}

// A Default is the defaultBackend of an Ingress. It answers path misses on the hosts that its
// owner names, and on Ports those requests that no rule has a host or path for.
type Default struct {
	Action Action
	Ports  []int32
	Owner  Owner
	Source diag.Source
}
