package lb

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/model/routing"
)

// An Observed is the load balancer of a key in the cloud, in the form that Lower produces, with the
// priorities, handles and address that only an existing one has. If there is none, Exists is false.
type Observed struct {
	Key    Key  `json:"key"`
	Exists bool `json:"exists"`
	// Active: the cloud has finished setting it up, so it answers requests.
	Active       bool                  `json:"active"`
	Address      Address               `json:"address"`
	Digest       Digest                `json:"digest,omitempty"`
	Listeners    []ObservedListener    `json:"listeners,omitempty"`    // by port
	TargetGroups []ObservedTargetGroup `json:"targetGroups,omitempty"` // by ID
	Certificates []ObservedCertificate `json:"certificates,omitempty"` // by ID
	Handle       string                `json:"handle,omitempty"`
	// Protection is the web ACL and the Shield protection that the load balancer has.
	Protection Protection `json:"protection,omitzero"`
	// Protected is the origin of its deletion protection: ByClass, ByOthers, or "" if none is known.
	Protected string `json:"protected,omitempty"`
	// Firewall is the handle of the object that limits the clients of the load balancer, such as a
	// security group. It is deleted after the load balancer.
	Firewall string `json:"firewall,omitempty"`
	// Unread has the cloud's errors for settings that could not be read. These settings are assumed
	// unchanged.
	Unread []string `json:"unread,omitempty"`
	// Impaired says why the cloud serves the load balancer with less than it needs; "" if it does
	// not say so.
	Impaired string `json:"impaired,omitempty"`
	// Read has the settings that a deep observation read, for people; nil if they were not read. A
	// diff compares digests. Steps do not change Read.
	Read *ReadSettings `json:"-"`
}

// The origins of deletion protection.
const (
	ByClass  = "class"
	ByOthers = "others"
)

// ReadSettings are the settings of a load balancer that a deep observation read. The digests of an
// Observed are of these. Settings that could not be read are absent.
type ReadSettings struct {
	LoadBalancer *routing.Settings                     `json:"loadBalancer,omitempty"`
	Listeners    map[int32]ListenerSettings            `json:"listeners,omitempty"`
	TargetGroups map[GroupID]GroupSettings             `json:"targetGroups,omitempty"`
	Certificates map[CertificateID]CertificateSettings `json:"certificates,omitempty"`
}

// An Address is the address of a load balancer.
type Address struct {
	Hostname string   `json:"hostname,omitempty"`
	IPs      []string `json:"ips,omitempty"`
	// Ports maps a listener's port to the one that clients use, where they differ.
	Ports map[int32]int32 `json:"ports,omitempty"`
}

// An ObservedListener is a listener with its rules by ascending priority.
type ObservedListener struct {
	Port         int32            `json:"port"`
	Protocol     routing.Protocol `json:"protocol"`
	Certificates []CertificateID  `json:"certificates,omitempty"`
	Verifies     bool             `json:"verifies,omitempty"`
	Digest       Digest           `json:"digest,omitempty"`
	// ClientSecrets is the digest of the client secrets that were written.
	ClientSecrets Digest         `json:"-"`
	Default       Action         `json:"default"`
	Rules         []ObservedRule `json:"rules,omitempty"`
	Handle        string         `json:"handle,omitempty"`
	// Shape is set if the load balancer was taken over from others, and the rules are theirs. It has digests of the rules and
	// of the wanted ones that give the same answers; while both are as they were, the rules stay.
	Shape string `json:"shape,omitempty"`
	// Others: others made it, in a load balancer that was taken over, and Fairlead has not written it.
	Others bool `json:"others,omitempty"`
}

// An ObservedRule is a rule with its priority. Lower priorities come first.
type ObservedRule struct {
	Rule
	Priority int    `json:"priority"`
	Handle   string `json:"handle,omitempty"`
}

// An ObservedTargetGroup is a target group, with its readiness.
type ObservedTargetGroup struct {
	TargetGroup
	// Ready: a target is healthy, or the wait for one has timed out.
	Ready bool `json:"ready"`
	// Registered: its first targets were registered.
	Registered bool   `json:"registered"`
	Handle     string `json:"handle,omitempty"`
}

