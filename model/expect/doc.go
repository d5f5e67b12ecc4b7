// Package expect decides whether load balancers answer requests as their owners expect. An
// expectation names a set of requests, and says what must be true of each.
//
// read.go reads expectations from YAML. Check decides one over all requests that the tables of load
// balancers can get, not over samples: on each port, hosts fall into classes that neither the table
// nor the expectation tells apart (hosts.go). For a class, the set of requests is a list of entries
// (set.go), what answers is another one, and package requests finds the requests that are in the
// set and are not answered as they must be (check.go). precedence.Table.Match has to confirm each.
//
// An expectation about load balancers, such as their scheme, is about the requests that an Ingress
// answers there: what nothing answers fulfils all that is not about being answered (must.go).
package expect
