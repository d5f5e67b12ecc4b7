package alb

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file writes the rules of an Ingress in the controller's order: the rules as they are written,
// and in each the Exact paths, the Prefix paths with the longest first, and the others
// (model_build_listener_rules.go). The class takes the first path that matches.

// UseAnnotation is the port of a backend that is an annotation: actions. and the name of its Service.
const UseAnnotation = "use-annotation"

// rules writes the rules and the default backend.
func (r *reader) rules() {
	spec := &r.out.Ingress.Spec
	regex := false
	if text, is := r.annotation("use-regex-path-match"); is {
		m := readBool(text)
		r.judgeRead("", Prefix+"use-regex-path-match", m)
		regex, _ = strconv.ParseBool(text)
	}
	expressions := regex
	for key, value := range r.Annotations {
		if of, is := strings.CutPrefix(key, Prefix+"conditions."); is && of != "" {
			r.conditions[of] = readConditions(value)
			expressions = expressions || len(r.conditions[of].extra.pathRegexes) > 0
		}
	}
	if expressions {
		r.set(settings.Prefix+"implementation-specific", v1alpha1.ReadRegex, Prefix+"use-regex-path-match")
	}
	spec.Rules = nil
	for i, rule := range r.Spec.Rules {
		from := "spec.rules[" + strconv.Itoa(i) + "]"
		if rule.HTTP == nil {
			r.add(rule.Host, nil, from, "")
			continue
		}
		for _, j := range order(rule.HTTP.Paths) {
			p := rule.HTTP.Paths[j]
			r.path(rule.Host, p, from, ".http.paths["+strconv.Itoa(j)+"]", regex, expressions)
		}
	}
	if r.Spec.DefaultBackend != nil {
		to := r.defaultBackend(r.Spec.DefaultBackend)
		spec.DefaultBackend = &to
	}
}

// defaultBackend returns the default backend. It has no conditions and rewrites nothing, and so it is a
// Backend of its own where the paths of its Service do (model_build_listener.go).
func (r *reader) defaultBackend(b *networkingv1.IngressBackend) networkingv1.IngressBackend {
	to, spec := r.backend(b)
	name := ""
	switch {
	case spec != nil:
		name = to.Resource.Name
	case to.Service != nil:
		name = to.Service.Name
	}
	if r.isConditional(name) && spec == nil {
		spec = &v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{{
			Name: to.Service.Name, Port: v1alpha1.ServicePort(to.Service.Port)}}}
	}
	if spec == nil {
		return to
	}
	for _, c := range r.pending[name] {
		c.path, c.after = routing.Root, len(r.written)
		r.note(c)
	}
	if spec.Rewrite != nil || r.isConditional(name) {
		name, spec.Rewrite = "backend.by.default", nil // no Service and port, and no action, has two dots
	}
	r.backends[name] = *spec
	return resource(name)
}

// isConditional reports whether the paths of a backend have conditions of their own.
func (r *reader) isConditional(backend string) bool {
	return slices.ContainsFunc(r.when, func(e entry) bool { return e.Backend == backend })
}

// order returns the indexes of paths in the controller's order.
func order(paths []networkingv1.HTTPIngressPath) []int {
	rank := func(i int) int {
		switch pathTypeOf(paths[i]) {
		case networkingv1.PathTypeExact:
			return -1 << 20
		case networkingv1.PathTypePrefix:
			return -len(paths[i].Path)
		}
		return 1
	}
	out := make([]int, len(paths))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int { return rank(a) - rank(b) })
	return out
}

