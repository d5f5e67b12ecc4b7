package hostile

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

// This file says which certificates fit a name that a client asks for.

// coversAny reports whether one of a certificate's names fits a host.
func coversAny(names []string, host string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return routing.Host(n).Covers(routing.Host(host)) })
}

// discovered is "discovered" for a certificate of the cloud that is found for a host, as a plan
// without a cloud names it, and the certificate's own name for one that an Ingress names.
func discovered(id, host string) []string {
	found, placeholder := strings.CutPrefix(id, "acm:discovered:")
	switch {
	case !placeholder:
		return []string{id}
	case coversAny([]string{found}, host):
		return []string{"discovered"}
	}
	return nil
}
