// Package ingress translates Ingresses, and the objects that they refer to, into routes. Split
// sorts objects into Snapshots, one for each load balancer, with everything that it depends on;
// Translate makes a routing.Config of one.
//
//	Objects ── Split ──> Snapshot ── Translate ──> routing.Config
//
// Split decides for each Ingress, in this order:
//
//	class.go        is it ours, and what do the parameters of its class say?
//	validate        would the API server accept it?
//	annotations.go  do its annotations make sense, and does the class allow them?
//	memory          has the cloud refused exactly this before?
//	group.go        which load balancer does it belong to?
//
// An Ingress that fails one of them keeps its last accepted version where there is one, and
// otherwise contributes nothing. Translate then reads the members of one load balancer, oldest
// first, so that the oldest decides:
//
//	hosts.go        may its namespace serve these hosts?
//	tls.go          on which ports is each host served, with which certificate?
//	translate.go    the routes, the named hosts and the default backend
//	backend.go      what a path refers to: a Service's endpoints, or a Backend
package ingress
