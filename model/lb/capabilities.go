package lb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/fairlead/model/routing"
)

// Capabilities say what the rules of one kind of cloud load balancer can express, and how much
// of it. They are data: a provider states them, Lower obeys them, and a test can invent some.
// A limit of zero is no limit.
type Capabilities struct {
	Name string
	Dialect

	Regex    bool // conditions may hold regular expressions, in Go's syntax
	Rewrites bool // requests can be rewritten on their way to targets
	Auth     bool // users can be asked to sign in, on HTTPS listeners

	// FieldsRefused are those of Fields that conditions cannot look at.
	FieldsRefused []string

	// an anchored regular expression for the host values that are accepted; "" for any
	HostValue      string
	PathCharacters string // those that path values may consist of; "" for any

	ValueLength        int // characters in one value
	NameLength         int // characters in the name of a header
	ValuesPerCondition int
	// SourcesRefused are the ranges of addresses that a condition cannot have.
	SourcesRefused   []string
	ValuesPerRule    int // over all conditions
	WildcardsPerRule int // "*" and "?" in values, regular expressions not counted

	Rules             int  // per load balancer, over all listeners, defaults not counted
	TargetGroups      int  // per load balancer
	TargetsPerForward int  // target groups in one action
	MaxWeight         int  // of one target group in an action
	NoStickyForward   bool // clients cannot be kept with one of several target groups
	BodyLength        int  // of a fixed response
	NoFixed3xx        bool // a fixed response cannot have a status of 300 to 399
	// ContentTypes are those that a fixed response can have; none: any.
	ContentTypes []string
	// StrictRedirects: a redirect changes more than the query, and does not lead from HTTPS to HTTP.
	StrictRedirects bool

	Certificates int // per load balancer, default certificates not counted
	Listeners    int
	Verifying    int // listeners that verify the certificates of clients

	TargetsPerGroup        int
	TargetsPerLoadBalancer int

	// Quotas are the codes of limits that an account can ask to raise.
	Quotas Quotas

	// BalancerAttributes are the attributes of load balancers that can be set, by name; nil: any.
	BalancerAttributes map[string]Attribute
	// ListenerAttributes are the attributes of listeners that can be set, by name; nil: any.
	ListenerAttributes map[string]Attribute
	// GroupAttributes are the attributes of target groups that can be set, by name.
	GroupAttributes map[string]Attribute
	// StickyAttribute is the attribute that, where it is "true", has a target group keep clients with
	// a target. Such a group shares requests with others only where clients are kept with a group,
	// too.
	StickyAttribute string

	// HTTP2NeedsTLS: targets that speak HTTP2 or GRPC can be reached on HTTPS listeners only.
	HTTP2NeedsTLS bool
	// Inbound: a listener can be limited to sources that may connect.
	Inbound bool
	// NoClientCertificates: a listener cannot ask clients for certificates.
	NoClientCertificates bool
	// TLSPolicies are those that a listener can have; none: any name, unless NoTLSPolicies is set.
	TLSPolicies   []string
	NoTLSPolicies bool

	// WebACLs and Shields: such can be put before load balancers.
	WebACLs, Shields bool

	// DeletionProtection is the attribute of load balancers that keeps them from being deleted.
	DeletionProtection string

	// AddressesOnly: targets of type ip are addresses, and names cannot be.
	AddressesOnly bool
	// InstanceIDs: targets of type instance go by what the cloud calls the node, not by its address.
	InstanceIDs bool

	MinPriority, MaxPriority int

	// Settle is how long a deleted reference may linger before what it referred to can be
	// deleted.
	Settle time.Duration
	// Gather is how long a change waits for others that come with it, where many small plans cost
	// more than a large one.
	Gather time.Duration
}

// Quotas are the names of limits, each of the one that Capabilities give under the same name.
type Quotas struct {
	Rules, TargetGroups, Certificates, Listeners, TargetsPerGroup, TargetsPerLoadBalancer string
}

// Dialect is how a cloud reads the values of conditions. What its owner leaves undocumented is a
// Doubt: lowering must be right whichever way it turns out.
type Dialect struct {
	// HostStarIsLabel: a star in a host value stands for one label, not for any text.
	HostStarIsLabel bool
	Doubt           Doubt
}

