package lowering

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file keeps ports closed if the cloud cannot protect them as wanted: by HTTPS, source
// addresses, client certificates or a TLS policy.

// whyNotProtected returns why a port cannot be protected as wanted, or "".
func whyNotProtected(c lb.Capabilities, l routing.Listener) string {
	switch {
	case c.NoHTTPS && l.Protocol == routing.HTTPS:
		return c.Name + " has no HTTPS"
	case !c.Inbound && len(l.Inbound) > 0:
		return "not all clients may connect to it, and " + c.Name + " cannot limit their addresses"
	case c.NoClientCertificates && l.Mutual.Asks():
		return "clients are asked for a certificate there, and " + c.Name + " does not ask for one"
	case c.NoTLSPolicies && l.TLSPolicy != "":
		return fmt.Sprintf("it has the TLS policy %s, and %s has none to choose from", l.TLSPolicy,
			c.Name)
	case l.TLSPolicy != "" && len(c.TLSPolicies) > 0 && !slices.Contains(c.TLSPolicies, l.TLSPolicy):
		return fmt.Sprintf("it has the TLS policy %s, and those of %s are %s", l.TLSPolicy, c.Name,
			strings.Join(c.TLSPolicies, ", "))
	}
	return ""
}
