// Package compare finds the requests that two compiled states of load balancers answer differently,
// and the differences in exposure.
//
// Load balancers are paired by their keys (pair.go). On each port, hosts fall into classes: a host
// that a table names, the other hosts of a wildcard, and all other hosts. For a class both tables
// come down to lists of entries (entries.go), which package requests compares. A difference is
// described with a shortest request (change.go), and precedence.Table.Match has to answer that
// request differently, too. Settings that decide which clients can connect are compared, too
// (exposure.go). What a port newly serves is compared with all ports of before (served.go, admission.go).
package compare
