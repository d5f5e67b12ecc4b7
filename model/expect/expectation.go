package expect

import "fairlead.dev/fairlead/model/routing"

// This file has the types of expectations.

// An Expectation has a set of requests, and the conditions for their answers.
type Expectation struct {
	Name        string
	Description string
	Line        int // in its text
	Requests    Requests
	Except      []Requests // not in the set
	Must        Must
}

// Requests is a set of requests: those that match a value of each field that is set.
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

// A URL has the parts of a URL that appear in a request.
type URL struct {
	Text   string
	Scheme string
	Port   int32
	Host   Host
	Path   routing.Path
	Query  routing.Conditions
}

// A Path is a set of paths. Decoded adds all spellings that a Service may read as one of them.
type Path struct {
	routing.Path
	Decoded bool
}

// LoadBalancers is a set of load balancers. Names are globs.
type LoadBalancers struct {
	Classes []string
	Schemes []string // internal, internet-facing
	Keys    []string
	// OfHost limits the set to those on which an Ingress names the host of the request, or a wildcard
	// for it.
	OfHost bool
}

// Answerers is a set of answering Ingresses and Services. Names are globs.
type Answerers struct {
	Namespaces []string // of the Ingress
	Ingresses  []string // namespace/name
	Services   []string // namespace/name, or namespace/name:port
}

func (a Answerers) empty() bool {
	return len(a.Namespaces)+len(a.Ingresses)+len(a.Services) == 0
}

// A Must has the conditions for answers. A field that is not set has none.
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
	InboundWithin       []string // address ranges and prefix lists
	WebACL              *bool
	Certificate         *bool    // is for the host
	TLSPolicies         []string // globs
}

// A Redirect has the required parts of a redirect.
type Redirect struct {
	Schemes  []string
	Statuses []int32
}
