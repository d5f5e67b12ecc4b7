// Package lb has the load balancer that all clouds have in common: for each listener an ordered
// list of rules, target groups and certificates. A LoadBalancer is a wanted one, an Observed is one
// in the cloud; Capabilities describe one cloud. Listener.Match returns the answer to a request.
// Overlap and Contains compare rules as sets of requests.
package lb

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// These types of package routing pass through lowering unchanged. Providers use them under the
// names of this package.
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

// A LoadBalancer is the wanted one, made by Lower. Two load balancers that do the same are equal in
// every field that Observe can also fill in. Other fields (values of digests, origins of rules,
// targets to register first) are marked "desired side only".
type LoadBalancer struct {
	Key          Key           `json:"key"`
	Digest       Digest        `json:"digest,omitempty"`       // of Settings
	Listeners    []Listener    `json:"listeners"`              // by port
	TargetGroups []TargetGroup `json:"targetGroups"`           // by ID
	Certificates []Certificate `json:"certificates,omitempty"` // by ID; those the provider must hold
	Protection   Protection    `json:"protection,omitzero"`

	Settings routing.Settings `json:"-"` // desired side only
	// Decided has the annotations that decide about the network in Settings; desired side only.
	Decided []diag.Source `json:"-"`
	// Protected: the load balancer is to have deletion protection; desired side only.
	Protected bool `json:"-"`
	// Wanted: there are Ingresses for it; desired side only. It may still have no listener, such as
	// when the only certificate is missing.
	Wanted bool `json:"-"`
	// Withdrawn: its class no longer permits an Ingress that it served; desired side only. Even if it
	// cannot be deleted, it stops answering for that Ingress.
	Withdrawn bool `json:"-"`
	// RemoveOthers: listeners that others made go if no Ingress asks for their ports; desired side only.
	RemoveOthers bool `json:"-"`
	// Beside is what listeners that stay, although no Ingress asks for them, take of the limits; desired side only.
	Beside Counts `json:"-"`
}

// Empty reports whether the load balancer should not exist.
func (l LoadBalancer) Empty() bool { return len(l.Listeners) == 0 && !l.Wanted }

// Listener returns the wanted listener on a port, or nil.
func (l LoadBalancer) Listener(port int32) *Listener {
	if i := slices.IndexFunc(l.Listeners, func(w Listener) bool { return w.Port == port }); i >= 0 {
		return &l.Listeners[i]
	}
	return nil
}

// Leaves reports whether a listener stays as it is: others made it, and no Ingress asks for its port.
func (l LoadBalancer) Leaves(o *ObservedListener) bool {
	return o.Others && !l.RemoveOthers && l.Listener(o.Port) == nil
}

// OriginsOf returns the routes whose rules forward to some target groups, in their order.
func (l LoadBalancer) OriginsOf(groups []GroupID) []diag.Source {
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
	// Certificates has the default first, and the others sorted.
	Certificates []CertificateID `json:"certificates,omitempty"`
	// Verifies: only clients with a certificate that can be verified are admitted.
	Verifies bool   `json:"verifies,omitempty"`
	Digest   Digest `json:"digest,omitempty"` // of Settings
	Default  Action `json:"default"`
	Rules    []Rule `json:"rules"` // the index is the precedence

	Settings ListenerSettings `json:"-"` // desired side only
	// Decided has the annotations that decide about some of Settings; desired side only.
	Decided []diag.Source `json:"-"`
}

// ListenerSettings are the settings of a whole port.
type ListenerSettings struct {
	// Inbound has the sources that may connect, sorted; nil for all.
	Inbound    []string              `json:"inbound,omitempty"`
	TLSPolicy  string                `json:"tlsPolicy,omitempty"`
	Attributes map[string]string     `json:"attributes,omitempty"`
	Mutual     *MutualAuthentication `json:"mutualAuthentication,omitempty"`
	Tags       map[string]string     `json:"tags,omitempty"`
	// ClientSecrets is the digest of the client secrets of all actions: a change of one changes the
	// listener.
	ClientSecrets Digest `json:"clientSecrets,omitempty"`
}

// A TargetGroup is a set of targets that rules forward to.
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
	// desired side only: of the nodes that are targets, as in routing.Backend
	NodeLabels string   `json:"-"`
	Targets    []Target `json:"-"` // desired side only: what to register first
}

// OthersMade reports whether an ID is the name in the cloud of a target group that others made, such
// as an ARN. The IDs of our own begin with a namespace and a slash.
func OthersMade(id GroupID) bool {
	first, _, _ := strings.Cut(string(id), "/")
	return strings.Contains(first, ":")
}

// A Certificate is one that the provider imports for this load balancer. Other certificates of the
// cloud appear in listeners only, by name.
type Certificate struct {
	ID     CertificateID `json:"id"`
	Hosts  []string      `json:"hosts"`
	Kind   string        `json:"kind,omitempty"`   // equal for a certificate and its renewal
	Digest Digest        `json:"digest,omitempty"` // of CertificateSettings; none without any

	Secrets []string `json:"-"` // desired side only: those that hold it, or held it last
	// desired side only; nil for one that no Secret holds any more and the provider has
	Pair   *KeyPair          `json:"-"`
	Tags   map[string]string `json:"-"` // desired side only
	Origin []diag.Source     `json:"-"` // desired side only: where it is asked for
	// desired side only: how many certificates the namespace of its Secrets may have
	MostOfNamespace int `json:"-"`
}

// CertificateSettings are the properties of a certificate that change in place.
type CertificateSettings struct {
	Tags map[string]string `json:"tags"`
}

// Digest returns the digest of the settings, or "" without any.
func (s CertificateSettings) Digest() Digest {
	if len(s.Tags) == 0 {
		return ""
	}
	return DigestOf(s)
}

// Succeeds reports whether the certificate can replace another one on all listeners: it has the
// same kind, and covers all hosts of the other one.
func (c Certificate) Succeeds(other Certificate) bool {
	return c.Kind == other.Kind && len(other.Hosts) > 0 &&
		!slices.ContainsFunc(other.Hosts, func(host string) bool {
			return !slices.ContainsFunc(c.Hosts, func(name string) bool {
				return routing.Host(name).Covers(routing.Host(host))
			})
		})
}

// Counts returns the counts of a wanted load balancer.
func (l LoadBalancer) Counts() Counts {
	c := l.Beside
	c.TargetGroups, c.Listeners = c.TargetGroups+len(l.TargetGroups), c.Listeners+len(l.Listeners)
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
// tags, their JSON is that of the health check.
type GroupSettings struct {
	routing.HealthCheck
	Attributes map[string]string `json:"attributes,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// A cloud does not return the client secrets for identity providers. A digest of the written
// secrets is compared instead.

// KeepClientSecrets keeps the present secrets, given as digests by port, of each listener with a
// secret that could not be read. Until then, changes of other secrets on that listener wait, too.
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

// SignIns returns the sign-in actions of a listener, with duplicates.
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
