package lb

import (
	"slices"

	"fairlead.dev/fairlead/model/routing"
)

// This file keeps ports closed that not everybody may connect to, where a cloud cannot keep anybody out.

// guarded is the table without such ports, and what is not served for it.
func guarded(t *routing.Table, c Capabilities) (*routing.Table, []Refusal) {
	open := func(l routing.Listener) bool { return c.Inbound || len(l.Inbound) == 0 }
	if !slices.ContainsFunc(t.Listeners, func(l routing.Listener) bool { return !open(l) }) {
		return t, nil
	}
	config := t.Config
	var closed []int32
	config.Listeners = nil
	for _, l := range t.Listeners {
		if open(l) {
			config.Listeners = append(config.Listeners, l)
		} else {
			closed = append(closed, l.Port)
		}
	}
	var refusals []Refusal
	// without is what is left of the ports of something, some of which may be told of.
	without := func(ports []int32, told func([]int32)) []int32 {
		var kept, refused []int32
		for _, p := range ports {
			if slices.Contains(closed, p) {
				refused = append(refused, p)
			} else {
				kept = append(kept, p)
			}
		}
		if len(refused) > 0 && told != nil {
			told(refused)
		}
		return kept
	}
	why := "not everybody may connect to it, and " + c.Name + " cannot keep anybody out"
	config.Routes = nil
	for _, r := range t.Routes {
		r.Ports = without(r.Ports, func(ports []int32) {
			refusals = append(refusals, Refusal{Owner: r.Owner, Source: r.Source, Ports: ports, Why: why})
		})
		if len(r.Ports) > 0 {
			config.Routes = append(config.Routes, r)
		}
	}
	config.Names = slices.Clone(t.Names)
	for i := range config.Names {
		config.Names[i].Ports = without(config.Names[i].Ports, nil)
	}
	config.Defaults = slices.Clone(t.Defaults)
	for i := range config.Defaults {
		d := &config.Defaults[i]
		d.Ports = without(d.Ports, func(ports []int32) {
			refusals = append(refusals, Refusal{Owner: d.Owner, Source: d.Source, Ports: ports, Why: why})
		})
	}
	return routing.New(config), refusals
}
