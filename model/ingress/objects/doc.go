// Package objects holds the Kubernetes objects that the compiler reads, finds them by name, and
// names the places in them that diagnostics point to.
package objects
