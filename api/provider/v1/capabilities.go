package v1

import "encoding/json"

// Capabilities are what a provider's load balancers can express, and how much of it. The operator
// writes rules within them, and refuses by name what they leave out. A limit of zero is no limit.
type Capabilities struct {
	// Name is the name of the kind of load balancer, for messages to people: "caddy".
	Name string `json:"name"`
	// Software is the name and the version of the provider.
	Software string `json:"software,omitempty"`
	// Versions are the versions of the protocol that the provider speaks.
	Versions []int `json:"versions"`

	Conditions     ConditionCapabilities `json:"conditions"`
	Actions        ActionCapabilities    `json:"actions"`
	Limits         Limits                `json:"limits"`
	TargetGroups   GroupCapabilities     `json:"targetGroups"`
	Listeners      ListenerCapabilities  `json:"listeners"`
	LoadBalancers  BalancerCapabilities  `json:"loadBalancers"`
	Calls          CallCapabilities      `json:"calls"`
	SettingsSchema *SettingsSchemas      `json:"settingsSchemas,omitempty"`
}

// ConditionCapabilities say which conditions rules can have.
type ConditionCapabilities struct {
	// Fields are the parts of a request that a condition can look at: host and path, and any of header, method, query
	// and source.
	Fields []string `json:"fields"`
	// Regex says that values can be regular expressions, of hosts and of paths.
	Regex bool `json:"regex,omitempty"`
	// HeaderRegex says that values of headers can be regular expressions, in which case makes a difference.
	HeaderRegex bool `json:"headerRegex,omitempty"`
	// QueryPairs says that a condition on the query needs no name.
	QueryPairs bool `json:"queryPairs,omitempty"`
	// CaseFlag says that regular expressions can begin with (?i).
	CaseFlag bool `json:"caseFlag,omitempty"`
	// HostStarIsLabel says that "*" in a host stands for one label, not for any text.
	HostStarIsLabel bool `json:"hostStarIsLabel,omitempty"`
	// HostPattern is a regular expression that the hosts in values have to match; "" for any.
	HostPattern string `json:"hostPattern,omitempty"`
	// PathCharacters are the characters that paths in values may have; "" for any.
	PathCharacters string `json:"pathCharacters,omitempty"`
	// SourcesRefused are ranges of addresses that a condition cannot have.
	SourcesRefused []string `json:"sourcesRefused,omitempty"`

	ValueLength        int `json:"valueLength,omitempty"` // of a value, in bytes
	NameLength         int `json:"nameLength,omitempty"`  // of the name of a header, in bytes
	ValuesPerCondition int `json:"valuesPerCondition,omitempty"`
	ValuesPerRule      int `json:"valuesPerRule,omitempty"`
	WildcardsPerRule   int `json:"wildcardsPerRule,omitempty"`

	// HostPortMatched, HostCaseMatched and PathDecoded say that the port of the Host header takes part
	// in matching, that regular expressions see the host as it was sent, and that paths are decoded
	// first; or that this is not known. Rules are then right either way.
	HostPortMatched bool `json:"hostPortMatched,omitempty"`
	HostCaseMatched bool `json:"hostCaseMatched,omitempty"`
	PathDecoded     bool `json:"pathDecoded,omitempty"`
}

