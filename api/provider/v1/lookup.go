package v1

// Questions are what the operator has to know before it makes rules. A provider that has nothing to
// look up answers with empty Facts.
type Questions struct {
	// CertificateHosts are host names, wildcards too, for which no Secret is named.
	CertificateHosts []string `json:"certificateHosts,omitempty"`
	// NamedCertificates are those that Ingresses name by what the cloud calls them.
	NamedCertificates []string `json:"namedCertificates,omitempty"`
	Network           *Network `json:"network,omitempty"`
	WebACLs           []string `json:"webACLs,omitempty"`
	// Shield asks whether a load balancer can be shielded.
	Shield bool `json:"shield,omitempty"`
	// Limits says that something did not fit last time: a limit may have been raised since.
	Limits bool `json:"limits,omitempty"`
}

// A Network is where a load balancer is to stand, in the words of its class.
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
	// Certificates are, for each host that was asked for, the IDs of those that the cloud holds, the
	// best first.
	Certificates map[string][]string `json:"certificates,omitempty"`
	// Names are the names in each certificate that was asked for or found.
	Names          map[string][]string `json:"names,omitempty"`
	Subnets        []string            `json:"subnets,omitempty"`
	SecurityGroups []string            `json:"securityGroups,omitempty"`
	// NameTaken says that something else has the name that the load balancer is to have, in words.
	NameTaken string `json:"nameTaken,omitempty"`
	// WebACLs are, for each that was asked for, the ID of it. One that is missing does not exist.
	WebACLs map[string]string `json:"webACLs,omitempty"`
	// Unguarded is why web ACLs that are missing cannot be used, in words; "" where they do not exist.
	Unguarded string `json:"unguarded,omitempty"`
	// Unshielded is why load balancers cannot be shielded, in words; "" if they can.
	Unshielded string `json:"unshielded,omitempty"`
	// Unmet is what the class asks for and the cloud does not have, in words.
	Unmet []string `json:"unmet,omitempty"`
	// CertificatesUnread is why certificates of the cloud could not be looked up, in words.
	CertificatesUnread string `json:"certificatesUnread,omitempty"`
	LimitsUnread       bool   `json:"limitsUnread,omitempty"`
	// Stale is why some facts are those of an earlier look, in words.
	Stale []string `json:"stale,omitempty"`
	// ExpiredRefused says that a certificate cannot be imported that has expired.
	ExpiredRefused bool `json:"expiredRefused,omitempty"`
	// CapabilitiesETag is the entity tag of the Capabilities as they are now. Limits among them can
	// change.
	CapabilitiesETag string `json:"capabilitiesETag,omitempty"`
}
