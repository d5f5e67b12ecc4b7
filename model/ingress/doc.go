// Package ingress hides all that Ingresses mean: it makes the routes of a load balancer from Kubernetes objects.
//
//	Objects ── Place ──> Snapshot ── Translate ──> routing.Config
//
// Place decides for each Ingress, in this order (place.go):
//
//	class.go        is it Fairlead's, and what do the parameters of its class say?
//	validate/       would the API server accept it?
//	annotations.go  are its annotations valid, and does the class allow them?
//	rejections      has the cloud refused exactly this version before?
//	complexity.go   is it small enough to be compiled?
//	group.go        which load balancer does it belong to?
//
// An Ingress that fails one of them keeps its last accepted version where there is one, and otherwise contributes nothing.
// The policies (policy*.go) take back changes that cannot be served, each for one reason. Translate then reads the members
// of one load balancer, oldest first, so that the oldest decides:
//
//	hostrules.go, hostownership.go  may its namespace serve these hosts?
//	listeners.go, tls.go            on which ports is each host served, with which certificate?
//	backend.go                      what does a path refer to: a Service's endpoints, or a Backend?
//	translate.go                    the routes, the named hosts and the default backend
package ingress
