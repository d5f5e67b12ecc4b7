// Package lb has the load balancer, as all clouds have it: for each listener an ordered list of
// rules, target groups and certificates. A LoadBalancer is one that is wanted, Observed is what a
// cloud has; Capabilities are what one cloud can do. Listener.Match says what becomes of a request,
// Overlap and Contains compare rules as sets of requests.
package lb

import (
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// These are the routing package's types that pass through lowering unchanged. Clouds know them
// under the names of this package.
type (
	Key           = routing.Key
	GroupID       = routing.BackendID
	CertificateID = routing.CertificateID
	Target        = routing.Target
	KeyPair       = routing.KeyPair

	MutualAuthentication = routing.MutualAuthentication
	Protection           = routing.Protection
)

// Values of protection besides the name of a web ACL.
const (
	NoWebACL  = routing.NoWebACL
	ShieldOn  = routing.ShieldOn
	ShieldOff = routing.ShieldOff
	Unsettled = routing.Unsettled
)

// A LoadBalancer is what Lower wants a cloud to have. Two load balancers that do the same are
// equal in every field that Observe can also fill in; what only the desired side knows (values
// behind digests, where a rule comes from, targets to register first) is marked as such.
type LoadBalancer struct {
	Key          Key           `json:"key"`
	Digest       Digest        `json:"digest,omitempty"`       // of Settings
	Listeners    []Listener    `json:"listeners"`              // by port
	TargetGroups []TargetGroup `json:"targetGroups"`           // by ID
	Certificates []Certificate `json:"certificates,omitempty"` // by ID; those the provider must hold
	Protection   Protection    `json:"protection,omitzero"`

	Settings routing.Settings `json:"-"` // desired side only
	// Protected says, on the desired side, that the cloud refuses to delete it.
	Protected bool `json:"-"`
	// Wanted says, on the desired side, that there are Ingresses for it. They may have nothing
	// to serve for the moment, when the only certificate is missing.
	Wanted bool `json:"-"`
	// Withdrawn says, on the desired side, that its class does not permit any more what it served of
	// some Ingress: even if it cannot be deleted, nothing of that goes on being answered.
	Withdrawn bool `json:"-"`
}

// Empty reports whether the load balancer should not exist.
func (l LoadBalancer) Empty() bool { return len(l.Listeners) == 0 && !l.Wanted }

// Askers are the routes for which rules forward to some target groups, in their order.
func (l LoadBalancer) Askers(groups []GroupID) []diag.Source {
	var out []diag.Source
	asked, known := map[GroupID]bool{}, map[diag.Source]bool{}
	for _, id := range groups {
		asked[id] = true
	}
	for _, listener := range l.Listeners {
		for _, r := range listener.Rules {
			if !slices.ContainsFunc(r.Action.Groups(), func(id GroupID) bool { return asked[id] }) {
				continue
			}
			for _, source := range r.Origin {
				if source = source.At(""); !known[source] {
					known[source], out = true, append(out, source)
				}
			}
		}
	}
	return out
}

// A Listener answers on one port: with the first rule that matches, else with Default.
type Listener struct {
	Port     int32            `json:"port"`
	Protocol routing.Protocol `json:"protocol"`
	// the default first, the others sorted
	Certificates []CertificateID `json:"certificates,omitempty"`
	// it lets in only clients whose certificate it can verify
	Verifies bool   `json:"verifies,omitempty"`
	Digest   Digest `json:"digest,omitempty"` // of Settings
	Default  Action `json:"default"`
	Rules    []Rule `json:"rules"` // the index is the precedence

	Settings ListenerSettings `json:"-"` // desired side only
}

// ListenerSettings hold for a whole port.
type ListenerSettings struct {
	// the sources that may connect, sorted; nil for all
	Inbound    []string              `json:"inbound,omitempty"`
	TLSPolicy  string                `json:"tlsPolicy,omitempty"`
	Attributes map[string]string     `json:"attributes,omitempty"`
	Mutual     *MutualAuthentication `json:"mutualAuthentication,omitempty"`
	Tags       map[string]string     `json:"tags,omitempty"`
	// ClientSecrets stands for the secrets of all actions: a change of one is one of the listener.
	ClientSecrets Digest `json:"clientSecrets,omitempty"`
}

// A TargetGroup is where a rule forwards to.
type TargetGroup struct {
	ID         GroupID             `json:"id"`
	Service    string              `json:"service"` // namespace/name
	Port       routing.ServicePort `json:"port"`
	TargetType string              `json:"targetType,omitempty"`
	Protocol   routing.Protocol    `json:"protocol,omitempty"`
	Version    routing.Version     `json:"version,omitempty"`
	Family     string              `json:"family,omitempty"`
	Digest     Digest              `json:"digest,omitempty"` // of GroupSettings

	// desired side only: settings that only the provider understands, as the ID has them
	Provider   string              `json:"-"`
	Health     routing.HealthCheck `json:"-"` // desired side only
	Attributes map[string]string   `json:"-"` // desired side only
	Tags       map[string]string   `json:"-"` // desired side only
	Targets    []Target            `json:"-"` // desired side only: what to register first
}

// A Certificate is one that the provider holds for this load balancer because an Ingress brought
// it. Those that the cloud has of itself are only named by listeners.
type Certificate struct {
	ID     CertificateID `json:"id"`
	Hosts  []string      `json:"hosts"`
	Kind   string        `json:"kind,omitempty"`   // what does not change when it is renewed
	Digest Digest        `json:"digest,omitempty"` // of CertificateSettings; none without any

	Secrets []string `json:"-"` // desired side only: those that hold it, or held it last
	// desired side only; nil for one that no Secret holds any more and the provider has
	Pair   *KeyPair          `json:"-"`
	Tags   map[string]string `json:"-"` // desired side only
	Origin []diag.Source     `json:"-"` // desired side only: where it is asked for
}

// CertificateSettings are the properties of a certificate that change in place.
type CertificateSettings struct {
	Tags map[string]string `json:"tags"`
}

// Digest is that of the settings, "" where there are none.
func (s CertificateSettings) Digest() Digest {
	if len(s.Tags) == 0 {
		return ""
	}
	return DigestOf(s)
}

// Succeeds reports whether the certificate can take the place of another one wherever that is
// served: it is of the same kind, and for every host that the other one is for.
func (c Certificate) Succeeds(other Certificate) bool {
	return c.Kind == other.Kind && len(other.Hosts) > 0 &&
		!slices.ContainsFunc(other.Hosts, func(host string) bool {
			return !slices.ContainsFunc(c.Hosts, func(name string) bool {
				return routing.Host(name).Covers(routing.Host(host))
			})
		})
}

// Counts are those of a load balancer that is wanted.
func (l LoadBalancer) Counts() Counts {
	c := Counts{TargetGroups: len(l.TargetGroups), Listeners: len(l.Listeners)}
	for _, listener := range l.Listeners {
		c.Rules += len(listener.Rules)
		c.Certificates += max(0, len(listener.Certificates)-1)
		if listener.Verifies {
			c.Verifying++
		}
	}
	return c
}

// GroupSettings are the settings of a target group that change in place. Without attributes and
// tags they are told as health checks alone.
type GroupSettings struct {
	routing.HealthCheck
	Attributes map[string]string `json:"attributes,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// A cloud takes the secrets with which a load balancer makes itself known to identity providers,
// and does not tell them: a digest of those that were written stands for them.

// KeepClientSecrets has each listener with a secret that could not be read go on with those that it
// has, which the digests stand for, by port. Until it can be read, a change of another secret on
// that listener waits, too.
func (l *LoadBalancer) KeepClientSecrets(has map[int32]Digest) {
	for i := range l.Listeners {
		on := &l.Listeners[i]
		for a := range on.SignIns() {
			if a.KeepsClientSecret {
				on.Settings.ClientSecrets = has[on.Port]
				on.Digest = DigestOf(on.Settings)
				break
			}
		}
	}
}

// SignIns are those that a listener asks users for, some of them more than once.
func (l *Listener) SignIns() func(yield func(*routing.Auth) bool) {
	return func(yield func(*routing.Auth) bool) {
		if l.Default.Auth != nil && !yield(l.Default.Auth) {
			return
		}
		for _, r := range l.Rules {
			if r.Action.Auth != nil && !yield(r.Action.Auth) {
				return
			}
		}
	}
}
