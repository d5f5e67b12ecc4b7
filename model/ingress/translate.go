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
func Translate(s Snapshot, certificates Certificates) (routing.Config, []diag.Diagnostic) {
	t := &translation{
		index:    newIndex(s.Objects),
		snapshot: &s,
		class:    &s.Class,
		doors:    newDoors(&s, certificates),
		pool:     newPool(&s.Class, s.Memory.Clients),
		found:    slices.Clone(s.Diagnostics),
		named:    s.namedHosts(),
		config: routing.Config{
			Key:        s.Key,
			HostMiss:   s.Class.hostMiss(),
			HostsOwned: s.owners != nil,
			Settings:   s.Class.settings(s.Key.Scheme()),
		},
	}
	t.config.Routes = make([]routing.Route, 0, s.routes())
	var visits []*visit
	for _, m := range s.Members {
		if !m.Unserved {
			visits = append(visits, t.enter(m))
		}
	}
	t.config.Yielding = t.doors.yield()
	for _, v := range visits {
		v.ports, v.found = v.opening.finish()
	}
	t.nameListed(visits)
	for _, v := range visits {
		v.serve()
	}
	t.config.Listeners, t.config.Certificates = t.doors.listeners(&s.Class)
	t.found = slices.Concat(t.found, t.pool.found, t.doors.tellAdmitted(), t.doors.tellOwners())
	t.config.Backends = t.pool.backends()
	return t.config, diag.Sort(t.found)
}

// nameListed adds the listed hosts that are not answered as any other host is: another Ingress that
// lists one of them has to name it, too, to answer for it, and what it names then may be one more
// of them.
func (t *translation) nameListed(visits []*visit) {
	for known := -1; known < len(t.named); {
		known = len(t.named)
		for _, v := range visits {
			for _, r := range v.rules {
				if r.listed != "" && v.ports.needs(r, t.named) {
					t.named[r.host] = true
				}
			}
		}
	}
}

// enter has an Ingress ask for its ports and certificates. Members come oldest first, so what is
// taken stays taken. One of which the class permits nothing asks for nothing, and is no reason for
// there to be a load balancer.
func (t *translation) enter(m Member) *visit {
	allowance := allowanceOf(t.class, t.labels(m.Namespace))
	permitted, refused := allowance.permitted(m, t.config.HostMiss)
	if allowance.leaves(m, permitted) {
		t.config.Members = append(t.config.Members, m.Owner)
	}
	t.found = append(t.found, refused...)
	rules := t.snapshot.owned(m, permitted)

	v := &visit{memberBackends: newMemberBackends(t.index, t.pool, m), translation: t, rules: rules}
	v.forAnyHost = m.Spec.DefaultBackend != nil && allowance.permits(routing.Any) && t.snapshot.owners.Refuses(m.Namespace, routing.Any) == nil
	v.opening = t.doors.open(t.index, m, allowance, rules, v.forAnyHost)
	v.refused = slices.Concat(refused, t.takenListed(m, permitted))
	v.permitted = len(permitted) > 0
	return v
}

// serve adds what the Ingress asks for.
func (v *visit) serve() {
	v.found = withoutUnused(v.found, v.refused)
	v.rules = v.ports.needed(v.rules, v.translation.named)
	v.names()
	v.routes()
	if v.Spec.DefaultBackend != nil {
		allowed := v.opening.allowance.permits(routing.Any)
		switch {
		case !allowed && len(v.Spec.Rules) == 0 && !v.permitted:
			v.tell(diag.Error, diag.HostNotAllowed, defaultBackendField, notForAnyHost(v.Member))
		case !allowed:
			v.tell(diag.Warning, diag.HostNotAllowed, defaultBackendField, notForAnyHost(v.Member)+", so it answers on this Ingress's own hosts only")
		}
		v.fallback(v.forAnyHost)
	}
	v.translation.found = append(v.translation.found, v.found...)
}

// takenListed are the listed hosts that belong to other namespaces, as diagnostics that are told
// elsewhere.
func (t *translation) takenListed(m Member, rules []rule) []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, r := range rules {
		if r.listed != "" && t.snapshot.owners.Refuses(m.Namespace, r.host) != nil {
			out = append(out, diag.Diagnostic{Source: m.Source().At(r.listed)})
		}
	}
	return out
}

// withoutUnused leaves out that nothing answers for a listed host where that host, or all, were
// refused.
func withoutUnused(found, refused []diag.Diagnostic) []diag.Diagnostic {
	at := make(map[diag.Source]bool, len(refused))
	for _, d := range refused {
		at[d.Source] = true
	}
	return slices.DeleteFunc(found, func(d diag.Diagnostic) bool {
		return d.Reason == diag.CertificateUnused && (at[d.Source] || at[d.Source.At(tlsField)])
	})
}

// names names each host once, whether or not its rules have paths.
func (v *visit) names() {
	named := make(map[routing.Host]bool, len(v.rules))
	for _, r := range v.rules {
		if r.host == routing.Any || named[r.host] {
			continue
		}
		named[r.host] = true
		v.translation.config.Names = append(v.translation.config.Names, routing.Name{
			Host: r.host, Listed: r.listing(), Owner: v.Owner, Ports: v.ports.of(r), Beside: r.below, Source: v.Source().At(r.named()),
		})
	}
}

func (v *visit) routes() {
	index := 0
	for _, r := range v.rules {
		if r.http == nil {
			continue
		}
		for i := range r.http.Paths {
			v.route(r, i, index)
			index++
		}
	}
}

// route adds the route of one path, unless there is no way to say which requests it means.
func (v *visit) route(r rule, i, index int) {
	p := &r.http.Paths[i]
	field := r.field() + ".http.paths[" + strconv.Itoa(i) + "]"
	path, err := v.translation.class.path(p)
	if err != nil {
		v.tell(diag.Error, diag.Invalid, field+".path", fmt.Sprintf("reading %q as a regular expression: %s", p.Path, err))
		return
	}
	if v.tellAnchors(p, path, field) {
		return
	}
	v.tellText(p, path, field)
	v.translation.config.Routes = append(v.translation.config.Routes, routing.Route{
		Host: r.host, Listed: r.listing(), Path: path, When: v.settings.Conditions.Of(p), Ports: v.ports.of(r),
		Action: v.signIn(v.action(&p.Backend, field+".backend"), r.host, v.ports.forSignIn(r.host), field+".backend"),
		Owner:  v.Owner, Index: index, Spelt: p.Path, Source: v.Source().At(field),
	})
}

// fallback adds the default backend. It always answers the misses of the Ingress's own hosts.
// Requests for hosts that no rule names are a claim of their own, which has to be allowed.
func (v *visit) fallback(forAnyHost bool) {
	const field = defaultBackendField
	d := routing.Default{Action: v.signIn(v.action(v.Spec.DefaultBackend, field), routing.Any, v.ports.forSignIn(routing.Any), field), Owner: v.Owner, Source: v.Source().At(field)}
	if forAnyHost {
		d.Ports = v.ports.of(rule{host: routing.Any})
	}
	v.translation.config.Defaults = append(v.translation.config.Defaults, d)
}
