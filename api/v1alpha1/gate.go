package v1alpha1

// This file is the readiness gate that Pods may declare.

// TargetHealthGate is a readiness gate: a Pod that declares it is ready once the load balancers that have the Pod as a
// target find it healthy. It is also the type of the condition of the Pod.
const TargetHealthGate = Group + "/target-health"

// The reasons of this condition.
const (
	ReasonWaiting   = "Waiting"   // for a target group to find the Pod healthy: the message says for which
	ReasonHealthy   = "Healthy"   // as a target of every group that has it
	ReasonNotServed = "NotServed" // by any load balancer as a target of its own
	ReasonTimedOut  = "TimedOut"  // it was waited for long enough
)
