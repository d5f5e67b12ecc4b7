package ingress

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file is what is remembered from one compilation to the next. Memory is never truth: to
// lose it loses last good versions, the overlap of a running move, and rejections until the
// cloud repeats them.

// Memory is what is remembered of one load balancer.
type Memory struct {
	// Class is what its class said when something was last accepted. It stands in when the
	// class disappears, so that what is served stays.
	Class *v1alpha1.LoadBalancerClassSpec
	// Members are by namespace/name.
	Members map[string]Remembered
}

// Remembered is what is remembered of one member.
type Remembered struct {
	// LastAccepted is the version to fall back to; nil if none was ever accepted.
	LastAccepted *Accepted
	// Rejections are the versions that the cloud refused.
	Rejections []Rejection
	// Previous is the load balancer that the member moves here from, until the move is over.
	Previous routing.Key
	// Served says that routes of the member have been in the cloud.
	Served bool
}

// Accepted is a version of an Ingress that was compiled and programmed.
type Accepted struct {
	Annotations map[string]string
	Spec        networkingv1.IngressSpec
}

// A Rejection is a version that the cloud refused, and its words.
type Rejection struct {
	Version string // as Version computes it
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
	version := Version(ing)
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

// keep makes a member of an Ingress as it was last accepted, and tells its owner. Its annotations
// were allowed then: without one that the class has forbidden since, more could be exposed.
func (s *Snapshot) keep(ing *networkingv1.Ingress, accepted *Accepted) Member {
	version := accepted.version(ing)
	class := s.Class
	class.Annotations = nil
	settings, _ := readAnnotations(version, &class)
	s.Diagnostics = append(s.Diagnostics, diag.Diagnostic{
		Severity: diag.Warning, Reason: diag.LastGood, Source: sourceOf(ing),
		Message: fmt.Sprintf("its last accepted version keeps being served by %s", s.Key),
	})
	return newMember(version, settings)
}

// A home is the load balancer that remembers an Ingress as its member.
type home struct {
	key routing.Key
	Remembered
}

// homes finds the load balancer of each remembered Ingress. During a move two remember it, and the
// one that it moves to is its home; after it, the one that it left may not have forgotten it yet.
func homes(memories map[routing.Key]Memory) map[string]home {
	out := map[string]home{}
	for _, key := range slices.Sorted(maps.Keys(memories)) {
		for ing, r := range memories[key].Members {
			if known, ok := out[ing]; !ok || r.Previous == known.key {
				out[ing] = home{key, r}
			}
		}
	}
	return out
}

// Accept is the version of an Ingress to remember once it is programmed: what Fairlead reads of it.
func Accept(ing *networkingv1.Ingress) Accepted {
	return Accepted{Annotations: asked(ing), Spec: ing.Spec}
}

// asked are the annotations that Fairlead reads.
func asked(ing *networkingv1.Ingress) map[string]string {
	out := map[string]string{}
	for key, value := range ing.Annotations {
		if strings.HasPrefix(key, prefix) || key == classAnnotation {
			out[key] = value
		}
	}
	return out
}
