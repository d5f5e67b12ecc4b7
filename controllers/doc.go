// Package controllers is the operator: it reads Kubernetes, compiles, has plans carried out, and
// reports.
//
// The request of its main reconciler is the key of a load balancer, never the name of an object.
// Deletion is no second path: a snapshot without members compiles to the empty load balancer.
// reconcile.go has the whole story on one screen.
package controllers
