// Package routing has the routes of a load balancer's Ingresses, without Kubernetes and without
// clouds: requests, the hosts, paths and conditions that match them, and routes with their actions,
// backends and certificates. All are in a Config.
//
// Package language compares paths as sets of request paths. Package precedence orders a Config and
// finds the route that answers a request.
package routing

import "fairlead.dev/fairlead/model/diag"

// A HostMiss decides about requests whose host is named but whose path matches no route there.
type HostMiss uint8

const (
	// MissAnswers: the host answers, with its default backend, else 404.
	MissAnswers HostMiss = iota
	// MissFallsThrough: the paths of the less specific hosts follow, then the default backends in the
	// same order, then 404. If hosts have owners, the less specific hosts of other namespaces are
	// skipped.
	MissFallsThrough
)

// A Precedence decides which of several routes answers a request that they match.
type Precedence uint8

const (
	// BySpecificity: the more specific host, then the more specific path, as the Ingress
	// specification has it.
	BySpecificity Precedence = iota
	// InOrder: the first route, by the order of Ingresses, then by their names, then by the position
	// in its Ingress. No host keeps its misses: HostMiss is MissFallsThrough, and the default of the
	// port answers what matches no route; a redirect that is not for any host answers on its own ones.
	InOrder
)

// A Config has the wanted listeners, routes and settings of a load balancer, in any order and with
// conflicts. New makes a Table from it.
type Config struct {
	Key          Key
	Routes       []Route
	Names        []Name
	Defaults     []Default
	Closed       []ClosedHost
	Listeners    []Listener
	Backends     map[BackendID]Backend
	Certificates []Certificate // of listeners, sorted by ID
	HostMiss     HostMiss
	Precedence   Precedence
	// HostsOwned: hosts have owners. A host that spec.tls lists does not yield to a wildcard of
	// another namespace, and requests that match no path of a host do not fall through to another
	// namespace.
	HostsOwned bool
	Settings   Settings
	Protection Protection
	// Members has its Ingresses, oldest first.
	Members []Owner
	// Yielding has the hosts, sorted, that are not served over HTTPS because certificates of other
	// namespaces that came first have names for them. They are recorded.
	Yielding []Host
}

// A Listener is a wanted port.
type Listener struct {
	Port         int32
	Protocol     Protocol
	Certificates []CertificateID // the first is the default certificate; the others sorted
	TLSPolicy    string
	Attributes   map[string]string
	Asked        []Attribute           // attributes that Ingresses ask for besides, by name
	Mutual       *MutualAuthentication // nil for the cloud's default
	// Decided has the annotations of Ingresses that decide about TLSPolicy and Mutual.
	Decided []diag.Source
	// Inbound has the sources that may connect: address ranges and prefix lists, sorted; nil for all.
	Inbound []string
}

// A MutualAuthentication has the handling of client certificates.
type MutualAuthentication struct {
	Mode             string `json:"mode"`                 // off, passthrough or verify
	TrustStore       string `json:"trustStore,omitempty"` // its name or ARN
	IgnoreExpiry     bool   `json:"ignoreExpiry,omitempty"`
	AdvertiseCANames bool   `json:"advertiseCANames,omitempty"`
}

// Verifies reports whether only clients with a verified certificate are admitted.
func (m *MutualAuthentication) Verifies() bool { return m != nil && m.Mode == "verify" }

// Asks reports whether clients are asked for a certificate.
func (m *MutualAuthentication) Asks() bool { return m != nil && m.Mode != "off" }

// Settings are the settings of a whole load balancer. For empty ones, the cloud decides.
type Settings struct {
	Scheme   string   `json:"scheme,omitempty"` // internal or internet-facing
	IPFamily string   `json:"ipFamily,omitempty"`
	Subnets  []string `json:"subnets,omitempty"` // by ID, sorted
	// SecurityGroups has those of the class by ID, sorted. If empty, the provider creates its own.
	SecurityGroups []string          `json:"securityGroups,omitempty"`
	Attributes     map[string]string `json:"attributes,omitempty"`
	// Tags is for the load balancer and the objects that are created for it.
	Tags map[string]string `json:"tags,omitempty"`
	// Provider has settings that only the provider understands, as canonical JSON.
	Provider string `json:"provider,omitempty"`
}

// These attributes of load balancers, by their names in AWS, weaken what a class may have.
const (
	// AttributeDenyGateways keeps IPv6 traffic of internet gateways out.
	AttributeDenyGateways = "ipv6.deny_all_igw_traffic"
	// AttributeFailOpen lets requests through while AWS WAF does not answer.
	AttributeFailOpen = "waf.fail_open.enabled"
)

// A Network is the network of a load balancer as its class names it. The zero Network asks for
// nothing.
type Network struct {
	Key        Key // of the load balancer, which may exist already
	Scheme     string
	IPFamily   string            // as in Settings
	Subnets    []string          // by ID or name; nil: those with the tags
	SubnetTags map[string]string // nil: those that suit the scheme
	// SecurityGroups has those of the class, by ID or name.
	SecurityGroups []string
}

// A Protection has the web ACL and Shield Advanced that Ingresses ask for; a field is empty if no
// Ingress sets it.
type Protection struct {
	WebACL string `json:"webACL,omitempty"` // its ARN, or NoWebACL
	Shield string `json:"shield,omitempty"` // ShieldOn or ShieldOff
}

// Values of protection besides a web ACL's name.
const (
	NoWebACL  = "none"
	ShieldOn  = "on"
	ShieldOff = "off"
	// Unsettled: the cloud cannot give the protection now. An existing one stays.
	Unsettled = "unsettled"
)

// HasWebACL reports whether a web ACL is wanted.
func (p Protection) HasWebACL() bool { return p.WebACL != "" && p.WebACL != NoWebACL }
