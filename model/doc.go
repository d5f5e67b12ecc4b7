// Package model is the compiler: it makes load balancers and diagnostics from Kubernetes objects.
// It is pure. It has no clients, contexts, clocks, goroutines or logs, and it cannot fail: an error
// in one Ingress affects that Ingress only, and is reported in a diagnostic.
//
// # The pipeline
//
//	objects ── ingress.Place ──> Snapshot            everything one load balancer depends on
//	        ── ingress.Translate ──> routing.Config  what its Ingresses ask for, unordered
//	        ── precedence.New ──> precedence.Table   the specification: Table.Match
//	        ── lowering.Lower ──> lb.LoadBalancer    ordered rules under a cloud's Capabilities
//	        ── planner.Diff ──> plan.Plan            steps from what is there to what is wanted
//	        ── providers.Run                         done, outside of this tree
//
// Compile is the middle three. Values flow down; an import points up.
//
// # The walk of one Ingress
//
// An Ingress says that https://shop.example/cart goes to the Service cart, port 80.
//
// Place finds its class, checks what the API server would check, reads its annotations once and
// files it under a key, that of its group or its own. Translate makes a Route of the path: host
// shop.example, Prefix /cart, forward to the backend "shop/cart:80", on the ports 80 and 443
// where spec.tls covers the host. New puts the route in its place among all others: first the
// host decides, then the path. Lower turns the routes of the host into rules, in an order and in
// the spelling that the cloud understands; a guard answers what misses them. Diff finds the rule
// missing and plans a target group, its first targets and the rule, in this order.
//
// # Vocabulary
//
//	Ingress     an object of networking.k8s.io/v1; a member of one load balancer
//	Owner       the Ingress that a route belongs to, with its age
//	Route       one path of one rule, or what a Backend makes of it
//	Level       one host of one port: the first that stands for a request's host decides
//	Table       all levels: the literal specification
//	Claim       a route as an ordered list of rules sees it; a guard is one that belongs to nobody
//	Block       claims that share a rule
//	Rule        conditions and an action, behind a listener
//	Listener    a port of a load balancer
//	TargetGroup a Service port as a cloud sees it
//	Key         which load balancer: class, group or Ingress, scheme, a name of its own
//	Observed    what a cloud has under a key
//	Step        one change to it
package model