// ActionCapabilities say which actions rules can have.
type ActionCapabilities struct {
	Rewrite bool `json:"rewrite,omitempty"`
	// RewriteRedirect says that a request can be rewritten in front of a redirect, too.
	RewriteRedirect bool `json:"rewriteRedirect,omitempty"`
	// Undocumented says that a class can accept caseFlag and rewriteRedirect, though the cloud does not document them.
	Undocumented bool `json:"undocumented,omitempty"`
	Auth         bool `json:"auth,omitempty"`
	// Sticky says that a client can stay with one of several target groups.
	Sticky bool `json:"sticky,omitempty"`
	// OtherTargetGroups says that an action can name a target group that the operator did not make, by
	// its name in the cloud: `targetGroups` of the load balancer has no such group, and no step creates,
	// changes or deletes it. A step with a group that is not there is rejected.
	OtherTargetGroups bool `json:"otherTargetGroups,omitempty"`

	TargetGroupsPerForward int `json:"targetGroupsPerForward,omitempty"`
	MaxWeight              int `json:"maxWeight,omitempty"`
	// BodyLength is the longest body of a fixed response, in bytes.
	BodyLength   int      `json:"bodyLength,omitempty"`
	ContentTypes []string `json:"contentTypes,omitempty"` // of fixed responses; none: any
	// NoFixed3xx says that a fixed response cannot have a status of 300 to 399.
	NoFixed3xx bool `json:"noFixed3xx,omitempty"`
	// RedirectStatuses are the statuses that a redirect can have; none: any.
	RedirectStatuses []int `json:"redirectStatuses,omitempty"`
	// StrictRedirects says that a redirect has to change more than the query, and cannot lead from
	// HTTPS to HTTP.
	StrictRedirects bool `json:"strictRedirects,omitempty"`
}

// Limits are the limits of one load balancer.
type Limits struct {
	// over all listeners, default actions not counted
	Rules                  Limit `json:"rules,omitzero"`
	TargetGroups           Limit `json:"targetGroups,omitzero"`
	Certificates           Limit `json:"certificates,omitzero"` // default ones not counted
	Listeners              Limit `json:"listeners,omitzero"`
	TargetsPerGroup        Limit `json:"targetsPerGroup,omitzero"`
	TargetsPerLoadBalancer Limit `json:"targetsPerLoadBalancer,omitzero"`
	VerifyingListeners     int   `json:"verifyingListeners,omitempty"`

	MinPriority int `json:"minPriority"`
	MaxPriority int `json:"maxPriority"`
}

// A Limit is a number, and the code of the quota in the cloud if it can be raised.
type Limit struct {
	Max   int    `json:"max,omitempty"`
	Quota string `json:"quota,omitempty"`
}

// GroupCapabilities say which settings target groups can have.
type GroupCapabilities struct {
	// Versions are the versions of HTTP that targets can speak: any of HTTP1, HTTP2 and GRPC; none: HTTP1.
	Versions []string `json:"versions,omitempty"`
	// TargetTypes are the types of targets that target groups can have: any of ip and instance; none: both.
	TargetTypes []string `json:"targetTypes,omitempty"`
	// Attributes are those that can be set, by name; none: no attribute can be set.
	Attributes map[string]Attribute `json:"attributes,omitempty"`
	// StickyAttribute is the attribute that keeps a client at a target if it is "true".
	StickyAttribute string `json:"stickyAttribute,omitempty"`
	// HTTP2 and GRPC can be had on HTTPS listeners only
	HTTP2NeedsTLS bool `json:"http2NeedsTLS,omitempty"`
	AddressesOnly bool `json:"addressesOnly,omitempty"` // targets are IP addresses, not names
	// IPv6NeedsDualStack: a load balancer whose ipFamily is ipv4, or not set, cannot send requests to
	// target groups of the family ipv6. Such routes are refused.
	IPv6NeedsDualStack bool `json:"ipv6NeedsDualStack,omitempty"`
	// InstanceIDs says that targets of type instance are named by the cloud's ID of the node, not by its address.
	InstanceIDs bool `json:"instanceIDs,omitempty"`
	// HealthWithoutRule says that the health of a target group is checked whether or not a rule names
	// it. Otherwise the operator makes a rule that no request matches, and waits, before a group takes
	// over requests.
	HealthWithoutRule bool `json:"healthWithoutRule,omitempty"`
}

