package readiness

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/printable"
)

// This file decides whether the gate of a Pod opens, from the health of the Pod's targets and the
// time.

// A visit has the facts about a waiting Pod.
type visit struct {
	// settled is set if the findings include all target groups that the Pod is going to be in.
	settled  bool
	findings []finding
	// waited is how long the Pod has waited, and limit how long it waits at most.
	waited, limit time.Duration
}

// A finding is the health of a Pod as a target of one group.
type finding struct {
	group lb.GroupKey
	state string
}

// States beside those of the cloud.
const (
	stateMissing      = "the target group is yet to be made"
	stateUnregistered = "not registered yet"
	stateUnknown      = "the cloud does not say"
)

// healthy is the one state of a target that opens the gate. A target without health checks is in
// another one.
const healthy = string(lb.HealthHealthy)

const (
	// unclaimedDelay is how long a Pod without a target group waits before the gate opens: the caches
	// may lack objects that were created together with the Pod.
	unclaimedDelay = 3 * time.Second
	// reportDelay is how long a Pod waits before its condition is written.
	reportDelay = 5 * time.Second
	// A Pod that waits is reconciled again after a time between these two, which grows.
	minRecheck, maxRecheck = time.Second, 15 * time.Second
)

// verdict returns the condition of the Pod's gate. The gate opens when the Pod is healthy, when no
// load balancer has it as a target, or at the timeout.
func (v visit) verdict() corev1.PodCondition {
	waiting := v.waiting()
	switch {
	case waiting == "" && len(v.findings) == 0:
		return gate(true, v1alpha1.ReasonNotServed, "no load balancer has it for a target")
	case waiting == "":
		return gate(true, v1alpha1.ReasonHealthy, "in "+v.groups())
	case v.waited >= v.limit:
		return gate(true, v1alpha1.ReasonTimedOut,
			fmt.Sprintf("it has waited for %s: %s", v.limit, waiting))
	}
	return gate(false, v1alpha1.ReasonWaiting, waiting)
}

// waiting describes the wait of the Pod; "" if it does not wait.
func (v visit) waiting() string {
	for _, f := range v.findings {
		if f.state != healthy {
			return fmt.Sprintf("%s of %s: %s", f.group.ID, f.group.Key, f.state)
		}
	}
	if !v.settled || len(v.findings) == 0 && v.waited < unclaimedDelay {
		return "which load balancers have it for a target is not known yet"
	}
	return ""
}

func (v visit) groups() string {
	var out []string
	for _, f := range v.findings {
		out = append(out, fmt.Sprintf("%s of %s", f.group.ID, f.group.Key))
	}
	return strings.Join(out, ", ")
}

// recheckAfter returns when to reconcile a waiting Pod again.
func (v visit) recheckAfter() time.Duration {
	return min(max(v.waited/5, minRecheck), maxRecheck, max(v.limit-v.waited, minRecheck))
}

// needsWrite reports whether a verdict is to be written. A gate that is open stays open.
func (v visit) needsWrite(pod *corev1.Pod, verdict corev1.PodCondition) bool {
	said := endpoints.GateCondition(pod)
	if said != nil && said.Status == verdict.Status {
		return said.Status == corev1.ConditionFalse && (said.Reason != verdict.Reason ||
			said.Message != verdict.Message)
	}
	return verdict.Status == corev1.ConditionTrue || said == nil && v.waited >= reportDelay
}

func gate(open bool, reason, message string) corev1.PodCondition {
	status := corev1.ConditionFalse
	if open {
		status = corev1.ConditionTrue
	}
	return corev1.PodCondition{
		Type: v1alpha1.TargetHealthGate, Status: status, Reason: reason,
		Message:            printable.Shorten(message),
		LastTransitionTime: metav1.Now().Rfc3339Copy(),
	}
}

// stateOf returns the health of a Pod among the targets of a group, on any port. A target that is
// draining may belong to another Pod, which had the address before.
func stateOf(pod *corev1.Pod, among []lb.TargetHealth) string {
	state := stateUnregistered
	for _, t := range among {
		if t.State == lb.HealthDraining || !hasAddress(pod, t.Address) {
			continue
		}
		if state = string(t.State); state != healthy {
			return state
		}
	}
	return state
}

func hasAddress(pod *corev1.Pod, address string) bool {
	for _, ip := range pod.Status.PodIPs {
		if ip.IP == address {
			return true
		}
	}
	return false
}
