package lb

import (
	"time"

	"fairlead.dev/fairlead/model/routing"
)

// Questions are the questions of the compiler to the cloud, and Facts the answers. They are asked
// once, before compiling, which makes no calls.
type Questions struct {
	// Provider is the name of the provider to ask; "" for the operator's first.
	Provider string
	// CertificateHosts are host names (wildcards too) for which no Secret is named.
	CertificateHosts []string
	// NamedCertificates are the certificates that Ingresses name by ARN, where their hosts decide
	// whether they may be served.
	NamedCertificates []CertificateID
	Network           Network
	// WebACLs are the wanted web ACLs, by name or ARN.
	WebACLs []string
	// Shield asks whether a load balancer can have Shield Advanced.
	Shield bool
	// Limits asks for the limits again, as one was exceeded last time and may have been raised.
	Limits bool
	// Settings and GroupSettings are the provider's own settings, of classes and Backends, as JSON.
	Settings      string
	GroupSettings []string
	// TargetGroups are target groups that others made. They are asked about alone.
	TargetGroups []GroupID
	// Others asks for the load balancers that others made with these tags, of which an empty value stands for any. They
	// are asked about alone.
	Others map[string]string
}

// An OthersGroup is a target group that others made, as the cloud has it.
type OthersGroup struct {
	TargetType string // such as ip, instance or lambda
	Protocol   string // such as HTTP or TCP
	Family     string // ipv4 or ipv6
	VPC        string
	// Kept is a message if it is not others' after all, or another controller keeps its targets; or "".
	Kept string
}

// RefuseSettings maps all settings of the questions to the reason why a provider takes none.
func (q Questions) RefuseSettings(why string) map[string]string {
	var out map[string]string
	for _, settings := range append([]string{q.Settings}, q.GroupSettings...) {
		if settings == "" {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[settings] = why
	}
	return out
}

// A Network is the network of a load balancer as its class names it.
type Network = routing.Network

// Facts answer Questions.
type Facts struct {
	// Certificates maps a host name to the certificates that the cloud holds for it, the best
	// first.
	Certificates map[string][]CertificateID
	// Names has all host names of certificates that the cloud holds: of the named ones, if they exist
	// and can be read, and of those found for hosts.
	Names map[CertificateID][]string
	// Network is the network that was asked for; zero if it is that of the compiled snapshot.
	Network Network
	// Subnets are the subnets of the network, sorted. If empty, the provider chooses.
	Subnets []string
	// SecurityGroups are the security groups of the network, sorted.
	SecurityGroups []string
	// NameTaken is a message if another object has the name of the load balancer.
	NameTaken string
	// WebACLs maps the wanted web ACLs to their ARNs. A missing one does not exist.
	WebACLs map[string]string
	// Unguarded is a message that says why missing web ACLs cannot be used; "" if they do not exist.
	Unguarded string
	// Unshielded is a message that says why load balancers cannot have Shield Advanced; "" if they
	// can.
	Unshielded string
	// TargetGroups has those that exist of the target groups that others made; nil if the provider does not
	// answer the question.
	TargetGroups map[GroupID]OthersGroup
	// Others has the load balancers that others made. It is nil if the provider cannot say.
	Others []Other
	// Digest is the digest of the present settings of the load balancer.
	Digest Digest
	// InUse counts the limited resources of the present load balancer.
	InUse Counts
	// Beside has its listeners that others made.
	Beside []ObservedListener
	// Imported are the certificates of Secrets that the cloud now has for the load balancer.
	Imported []Certificate
	// Shown are the certificates that its listeners now have.
	Shown []CertificateID
	// ClientSecrets are digests of the client secrets that its listeners now have, by port.
	ClientSecrets map[int32]Digest
	// Now is the time at which a new certificate must not have expired; zero if expiry is not checked.
	Now time.Time
	// Unmet has a message for each network of the class that the cloud does not have.
	Unmet []string
	// SettingsRefused maps the JSON of settings that the provider does not accept to the reason.
	SettingsRefused map[string]string
	// CertificatesUnread is a message that says why the cloud's certificates could not be looked up;
	// "" if they were. Then earlier choices for hosts stay.
	CertificatesUnread string
	// LimitsUnread: the limits of the account are not known, so the published ones are used. Present
	// resources of the load balancer are kept even if they exceed these.
	LimitsUnread bool
	// Stale has the cloud's errors for facts that are from an earlier call.
	Stale []string
}

// AddObserved adds the facts about the present load balancer.
func (f *Facts) AddObserved(seen *Observed) {
	f.InUse, f.Digest = seen.Counts(), seen.Digest
	f.ClientSecrets = map[int32]Digest{}
	for i := range seen.Listeners {
		l := &seen.Listeners[i]
		f.Shown = append(f.Shown, l.Certificates...)
		if f.ClientSecrets[l.Port] = l.ClientSecrets; l.Others {
			f.Beside = append(f.Beside, *l)
		}
	}
	for _, c := range seen.Certificates {
		f.Imported = append(f.Imported, c.Certificate)
	}
}