// path writes a path: once for each alternative that its conditions add to its host and path.
func (r *reader) path(host string, p networkingv1.HTTPIngressPath, from, of string, regex, expressions bool) {
	if r.size > mostText {
		return
	}
	theirs, name := "", ""
	if p.Backend.Service != nil {
		theirs = p.Backend.Service.Name
		name = theirs
	}
	to, spec := r.backend(&p.Backend)
	if to.Resource != nil {
		name = to.Resource.Name
	}
	if spec != nil {
		r.backends[name] = *spec
	}
	extra := r.conditionsOf(theirs, name)
	written := pathTypeOf(p) == networkingv1.PathTypeImplementationSpecific
	if host != "" && len(extra.hostRegexes) > 0 || p.Path != "" && len(extra.pathRegexes) > 0 && !(written && regex) ||
		p.Path != "" && written && regex && len(extra.paths) > 0 {
		r.say(dialect.Verdict{Key: Prefix + "conditions." + theirs, Outcome: dialect.Refused, Message: "a rule " +
			"cannot have values and expressions for its host or its path, and the other controller serves none of the group"})
	}
	redirects := len(r.hostRedirects)
	patterns := slices.Concat(patternsOf(p), extra.paths, extra.pathRegexes)
	var redirect *v1alpha1.Redirect
	var loops func(v1alpha1.ListenPort) bool
	if spec != nil && spec.Redirect != nil {
		redirect = spec.Redirect
		loops = r.noteRedirect(theirs, host, p, to, extra, p.Path != "" && written && regex, from+of)
	}
	p.Backend = to
	paths := r.alternatives(p, extra, regex, expressions)
	hosts, globs, regexes := hostsOf(host, extra)
	for _, h := range hosts {
		for i := range paths {
			if r.add(h, &paths[i], from, of); r.size > mostText {
				return
			}
			r.wrote(p.Backend, h, writtenPath{host: h, path: pathOf(&paths[i], expressions), patterns: patterns, when: extra.entry,
				redirect: redirect, loops: loops, backend: to, from: from + of})
		}
	}
	if len(globs)+len(regexes) == 0 {
		return
	}
	example := r.exampleOf(globs, regexes)
	for i := range paths {
		r.add("", &paths[i], from, of)
		r.wrote(p.Backend, example, writtenPath{path: pathOf(&paths[i], expressions), patterns: patterns, when: extra.entry,
			globs: globs, expressions: regexes, redirect: redirect, loops: loops, backend: to, from: from + of})
		for j := redirects; j < len(r.hostRedirects); j++ {
			r.hostRedirects[j].after = len(r.written)
		}
		e := entry{Backend: name, Path: paths[i].Path, RuleHost: new(string), Host: globs, HostRegex: regexes}
		if !slices.ContainsFunc(r.when, func(o entry) bool {
			return o.Backend == e.Backend && o.Path == e.Path && o.RuleHost != nil
		}) && r.fits("spec.rules", slices.Concat(globs, regexes)...) {
			r.when = append(r.when, e)
		}
	}
}

// noteRedirect notes what is changed of a redirect and its conditions. It returns the ports on which the other
// controller takes it for one to itself; nil for none.
func (r *reader) noteRedirect(theirs, host string, p networkingv1.HTTPIngressPath, to networkingv1.IngressBackend,
	extra conditions, regex bool, path string) (loops func(v1alpha1.ListenPort) bool) {
	hosts := extra.hosts
	if host != "" {
		hosts = append([]string{host}, hosts...)
	}
	paths := slices.Concat(patternsOf(p), extra.paths, extra.pathRegexes)
	if len(extra.pathRegexes) == 0 && !regex {
		loops = r.loopsOf(theirs, hosts, paths)
	}
	c := change{key: Prefix + "conditions." + theirs, when: extra.entry, after: len(r.written)}
	if len(extra.hostRegexes) > 0 && extra.entry.empty() && len(r.hostRedirects) < mostChanges {
		dropped := c
		dropped.message = "rules for the same paths behind this redirect are served; the other controller drops them, whatever " +
			"their hosts (rule_optimizer.go)"
		if len(paths) == 0 {
			paths = []string{"/*"}
		}
		if loops != nil {
			dropped.on = func(l v1alpha1.ListenPort) bool { return !loops(l) }
		}
		r.hostRedirects = append(r.hostRedirects, hostRedirect{dropped, hostsOfExpressions(extra.hostRegexes), paths})
	}
	if len(extra.hosts)+len(extra.paths) > 0 && loops != nil {
		c.message = "of hosts and paths that are redirected to one of them, only that one is left out; the other controller " +
			"leaves all of them out (rule_optimizer.go)"
		c.leftOut, c.backend, c.on = path, to, loops
		r.noteCircles(theirs, hosts, p, extra, c)
	}
	return loops
}

