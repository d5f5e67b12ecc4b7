package lb

import (
	"time"

	"fairlead.dev/fairlead/model/routing"
)

// Questions are the questions of the compiler about the cloud, and Facts the answers. They are
// asked once, before compiling, so that compiling itself makes no calls.
type Questions struct {
	// Provider is the name of the one that is asked; "" for the operator's first.
	Provider string
	// CertificateHosts are host names (wildcards too) for which no Secret is named.
	CertificateHosts []string
	// NamedCertificates are those that Ingresses name by what the cloud calls them, where the hosts
	// that they are for decide whether they may be served.
	NamedCertificates []CertificateID
	Network           Network
	// WebACLs are those that are asked for, by name or as the cloud calls them.
	WebACLs []string
	// Shield asks whether a load balancer can be shielded.
	Shield bool
	// Limits says that something did not fit last time: a limit may have been raised since.
	Limits bool
	// Settings and GroupSettings are what classes and Backends say to the provider alone, as JSON.
	Settings      string
	GroupSettings []string
}

// RefuseSettings are all settings that are asked about, and why a provider takes none.
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

// A Network is where a load balancer is to stand, in the words of its class.
type Network = routing.Network

// Facts answer Questions.
type Facts struct {
	// Certificates maps a host name to the certificates that the cloud holds for it, the best
	// first.
	Certificates map[string][]CertificateID
	// Names are all the names in certificates that the cloud holds: those that were asked for, without
	// the ones that are not there or that it tells nothing about, and those that were found for hosts.
	Names map[CertificateID][]string
	// Subnets are those that the network comes down to, sorted. None are left to the provider.
	Subnets []string
	// SecurityGroups are those that the class names, sorted.
	SecurityGroups []string
	// NameTaken says, in words, that something else has the name that the load balancer is to have.
	NameTaken string
	// WebACLs maps what was asked for to what the cloud calls it. One that is missing is not there.
	WebACLs map[string]string
	// Unguarded is why web ACLs that are missing there may not be put before load balancers, in words;
	// "" where they do not exist.
	Unguarded string
	// Unshielded is why load balancers cannot be shielded, in words; "" if they can.
	Unshielded string
	// Digest is that of the settings that the load balancer has now.
	Digest Digest
	// InUse counts the limited resources that the load balancer has now.
	InUse Counts
	// Held are the certificates that the provider holds for the load balancer now.
	Held []Certificate
	// Shown are the certificates that listeners of the load balancer have now.
	Shown []CertificateID
	// ClientSecrets stand for those that listeners of the load balancer have now, by port.
	ClientSecrets map[int32]Digest
	// Now is when a certificate must not have expired to be taken; zero where one may.
	Now time.Time
	// Unmet lists the networks of the class that the cloud does not have, in words.
	Unmet []string
	// SettingsRefused are settings that the provider does not take, by their JSON, and why not, in
	// words.
	SettingsRefused map[string]string
	// CertificatesUnread is why certificates that the cloud has of itself could not be looked up, in
	// words; "" if they were. What was chosen for hosts before counts.
	CertificatesUnread string
	// LimitsUnread says that those of the account are not known, and are taken for those that the
	// cloud publishes. What the load balancer has now is not taken away for it.
	LimitsUnread bool
	// Stale is why some facts are those of an earlier look, in the cloud's words.
	Stale []string
}

// Know adds what the load balancer has now.
func (f *Facts) Know(seen *Observed) {
	f.InUse, f.Digest = seen.Counts(), seen.Digest
	f.ClientSecrets = map[int32]Digest{}
	for i := range seen.Listeners {
		l := &seen.Listeners[i]
		f.Shown = append(f.Shown, l.Certificates...)
		f.ClientSecrets[l.Port] = l.ClientSecrets
	}
	for _, c := range seen.Certificates {
		f.Held = append(f.Held, c.Certificate)
	}
}
