package v1

// Questions ask for facts that the operator needs before it makes rules. A provider that has nothing to look up
// answers with empty Facts.
type Questions struct {
	// CertificateHosts are host names, wildcards too, for which no Secret is named.
	CertificateHosts []string `json:"certificateHosts,omitempty"`
	// NamedCertificates are the certificates that Ingresses name by their ID in the cloud.
	NamedCertificates []string `json:"namedCertificates,omitempty"`
	Network           *Network `json:"network,omitempty"`
	WebACLs           []string `json:"webACLs,omitempty"`
	// Shield asks whether a load balancer can have the cloud's protection against floods of requests.
	Shield bool `json:"shield,omitempty"`
	// Limits asks for the limits again: one was exceeded last time, and may have been raised since.
	Limits bool `json:"limits,omitempty"`
}

// A Network is the network of a load balancer, as its class names it.
type Network struct {
	Key            string            `json:"key"`
	Scheme         string            `json:"scheme"`
	IPFamily       string            `json:"ipFamily,omitempty" enum:"ipv4,dualstack,dualstack-without-public-ipv4"`
	Subnets        []string          `json:"subnets,omitempty"`
	SubnetTags     map[string]string `json:"subnetTags,omitempty"`
	SecurityGroups []string          `json:"securityGroups,omitempty"`
}

// Facts answer Questions.
type Facts struct {
	// Certificates has, for each host in the question, the IDs of the cloud's certificates for it, the best first.
	Certificates map[string][]string `json:"certificates,omitempty"`
	// Names are the names in each certificate that was asked for or found.
	Names          map[string][]string `json:"names,omitempty"`
	Subnets        []string            `json:"subnets,omitempty"`
	SecurityGroups []string            `json:"securityGroups,omitempty"`
	// NameTaken is a message that describes another object with the name of the load balancer; "" if there is none.
	NameTaken string `json:"nameTaken,omitempty"`
	// WebACLs has the ID of each web ACL in the question. A missing one does not exist.
	WebACLs map[string]string `json:"webACLs,omitempty"`
	// Unguarded is a message that says why missing web ACLs cannot be used; "" if they do not exist.
	Unguarded string `json:"unguarded,omitempty"`
	// Unshielded is a message that says why load balancers cannot have the protection against floods; "" if they can.
	Unshielded string `json:"unshielded,omitempty"`
	// Unmet is a message for each network that the class asks for and the cloud does not have.
	Unmet []string `json:"unmet,omitempty"`
	// CertificatesUnread is a message that says why the cloud's certificates could not be looked up.
	CertificatesUnread string `json:"certificatesUnread,omitempty"`
	LimitsUnread       bool   `json:"limitsUnread,omitempty"`
	// Stale has the reasons for which some facts are from an earlier lookup.
	Stale []string `json:"stale,omitempty"`
	// ExpiredRefused says that the cloud refuses certificates that have expired.
	ExpiredRefused bool `json:"expiredRefused,omitempty"`
	// CapabilitiesETag is the entity tag of the Capabilities as they are now. Limits among them can
	// change.
	CapabilitiesETag string `json:"capabilitiesETag,omitempty"`
}
