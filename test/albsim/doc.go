// Package albsim is a strict simulator of the AWS APIs that providers/aws uses, and of the load
// balancers behind them. It speaks the real protocols, so that the real SDK talks to it, and
// refuses what AWS refuses, with AWS's words.
//
//	sim.go     an account: what there is in it, options, the clock
//	wire.go    an HTTP request, as a call and its answer; package codec reads and writes both
//	call.go    calls, counted, with faults and token buckets
//	ask.go     what policies are asked before a call is carried out; package iam has policies
//	lag.go     reads that lag behind writes
//	real.go    an account as AWS may be
//	elb_….go   load balancers, listeners, rules, target groups, targets, tags, attributes; package
//	           matching has the conditions of rules
//	plane.go   the data plane: what has been deployed, and what it does with a request
//	accesslog.go, ec2.go, acm.go, iam.go, sts.go, wafv2.go, shield.go, tagging.go  as they say
//
// The command in cmd serves it to other processes.
//
// Control plane and data plane are apart, as they are in AWS: a change of rules is live only once
// it is deployed, which happens some time after the first change and takes along those made
// meanwhile. The clock is that of package time: in a testing/synctest bubble nothing waits.
//
// It differs from AWS, as far as is known, in this:
//
//   - Only what was made is found late. AWS may also answer with old settings for a while, and list
//     what is gone.
//   - All kinds of things are found late by the same time, and all at once; AWS's differ from thing
//     to thing.
//   - Policies only allow. There are no explicit denials, permission boundaries, session policies
//     or service control policies.
//   - Regular expressions are those of Go's regexp, without \p{…}.
//   - Health checks go nowhere: a target is healthy after a time, or Sick says that it is not.
//   - All load balancers are in one region and one account, and no subnet runs out of addresses.
//   - AWS WAF, Shield and Cognito are known by what the provider asks of them, and look at no
//     request.
//   - Access logs say nothing of transforms, and no request fails before its rule is known but one
//     that speaks the wrong protocol.
//   - A refusal has AWS's code, and words that are like AWS's.
//   - A second's calls of Certificate Manager are those that it takes at once; AWS publishes no
//     burst.
package albsim
