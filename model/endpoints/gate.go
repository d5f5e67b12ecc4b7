package endpoints

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads the readiness gate of Pods: such a Pod is ready once it is a healthy target of
// the load balancer. So a Pod that only waits for its gate becomes a target before it is ready.

// WaitsForGate reports whether a Pod declares our readiness gate and meets all other conditions of
// readiness. Whether the gate is open makes no difference: the endpoints of a Pod lag behind it.
func WaitsForGate(p *corev1.Pod) bool {
	if !HasGate(p) || !p.DeletionTimestamp.IsZero() {
		return false
	}
	return !slices.ContainsFunc(requiredConditions(p), func(t corev1.PodConditionType) bool {
		c := ConditionOf(p, t)
		return c == nil || c.Status != corev1.ConditionTrue
	})
}

// WaitsForGateSince returns when a Pod that waits for its gate met the last of the other
// conditions.
func WaitsForGateSince(p *corev1.Pod) time.Time {
	var last time.Time
	for _, t := range requiredConditions(p) {
		if c := ConditionOf(p, t); c != nil && c.LastTransitionTime.After(last) {
			last = c.LastTransitionTime.Time
		}
	}
	return last
}

// HasGate reports whether a Pod declares our readiness gate.
func HasGate(p *corev1.Pod) bool {
	return slices.Contains(p.Spec.ReadinessGates,
		corev1.PodReadinessGate{ConditionType: v1alpha1.TargetHealthGate})
}

// GateCondition returns the condition of a Pod's gate; nil if it has none.
func GateCondition(p *corev1.Pod) *corev1.PodCondition {
	return ConditionOf(p, v1alpha1.TargetHealthGate)
}

// GateIsOpen reports whether a Pod's gate is open.
func GateIsOpen(p *corev1.Pod) bool {
	c := GateCondition(p)
	return c != nil && c.Status == corev1.ConditionTrue
}

// requiredConditions returns the conditions that a Pod has to meet to be ready, without ours.
func requiredConditions(p *corev1.Pod) []corev1.PodConditionType {
	out := []corev1.PodConditionType{corev1.ContainersReady}
	for _, g := range p.Spec.ReadinessGates {
		if g.ConditionType != v1alpha1.TargetHealthGate {
			out = append(out, g.ConditionType)
		}
	}
	return out
}

func ConditionOf(p *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == t {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// waiting returns the endpoints of a port whose Pods wait for their gates. They are added to the
// usable ones, and replace none: until they are healthy, terminating Pods may still be needed.
func (b Objects) waiting(port *corev1.ServicePort, family string) []routing.Target {
	var out []routing.Target
	for _, s := range b.Slices {
		number := numberOf(s, port)
		if number == 0 || familyOfSlice(s) != family {
			continue
		}
		for _, e := range s.Endpoints {
			if len(e.Addresses) > 0 && b.waits(s, e) {
				out = append(out, routing.Target{Address: e.Addresses[0], Port: number})
			}
		}
	}
	return out
}

// waits reports whether an endpoint is not ready, and its Pod waits for its gate.
func (b Objects) waits(s *discoveryv1.EndpointSlice, e discoveryv1.Endpoint) bool {
	return isUnready(e) && slices.ContainsFunc(b.Pods, func(p *corev1.Pod) bool {
		return isOf(s, e, p) && WaitsForGate(p)
	})
}

// isOf reports whether an endpoint belongs to a Pod, and not to an earlier Pod of the same name.
func isOf(s *discoveryv1.EndpointSlice, e discoveryv1.Endpoint, p *corev1.Pod) bool {
	return s.Namespace == p.Namespace && PodOf(s, e) == p.Name && (e.TargetRef.UID == "" ||
		e.TargetRef.UID == p.UID)
}
