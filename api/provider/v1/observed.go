package v1

// Observed is what a cloud has under a key. A load balancer that does not exist is an Observed
// whose Exists is false; target groups, certificates and a firewall can be there without it.
type Observed struct {
	Key    string `json:"key"`
	Exists bool   `json:"exists"`
	// Active says that the load balancer answers: the cloud has finished setting it up.
	Active  bool     `json:"active,omitempty"`
	Address *Address `json:"address,omitempty"`
	Handle  string   `json:"handle,omitempty"`

	// A provider reports the settings of an object, or the digest that came with them. If it reports the settings, the
	// digest does not count.
	Settings *Settings `json:"settings,omitempty"`
	Digest   string    `json:"digest,omitempty"`

	Listeners    []ObservedListener    `json:"listeners,omitempty"`
	TargetGroups []ObservedTargetGroup `json:"targetGroups,omitempty"`
	Certificates []ObservedCertificate `json:"certificates,omitempty"`

	WebACL string `json:"webACL,omitempty"`
	Shield string `json:"shield,omitempty"`
	// class or others: the origin of the deletion protection
	Protected string `json:"protected,omitempty"`
	Firewall  string `json:"firewall,omitempty"`
	// Unread are the reasons why settings could not be read. The operator assumes that these settings are as it wrote
	// them.
	Unread []string `json:"unread,omitempty"`
	// Impaired is the reason why the cloud serves the load balancer with less than it needs, such as
	// too few addresses. It is reported, and changes nothing.
	Impaired string `json:"impaired,omitempty"`
}

// Address is the address of a load balancer.
type Address struct {
	Hostname string       `json:"hostname,omitempty"`
	IPs      []string     `json:"ips,omitempty"`
	Ports    []PortMapped `json:"ports,omitempty"`
}

// PortMapped is a listener's port that clients reach at another port: the reachedAt in the result of createListener.
type PortMapped struct {
	Listener  int32 `json:"listener"`
	ReachedAt int32 `json:"reachedAt"`
}

// ObservedListener is a listener with its rules.
type ObservedListener struct {
	Port         int32             `json:"port"`
	Protocol     string            `json:"protocol"`
	Certificates []string          `json:"certificates,omitempty"` // the default one first
	Settings     *ListenerSettings `json:"settings,omitempty"`
	Digest       string            `json:"digest,omitempty"`
	// it lets in only clients whose certificate it can verify
	Verifies      bool           `json:"verifies,omitempty"`
	SecretsDigest string         `json:"secretsDigest,omitempty"`
	Default       Action         `json:"default"`
	Rules         []ObservedRule `json:"rules,omitempty"`
	Handle        string         `json:"handle,omitempty"`
}

// ObservedRule is a rule with its priority. Lower priorities come first.
type ObservedRule struct {
	Priority int    `json:"priority"`
	Rule     Rule   `json:"rule"`
	Handle   string `json:"handle,omitempty"`
}

// ObservedTargetGroup is a target group, with its readiness for requests.
type ObservedTargetGroup struct {
	ID         string         `json:"id"`
	Service    string         `json:"service"`
	Port       string         `json:"port"`
	TargetType string         `json:"targetType,omitempty"`
	Protocol   string         `json:"protocol,omitempty"`
	Version    string         `json:"version,omitempty"`
	Family     string         `json:"family,omitempty"`
	Settings   *GroupSettings `json:"settings,omitempty"`
	Digest     string         `json:"digest,omitempty"`
	// Ready says that one of its targets is healthy, or that AwaitTargets was done for it. Where
	// health is checked only while a rule names the group (healthWithoutRule is false), it also says
	// that a rule does.
	Ready      bool   `json:"ready,omitempty"`
	Registered bool   `json:"registered,omitempty"` // RegisterTargets was done for it
	Handle     string `json:"handle,omitempty"`
}

// ObservedCertificate is a certificate that the provider holds for the load balancer.
type ObservedCertificate struct {
	ID     string            `json:"id"`
	Hosts  []string          `json:"hosts"`
	Kind   string            `json:"kind,omitempty"`
	Tags   map[string]string `json:"tags,omitempty"`
	Digest string            `json:"digest,omitempty"`
	Handle string            `json:"handle,omitempty"`
}

// Activity says whether a load balancer answers.
type Activity struct {
	Active bool `json:"active"`
}

// LoadBalancerList has the keys of all load balancers.
type LoadBalancerList struct {
	Keys []string `json:"keys"`
}

// TargetList has the members of a target group: with their states in an answer, without them in a request.
type TargetList struct {
	Targets []TargetHealth `json:"targets"`
}

// TargetHealth is a target with its health in the cloud.
type TargetHealth struct {
	Address string `json:"address"`
	Port    int32  `json:"port"`
	State   string `json:"state,omitempty" enum:"initial,healthy,unhealthy,draining,unused"`
}
