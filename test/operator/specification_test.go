package operator

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// This file is the specification once more, as docs/reference/routing.md has it, for one request at a time.
// It shares nothing with the compiler, and takes no care to be fast.

// A request is to a port: 80, or 443 over TLS.
type request struct {
	port       int32
	host, path string
}

// A claim is a path that fits a request, by what decides which one answers.
type claim struct {
	exact   bool
	length  int // of the path, or of a glob's text before its first wildcard
	glob    bool
	age     int // of the Ingress: the oldest is 0
	written int // how long the path is as it is spelt
	at      int // where in the Ingress
	backend networkingv1.IngressBackend
}

// answer is the backend that answers; nil where that is 404.
func answer(r request, ingresses []networkingv1.Ingress) *networkingv1.IngressBackend {
	oldest := slices.SortedFunc(slices.Values(ingresses), func(a, b networkingv1.Ingress) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	named := map[string]bool{}
	for _, ing := range oldest {
		for _, rule := range ing.Spec.Rules {
			named[rule.Host] = true
		}
	}
	host := strings.ToLower(r.host)
	if _, parent, found := strings.Cut(host, "."); !named[host] && found && named["*."+parent] {
		host = "*." + parent
	} else if !named[host] {
		host = ""
	}
	var fitting []claim
	var otherwise *networkingv1.IngressBackend
	for age, ing := range oldest {
		if r.port == 443 && !covered(ing, host) {
			continue
		}
		names, at := host == "", 0
		for _, rule := range ing.Spec.Rules {
			names = names || rule.Host == host
			if rule.HTTP == nil {
				continue
			}
			for _, p := range rule.HTTP.Paths {
				at++
				if c, fits := fit(*p.PathType, p.Path, r.path); fits && rule.Host == host {
					c.age, c.at, c.backend = age, at, p.Backend
					fitting = append(fitting, c)
				}
			}
		}
		if names && otherwise == nil {
			otherwise = ing.Spec.DefaultBackend
		}
	}
	if len(fitting) == 0 {
		return otherwise
	}
	best := slices.MinFunc(fitting, claim.compare)
	return &best.backend
}

// covered reports whether an Ingress serves a host over TLS.
func covered(ing networkingv1.Ingress, host string) bool {
	return slices.ContainsFunc(ing.Spec.TLS, func(t networkingv1.IngressTLS) bool { return slices.Contains(t.Hosts, host) })
}

// compare puts the claim that answers first.
func (c claim) compare(other claim) int {
	first := func(a, b bool) int {
		switch {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	}
	return cmp.Or(first(c.exact, other.exact), other.length-c.length, first(c.glob, other.glob), c.age-other.age, other.written-c.written, c.at-other.at)
}

// fit reports whether a path of an Ingress stands for one of a request.
func fit(kind networkingv1.PathType, path, asked string) (claim, bool) {
	c := claim{written: len(path)}
	wild := strings.IndexAny(path, "*?")
	switch {
	case kind == networkingv1.PathTypeExact:
		c.exact = true
		return c, path == asked
	case kind == networkingv1.PathTypeImplementationSpecific && wild >= 0:
		c.glob, c.length = true, wild
		text := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(path))
		return c, regexp.MustCompile("^(?s:" + text + ")$").MatchString(asked)
	}
	path = strings.TrimRight(path, "/")
	c.length = len(path)
	return c, asked == path || strings.HasPrefix(asked, path+"/")
}
