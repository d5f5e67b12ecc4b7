// Package precedence orders routes by the Ingress specification. New orders a Config into a Table;
// Table.Match is the specification read literally, and every later stage is tested against it.
//
// # Precedence
//
// The host is decided first, then the path, and neither is reconsidered:
//
//  1. Among the hosts that any rule names, the one that stands for the request's host: the
//     precise one, else the wildcard that covers it (exactly one label), else the rules
//     without a host.
//  2. Within that host an Exact path.
//  3. Otherwise the path with the longest text before its first wildcard; of a Prefix and a
//     glob with texts of one length, the glob. A regular expression for the beginning of paths
//     has its own length, and of two with one length, the one that sorts later goes first.
//  4. Otherwise the one with more conditions on headers, method, query and source.
//  5. Otherwise, within one Ingress, the longer spelling, then the earlier; between Ingresses
//     the oldest.
//
// A host that is named but has no matching path answers with the oldest default backend among
// the Ingresses that name it, else 404; HostMiss can let it fall through instead.
package precedence
