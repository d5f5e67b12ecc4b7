package expect

import "fairlead.dev/fairlead/model/routing"

// This file has expectations, as they are read from YAML.

// An Expectation says what must be true of each request of a set.
type Expectation struct {
	Name        string
	Description string
	Line        int // in the text that it was read from
	Requests    Requests
	Except      []Requests // are not in the set
	Must        Must
}

// Requests is a set of requests: those that each field which is set has a value for.
type Requests struct {
	URLs          []URL
	Schemes       []string // http, https
	Ports         []int32
	Hosts         []Host
	Paths         []Path
	Methods       []string
	Headers       map[string][]string // globs by name
	Query         map[string][]string // likewise
	Sources       []string            // ranges of addresses
	LoadBalancers LoadBalancers
	AnsweredBy    Answerers
}

// A URL is what stands in a request for it.
type URL struct {
	Text   string
	Scheme string
	Port   int32
	Host   Host
	Path   routing.Path
	Query  routing.Conditions
}

// A Path is a set of paths. Decoded stands for all spellings that a Service may take for one of
// them.
type Path struct {
	routing.Path
	Decoded bool
}

// LoadBalancers is a set of load balancers. Names are globs.
type LoadBalancers struct {
	Classes []string
	Schemes []string // internal, internet-facing
	Keys    []string
	// OfHost leaves those on which an Ingress names the host of the request, or a wildcard for it.
	OfHost bool
}

// Answerers is a set of what can answer: Ingresses and Services. Names are globs.
type Answerers struct {
	Namespaces []string // of the Ingress
	Ingresses  []string // namespace/name
	Services   []string // namespace/name, or namespace/name:port
}

func (a Answerers) empty() bool {
	return len(a.Namespaces)+len(a.Ingresses)+len(a.Services) == 0
}

// Must has the conditions that each request has to fulfil. A field that is not set has none.
type Must struct {
	Answered  *bool // by an Ingress
	Forwarded *bool // to a Service
	Answerers
	SignIn     *bool
	SignInWith []string // oidc, cognito, jwt
	MutualTLS  *bool
	Redirect   *Redirect
	Statuses   []int32

	LoadBalancerSchemes []string // internal, internet-facing
	InboundWithin       []string // ranges of addresses, and names of lists of them
	WebACL              *bool
	Certificate         *bool    // is for the host
	TLSPolicies         []string // globs
}

// A Redirect is what a redirect must be.
type Redirect struct {
	Schemes  []string
	Statuses []int32
}
