package saved

import (
	"fmt"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file converts routing tables.

// TableOf returns a table in its printed form.
func TableOf(t *precedence.Table) Table {
	out := Table{
		Key: t.Key, Scheme: t.Settings.Scheme, SecurityGroups: t.Settings.SecurityGroups,
		Protection: t.Protection, HostsOwned: t.HostsOwned,
		MissesFallThrough: t.HostMiss == routing.MissFallsThrough,
		InOrder:           t.Precedence == routing.InOrder,
		Listeners:         []listener{}, Routes: []route{},
	}
	for _, l := range t.Listeners {
		out.Listeners = append(out.Listeners,
			listener{l.Port, l.Protocol, l.Certificates, l.TLSPolicy, l.Mutual, l.Inbound})
	}
	for _, c := range t.Certificates {
		out.Certificates = append(out.Certificates, certificate{c.ID,
			append([]string{}, c.Hosts...), c.Secrets})
	}
	for _, r := range t.Routes {
		out.Routes = append(out.Routes, route{
			Host: r.Host, Listed: listedOf(r.Listed), Path: path{r.Path.Type.String(), r.Path.Value},
			When: conditionsOf(r.When), Action: actionOf(r.Action), Ports: r.Ports,
			Owner: owner(r.Owner), Index: r.Index, Spelt: r.Spelt, BySpelling: r.BySpelling, Source: placeOf(r.Source),
		})
	}
	for _, n := range t.Names {
		out.Names = append(out.Names, name{n.Host, listedOf(n.Listed), owner(n.Owner), n.Ports,
			n.Beside, n.Unsaid, placeOf(n.Source)})
	}
	for _, d := range t.Defaults {
		out.Defaults = append(out.Defaults,
			fallback{actionOf(d.Action), d.Ports, d.Plain, owner(d.Owner), placeOf(d.Source)})
	}
	for _, h := range t.Closed {
		out.Closed = append(out.Closed, closedHost(h))
	}
	return out
}

func listedOf(l *routing.Listed) *host {
	if l == nil {
		return nil
	}
	return &host{l.By}
}

func conditionsOf(all routing.Conditions) []condition {
	var out []condition
	for _, c := range all {
		out = append(out, condition(c))
	}
	return out
}

func actionOf(a routing.Action) action {
	out := action{StickySeconds: a.StickySeconds, Rewrite: a.Rewrite, SSLRedirect: a.SSLRedirect}
	for _, w := range a.Forward {
		out.Forward = append(out.Forward, weighted(w))
	}
	if a.Fixed != nil {
		out.Fixed = new(fixed(*a.Fixed))
	}
	if a.Redirect != nil {
		out.Redirect = new(redirect(*a.Redirect))
	}
	if a.Auth != nil {
		out.SignIn = &signIn{*a.Auth, a.Auth.Secret, a.Auth.SecurePort}
	}
	return out
}

// Table converts a printed table back. Client secrets are missing.
func (t Table) Table() (*precedence.Table, error) {
	c := routing.Config{Key: t.Key, Protection: t.Protection, HostsOwned: t.HostsOwned}
	c.Settings.Scheme, c.Settings.SecurityGroups = t.Scheme, t.SecurityGroups
	if t.MissesFallThrough {
		c.HostMiss = routing.MissFallsThrough
	}
	if t.InOrder {
		c.Precedence = routing.InOrder
	}
	for _, l := range t.Listeners {
		c.Listeners = append(c.Listeners, routing.Listener{Port: l.Port, Protocol: l.Protocol,
			Certificates: l.Certificates, TLSPolicy: l.TLSPolicy, Mutual: l.Mutual, Inbound: l.Inbound})
	}
	for _, k := range t.Certificates {
		c.Certificates = append(c.Certificates,
			routing.Certificate{ID: k.ID, Hosts: k.Hosts, Secrets: k.Secrets})
	}
	for _, r := range t.Routes {
		p, err := r.Path.path()
		if err != nil {
			return nil, err
		}
		c.Routes = append(c.Routes, routing.Route{
			Host: r.Host, Listed: r.Listed.listed(), Path: p, When: conditionsFrom(r.When),
			Action: r.Action.action(), Ports: r.Ports, Owner: routing.Owner(r.Owner), Index: r.Index,
			Spelt: r.Spelt, BySpelling: r.BySpelling, Source: r.Source.source(),
		})
	}
	for _, n := range t.Names {
		c.Names = append(c.Names, routing.Name{Host: n.Host, Listed: n.Listed.listed(),
			Owner: routing.Owner(n.Owner), Ports: n.Ports, Beside: n.Beside, Unsaid: n.Unsaid,
			Source: n.Source.source()})
	}
	for _, d := range t.Defaults {
		c.Defaults = append(c.Defaults, routing.Default{Action: d.Action.action(), Ports: d.Ports, Plain: d.Plain,
			Owner: routing.Owner(d.Owner), Source: d.Source.source()})
	}
	for _, h := range t.Closed {
		c.Closed = append(c.Closed, routing.ClosedHost(h))
	}
	return precedence.New(c), nil
}

func (h *host) listed() *routing.Listed {
	if h == nil {
		return nil
	}
	return &routing.Listed{By: h.By}
}

func (p path) path() (routing.Path, error) {
	for _, t := range []routing.PathType{routing.Exact, routing.Prefix, routing.Glob, routing.Regex} {
		if t.String() == p.Type {
			return routing.Path{Type: t, Value: p.Value}, nil
		}
	}
	return routing.Path{}, fmt.Errorf("%q is no type of a path", p.Type)
}

func conditionsFrom(all []condition) routing.Conditions {
	var out routing.Conditions
	for _, c := range all {
		out = append(out, routing.Condition(c))
	}
	return out
}

func (a action) action() routing.Action {
	out := routing.Action{StickySeconds: a.StickySeconds, Rewrite: a.Rewrite,
		SSLRedirect: a.SSLRedirect}
	for _, w := range a.Forward {
		out.Forward = append(out.Forward, routing.Weighted(w))
	}
	if a.Fixed != nil {
		out.Fixed = new(routing.Fixed(*a.Fixed))
	}
	if a.Redirect != nil {
		out.Redirect = new(routing.Redirect(*a.Redirect))
	}
	if a.SignIn != nil {
		auth := a.SignIn.Auth
		auth.Secret, auth.SecurePort = a.SignIn.Secret, a.SignIn.SecurePort
		out.Auth = &auth
	}
	return out
}