// wrote remembers a path that was written, and what is changed of the requests to its backend.
func (r *reader) wrote(to networkingv1.IngressBackend, host string, w writtenPath) {
	unmet := host == "" && len(w.globs)+len(w.expressions) > 0 // no host fulfils its conditions
	if to.Resource != nil && !unmet {                          // a Service may have its name
		for _, c := range r.pending[to.Resource.Name] {
			c.host, c.path, c.when, c.after = host, w.path, w.when, len(r.written)
			r.note(c)
		}
	}
	r.written = append(r.written, w)
}

// conditionsOf returns the conditions of a backend, which Fairlead knows by another name.
func (r *reader) conditionsOf(theirs, name string) conditions {
	m, is := r.conditions[theirs]
	if !is {
		return conditions{}
	}
	r.judgeRead("", Prefix+"conditions."+theirs, m)
	e := m.extra.entry
	e.Backend = name
	known := slices.ContainsFunc(r.when, func(o entry) bool { return o.Backend == name && o.RuleHost == nil })
	if !m.extra.entry.empty() && !known {
		r.when = append(r.when, e)
	}
	return m.extra
}

// hostsOf returns the hosts that a rule and its conditions have: those that a rule can have, and those
// that are conditions of a rule without a host. Without any, it is the rule's own.
func hostsOf(host string, extra conditions) (hosts, globs, regexes []string) {
	if host != "" {
		hosts = append(hosts, host)
	}
	known := map[string]bool{host: true}
	for _, h := range extra.hosts {
		h = strings.ToLower(h)
		if !isHost(h) {
			globs = append(globs, h)
		} else if !known[h] {
			known[h] = true
			hosts = append(hosts, h)
		}
	}
	for _, re := range extra.hostRegexes {
		regexes = append(regexes, routing.WholeText(re))
	}
	if len(hosts)+len(globs)+len(regexes) == 0 {
		hosts = []string{""}
	}
	return hosts, globs, regexes
}

// alternatives returns a path with those that its conditions add.
func (r *reader) alternatives(p networkingv1.HTTPIngressPath, extra conditions,
	regex, expressions bool) []networkingv1.HTTPIngressPath {
	spelt := func(glob string) string {
		if expressions {
			return wholePath("^" + ofGlob(glob) + "$")
		}
		return glob
	}
	other := networkingv1.PathTypeImplementationSpecific
	p.PathType = new(pathTypeOf(p))
	var out []networkingv1.HTTPIngressPath
	switch {
	case p.Path == "" && len(extra.paths)+len(extra.pathRegexes) > 0:
	case p.Path == "":
		p.PathType, p.Path = new(networkingv1.PathTypePrefix), "/"
		out = append(out, p)
	case *p.PathType != other:
		out = append(out, p)
	case regex:
		p.Path = wholePath(strings.TrimPrefix(p.Path, "/"))
		out = append(out, p)
	default:
		if expressions && isText(p.Path) { // a redirect to it is found to lead to itself
			p.PathType = new(networkingv1.PathTypeExact)
		} else {
			p.Path = spelt(p.Path)
		}
		out = append(out, p)
	}
	add := func(path string) {
		q := p
		q.Path, q.PathType = path, &other
		out = append(out, q)
	}
	for _, glob := range extra.paths {
		if expressions {
			add(spelt(glob))
			if last := &out[len(out)-1]; isText(glob) {
				last.Path, last.PathType = glob, new(networkingv1.PathTypeExact)
			}
			continue
		}
		for _, g := range rooted(glob) {
			add(g)
		}
	}
	for _, re := range extra.pathRegexes {
		add(wholePath(re))
	}
	return out
}

