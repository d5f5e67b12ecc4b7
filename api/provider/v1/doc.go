// Package v1 is the wire format of Fairlead's provider protocol, version 1. A provider is a process
// that makes load balancers in one kind of cloud; the operator calls it over HTTP.
// docs/reference/protocol.md describes the calls.
//
// The package imports nothing of Fairlead: a provider that is written in Go needs it and nothing
// else. Its types are not those that the operator computes with. They change only as
// docs/how-to/provider.md promises. The tag enum has the values that a field can have, with commas
// between.
package v1

// MediaType is the media type of every request and every answer except problems. It has the version.
const MediaType = "application/vnd.fairlead.provider+json; version=1"

// Version is the version of the protocol that this package describes.
const Version = 1

// The paths of the calls, behind the provider's URL.
const (
	PathCapabilities  = "/capabilities"          // GET: Capabilities
	PathLookup        = "/lookup"                // POST Questions: Facts
	PathLoadBalancers = "/load-balancers"        // GET: LoadBalancerList
	PathLoadBalancer  = "/load-balancer"         // GET ?key= [&deep=true]: Observed
	PathActive        = "/load-balancer/active"  // GET ?key=: Activity
	PathSteps         = "/load-balancer/steps"   // POST ?key= Apply: Applied
	PathTargets       = "/load-balancer/targets" // GET, PUT ?key=&group=: TargetList
)

// The headers of the protocol that HTTP does not define.
const (
	// HeaderTimeout is the number of milliseconds for which the operator waits for the answer of this attempt. A
	// provider does not begin a step after that.
	HeaderTimeout = "Fairlead-Timeout"
	// HeaderRequestID is the operator's name for the call, the same in each attempt. A provider writes
	// it into its log, and into its answer.
	HeaderRequestID = "Request-Id"
)

// PriorityUrgent is the header Priority (https://www.rfc-editor.org/rfc/rfc9218) of steps that restrict or repair what
// is served. A provider with a rate limit does these first.
const PriorityUrgent = "u=1"

// The limits of a message, in bytes, before compression. A provider that cannot take a request of
// this size says so with its Capabilities; the operator takes no answer that is longer.
const (
	MaxRequest = 16 << 20
	MaxAnswer  = 32 << 20
)
