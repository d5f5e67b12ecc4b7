// Package memory has what is remembered of load balancers from one compilation to the next. Nothing
// is served because of memory alone. Where it is lost, so are the last accepted versions, the
// overlap of moves, rejections until the cloud repeats them, and the order in which namespaces
// named a host: then the age of Ingresses decides.
package memory

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

// A LoadBalancer is what is remembered of a load balancer.
type LoadBalancer struct {
	// Class is the spec of its class when something was last accepted. It is used when the class
	// disappears, so that routes stay.
	Class *v1alpha1.LoadBalancerClassSpec
	// Members are by namespace/name.
	Members map[string]Member
	// Certificates are those that Secrets held last and that the cloud has, by the namespace/name of
	// the Secrets.
	Certificates map[string]routing.CertificateID
	// CloudCertificates are the hosts that certificates were chosen for which the cloud has of itself,
	// as listeners show them.
	CloudCertificates map[routing.CertificateID][]string
	// Clients are those that users sign in with, by the namespace/name of the Secrets that held them
	// last.
	Clients map[string]string
	// Hosts are the owners of hosts where these have owners: namespaces that name them, or did so not
	// long ago.
	Hosts map[routing.Host]string
	// Yielding are those of the hosts that certificates of other namespaces were there before.
	Yielding map[routing.Host]bool
	// Rules are those that are ours, each by its digest, where the class has others stay beside them.
	Rules []string
}

// A Member is what is remembered of an Ingress of a load balancer.
type Member struct {
	// LastAccepted is the version to fall back to; nil if none was ever accepted.
	LastAccepted *Accepted
	// Rejections are the versions that the cloud refused, and the certificates.
	Rejections []Rejection
	// Previous is the load balancer that the member moves here from, until the move is over.
	Previous routing.Key
	// Earlier are those that the member was leaving already when it was here before, if it has come
	// back in the middle of that.
	Earlier []routing.Key
	// Move is the number of the move that brought the member here last. The member belongs to the load
	// balancer with the highest number.
	Move int32
	// Served says that routes of the member have been in the cloud.
	Served bool
	// Departed is how long ago the member was first seen without a class of Fairlead. It is 0 where it
	// has one, or had one at the last look.
	Departed time.Duration
	// Created is when the Ingress was made whose version was accepted, as far as is remembered.
	Created time.Time
	// Vanished is set where the Ingress was deleted without its finalizer, and is still served.
	Vanished *Vanishing
}

// Accepted is a version of an Ingress that was compiled and programmed.
type Accepted struct {
	Annotations map[string]string
	Spec        networkingv1.IngressSpec
}

// A Rejection is a version that the cloud refused, and its words.
type Rejection struct {
	Version string // as Version computes it, or the ID of a certificate
	Message string
}

// Version returns a digest of all that an Ingress asks for.
func Version(ing *networkingv1.Ingress) string {
	text, err := json.Marshal(Accept(ing))
	if err != nil {
		return "" // API types always marshal; and "" is no version that was ever rejected
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Rejection returns the refusal of the Ingress, as it is now, by the cloud, or nil.
func (r Member) Rejection(ing *networkingv1.Ingress) *Rejection {
	if len(r.Rejections) == 0 {
		return nil
	}
	return r.RejectionOf(Version(ing))
}

// RejectionOf returns the refusal of a version or a certificate by the cloud, or nil.
func (r Member) RejectionOf(version string) *Rejection {
	i := slices.IndexFunc(r.Rejections, func(r Rejection) bool { return r.Version == version })
	if i < 0 {
		return nil
	}
	return &r.Rejections[i]
}

// Version returns the Ingress as it was accepted.
func (a *Accepted) Version(of *networkingv1.Ingress) *networkingv1.Ingress {
	ing := *of
	ing.Annotations, ing.Spec = a.Annotations, a.Spec
	return &ing
}

// IsVersionOf reports whether the Ingress asks for what was accepted. Most Ingresses do, and are
// found to without computing digests.
func (a *Accepted) IsVersionOf(ing *networkingv1.Ingress) bool {
	accepted := a.Version(ing)
	return reflect.DeepEqual(Accept(accepted), Accept(ing)) || Version(accepted) == Version(ing)
}

// A Home is a load balancer that remembers an Ingress as its member.
type Home struct {
	Key routing.Key
	Member
}

// A Trail is the load balancer that an Ingress belongs to, as far as is remembered, and after it
// those that it moves away from, the one that it left last first.
type Trail []Home

// Home returns the load balancer of the Ingress, or an empty Home where none is remembered.
func (t Trail) Home() Home {
	if len(t) == 0 {
		return Home{}
	}
	return t[0]
}

// Before returns the load balancers that serve an Ingress until clients have followed it to another
// one. A home that never served it has nothing to leave, and one that it comes back to is not left.
func (t Trail) Before(to routing.Key) Trail {
	if len(t) > 0 && (t[0].Key == to || !t[0].Served) {
		t = t[1:]
	}
	return slices.DeleteFunc(slices.Clone(t), func(h Home) bool { return h.Key == to })
}

// Trails returns the trail of each remembered Ingress. The load balancer that it came to last is
// its Home: one that it left may not have forgotten it yet.
func Trails(memories map[routing.Key]LoadBalancer) map[string]Trail {
	out := map[string]Trail{}
	for _, key := range slices.Sorted(maps.Keys(memories)) {
		for ing, r := range memories[key].Members {
			known := out[ing].Home()
			if known.Key == "" || r.Move > known.Move || r.Move == known.Move && r.Previous == known.Key {
				out[ing] = Trail{{key, r}}
			}
		}
	}
	for ing, t := range out {
		for i := 0; i < len(t); i++ {
			for _, from := range t[i].Leaving() {
				if t.At(from) < 0 {
					t = append(t, Home{from, memories[from].Members[ing]})
				}
			}
		}
		out[ing] = t
	}
	return out
}

// At returns the index of a load balancer on the trail; -1 if it is not there.
func (t Trail) At(key routing.Key) int {
	return slices.IndexFunc(t, func(h Home) bool { return h.Key == key })
}

// Leaving returns the load balancers that a member leaves for the one that remembers this.
func (r Member) Leaving() []routing.Key {
	if r.Previous == "" {
		return nil
	}
	return append([]routing.Key{r.Previous}, r.Earlier...)
}

// Accept returns the version of an Ingress to remember once it is programmed: what Fairlead reads
// of it, and the annotations of other controllers that restrict, which only the class can have let
// pass.
func Accept(ing *networkingv1.Ingress) Accepted {
	return Accepted{Annotations: asked(ing), Spec: ing.Spec}
}

// asked returns the annotations that belong to a version.
func asked(ing *networkingv1.Ingress) map[string]string {
	out := map[string]string{}
	for key, value := range ing.Annotations {
		if strings.HasPrefix(key, settings.Prefix) || key == settings.IngressClass || foreign.Restricting(key, ing.Annotations) {
			out[key] = value
		}
	}
	return out
}
