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

// This file decides whether a Pod that waits for load balancers is let go on. It is a function of
// what they say and of the time: it calls nothing.

// A visit is what was found out about a Pod that waits.
type visit struct {
	// settled says that it is known which target groups there will be for the Pod: these are all.
	settled  bool
	findings []finding
	// waited is how long the Pod has, and limit how long it is to at the most.
	waited, limit time.Duration
}

// A finding is how a Pod is as a target of one group, in the cloud's words or ours.
type finding struct {
	group lb.GroupKey
	state string
}

// The states that are not the cloud's.
const (
	stateMissing      = "the target group is yet to be made"
	stateUnregistered = "not registered yet"
	stateUnknown      = "the cloud does not say"
)

// healthy is the one state in which a target may be relied on. A target that nobody checks is in
// another.
const healthy = "healthy"

const (
	// unclaimed is how long a Pod may be nobody's before that is believed: what it was created
	// together with may be a moment behind.
	unclaimed = 3 * time.Second
	// unremarkable is how long a Pod may wait before that is worth writing down.
	unremarkable = 5 * time.Second
	// A Pod is visited more seldom the longer it waits, between these two.
	soonest, latest = time.Second, 15 * time.Second
)

// verdict is what is to be said of the Pod's gate. It is opened by health, for want of anybody to
// wait for, or at last by the time.
func (v visit) verdict() corev1.PodCondition {
	waiting := v.waiting()
	switch {
	case waiting == "" && len(v.findings) == 0:
		return gate(true, v1alpha1.ReasonNotServed, "no load balancer has it for a target")
	case waiting == "":
		return gate(true, v1alpha1.ReasonHealthy, "in "+v.groups())
	case v.waited >= v.limit:
		return gate(true, v1alpha1.ReasonTimedOut, fmt.Sprintf("it has waited for %s: %s", v.limit, waiting))
	}
	return gate(false, v1alpha1.ReasonWaiting, waiting)
}

// waiting is what the Pod still waits for, or "".
func (v visit) waiting() string {
	for _, f := range v.findings {
		if f.state != healthy {
			return fmt.Sprintf("%s of %s: %s", f.group.ID, f.group.Key, f.state)
		}
	}
	if !v.settled || len(v.findings) == 0 && v.waited < unclaimed {
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

// again is when to come back to a Pod that waits.
func (v visit) again() time.Duration {
	return min(max(v.waited/5, soonest), latest, max(v.limit-v.waited, soonest))
}

// news reports whether a verdict is to be written down. What is opened stays open.
func (v visit) news(pod *corev1.Pod, verdict corev1.PodCondition) bool {
	said := endpoints.GateCondition(pod)
	if said != nil && said.Status == verdict.Status {
		return said.Status == corev1.ConditionFalse && (said.Reason != verdict.Reason || said.Message != verdict.Message)
	}
	return verdict.Status == corev1.ConditionTrue || said == nil && v.waited >= unremarkable
}

func gate(open bool, reason, message string) corev1.PodCondition {
	status := corev1.ConditionFalse
	if open {
		status = corev1.ConditionTrue
	}
	return corev1.PodCondition{
		Type: v1alpha1.TargetHealthGate, Status: status, Reason: reason, Message: printable.Shorten(message),
		LastTransitionTime: metav1.Now().Rfc3339Copy(),
	}
}

// stateOf is how a Pod is among the targets of a group, whatever ports it has there. One that is
// leaving may be another Pod, which had its address before.
func stateOf(pod *corev1.Pod, among []lb.TargetHealth) string {
	state := stateUnregistered
	for _, t := range among {
		if t.State == "draining" || !hasAddress(pod, t.Address) {
			continue
		}
		if state = t.State; state != healthy {
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
