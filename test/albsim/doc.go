// Package albsim is a strict simulator of the AWS APIs that providers/aws uses, and of the load
// balancers behind them. It speaks the real protocols, so that the real SDK talks to it, and
// refuses what AWS refuses, with AWS's words.
//
//	sim.go        the simulator: what there is in an account, options, the clock
//	wire.go       an HTTP request -> a call -> an answer; the protocols of the services
//	call.go       every call counted; faults injected before or after it; token buckets
//	ask.go        what policies are asked before a call is carried out
//	policy.go     a policy, and what it allows
//	elb_….go      load balancers, listeners, rules, target groups, targets, tags, attributes
//	condition.go  what conditions may say
//	plane.go      the data plane: what has been deployed, and what it does with a request
//	ec2.go, acm.go, sts.go, wafv2.go, shield.go, tagging.go  the other services, as far as used
//
// The command in cmd serves it to other processes.
//
// Control plane and data plane are apart, as they are in AWS: a change of rules is live only once it
// is deployed, which happens some time after the first change and takes along those made meanwhile.
// The clock is that of package time: in a testing/synctest bubble nothing waits.
package albsim
