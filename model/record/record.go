// Package record has the records of load balancers that one compilation passes to the next. No
// route is served because of a record alone. If the records are lost, so are the last accepted
// versions, the former load balancers of moved Ingresses, rejections until the cloud repeats them,
// and the order in which namespaces claimed hosts. Then the age of Ingresses decides.
package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/foreign"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// A Record is the record of a load balancer.
type Record struct {
	// Class is the spec of its class at the time of the last accepted version. It is used when the
	// class is deleted, so that routes stay.
	Class *v1alpha1.LoadBalancerClassSpec
	// Members has the members by namespace/name.
	Members map[string]Member
	// Certificates has the last certificate of each Secret, if the cloud has it, by the namespace/name
	// of the Secret.
	Certificates map[string]routing.CertificateID
	// CloudCertificates has the hosts for which certificates of the cloud were chosen that listeners
	// serve.
	CloudCertificates map[routing.CertificateID][]string
	// Clients has the last client of each Secret for sign-ins, by the namespace/name of the Secret.
	Clients map[string]string
	// Hosts has the owners of hosts: namespaces that claim them, or did so until a short time ago. It
	// is empty where hosts have no owners.
	Hosts map[routing.Host]string
	// Yielding has the hosts that came after a certificate of another namespace with a name for them.
	Yielding map[routing.Host]bool
	// Closed has the hosts that are closed, as expectations rule out the answers for them.
	Closed []routing.ClosedHost
	// Rules has the digests of our rules, if the class keeps rules of others.
	Rules []string
}

// A Member is the record of an Ingress of a load balancer.
type Member struct {
	// LastAccepted is the version that is served if a change is refused; nil if none was ever
	// accepted.
	LastAccepted *Accepted
	// Rejections has the versions and certificates that the cloud refused.
	Rejections []Rejection
	// Previous is the load balancer that the member moves away from, until the move is over.
	Previous routing.Key
	// Earlier has the load balancers that the member was leaving when it was here before, if it came
	// back before those moves were over.
	Earlier []routing.Key
	// Move is the number of the move that brought the member here last. The member belongs to the load
	// balancer with the highest number.
	Move int32
	// Served is true if routes of the member have been in the cloud.
	Served bool
	// Departed is how long ago the member was first seen without a class of Fairlead. It is 0 if it
	// has one, or had one when it was last read.
	Departed time.Duration
	// Created is the creation time of the Ingress whose version was accepted; zero if not known.
	Created time.Time
	// Vanished is set if the Ingress was deleted without its finalizer, and is still served.
	Vanished *Vanishing
}

// An Accepted is a version of an Ingress that was compiled and programmed.
type Accepted struct {
	Annotations map[string]string
	Spec        networkingv1.IngressSpec
}

// A Rejection is a version that the cloud refused, with its message.
type Rejection struct {
	Version string // as Version computes it, or the ID of a certificate
	Message string
}

