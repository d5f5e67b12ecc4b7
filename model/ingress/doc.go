// Package ingress translates the Ingresses of one load balancer into routes.
//
//	Objects ── Place ──> Snapshot ── Translate ──> routing.Config
//
// Split decides for each Ingress, in this order:
//
//	classes                is it Fairlead's, and what do the parameters of its class say?
//	validate               would the API server accept it?
//	annotations            are its annotations valid, and does the class allow them?
//	memory                 has the cloud refused exactly this version before?
//	members/complexity.go  is it small enough to be compiled?
//	placement/group.go     which load balancer does it belong to?
//
// An Ingress that fails one of them keeps its last accepted version where there is one, and
// otherwise contributes nothing. Translate then reads the members of one load balancer, oldest
// first, so that the oldest decides:
//
//	hostrules     may its namespace serve these hosts?
//	listeners     on which ports is each host served, with which certificate?
//	backends      what does a path refer to: a Service's endpoints, or a Backend?
//	translate.go  the routes, the named hosts and the default backend
package ingress
