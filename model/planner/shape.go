package planner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file keeps the rules of load balancers that were taken over from others. Other rules can give the same answers as
// the wanted ones: then they stay until the wanted ones change, or another writer changes those that exist.

// ShapeOf returns the shape of a listener whose rules give the same answers as the wanted ones: digests of both.
func ShapeOf(found lb.ObservedListener, want lb.Listener) string {
	return digestOfFound(found) + "." + digestOfRules(want.Rules, want.Default)
}

// AsFound reports whether the rules of a listener that was taken over are those that were found.
func AsFound(l lb.ObservedListener) bool {
	found, _, taken := strings.Cut(l.Shape, ".")
	return taken && digestOfFound(l) == found
}

func digestOfFound(l lb.ObservedListener) string {
	var rules []lb.Rule
	for _, r := range servingRules(&l) {
		rules = append(rules, r.Rule)
	}
	return digestOfRules(rules, l.Default)
}

func digestOfRules(rules []lb.Rule, otherwise lb.Action) string {
	sum := sha256.New()
	for _, r := range rules {
		fmt.Fprintln(sum, r.Key())
	}
	fmt.Fprintln(sum, otherwise.Key())
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// KeepShape returns the wanted load balancer with the existing rules in place of the wanted ones, in listeners that still
// have the shape that they were taken over with.
func KeepShape(want lb.LoadBalancer, seen *lb.Observed) lb.LoadBalancer {
	want.Listeners = slices.Clone(want.Listeners)
	for i := range want.Listeners {
		w := &want.Listeners[i]
		l := seen.Listener(w.Port)
		if l == nil || l.Shape == "" || l.Protocol != w.Protocol || ShapeOf(*l, *w) != l.Shape {
			continue
		}
		known := signIns(*w)
		w.Rules, w.Default = nil, known.in(l.Default)
		for _, r := range servingRules(l) {
			r.Action = known.in(r.Action)
			w.Rules = append(w.Rules, r.Rule)
		}
	}
	return want
}

// knownSignIns are the sign-ins of a wanted listener, which have client secrets, by their keys.
type knownSignIns map[string]*routing.Auth

func signIns(l lb.Listener) knownSignIns {
	out := knownSignIns{}
	for _, a := range append([]lb.Action{l.Default}, actionsOf(l.Rules)...) {
		if a.Auth != nil {
			out[a.Auth.Key()] = a.Auth
		}
	}
	return out
}

// in returns an action of the cloud, which does not return secrets, with the secret of the wanted one.
func (k knownSignIns) in(a lb.Action) lb.Action {
	if a.Auth != nil && k[a.Auth.Key()] != nil {
		a.Auth = k[a.Auth.Key()]
	}
	return a
}

func actionsOf(rules []lb.Rule) (out []lb.Action) {
	for _, r := range rules {
		out = append(out, r.Action)
	}
	return out
}
