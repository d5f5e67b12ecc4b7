// Package nginx reads Ingresses that were written for ingress-nginx. Facts about it are from its last source, dbb11b92d of 20 March
// 2026, which comments name by file, some below internal/ingress.
//
// The meaning of an Ingress depends on all others: a World has the servers and locations of nginx for all of them, answers requests
// as nginx does, and writes each Ingress in Fairlead's own words.
package nginx

import "regexp"

// hostName has the hosts that a rule of an Ingress can have.
var hostName = regexp.MustCompile(`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
