package ingress

import (
	"fmt"
	"slices"
	"strconv"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file makes routes, named hosts and defaults of the members of a load balancer.

// Translate makes a routing.Config of a snapshot and the certificates that the cloud has.
func Translate(s Snapshot, certificates Certificates) (routing.Config,
	[]diag.Diagnostic) {
	t := &translation{
		Index:     newIndex(s.Objects),
		snapshot:  &s,
		class:     &s.Class,
		listeners: newListenerBuilder(&s, certificates),
		pool:      newBackendPool(&s.Class, s.Recorded.Clients),
		found:     slices.Clone(s.Diagnostics),
		neighbours: &otherIngresses{Named: s.namedHosts(),
			Answering: map[routing.Host]int{}},
		config: routing.Config{
			Key:        s.Key,
			HostMiss:   s.Class.HostMissMeaning(),
			Precedence: s.Class.routePrecedence(),
			HostsOwned: s.Owners != nil,
			Settings:   s.Class.loadBalancerSettings(s.Key.Scheme()),
			Closed:     s.Closed,
		},
	}
	t.config.Routes = make([]routing.Route, 0, s.routesPerPort())
	var translations []*memberTranslation
	for _, m := range s.Members {
		if !m.Unserved {
			translations = append(translations, t.addMember(m))
		}
	}
	t.config.Yielding = t.listeners.yielding()
	for _, v := range translations {
		v.ports, v.Found = v.opening.finish()
		t.neighbours.count(v.ports)
	}
	t.nameListed(translations)
	for _, v := range translations {
		v.serve()
	}
	if len(s.Closed) > 0 {
		t.config.Closed = t.withoutServed(s.Closed, translations)
	}
	t.addStays()
	t.found = append(t.found, t.listeners.agreeOnOrigins()...)
	t.config.Listeners, t.config.Certificates = t.listeners.build(&s.Class)
	t.found = slices.Concat(t.found, t.pool.Found, t.listeners.clientDiagnostics(), t.listeners.ownerDiagnostics())
	t.config.Backends = t.pool.backends()
	s.nameAuthors(&t.config, t.found)
	return t.config, diag.Sort(t.found)
}

// addStays adds the routes that stay, and names their hosts.
func (t *translation) addStays() {
	for _, r := range t.snapshot.Stays {
		t.config.Routes = append(t.config.Routes, r)
		if r.Host != routing.Any && !slices.ContainsFunc(t.config.Names, func(n routing.Name) bool {
			return n.Listed == nil && n.Host == r.Host && slices.Contains(n.Ports, r.Ports[0])
		}) {
			t.config.Names = append(t.config.Names, routing.Name{Host: r.Host, Owner: r.Owner, Ports: r.Ports, Source: r.Source})
		}
	}
}

// nameListed adds the listed hosts that have answers of their own. Another Ingress that lists such
// a host must name it, too, and so may add further hosts.
func (t *translation) nameListed(translations []*memberTranslation) {
	named := t.neighbours.Named
	for known := -1; known < len(named); {
		known = len(named)
		for _, v := range translations {
			for _, r := range v.rules {
				if r.Listed != "" && v.ports.needs(r, t.neighbours) {
					named[r.Host] = true
				}
			}
		}
	}
}

// addMember adds the ports and certificates of an Ingress. Members are added oldest first, so the
// oldest decides. An Ingress of which the class permits no rule adds none, and needs no load
// balancer.
func (t *translation) addMember(m Member) *memberTranslation {
	allowance := allowanceOf(t.class, t.namespaceLabels(m.Namespace))
	permitted, refused := allowance.permitted(m, t.config.HostMiss)
	if allowance.leaves(m, permitted) {
		t.config.Members = append(t.config.Members, m.Owner)
	}
	t.found = append(t.found, refused...)
	rules := t.snapshot.ownedRules(m, permitted)

	v := &memberTranslation{memberBackends: newMemberBackends(t.Index, t.pool, m), translation: t,
		rules: rules}
	v.forAnyHost = m.Spec.DefaultBackend != nil && allowance.permits(routing.Any) &&
		t.snapshot.Owners.refuses(m.Namespace, routing.Any) == nil
	v.opening = t.listeners.addMember(t.Index, m, allowance, rules, v.forAnyHost)
	v.refused = slices.Concat(refused, t.takenListedHosts(m, permitted))
	v.permitted = len(permitted) > 0
	return v
}

// serve adds the names, routes and default backend of the member.
func (v *memberTranslation) serve() {
	v.Found = withoutUnused(v.Found, v.refused)
	v.rules = v.ports.needed(v.rules, v.translation.neighbours)
	v.addNames()
	v.addRoutes()
	if v.Spec.DefaultBackend != nil {
		allowed := v.opening.Allowance.permits(routing.Any)
		switch {
		case !allowed && len(v.Spec.Rules) == 0 && !v.permitted:
			v.addDiagnostic(diag.Error, diag.HostNotAllowed, defaultBackendField,
				notForAnyHost(v.Member))
		case !allowed:
			v.addDiagnostic(diag.Warning, diag.HostNotAllowed, defaultBackendField,
				notForAnyHost(v.Member)+", so it answers on this Ingress's own hosts only")
		}
		v.addDefaultBackend(v.forAnyHost)
	} else {
		v.addRedirectOfMisses()
	}
	v.reportUnredirected()
	v.translation.found = append(v.translation.found, v.Found...)
}

// takenListedHosts returns diagnostics with the sources of listed hosts that belong to other
// namespaces. Only their sources are used.
func (t *translation) takenListedHosts(m Member, rules []HostRule) []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, r := range rules {
		if r.Listed != "" && t.snapshot.Owners.refuses(m.Namespace, r.Host) != nil {
			out = append(out, diag.Diagnostic{Source: m.Source().At(r.Listed)})
		}
	}
	return out
}

