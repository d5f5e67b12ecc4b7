package lb

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file keeps ports closed whose protection a cloud cannot give: addresses that may not connect, certificates that
// clients have to show, a TLS policy.

// cannotProtect says why a port cannot be protected as it is asked for, or "".
func (c Capabilities) cannotProtect(l routing.Listener) string {
	switch {
	case !c.Inbound && len(l.Inbound) > 0:
		return "not everybody may connect to it, and " + c.Name + " cannot keep anybody out"
	case c.NoClientCertificates && l.Mutual.Verifies():
		return "clients have to show a certificate there, and " + c.Name + " does not ask for one"
	case c.NoTLSPolicies && l.TLSPolicy != "":
		return fmt.Sprintf("it has the TLS policy %s, and %s has none to choose from", l.TLSPolicy, c.Name)
	case l.TLSPolicy != "" && len(c.TLSPolicies) > 0 && !slices.Contains(c.TLSPolicies, l.TLSPolicy):
		return fmt.Sprintf("it has the TLS policy %s, and those of %s are %s", l.TLSPolicy, c.Name, strings.Join(c.TLSPolicies, ", "))
	}
	return ""
}

// guarded is the table without such ports, and what is not served for it.
func guarded(t *routing.Table, c Capabilities) (*routing.Table, []Refusal) {
	config := t.Config
	closed := map[int32]string{} // by port, why
	config.Listeners = nil
	for _, l := range t.Listeners {
		if why := c.cannotProtect(l); why != "" {
			closed[l.Port] = why
			continue
		}
		config.Listeners = append(config.Listeners, l)
	}
	if len(closed) == 0 {
		return t, nil
	}
	var refusals []Refusal
	// without is what is left of the ports of something. It tells the owner of the others, if there is one.
	without := func(ports []int32, owner *routing.Owner, at diag.Source) []int32 {
		var kept []int32
		refused := map[string][]int32{} // by why
		for _, p := range ports {
			if why, shut := closed[p]; shut {
				refused[why] = append(refused[why], p)
			} else {
				kept = append(kept, p)
			}
		}
		if owner != nil {
			for _, why := range slices.Sorted(maps.Keys(refused)) {
				refusals = append(refusals, Refusal{Owner: *owner, Source: at, Ports: refused[why], Why: why})
			}
		}
		return kept
	}
	config.Routes = nil
	for _, r := range t.Routes {
		if r.Ports = without(r.Ports, &r.Owner, r.Source); len(r.Ports) > 0 {
			config.Routes = append(config.Routes, r)
		}
	}
	config.Names = slices.Clone(t.Names)
	for i := range config.Names {
		config.Names[i].Ports = without(config.Names[i].Ports, nil, diag.Source{})
	}
	config.Defaults = slices.Clone(t.Defaults)
	for i := range config.Defaults {
		d := &config.Defaults[i]
		d.Ports = without(d.Ports, &d.Owner, d.Source)
	}
	return routing.New(config), refusals
}