// Version returns a digest of the parts of an Ingress that Fairlead reads.
func Version(ing *networkingv1.Ingress) string {
	text, err := json.Marshal(Accept(ing))
	if err != nil {
		return "" // API types always marshal, and "" is never a rejected version
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Rejection returns the cloud's refusal of the present version of the Ingress, or nil.
func (r Member) Rejection(ing *networkingv1.Ingress) *Rejection {
	if len(r.Rejections) == 0 {
		return nil
	}
	return r.RejectionOf(Version(ing))
}

// RejectionOf returns the cloud's refusal of a version or a certificate, or nil.
func (r Member) RejectionOf(version string) *Rejection {
	i := slices.IndexFunc(r.Rejections, func(r Rejection) bool { return r.Version == version })
	if i < 0 {
		return nil
	}
	return &r.Rejections[i]
}

// HasChanged reports whether a served Ingress differs from its last accepted version.
func (r Member) HasChanged(ing *networkingv1.Ingress) bool {
	return r.Served && r.LastAccepted != nil && !r.LastAccepted.IsVersionOf(ing)
}

// Version returns the accepted version of the Ingress.
func (a *Accepted) Version(of *networkingv1.Ingress) *networkingv1.Ingress {
	ing := *of
	ing.Annotations, ing.Spec = a.Annotations, a.Spec
	return &ing
}

// IsVersionOf reports whether the Ingress equals the accepted version. For most Ingresses, this
// takes no digest.
func (a *Accepted) IsVersionOf(ing *networkingv1.Ingress) bool {
	return asksTheSame(a.Annotations, ing.Annotations) && reflect.DeepEqual(&a.Spec, &ing.Spec) ||
		Version(a.Version(ing)) == Version(ing)
}

// asksTheSame reports whether the annotations that belong to a version are the same of two
// versions of an Ingress.
func asksTheSame(before, now map[string]string) bool {
	more := 0 // annotations that belong to the version now
	for key, value := range now {
		if belongs(key, now) {
			if was, there := before[key]; !there || was != value || !belongs(key, before) {
				return false
			}
			more++
		}
	}
	for key := range before {
		if belongs(key, before) {
			more--
		}
	}
	return more == 0
}

// A Membership is a load balancer with a record of an Ingress as its member.
type Membership struct {
	Key routing.Key
	Member
}

// Memberships are the load balancers of an Ingress, by the records: first the one that it belongs to,
// then those that it moves away from, beginning with the last one.
type Memberships []Membership

// Current returns the load balancer of the Ingress, or an empty Membership if no record has it.
func (m Memberships) Current() Membership {
	if len(m) == 0 {
		return Membership{}
	}
	return m[0]
}

// Before returns the load balancers that serve an Ingress until clients have followed it to another
// one. It leaves out those that never served it, and the one that it moves to.
func (m Memberships) Before(to routing.Key) Memberships {
	if len(m) > 0 && (m[0].Key == to || !m[0].Served) {
		m = m[1:]
	}
	return slices.DeleteFunc(slices.Clone(m), func(of Membership) bool { return of.Key == to })
}

// MembershipsOf returns the memberships of each recorded Ingress. The current load balancer is the
// one that it came to last: one that it left may not have forgotten it yet.
func MembershipsOf(records map[routing.Key]Record) map[string]Memberships {
	out := map[string]Memberships{}
	for _, key := range slices.Sorted(maps.Keys(records)) {
		for ing, r := range records[key].Members {
			known := out[ing].Current()
			if known.Key == "" || r.Move > known.Move || r.Move == known.Move && r.Previous == known.Key {
				out[ing] = Memberships{{key, r}}
			}
		}
	}
	for ing, m := range out {
		for i := 0; i < len(m); i++ {
			for _, from := range m[i].Leaving() {
				if m.At(from) < 0 {
					m = append(m, Membership{from, records[from].Members[ing]})
				}
			}
		}
		out[ing] = m
	}
	return out
}

// At returns the index of a load balancer in the memberships; -1 if it is not there.
func (m Memberships) At(key routing.Key) int {
	return slices.IndexFunc(m, func(of Membership) bool { return of.Key == key })
}

// Leaving returns the load balancers that a member leaves for the one with this record.
func (r Member) Leaving() []routing.Key {
	if r.Previous == "" {
		return nil
	}
	return append([]routing.Key{r.Previous}, r.Earlier...)
}

// Accept returns the version of an Ingress to record once it is programmed. It has the parts that
// Fairlead reads, and the restricting annotations of other controllers, which the class permitted.
func Accept(ing *networkingv1.Ingress) Accepted {
	return Accepted{Annotations: asked(ing), Spec: ing.Spec}
}

// asked returns the annotations that belong to a version.
func asked(ing *networkingv1.Ingress) map[string]string {
	out := map[string]string{}
	for key, value := range ing.Annotations {
		if belongs(key, ing.Annotations) {
			out[key] = value
		}
	}
	return out
}

// belongs reports whether an annotation of a version belongs to its record.
func belongs(key string, all map[string]string) bool {
	return strings.HasPrefix(key, settings.Prefix) || key == settings.IngressClass ||
		foreign.Restricting(key, all)
}