// Doubt is what a cloud leaves undocumented. How it normalises paths before it looks at rules is no
// part of it but for decoding: a path whose dot segments are resolved or whose slashes are joined
// is another path, and is answered as that one, while what conditions say of a path that has an
// encoded character has to hold for both.
type Doubt struct {
	HostPort bool // whether the port of the Host header takes part in matching
	HostCase bool // whether regular expressions see the host in lower case
	Decoding bool // whether percent-encoded characters of the path are decoded before matching
}

// A Class is what of a load balancer's class matters to a provider's capabilities.
type Class struct {
	Name                 string
	NoRegularExpressions bool
	ValuesPerCondition   int // 0: the provider's usual
	OwnSecurityGroups    bool
	Provider             string // its name; "" for the operator's first
}

// For returns the capabilities as a class restricts them.
func (c Capabilities) For(class Class) Capabilities {
	if class.NoRegularExpressions && c.Regex {
		c.Name, c.Regex = c.Name+"-glob", false
	}
	if class.OwnSecurityGroups { // their owner limits the sources
		c.Inbound = false
	}
	if class.ValuesPerCondition > 0 {
		c.ValuesPerCondition = class.ValuesPerCondition
	}
	return c
}

// DeletionProtection is the attribute that keeps a load balancer from being deleted.
const DeletionProtection = "deletion_protection.enabled"

// Literal is a cloud that speaks Ingress: a star in a host is one label, nothing is too long,
// nothing is too many.
func Literal() Capabilities {
	return Capabilities{
		Name:     "literal",
		Dialect:  Dialect{HostStarIsLabel: true},
		Regex:    true,
		Rewrites: true,

		DeletionProtection: DeletionProtection,
		MinPriority:        1, MaxPriority: 1_000_000,
	}
}

// Counts are how many there are of what a cloud limits in one load balancer.
type Counts struct {
	Rules        int // defaults not counted
	TargetGroups int
	Certificates int // default certificates not counted
	Listeners    int
	Verifying    int // listeners that verify the certificates of clients
}

// Limits are how many of each there may be; zero is no limit.
func (c Capabilities) Limits() Counts {
	return Counts{Rules: c.Rules, TargetGroups: c.TargetGroups, Certificates: c.Certificates,
		Listeners: c.Listeners, Verifying: c.Verifying}
}

// An Attribute is what values an attribute can have: one of a few, or a number of a range, or any
// text.
type Attribute struct {
	Values      []string
	Least, Most int // no range if both are zero
	Text        bool
}

// Takes reports whether the attribute can have a value.
func (a Attribute) Takes(value string) bool {
	n, err := strconv.Atoi(value)
	return a.Text && value != "" || slices.Contains(a.Values, value) ||
		a.Most > 0 && err == nil && a.Least <= n && n <= a.Most
}

func (a Attribute) String() string {
	said := slices.Clone(a.Values)
	if a.Text {
		said = append(said, "text that is not empty")
	}
	if a.Most > 0 {
		said = append(said, fmt.Sprintf("a number from %d to %d", a.Least, a.Most))
	}
	return strings.Join(said, ", ")
}

// KeepsClients reports whether an attribute with a value makes a target group keep clients with a
// target.
func (c Capabilities) KeepsClients(name, value string) bool {
	return name == c.StickyAttribute && name != "" && value == "true"
}

// Sticks reports whether a target group keeps clients with a target.
func (c Capabilities) Sticks(g TargetGroup) bool {
	return c.KeepsClients(c.StickyAttribute, g.Attributes[c.StickyAttribute])
}

// NeedsProtocol reports whether an action can be carried out over one protocol only, wherever it
// leads.
func (c Capabilities) NeedsProtocol(a Action) bool {
	return a.Auth != nil || c.StrictRedirects && a.Redirect != nil
}

// NeedsTLS reports whether targets that speak some version of HTTP are reached over HTTPS only.
func (c Capabilities) NeedsTLS(version routing.Version) bool {
	return c.HTTP2NeedsTLS && (version == routing.VersionHTTP2 || version == routing.VersionGRPC)
}

// AcceptsPath reports whether all characters of a path value are accepted.
func (c Capabilities) AcceptsPath(value string) bool {
	if c.PathCharacters == "" {
		return true
	}
	for i := range len(value) {
		if strings.IndexByte(c.PathCharacters, value[i]) < 0 {
			return false
		}
	}
	return true
}
