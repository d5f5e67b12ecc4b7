// Package controllers is the operator: it reads Kubernetes, compiles, carries out plans, and
// reports. operator.go wires the reconcilers, each of which is a package of its own; package
// loadbalancer has the main one.
package controllers
