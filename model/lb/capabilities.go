package lb

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/fairlead/model/routing"
)

// Capabilities say what the rules of one kind of cloud load balancer can express, and how much of
// it. They are data: providers return them, Lower obeys them, and tests can make some up. A limit
// of zero is no limit.
type Capabilities struct {
	Name string
	Dialect

	Regex bool // conditions may hold regular expressions, in Go's syntax
	// HeaderRegex: so may those on headers. QueryPairs: conditions on the query need no name.
	HeaderRegex, QueryPairs bool

	Rewrites bool // requests can be rewritten on their way to targets
	// RewritesRedirects: requests can be rewritten in front of a redirect, too.
	RewritesRedirects bool
	// CaseFlag: expressions may have (?i).
	CaseFlag bool
	// Undocumented: a class may accept RewritesRedirects and CaseFlag although the cloud does not document them.
	Undocumented bool
	Auth         bool // users can be asked to sign in, on HTTPS listeners

	// FieldsRefused has the Fields that conditions cannot have.
	FieldsRefused []string

	// an anchored regular expression for the host values that are accepted; "" for any
	HostValue      string
	PathCharacters string // the characters that path values may have; "" for any

	ValueLength        int // characters in one value
	NameLength         int // characters in the name of a header
	ValuesPerCondition int
	// SourcesRefused has the address ranges that a condition cannot have.
	SourcesRefused   []string
	ValuesPerRule    int // over all conditions
	WildcardsPerRule int // "*" and "?" in values, regular expressions not counted

	Rules             int  // per load balancer, over all listeners, defaults not counted
	TargetGroups      int  // per load balancer
	TargetsPerForward int  // target groups in one action
	MaxWeight         int  // of one target group in an action
	OtherTargetGroups bool // an action can name a target group that others made
	NoStickyForward   bool // a forward to several target groups cannot be sticky
	BodyLength        int  // of a fixed response
	NoFixed3xx        bool // a fixed response cannot have a status of 300 to 399
	// ContentTypes has the types that a fixed response can have; none: any.
	ContentTypes []string
	// RedirectStatuses has the statuses that a redirect can have; none: any.
	RedirectStatuses []int
	// StrictRedirects: a redirect changes more than the query, and does not lead from HTTPS to HTTP.
	StrictRedirects bool

	Certificates int // per load balancer, default certificates not counted
	Listeners    int
	Verifying    int // listeners that verify the certificates of clients

	TargetsPerGroup        int
	TargetsPerLoadBalancer int

	// Quotas has the codes of the limits that can be raised for an account.
	Quotas Quotas

	// BalancerAttributes are the attributes of load balancers that can be set, by name; nil: any.
	BalancerAttributes map[string]Attribute
	// ListenerAttributes are the attributes of listeners that can be set, by name; nil: any.
	ListenerAttributes map[string]Attribute
	// GroupAttributes are the attributes of target groups that can be set, by name.
	GroupAttributes map[string]Attribute
	// StickyAttribute is the attribute that makes a target group sticky if it is "true". A forward to
	// such a group and others must be sticky, too.
	StickyAttribute string

	// TargetTypesRefused has the types of targets that target groups cannot have: ip or instance.
	TargetTypesRefused []string
	// VersionsRefused has the versions of HTTP that targets cannot speak.
	VersionsRefused []routing.Version
	// HTTP2NeedsTLS: targets that speak HTTP2 or GRPC can be reached on HTTPS listeners only.
	HTTP2NeedsTLS bool
	// NoHTTPS: there are no HTTPS listeners and no certificates.
	NoHTTPS bool
	// Inbound: a listener can be limited to sources that may connect.
	Inbound bool
	// NoClientCertificates: a listener cannot ask clients for certificates.
	NoClientCertificates bool
	// TLSPolicies has the policies that a listener can have; none: any name, unless NoTLSPolicies is
	// set.
	TLSPolicies   []string
	NoTLSPolicies bool

	// WebACLs and Shields: load balancers can have a web ACL, and Shield Advanced.
	WebACLs, Shields bool

	// DeletionProtection is the attribute that protects load balancers from deletion.
	DeletionProtection string

	// AddressesOnly: targets of type ip are addresses, and names cannot be.
	AddressesOnly bool
	// IPv6NeedsDualStack: a load balancer whose IP family is ipv4 cannot send requests to IPv6
	// targets.
	IPv6NeedsDualStack bool
	// InstanceIDs: targets of type instance are named by the cloud's ID of the node, not by its
	// address.
	InstanceIDs bool

	MinPriority, MaxPriority int

	// Settle is how long after the deletion of a reference the object that it named cannot be deleted.
	Settle time.Duration
	// Gather is how long a change waits for further changes, where many small plans cost more than a
	// large one.
	Gather time.Duration
}

