// Package routing has what the Ingresses of a load balancer ask for, without Kubernetes and without
// clouds: requests, the hosts, paths and conditions that match them, and routes with their actions,
// backends and certificates. All of it is in a Config.
//
// Package language compares paths as sets of request paths. Package precedence orders a Config and
// says which of its routes answers a request.
package routing

// HostMiss says what becomes of a request whose host is named but whose path matches nothing
// there.
type HostMiss uint8

const (
	// MissAnswers lets the chosen host answer: with its default backend, else 404.
	MissAnswers HostMiss = iota
	// MissFallsThrough goes on to the paths of the less specific hosts, then to the default
	// backends in the same order, then to 404. Where hosts have owners, the less specific hosts of
	// other namespaces are passed over.
	MissFallsThrough
)

// A Config is everything that the Kubernetes objects of one load balancer ask for, in no
// particular order and with conflicts still in it. New makes a Table of it.
type Config struct {
	Key          Key
	Routes       []Route
	Names        []Name
	Defaults     []Default
	Listeners    []Listener
	Backends     map[BackendID]Backend
	Certificates []Certificate // those that listeners name, sorted by ID
	HostMiss     HostMiss
	// HostsOwned says that hosts have owners: a host that spec.tls lists does not yield to a wildcard
	// of another namespace, and what misses the paths of a host goes on to nothing of another
	// namespace.
	HostsOwned bool
	Settings   Settings
	Protection Protection
	// Members are the Ingresses behind it, oldest first.
	Members []Owner
	// Yielding are hosts, sorted, that are not served over HTTPS because certificates of other
	// namespaces have names for them and were there first. They are to be remembered.
	Yielding []Host
}

// A Listener is a port that is asked for.
type Listener struct {
	Port         int32
	Protocol     Protocol
	Certificates []CertificateID // the first is the default certificate; the others sorted
	TLSPolicy    string
	Attributes   map[string]string
	Mutual       *MutualAuthentication // nil for what the cloud does of itself
	// the sources that may connect: ranges of addresses and prefix lists, sorted; nil for all
	Inbound []string
}

// MutualAuthentication says whether certificates of clients are verified or passed on.
type MutualAuthentication struct {
	Mode             string `json:"mode"`                 // off, passthrough or verify
	TrustStore       string `json:"trustStore,omitempty"` // its name, or the cloud's own name for it
	IgnoreExpiry     bool   `json:"ignoreExpiry,omitempty"`
	AdvertiseCANames bool   `json:"advertiseCANames,omitempty"`
}

// Verifies reports whether only clients are let in whose certificate can be verified.
func (m *MutualAuthentication) Verifies() bool { return m != nil && m.Mode == "verify" }

// Settings hold for a whole load balancer. Empty ones are left to the cloud.
type Settings struct {
	Scheme   string   `json:"scheme,omitempty"` // internal or internet-facing
	IPFamily string   `json:"ipFamily,omitempty"`
	Subnets  []string `json:"subnets,omitempty"` // as the cloud calls them, sorted
	// SecurityGroups are those of the class, as the cloud calls them, sorted. None are the provider's
	// own to keep.
	SecurityGroups []string          `json:"securityGroups,omitempty"`
	Attributes     map[string]string `json:"attributes,omitempty"`
	// of the load balancer and of what is made for it alone
	Tags map[string]string `json:"tags,omitempty"`
	// Provider are settings that only the provider understands, as JSON in its one form.
	Provider string `json:"provider,omitempty"`
}

// A Network is where a load balancer is to stand, in the words of its class. The zero Network asks
// for nothing.
type Network struct {
	Key        Key // of the load balancer, which may stand somewhere already
	Scheme     string
	Subnets    []string          // by ID or name; nil: those with the tags
	SubnetTags map[string]string // nil: those that suit the scheme
	// SecurityGroups of the class, by ID or name.
	SecurityGroups []string
}

// Protection is the protection that Ingresses ask for; an empty field is one that no Ingress sets.
type Protection struct {
	WebACL string `json:"webACL,omitempty"` // as the cloud calls it, or NoWebACL
	Shield string `json:"shield,omitempty"` // ShieldOn or ShieldOff
}

// Values of protection besides a web ACL's name.
const (
	NoWebACL  = "none"
	ShieldOn  = "on"
	ShieldOff = "off"
	// Unsettled is a protection that the cloud cannot give now. An existing one stays.
	Unsettled = "unsettled"
)

// Guarded reports whether a web ACL is asked for.
func (p Protection) Guarded() bool { return p.WebACL != "" && p.WebACL != NoWebACL }