// isText reports whether a glob has no wildcards.
func isText(glob string) bool {
	return strings.HasPrefix(glob, "/") && !strings.ContainsAny(glob, "*?")
}

// mostText is the most bytes of the rules and conditions of an Ingress: more than the API server stores
// of an object, 1.5 MiB. Conditions on hosts and paths multiply: each host has each path.
const mostText = 2 << 20

// fits counts what is written, and refuses the Ingress if it is too much.
func (r *reader) fits(key string, texts ...string) bool {
	const around = 64 // fields, and their names
	before := r.size
	r.size += around
	for _, t := range texts {
		r.size += len(t)
	}
	if before <= mostText && r.size > mostText {
		r.say(dialect.Verdict{Key: key, Outcome: dialect.Refused, Message: fmt.Sprintf("with the hosts and paths of "+
			"conditions, the rules take more than %d bytes: name fewer of them, or divide the Ingress", mostText)})
	}
	return r.size <= mostText
}

// add writes a path, or a host without paths. Paths of one host and one rule stay together.
func (r *reader) add(host string, p *networkingv1.HTTPIngressPath, from, of string) {
	if p != nil && !r.fits("spec.rules", host, p.Path) {
		return
	}
	rules := &r.out.Ingress.Spec.Rules
	last := len(*rules) - 1
	if p == nil || last < 0 || (*rules)[last].Host != host || (*rules)[last].HTTP == nil ||
		!strings.HasPrefix(r.out.Fields[fmt.Sprintf("spec.rules[%d].http.paths[0]", last)], from+".") {
		*rules = append(*rules, networkingv1.IngressRule{Host: host})
		last++
		r.out.Fields[fmt.Sprintf("spec.rules[%d]", last)] = from
	}
	if p == nil {
		return
	}
	rule := &(*rules)[last]
	if rule.HTTP == nil {
		rule.HTTP = &networkingv1.HTTPIngressRuleValue{}
	}
	r.out.Fields[fmt.Sprintf("spec.rules[%d].http.paths[%d]", last, len(rule.HTTP.Paths))] = from + of
	rule.HTTP.Paths = append(rule.HTTP.Paths, *p)
}

func resource(name string) networkingv1.IngressBackend {
	return networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{
		APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindBackend, Name: name}}
}

// backend returns a backend in Fairlead's own words, with the spec of the Backend that it names, if it
// is one of the Ingress's own.
func (r *reader) backend(b *networkingv1.IngressBackend) (networkingv1.IngressBackend, *v1alpha1.BackendSpec) {
	if b.Service == nil {
		return *b, nil // the other controller has none
	}
	known, done := r.known[*b.Service]
	if !done {
		known.to, known.spec = r.readBackend(b)
		r.known[*b.Service] = known
	}
	return known.to, known.spec.DeepCopy()
}

// A knownBackend is a backend that was read: many paths may have it.
type knownBackend struct {
	to   networkingv1.IngressBackend
	spec *v1alpha1.BackendSpec
}