// Quotas has the codes of limits, each under the name of the limit in Capabilities.
type Quotas struct {
	Rules, TargetGroups, Certificates, Listeners, TargetsPerGroup, TargetsPerLoadBalancer string
}

// A Dialect is how a cloud reads the values of conditions, and what rules mean to it.
// A Doubt is an undocumented part: rules
// must be right in either case.
type Dialect struct {
	// HostStarIsLabel: a star in a host value matches one label, not any text.
	HostStarIsLabel bool
	// HealthWithoutRule: the cloud checks the health of a target group also while no rule names it.
	HealthWithoutRule bool
	Doubt             Doubt
}

// A Doubt has the undocumented parts of a Dialect. Of the normalisation of paths, it has decoding
// only: a path with resolved dot segments or joined slashes is another path, and gets its answer,
// while conditions must be right for both forms of a path with an encoded character.
type Doubt struct {
	HostPort bool // whether the port of the Host header takes part in matching
	HostCase bool // whether regular expressions see the host in lower case
	Decoding bool // whether percent-encoded characters of the path are decoded before matching
}

// A Class has the parts of a load balancer's class that change a provider's capabilities.
type Class struct {
	Name                 string
	NoRegularExpressions bool
	ValuesPerCondition   int // 0: the provider's default
	AcceptsUndocumented  bool
	OwnSecurityGroups    bool
	Provider             string // its name; "" for the operator's first
}

// Restrict returns the capabilities under the restrictions of a class.
func (c Capabilities) Restrict(class Class) Capabilities {
	if class.NoRegularExpressions && c.Regex {
		c.Name, c.Regex = c.Name+"-glob", false
	}
	if class.AcceptsUndocumented && c.Undocumented {
		c.RewritesRedirects, c.CaseFlag = true, c.Regex
	}
	if class.OwnSecurityGroups { // their owner limits the sources
		c.Inbound = false
	}
	if class.ValuesPerCondition > 0 {
		c.ValuesPerCondition = class.ValuesPerCondition
	}
	return c
}

// DeletionProtection is the attribute that protects a load balancer from deletion.
const DeletionProtection = "deletion_protection.enabled"

// Literal returns the capabilities of a cloud that follows the Ingress specification: a star in a
// host matches one label, and there are no limits.
func Literal() Capabilities {
	return Capabilities{
		Name:    "literal",
		Dialect: Dialect{HostStarIsLabel: true},
		Regex:   true, HeaderRegex: true, QueryPairs: true,
		Rewrites: true, RewritesRedirects: true, CaseFlag: true,

		OtherTargetGroups:  true,
		DeletionProtection: DeletionProtection,
		MinPriority:        1, MaxPriority: 1_000_000,
	}
}

// Counts has the numbers of the resources that a cloud limits for one load balancer.
type Counts struct {
	Rules        int // defaults not counted
	TargetGroups int
	Certificates int // default certificates not counted
	Listeners    int
	Verifying    int // listeners that verify the certificates of clients
}

// Plus returns the sum of counts.
func (c Counts) Plus(o Counts) Counts {
	return Counts{c.Rules + o.Rules, c.TargetGroups + o.TargetGroups, c.Certificates + o.Certificates,
		c.Listeners + o.Listeners, c.Verifying + o.Verifying}
}

// Limits returns the limits; zero is no limit.
func (c Capabilities) Limits() Counts {
	return Counts{Rules: c.Rules, TargetGroups: c.TargetGroups, Certificates: c.Certificates,
		Listeners: c.Listeners, Verifying: c.Verifying}
}

