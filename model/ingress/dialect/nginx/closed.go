package nginx

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/routing"
)

// This file has another Ingress answer the requests of a refused one with 503 where it would get them itself: a path is not opened
// because the Ingress that protects it is refused.

// A closing is a host of a server, with the locations of a refused Ingress; or one that it redirects, without a server.
type closing struct {
	host string
	*server
	of *member
}

// closings returns what Ingresses close, by Ingress.
func (w *World) closings() map[string][]closing {
	at := map[string][]*writer{} // by host, those that have paths there
	for _, key := range slices.Sorted(maps.Keys(w.writers)) {
		if w.Refuses(key) {
			continue
		}
		r := w.writers[key]
		for _, rule := range r.rules {
			if rule.HTTP == nil && at[rule.Host] == nil {
				at[rule.Host] = []*writer{}
			} else if rule.HTTP != nil && !slices.Contains(at[rule.Host], r) {
				at[rule.Host] = append(at[rule.Host], r)
			}
		}
	}
	out := map[string][]closing{}
	for _, key := range slices.Sorted(maps.Keys(w.writers)) {
		m := w.writers[key].m
		if !w.Refuses(key) || w.kept != nil && w.kept(m.Ingress).Served {
			continue
		}
		add := func(host string, s *server) {
			if by := closerOf(at, host); by != "" {
				out[by] = append(out[by], closing{host, s, m})
			}
		}
		for _, s := range m.at {
			for _, host := range w.hostsOf(s) {
				add(host, s)
			}
			if from := otherName(s.host); s.www == m && w.redirects[from] == s.host && hostName.MatchString(from) {
				add(from, nil)
			}
		}
	}
	return out
}

// closerOf returns one of the Ingresses that get requests for a host: one that serves it over HTTPS, if there is any; "" for none.
func closerOf(at map[string][]*writer, host string) string {
	for _, level := range routing.Levels(strings.Replace(host, "*", "any", 1)) {
		all, named := at[string(level)]
		if len(all) > 0 {
			return all[max(slices.IndexFunc(all, func(r *writer) bool { return r.overHTTPS(host) }), 0)].m.key()
		}
		if named {
			break
		}
	}
	return ""
}

// close answers the requests of a refused Ingress for a host.
func (r *writer) close(c closing) {
	r.say("spec.rules", dialect.Same, "requests of Ingress %s, which is refused, are answered 503", c.of.key())
	r.rules = append(r.rules, networkingv1.IngressRule{Host: c.host})
	r.out.Fields[fmt.Sprintf("spec.rules[%d]", len(r.rules)-1)] = "spec"
	unavailable := variant{spec: v1alpha1.BackendSpec{FixedResponse: &v1alpha1.FixedResponse{StatusCode: 503}}}
	if c.server == nil {
		prefix := networkingv1.PathTypePrefix
		r.add(networkingv1.HTTPIngressPath{Path: "/", PathType: &prefix}, unavailable, "spec")
		return
	}
	for _, l := range c.locations {
		switch {
		case l.of != c.of, l.initial && !r.matters(c.server, l), !c.regex && !l.reachable, c.before(l) != nil:
			continue
		case c.regex && r.isExpression(l.text) != "":
			continue
		}
		r.add(r.pathOf(c.server, l, l.field), unavailable, "spec")
		if twin, is := c.twinOf(l); is {
			exact := networkingv1.PathTypeExact
			r.add(networkingv1.HTTPIngressPath{Path: routing.Sendable(twin), PathType: &exact}, unavailable, "spec")
		}
	}
}
