package saved

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file removes differences that a saved table cannot know.

// MakeAlike gives the certificates of assumed Secrets the same names in all tables, with the hosts
// that they have in any. They are made anew for each compilation.
func MakeAlike(assumed []string, all ...[]*precedence.Table) {
	hosts := map[routing.CertificateID][]string{}
	for _, t := range slices.Concat(all...) {
		names := map[routing.CertificateID]routing.CertificateID{}
		for i := range t.Certificates {
			c := &t.Certificates[i]
			if len(c.Secrets) == 0 || slices.ContainsFunc(c.Secrets, func(s string) bool {
				return !slices.Contains(assumed, s)
			}) {
				continue
			}
			names[c.ID] = routing.CertificateID("of Secret " + strings.Join(c.Secrets, ", "))
			c.ID = names[c.ID]
			hosts[c.ID] = append(hosts[c.ID], c.Hosts...)
		}
		for i := range t.Listeners {
			t.Listeners[i].Certificates = renamed(t.Listeners[i].Certificates, names)
		}
	}
	for id, of := range hosts {
		slices.Sort(of)
		hosts[id] = slices.Compact(of)
	}
	for _, t := range slices.Concat(all...) {
		for i := range t.Certificates {
			if of := hosts[t.Certificates[i].ID]; of != nil {
				t.Certificates[i].Hosts = of
			}
		}
	}
}

// renamed returns the certificates of a listener: the default one, and the others sorted.
func renamed(
	ids []routing.CertificateID, names map[routing.CertificateID]routing.CertificateID,
) []routing.CertificateID {
	out := slices.Clone(ids)
	for i, id := range out {
		if to, known := names[id]; known {
			out[i] = to
		}
	}
	if len(out) > 1 {
		slices.Sort(out[1:])
	}
	return out
}

// eachAction calls a function with each action of a configuration.
func eachAction(c routing.Config, do func(*routing.Action)) {
	for i := range c.Routes {
		do(&c.Routes[i].Action)
	}
	for i := range c.Defaults {
		do(&c.Defaults[i].Action)
	}
}

// WithoutClientSecrets returns tables without the secrets of clients, as they are saved.
func WithoutClientSecrets(all []*precedence.Table) []*precedence.Table {
	var out []*precedence.Table
	for _, t := range all {
		c := t.Config
		c.Routes, c.Defaults = slices.Clone(c.Routes), slices.Clone(c.Defaults)
		eachAction(c, func(a *routing.Action) {
			if a.Auth != nil {
				auth := *a.Auth
				auth.ClientSecret, auth.KeepsClientSecret = "", false
				a.Auth = &auth
			}
		})
		out = append(out, precedence.New(c))
	}
	return out
}
