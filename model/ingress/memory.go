package ingress

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/foreign"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file is what is remembered from one compilation to the next. Memory is never truth: to lose
// it loses last good versions, the overlap of a running move, rejections until the cloud repeats
// them, and who named a host first: the age of Ingresses decides then.

// Memory is what is remembered of one load balancer.
type Memory struct {
	// Class is what its class said when something was last accepted. It stands in when the
	// class disappears, so that what is served stays.
	Class *v1alpha1.LoadBalancerClassSpec
	// Members are by namespace/name.
	Members map[string]Remembered
	// Certificates are those that Secrets held last of which the cloud has them, by the Secrets'
	// namespace/name.
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

// Remembered is what is remembered of one member.
type Remembered struct {
	// LastAccepted is the version to fall back to; nil if none was ever accepted.
	LastAccepted *Accepted
	// Rejections are the versions that the cloud refused, and the certificates.
	Rejections []Rejection
	// Previous is the load balancer that the member moves here from, until the move is over.
	Previous routing.Key
	// Earlier are those that the member was leaving already when it was here before, if it has come
	// back in the middle of that.
	Earlier []routing.Key
	// Move numbers the moves of the member, of which this load balancer has seen the one that brought
	// it here last: where the number is the highest it belongs.
	Move int32
	// Served says that routes of the member have been in the cloud.
	Served bool
	// Departed is how long ago the member was first seen to be no longer ours. It is 0 where it is
	// ours, or was at the last look.
	Departed time.Duration
	// Created is when the Ingress was made whose version was accepted, as far as is remembered.
	Created time.Time
	// Vanished is set where the Ingress is gone without having been let go of, and is served on.
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

// Version stands for all that an Ingress asks for: equal for objects that ask for the same.
func Version(ing *networkingv1.Ingress) string {
	text, err := json.Marshal(Accept(ing))
	if err != nil {
		return "" // API types always marshal; and "" is no version that was ever rejected
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// rejection is the cloud's refusal of the Ingress as it is now, or nil.
func (r Remembered) rejection(ing *networkingv1.Ingress) *Rejection {
	if len(r.Rejections) == 0 {
		return nil
	}
	return r.rejectionOf(Version(ing))
}

// rejectionOf is the cloud's refusal of a version or a certificate, or nil.
func (r Remembered) rejectionOf(version string) *Rejection {
	i := slices.IndexFunc(r.Rejections, func(r Rejection) bool { return r.Version == version })
	if i < 0 {
		return nil
	}
	return &r.Rejections[i]
}

// version is the Ingress as it was accepted.
func (a *Accepted) version(of *networkingv1.Ingress) *networkingv1.Ingress {
	ing := *of
	ing.Annotations, ing.Spec = a.Annotations, a.Spec
	return &ing
}

// tellKept tells the owner of an Ingress that its last accepted version is a member.
func (s *Snapshot) tellKept(ing *networkingv1.Ingress) {
	s.Diagnostics = append(s.Diagnostics, diag.Diagnostic{
		Severity: diag.Warning, Reason: diag.LastGood, Source: sourceOf(ing),
		Message: fmt.Sprintf("its last accepted version keeps being served by %s", s.Key),
	})
}

// A home is a load balancer that remembers an Ingress as its member.
type home struct {
	key routing.Key
	Remembered
}

// A trail is where an Ingress belongs, as far as is remembered, and after it the load balancers
// that it is moving away from, the one that it left last first.
type trail []home

// home is where the Ingress belongs; empty if nobody remembers it.
func (t trail) home() home {
	if len(t) == 0 {
		return home{}
	}
	return t[0]
}

// before are the load balancers that serve an Ingress until clients have followed it to another
// one. A home that never served it has nothing to leave, and one that it comes back to is not left.
func (t trail) before(to routing.Key) trail {
	if len(t) > 0 && (t[0].key == to || !t[0].Served) {
		t = t[1:]
	}
	return slices.DeleteFunc(slices.Clone(t), func(h home) bool { return h.key == to })
}

// trails finds the trail of each remembered Ingress. The load balancer that it came to last is its
// home: one that it left may not have forgotten it yet.
func trails(memories map[routing.Key]Memory) map[string]trail {
	out := map[string]trail{}
	for _, key := range slices.Sorted(maps.Keys(memories)) {
		for ing, r := range memories[key].Members {
			known := out[ing].home()
			if known.key == "" || r.Move > known.Move || r.Move == known.Move && r.Previous == known.key {
				out[ing] = trail{{key, r}}
			}
		}
	}
	for ing, t := range out {
		for i := 0; i < len(t); i++ {
			for _, from := range t[i].leaving() {
				if t.at(from) < 0 {
					t = append(t, home{from, memories[from].Members[ing]})
				}
			}
		}
		out[ing] = t
	}
	return out
}

// at is where on the trail a load balancer is; negative if it is not.
func (t trail) at(key routing.Key) int {
	return slices.IndexFunc(t, func(h home) bool { return h.key == key })
}

// leaving are the load balancers that a member leaves for the one that remembers this.
func (r Remembered) leaving() []routing.Key {
	if r.Previous == "" {
		return nil
	}
	return append([]routing.Key{r.Previous}, r.Earlier...)
}

// Accept is the version of an Ingress to remember once it is programmed: what Fairlead reads of it,
// and the annotations of other controllers that restrict, which only the class can have let pass.
func Accept(ing *networkingv1.Ingress) Accepted {
	return Accepted{Annotations: asked(ing), Spec: ing.Spec}
}

// asked are the annotations that belong to a version.
func asked(ing *networkingv1.Ingress) map[string]string {
	out := map[string]string{}
	for key, value := range ing.Annotations {
		if strings.HasPrefix(key, settings.Prefix) || key == settings.IngressClass || foreign.Restricting(key, ing.Annotations) {
			out[key] = value
		}
	}
	return out
}