// withoutUnused removes the diagnostics about unused certificates of hosts that were refused.
func withoutUnused(found, refused []diag.Diagnostic) []diag.Diagnostic {
	at := make(map[diag.Source]bool, len(refused))
	for _, d := range refused {
		at[d.Source] = true
	}
	return slices.DeleteFunc(found, func(d diag.Diagnostic) bool {
		return d.Reason == diag.CertificateUnused && (at[d.Source] || at[d.Source.At(tlsField)])
	})
}

// addNames adds a name for each host, with or without paths.
func (v *memberTranslation) addNames() {
	named := make(map[routing.Host]bool, len(v.rules))
	for _, r := range v.rules {
		if r.Host == routing.Any || named[r.Host] || v.translation.class.spansLabels(r.Host) {
			continue
		}
		named[r.Host] = true
		v.translation.config.Names = append(v.translation.config.Names, routing.Name{
			Host: r.Host, Listed: r.listing(), Owner: v.Owner, Ports: v.ports.of(r), Beside: r.Below,
			Source: v.Source().At(r.namedBy()),
		})
	}
}

func (v *memberTranslation) addRoutes() {
	index := 0
	for _, r := range v.rules {
		if r.HTTP == nil {
			continue
		}
		for i := range r.HTTP.Paths {
			v.addRoute(r, i, index)
			index++
		}
	}
}

// addRoute adds the route of one path, unless the path is an invalid regular expression.
func (v *memberTranslation) addRoute(r HostRule, i, index int) {
	p := &r.HTTP.Paths[i]
	field := r.Field() + ".http.paths[" + strconv.Itoa(i) + "]"
	path, err := pathOf(p, &v.Settings)
	if err != nil {
		v.addDiagnostic(diag.Error, diag.Invalid, field+".path",
			fmt.Sprintf("reading %q as a regular expression: %s", p.Path, err))
		return
	}
	if v.reportAnchors(p, path, field) {
		return
	}
	v.reportText(p, path, field)
	when, may := v.Settings.Conditions.Of(string(r.spelt()), p).OnHost(r.Host)
	if !may {
		if r.Listed == "" {
			v.addDiagnostic(diag.Warning, diag.Unreachable, field, fmt.Sprintf("no request for host %s fulfils its "+
				"condition on the host", r.Host))
		}
		return
	}
	host, when, may := v.withoutWildcard(r, when, field)
	if !may {
		return
	}
	listed := r.listing()
	if host == routing.Any {
		listed = nil
	}
	action := v.requireSignIn(v.actionOf(&p.Backend, field+".backend"), r.Host,
		v.ports.forSignIn(r.Host), field+".backend")
	ports, circles := v.withoutCircles(action, r, path, field)
	if circles && len(ports) == 0 {
		return
	}
	v.translation.config.Routes = append(v.translation.config.Routes, routing.Route{
		Host: host, Listed: listed, Path: path, When: when,
		Ports: ports, Action: v.redirected(action, r), Owner: v.Owner, Index: index,
		Spelt: p.Path, BySpelling: ranksBySpelling(p, &v.Settings), Source: v.Source().At(field),
	})
}

// withoutCircles returns the ports of a path without those on which its redirect leads to itself. There,
// requests go on to the next route.
func (v *memberTranslation) withoutCircles(a routing.Action, r HostRule, p routing.Path,
	field string) (left []int32, some bool) {
	ports := v.ports.of(r)
	if a.Redirect == nil {
		return ports, false
	}
	secure := v.ports.secureOf(r.Host)
	var circles []int32
	for _, port := range ports {
		protocol := "http"
		if slices.Contains(secure, port) {
			protocol = "https"
		}
		// Without HTTPS, a sign-in leads elsewhere first.
		if (a.Auth == nil || protocol == "https") && a.Redirect.IsCircle(protocol, port, r.Host, p) {
			circles = append(circles, port)
		} else {
			left = append(left, port)
		}
	}
	if len(circles) > 0 {
		severity := diag.Warning
		if len(left) > 0 {
			severity = diag.Info
		}
		v.addDiagnostic(severity, diag.RedirectLoop, field, "the redirect leads to itself on port "+joinPorts(circles)+
			", so it is left out there, and requests go on to the next path")
	}
	return left, len(circles) > 0
}

// addDefaultBackend adds the default backend. It answers requests for the Ingress's hosts that
// match no path. For hosts that no rule names, it needs the permission of the class.
func (v *memberTranslation) addDefaultBackend(forAnyHost bool) {
	const field = defaultBackendField
	d := routing.Default{Action: v.redirectedDefault(v.requireSignIn(
		v.actionOf(v.Spec.DefaultBackend, field), routing.Any, v.ports.forSignIn(routing.Any), field),
		forAnyHost), Owner: v.Owner, Source: v.Source().At(field)}
	if forAnyHost {
		d.Ports = v.ports.of(HostRule{Host: routing.Any})
	}
	v.translation.config.Defaults = append(v.translation.config.Defaults, d)
}