// An Attribute has the values that an attribute can have: one of a list, a number of a range, or
// any text.
type Attribute struct {
	Values      []string
	Least, Most int // no range if both are zero
	Text        bool
	// Late: it is set after the load balancer serves, and if the cloud refuses it, nothing else waits.
	Late bool
	// Needs has other attributes that have to have certain values, unless this one is Off. The value
	// "" is that of an attribute that is not set. Without values, it has to be set.
	Needs map[string][]string
	Off   string
	// Versions are the protocol versions of target groups that can have it, unless it is Off; none
	// for all.
	Versions []string
	// Reserved is how a value cannot begin.
	Reserved string
	// Form is a regular expression of the texts that it takes; "" for any.
	Form string
	// Secure: only listeners of HTTPS have it.
	Secure bool
}

// Excluded returns why an attribute cannot have its value beside other attributes, in a target
// group of a protocol version; "" if it can.
func (a Attribute) Excluded(name, value, version string, all map[string]string) string {
	if a.Reserved != "" && strings.HasPrefix(value, a.Reserved) {
		return fmt.Sprintf("the value of %s cannot begin with %s", name, a.Reserved)
	}
	if value == a.Off {
		return ""
	}
	if len(a.Versions) > 0 && !slices.Contains(a.Versions, version) {
		return fmt.Sprintf("%s can be %s only with the protocol version %s", name, value,
			strings.Join(a.Versions, " or "))
	}
	for _, other := range slices.Sorted(maps.Keys(a.Needs)) {
		needed := a.Needs[other]
		if len(needed) == 0 && all[other] == "" {
			return fmt.Sprintf("%s can be %s only with %s", name, value, other)
		}
		if len(needed) > 0 && !slices.Contains(needed, all[other]) {
			return fmt.Sprintf("%s cannot be %s while %s is %s", name, value, other,
				cmp.Or(all[other], "not set"))
		}
	}
	return ""
}

// SplitLate returns attributes without those that are set after the load balancer serves, and
// whether there are any.
func (c Capabilities) SplitLate(all map[string]string) (early map[string]string, late bool) {
	early = maps.Clone(all)
	maps.DeleteFunc(early, func(name, _ string) bool { return c.BalancerAttributes[name].Late })
	if len(early) == len(all) {
		return all, false
	}
	if len(early) == 0 {
		early = nil
	}
	return early, true
}

// Takes reports whether the attribute can have a value.
func (a Attribute) Takes(value string) bool {
	n, err := strconv.Atoi(value)
	return a.Text && value != "" && a.fits(value) || slices.Contains(a.Values, value) ||
		a.Most > 0 && err == nil && a.Least <= n && n <= a.Most
}

// fits reports whether a text has the form of the attribute. A form that is no regular expression,
// which a provider may send, excludes nothing.
func (a Attribute) fits(text string) bool {
	form, err := regexp.Compile(a.Form)
	return err != nil || form.MatchString(text)
}

func (a Attribute) String() string {
	said := slices.Clone(a.Values)
	if a.Text {
		text := "text that is not empty"
		if a.Form != "" {
			text = "text that matches " + a.Form
		}
		said = append(said, text)
	}
	if a.Most > 0 {
		said = append(said, fmt.Sprintf("a number from %d to %d", a.Least, a.Most))
	}
	return strings.Join(said, ", ")
}

// KeepsClients reports whether an attribute with this value makes a target group sticky.
func (c Capabilities) KeepsClients(name, value string) bool {
	return name == c.StickyAttribute && name != "" && value == "true"
}

// Sticks reports whether a target group is sticky.
func (c Capabilities) Sticks(g TargetGroup) bool {
	return c.KeepsClients(c.StickyAttribute, g.Attributes[c.StickyAttribute])
}

// NeedsProtocol reports whether listeners of one protocol only can have an action.
func (c Capabilities) NeedsProtocol(a Action) bool {
	return a.Auth != nil || c.StrictRedirects && a.Redirect != nil
}

// NeedsTLS reports whether only HTTPS listeners reach targets that use this version of HTTP.
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
