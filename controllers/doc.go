// Package controllers is the operator: it reads Kubernetes, compiles, carries out plans, and reports.
//
// operator.go wires the reconcilers; loadbalancer has the main one. Files here are what only the wiring needs: gauges,
// the collector of load balancers that no Ingress asks for, and the IngressClass that the operator creates.
package controllers
