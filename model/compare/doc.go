// Package compare says which requests two compiled states of load balancers answer differently, and
// what is exposed differently.
//
// Load balancers are paired by their keys (pair.go). On each port, hosts fall into classes: a
// host that a table names, the other hosts of a wildcard, and all other hosts. For a class both
// tables come down to lists of entries (entries.go), which package requests compares. A
// difference is described with a shortest request (change.go), and precedence.Table.Match has to
// answer that request differently, too. Settings that decide who can connect are compared beside
// that (exposure.go).
package compare