// An ObservedCertificate is a certificate that the provider holds for this load balancer.
type ObservedCertificate struct {
	Certificate
	Handle string `json:"handle,omitempty"`
}

// Listener returns the listener on a port, or nil.
func (o *Observed) Listener(port int32) *ObservedListener {
	i := slices.IndexFunc(o.Listeners, func(l ObservedListener) bool { return l.Port == port })
	if i < 0 {
		return nil
	}
	return &o.Listeners[i]
}

// TargetGroup returns the target group of an ID, or nil.
func (o *Observed) TargetGroup(id GroupID) *ObservedTargetGroup {
	i, found := slices.BinarySearchFunc(o.TargetGroups, id,
		func(g ObservedTargetGroup, id GroupID) int {
			return cmp.Compare(g.ID, id)
		})
	if !found {
		return nil
	}
	return &o.TargetGroups[i]
}

// Certificate returns the certificate of an ID, or nil.
func (o *Observed) Certificate(id CertificateID) *ObservedCertificate {
	i, found := slices.BinarySearchFunc(o.Certificates, id,
		func(c ObservedCertificate, id CertificateID) int {
			return cmp.Compare(c.ID, id)
		})
	if !found {
		return nil
	}
	return &o.Certificates[i]
}

// Rule returns the rule at a priority, or nil.
func (l *ObservedListener) Rule(priority int) *ObservedRule {
	i := slices.IndexFunc(l.Rules, func(r ObservedRule) bool { return r.Priority == priority })
	if i < 0 {
		return nil
	}
	return &l.Rules[i]
}

// RuleCount returns the number of rules on all listeners, without default actions.
func (o *Observed) RuleCount() int {
	n := 0
	for _, l := range o.Listeners {
		n += len(l.Rules)
	}
	return n
}

// Plain returns the listener without priorities and handles.
func (l *ObservedListener) Plain() Listener {
	rules := make([]Rule, len(l.Rules))
	for i, r := range l.Rules {
		rules[i] = r.Rule
	}
	return Listener{Port: l.Port, Protocol: l.Protocol, Certificates: l.Certificates,
		Verifies: l.Verifies, Digest: l.Digest, Default: l.Default, Rules: rules}
}

// Clone copies everything that a step can change.
func (o *Observed) Clone() *Observed {
	out := *o
	out.Listeners = slices.Clone(o.Listeners)
	for i := range out.Listeners {
		out.Listeners[i].Rules = slices.Clone(out.Listeners[i].Rules)
		out.Listeners[i].Certificates = slices.Clone(out.Listeners[i].Certificates)
	}
	out.TargetGroups = slices.Clone(o.TargetGroups)
	out.Certificates = slices.Clone(o.Certificates)
	return &out
}

// A TargetHealth is a target with its health in the cloud.
type TargetHealth struct {
	Target
	State HealthState `json:"state"`
}

// A HealthState is how healthy a target is, in the words of Elastic Load Balancing
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/target-group-health-checks.html).
type HealthState string

// The states of targets.
const (
	HealthInitial   HealthState = "initial"   // it is being registered, or was not checked yet
	HealthHealthy   HealthState = "healthy"   // requests are sent to it
	HealthUnhealthy HealthState = "unhealthy" // it fails health checks
	HealthDraining  HealthState = "draining"  // it is being deregistered
	HealthUnused    HealthState = "unused"    // no listener sends requests to its group
)

// Counts returns the counts of an existing load balancer.
func (o *Observed) Counts() Counts {
	c := Counts{TargetGroups: len(o.TargetGroups)}
	for i := range o.Listeners {
		c = c.Plus(o.Listeners[i].Counts())
	}
	return c
}

// Counts returns what a listener takes of the limits.
func (l *ObservedListener) Counts() Counts {
	c := Counts{Rules: len(l.Rules), Listeners: 1, Certificates: max(0, len(l.Certificates)-1)}
	if l.Verifies {
		c.Verifying = 1
	}
	return c
}

// A GroupKey names a target group of a load balancer.
type GroupKey struct {
	Key Key
	ID  GroupID
}

// String returns both names.
func (k GroupKey) String() string { return string(k.Key) + " " + string(k.ID) }
