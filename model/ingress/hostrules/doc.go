// Package hostrules finds the rules of an Ingress for hosts that its namespace may serve.
package hostrules
