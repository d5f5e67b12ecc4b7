package fuzz

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

// FuzzHostAndPath gives two Ingresses any hosts and paths of any type, and asks for them.
func FuzzHostAndPath(f *testing.F) {
	for _, seed := range [][4]string{
		{"a.example.com", "/", "*.example.com", "/a"},
		{"*.example.com", "/a/*", "b.example.com", "/a/?"},
		{"", "/*ab????????????c1", "a.example.com", "/*ab????????????c2"},
		{"xn--bcher-kva.example", "/%2e%2e/a", "a.b.c.d", "//"},
		{strings.Repeat("a.", 100) + "b", "/" + strings.Repeat("a*", 60), "a", "/" + strings.Repeat("?*", 60)},
	} {
		for kind := range uint8(9) {
			f.Add(seed[0], seed[1], seed[2], seed[3], kind, false)
		}
	}
	f.Fuzz(func(t *testing.T, hostA, pathA, hostB, pathB string, kinds uint8, lessSpecific bool) {
		types := []networkingv1.PathType{networkingv1.PathTypeExact, networkingv1.PathTypePrefix, networkingv1.PathTypeImplementationSpecific}
		a, b := newIngress("alice", hostA, pathA, types[kinds%3]), newIngress("bob", hostB, pathB, types[kinds/3%3])
		if !acceptable(a) || !acceptable(b) {
			return // the API server refuses the Ingress
		}
		w := newWorld(t, func(spec *v1alpha1.LoadBalancerClassSpec) {
			if lessSpecific {
				spec.HostMiss = "LessSpecific"
			}
		})
		for _, ing := range []*networkingv1.Ingress{a, b} {
			ing.Annotations = map[string]string{"fairlead.dev/group": group}
		}
		w.Ingresses = []*networkingv1.Ingress{a, b}
		within(t, func() {
			built, diagnostics := w.compile()
			check(t, built, diagnostics, requestsFor([]string{hostA, hostB, "c.example.com"}, []string{pathA, pathB, "/", "/c"}))
		})
	})
}

// requestsFor are requests for every host and path that can be sent, wildcards replaced by a label
// or a text.
func requestsFor(hosts, paths []string) []routing.Request {
	var out []routing.Request
	for _, host := range hosts {
		host = strings.Replace(host, "*", "x", 1)
		if host == "" {
			host = "other.example"
		}
		for _, path := range paths {
			if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#\r\n \x00") {
				path = "/" + strings.Trim(strings.Map(sendable, path), "/")
			}
			out = append(out, routing.Request{Host: host, Path: path, Method: "GET"})
			out = append(out, routing.Request{Host: host, Path: strings.ReplaceAll(path, "*", "ab") + "/c", Method: "GET"})
		}
	}
	return out
}

// sendable drops what a request line cannot have in its path.
func sendable(r rune) rune {
	if r <= ' ' || r > '~' || strings.ContainsRune("?#", r) {
		return -1
	}
	return r
}

// FuzzRegularExpression reads paths as regular expressions, as a class can say.
func FuzzRegularExpression(f *testing.F) {
	for _, seed := range []string{
		"/a(b|c)+", "/.*", "/(a{1,1000}){1,1000}", "/[[:alpha:]]+x?", `/\p{L}+`, "/(?i)abc", "/((((((((((a*)*)*)*)*)*)*)*)*)*)*", "/a{1000}", "/(.*a){20}", "^/a$", `/a\z`,
	} {
		f.Add(seed, "/.*x.*", "/abcx")
	}
	f.Fuzz(func(t *testing.T, one, two, asked string) {
		a := newIngress("alice", "a.example.com", one, networkingv1.PathTypeImplementationSpecific)
		a.Spec.Rules = append(a.Spec.Rules, rule("a.example.com", networkingv1.HTTPIngressPath{
			Path: two, PathType: new(networkingv1.PathTypeImplementationSpecific), Backend: web(),
		}))
		if !acceptable(a) {
			return // the API server refuses the Ingress
		}
		w := newWorld(t, func(spec *v1alpha1.LoadBalancerClassSpec) { spec.ImplementationSpecific = "Regex" })
		w.Ingresses = []*networkingv1.Ingress{a}
		within(t, func() {
			built, diagnostics := w.compile()
			check(t, built, diagnostics, requestsFor([]string{"a.example.com"}, []string{one, two, asked}))
		})
	})
}
