package ingress

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

// This file is about Pods that are ready once a load balancer finds them healthy, which it can do only
// after they have become its targets: such a Pod knocks, and is let in before it is ready.

// Knocks reports whether a Pod declares our readiness gate and has everything else that it takes to be
// ready. Whether the gate is open is no matter: the endpoints of a Pod lag behind it.
func Knocks(p *corev1.Pod) bool {
	if !Gated(p) || !p.DeletionTimestamp.IsZero() {
		return false
	}
	return !slices.ContainsFunc(needs(p), func(t corev1.PodConditionType) bool {
		c := conditionOf(p, t)
		return c == nil || c.Status != corev1.ConditionTrue
	})
}

// KnocksSince is when a Pod that knocks began to.
func KnocksSince(p *corev1.Pod) time.Time {
	var last time.Time
	for _, t := range needs(p) {
		if c := conditionOf(p, t); c != nil && c.LastTransitionTime.After(last) {
			last = c.LastTransitionTime.Time
		}
	}
	return last
}

// Gated reports whether a Pod declares our readiness gate.
func Gated(p *corev1.Pod) bool {
	return slices.Contains(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: v1alpha1.TargetHealthGate})
}

// GateOf is what was said of a Pod's gate last; nil if nothing was.
func GateOf(p *corev1.Pod) *corev1.PodCondition { return conditionOf(p, v1alpha1.TargetHealthGate) }

// Opened reports whether a Pod's gate is open.
func Opened(p *corev1.Pod) bool {
	c := GateOf(p)
	return c != nil && c.Status == corev1.ConditionTrue
}

// needs are the conditions that a Pod has to meet to be ready, without ours.
func needs(p *corev1.Pod) []corev1.PodConditionType {
	out := []corev1.PodConditionType{corev1.ContainersReady}
	for _, g := range p.Spec.ReadinessGates {
		if g.ConditionType != v1alpha1.TargetHealthGate {
			out = append(out, g.ConditionType)
		}
	}
	return out
}

func conditionOf(p *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == t {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// knocking are the endpoints of a port whose Pods knock. They are targets beside those that are usable,
// and in place of none: until they are healthy, whoever is about to go may still be needed.
func (b Behind) knocking(port *corev1.ServicePort, family string) []routing.Target {
	var out []routing.Target
	for _, s := range b.Slices {
		number := numberOf(s, port)
		if number == 0 || familyOfSlice(s) != family {
			continue
		}
		for _, e := range s.Endpoints {
			if len(e.Addresses) > 0 && b.knocks(s, e) {
				out = append(out, routing.Target{Address: e.Addresses[0], Port: number})
			}
		}
	}
	return out
}

// knocks reports whether an endpoint is not ready, and its Pod knocks.
func (b Behind) knocks(s *discoveryv1.EndpointSlice, e discoveryv1.Endpoint) bool {
	return IsUnready(e) && slices.ContainsFunc(b.Pods, func(p *corev1.Pod) bool { return IsOf(s, e, p) && Knocks(p) })
}

// IsOf reports whether an endpoint is that of a Pod, and of no other that had its name before.
func IsOf(s *discoveryv1.EndpointSlice, e discoveryv1.Endpoint, p *corev1.Pod) bool {
	return s.Namespace == p.Namespace && PodOf(s, e) == p.Name && (e.TargetRef.UID == "" || e.TargetRef.UID == p.UID)
}