func (r *reader) readBackend(b *networkingv1.IngressBackend) (networkingv1.IngressBackend, *v1alpha1.BackendSpec) {
	name, port := b.Service.Name, b.Service.Port
	spec, alone, to := r.action(b.Service)
	if spec == nil {
		r.readService(name)
	} else {
		for _, s := range spec.Services {
			r.readService(s.Name)
			if alone == "" {
				r.tellIgnored(s.Name)
			}
		}
	}
	with, err := r.signIn(alone)
	if err != nil && !errors.Is(err, errJudged) {
		v := dialect.Verdict{Key: Prefix + "auth-type", Outcome: dialect.Refused, Message: err.Error()}
		if len(r.signInsOf(alone)) > 0 {
			v.Service = alone
		}
		r.say(v)
	}
	if value, is := r.annotation("transforms." + name); is {
		m := readTransforms(value)
		r.judgeRead("", Prefix+"transforms."+name, m)
		if m.rewrite != nil {
			if spec == nil {
				spec = &v1alpha1.BackendSpec{}
			}
			spec.Rewrite = m.rewrite
		}
	}
	if with != nil {
		if spec == nil {
			spec = &v1alpha1.BackendSpec{}
		}
		spec.Authenticate = with
		r.noteInsecure(to, alone, with)
	}
	if spec == nil {
		return *b, nil
	}
	if spec.Redirect == nil && spec.FixedResponse == nil && len(spec.Services) == 0 {
		spec.Services = []v1alpha1.WeightedService{{Name: name, Port: v1alpha1.ServicePort(port)}}
	}
	if len(spec.Services) == 0 && spec.Rewrite != nil {
		spec.Rewrite = nil
		r.judge(Prefix+"transforms."+name, dialect.Dropped, "nothing is rewritten of requests that are not forwarded")
	}
	return resource(to), spec
}

// signInsOf returns the annotations of a Service that are about sign-in.
func (r *reader) signInsOf(service string) (keys []string) {
	s := r.Service(service)
	if s == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(s.Annotations)) {
		name, theirs := strings.CutPrefix(key, Prefix)
		if row := rowOf(name); theirs && row != nil && row.services && row.paths {
			keys = append(keys, key)
		}
	}
	return keys
}

// tellIgnored says, once, that sign-ins of a Service do not count where it has its requests with others.
func (r *reader) tellIgnored(service string) {
	for _, key := range r.signInsOf(service) {
		if id := "beside others " + service + " " + key; !r.read[id] {
			r.read[id] = true
			r.say(dialect.Verdict{Service: service, Key: key, Outcome: dialect.Dropped, Message: "it does not count in an " +
				"action with several target groups, as with the other controller: write it on the Ingress"})
		}
	}
}

// action returns the Backend of an action, nil of a Service, with the Service whose annotations go
// first, and the name of a Backend for it.
func (r *reader) action(b *networkingv1.IngressServiceBackend) (spec *v1alpha1.BackendSpec, alone, to string) {
	if b.Port.Name != UseAnnotation {
		port := b.Port.Name
		if b.Port.Number > 0 {
			port = strconv.Itoa(int(b.Port.Number))
		}
		return nil, b.Name, b.Name + "." + port
	}
	key := Prefix + "actions." + b.Name
	if value, is := r.Annotations[key]; is {
		m := readActionWith(value, allowed(r.Class.AllowedTargetGroups).arnOf)
		if m.result == dialect.Changed {
			r.pending[b.Name] = append(r.pending[b.Name], change{key: key, message: m.message, query: "a=b"})
			m.result, m.message = "", ""
		}
		r.judgeRead("", key, m)
		spec = m.backend
	} else {
		r.judgeRead("", key, made{message: "there is no such annotation, so requests are answered 503"})
	}
	if spec == nil {
		spec = status(503)
	}
	if len(spec.Services) == 1 {
		alone = spec.Services[0].Name
	}
	return spec, alone, b.Name
}

// noteInsecure notes what requests over HTTP get where users have to sign in: with the controller they
// pass without (model_build_actions.go). The annotations of a Service go before those of the Ingress.
func (r *reader) noteInsecure(backend, service string, with *v1alpha1.Authenticate) {
	c := change{key: Prefix + "auth-type", plain: true, message: "requests over HTTP are not forwarded: they are redirected to " +
		"HTTPS to sign in, or answered 503 where the host has no HTTPS port; the other controller lets them pass without a sign-in"}
	if with.JWT != nil {
		c.key = Prefix + "jwt-validation"
	} else if slices.Contains(r.signInsOf(service), c.key) {
		c.service = service
	}
	r.pending[backend] = append(r.pending[backend], c)
}
