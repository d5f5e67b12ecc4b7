// Package ownership decides which namespace a host belongs to on a load balancer that several
// namespaces share. Without it the older Ingress wins identical routes only, and a namespace could
// take a host from another one with a more specific path, a condition or a default backend.
//
// # The rules
//
//  1. A host belongs to the namespace that named it first. A wildcard host belongs to the namespace
//     that named this wildcard first. "Any host" (rules without a host, and default backends) is
//     owned like a host. An Ingress that is refused names its hosts like any other: a typing
//     mistake in an annotation must not give them to the next namespace that claims them.
//  2. A precise host below a wildcard of another namespace is refused, unless the precise host was
//     named before the wildcard, or the class grants this very host to its namespace. A wildcard
//     above precise hosts of other namespaces is permitted: precise hosts go before it.
//  3. "First" is what is remembered; then the age of the Ingress, and its name. Ownership that is
//     remembered stays: an Ingress that is edited keeps its age, so that age alone would let an old
//     Ingress take a host that another namespace has had for years. A host that comes with a member
//     from another load balancer is remembered here where it is free: neither it, nor a wildcard
//     above it, is remembered for another namespace.
//  4. Of two namespaces, the one that the class grants the host by its name goes before the one
//     that may serve it because of a wildcard.
//  5. A certificate of one namespace has no name for a host of another one. Of a host and a
//     certificate the first stays: the one that the class grants the host by its name; a
//     certificate that is served; a host that was remembered when the certificate came; a
//     certificate in the place of one that was served with the name when the host was named; then
//     the older Ingress. So no namespace can have another one's certificate refused by naming a
//     host below it.
package ownership
