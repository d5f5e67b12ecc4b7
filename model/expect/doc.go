// Package expect decides whether load balancers answer requests as their owners expect. An
// expectation has a set of requests, and conditions for their answers.
//
// read.go reads expectations from YAML. Check decides one for all possible requests, not for
// samples: on each port, hosts fall into classes that neither the table nor the expectation
// distinguishes (hosts.go). For a class, the set of requests is a list of entries (set.go), the
// candidates for answers are another one, and package requests finds the requests in the set whose
// answers violate the expectation (check.go). precedence.Table.Match has to confirm each.
//
// An expectation about load balancers, such as their scheme, applies to the requests that an
// Ingress answers there. Requests without an answer fulfil it (must.go).
package expect
