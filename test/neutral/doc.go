// Package neutral shows that Ingresses mean the same with every provider. The fake and AWS, in this
// process, and the Caddy of examples/caddy, which is a process of its own and reached over the
// wire, get the same Ingresses and the same requests.
//
// `go test -run Everywhere . -args -seed 1 -requests 100000` compares 100,000 requests.
//
// It is a module of its own because it builds examples/caddy, whose modules are not to be
// downloaded for the tests of the operator.
package neutral
