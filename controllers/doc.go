// Package controllers is the imperative shell: it reads Kubernetes, hands what it read to the
// compiler, has the plan carried out, and reports.
//
//	operator.go    the pieces, put together; loop.go makes a controller of a reconciler
//	watches.go     an object changed: which load balancers depend on it?
//	bursts.go      changes that come together are one reconcile
//	directory.go   what is known of that; caches.go keeps no more of an object than is read
//	catchup.go     waits, when a term begins, until the caches hold what the API server has
//	reconcile.go   one load balancer, all the way: this is the story, the rest are its words
//	gather.go      everything that it depends on, read once, into a Snapshot
//	secrets.go     Secrets, of which only those are read that are named
//	hold.go        finalizers, before anything exists to leak
//	seen.go        what the cloud has, kept from one reconcile to the next
//	withhold.go    which plans are reported and not carried out
//	patience.go    target groups that a plan has waited for long enough
//	report.go      what came of it: status, events, memory, finalizers released, when to come back
//	record.go      the report as a value, and what is learnt for the next time
//	status.go      where an Ingress says that it is reached
//	requeue.go     when to come back
//	memory.go      what is remembered; keeper.go keeps it in LoadBalancers
//	readonly.go    the operator that only plans
//	herald.go      events, each thing said once; notice.go is what they say
//	marks.go       what was written on Ingresses, to notice who else writes there
//	targets.go     the members of target groups, in a loop of their own
//	nodes.go       the Nodes that some of these are; pods.go the Pods that wait to be healthy
//	gates.go       the readiness gates of those, opened as verdict.go says
//	ownclass.go    an IngressClass that is there whenever it is missing
//	strays.go      Ingresses that belong to no load balancer, and why
//	orphans.go     load balancers in the cloud without an Ingress and without a record; sightings.go keeps them for the next pass
//	metrics.go     the table of what Prometheus is told; metered.go and census.go do the counting
//
// The request is the key of a load balancer, never the name of an object. Deletion is no second
// path: a snapshot without members compiles to the empty load balancer.
package controllers