// An Attribute has the values that an attribute can have: any text, one of a few, or a number of a range.
type Attribute struct {
	Values []string `json:"values,omitempty"`
	Least  int      `json:"least,omitempty"`
	Most   int      `json:"most,omitempty"`
	Text   bool     `json:"text,omitempty"`
	// Late says that the attribute of a load balancer is set after its listeners: if the cloud refuses it, the
	// listeners are made nevertheless.
	Late bool `json:"late,omitempty"`
	// Needs are other attributes of a target group that need one of some values, unless this attribute has the value
	// Off. The value "" is that of an attribute that is not set; without values, the attribute has to be set.
	Needs map[string][]string `json:"needs,omitempty"`
	Off   string              `json:"off,omitempty"`
	// Versions are the protocol versions of target groups that can have it, unless it is Off.
	Versions []string `json:"versions,omitempty"`
	// Reserved is a prefix that a value cannot have.
	Reserved string `json:"reserved,omitempty"`
	// Form is a regular expression (RE2) that Text has to match; none: any text.
	Form string `json:"form,omitempty"`
	// Secure says that only listeners of HTTPS have it.
	Secure bool `json:"secure,omitempty"`
}

// ListenerCapabilities say which settings listeners can have.
type ListenerCapabilities struct {
	// Protocols are the protocols of listeners: HTTP, and HTTPS if there are certificates; none: both.
	Protocols []string `json:"protocols,omitempty"`
	// Inbound says that a listener can restrict which addresses may connect.
	Inbound bool `json:"inbound,omitempty"`
	// ClientCertificates says that a listener can ask clients for certificates.
	ClientCertificates bool `json:"clientCertificates,omitempty"`
	// TLSPolicies are the names of the TLS policies; none: no policy can be chosen.
	TLSPolicies []string `json:"tlsPolicies,omitempty"`
	// AnyTLSPolicy says that TLSPolicies is not complete: the step refuses an unknown name.
	AnyTLSPolicy bool `json:"anyTLSPolicy,omitempty"`
	// Attributes are those that can be set, by name; none: no attribute can be set.
	Attributes map[string]Attribute `json:"attributes,omitempty"`
	// AnyAttribute says that Attributes are not known: one that there is not is refused by its step.
	AnyAttribute bool `json:"anyAttribute,omitempty"`
}

// BalancerCapabilities say which settings load balancers can have.
type BalancerCapabilities struct {
	WebACLs bool `json:"webACLs,omitempty"`
	Shields bool `json:"shields,omitempty"`
	// DeletionProtection is the attribute that keeps a load balancer from being deleted.
	DeletionProtection string `json:"deletionProtection,omitempty"`
	// Attributes are those that can be set, by name; none: no attribute can be set.
	Attributes map[string]Attribute `json:"attributes,omitempty"`
	// AnyAttribute says that Attributes are not known: one that there is not is refused by its step.
	AnyAttribute bool `json:"anyAttribute,omitempty"`
}

// CallCapabilities say how the operator calls the provider.
type CallCapabilities struct {
	// StepsPerApply is how many steps a provider takes in one call; 0: one.
	StepsPerApply int `json:"stepsPerApply,omitempty"`
	// RequestBytes is the length of the longest request that the provider takes; 0: MaxRequest.
	RequestBytes int `json:"requestBytes,omitempty"`
	// SettleMilliseconds is how long the cloud may use an object after the last reference to it was deleted. The
	// object cannot be deleted before.
	SettleMilliseconds int64 `json:"settleMilliseconds,omitempty"`
	// GatherMilliseconds is how long a change waits for further changes.
	GatherMilliseconds int64 `json:"gatherMilliseconds,omitempty"`
}

// SettingsSchemas are JSON Schemas (2020-12) of spec.provider. References stay within a schema.
type SettingsSchemas struct {
	LoadBalancer json.RawMessage `json:"loadBalancer,omitempty"` // of a LoadBalancerClass
	TargetGroup  json.RawMessage `json:"targetGroup,omitempty"`  // of a Backend
}
