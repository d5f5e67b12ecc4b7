package fuzz

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/routing"
)

// annotationNames are those that Fairlead reads, as its reference lists them.
func annotationNames(f *testing.F) []string {
	f.Helper()
	page, err := os.ReadFile("../../docs/reference/annotations.md")
	if err != nil {
		f.Fatal(err)
	}
	var names []string
	for _, found := range regexp.MustCompile("`(fairlead\\.dev/[a-z0-9-]+)`").FindAllStringSubmatch(string(page), -1) {
		names = append(names, found[1])
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) < 15 {
		f.Fatalf("the reference lists only %v", names)
	}
	return names
}

// FuzzAnnotation gives each annotation any value, in a group of two namespaces.
func FuzzAnnotation(f *testing.F) {
	names := annotationNames(f)
	for i := range names {
		for _, value := range []string{
			"", "true", "80", "HTTP:80,HTTPS:443", "10.0.0.0/8, pl-0123456789abcdef0", "stickiness.enabled=true", "internet-facing", "200-299",
			"arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012",
			`[{"paths": ["/"], "header": {"x": ["y"]}}]`, "- a: &a [x, *a]", "[" + strings.Repeat("[", 200), strings.Repeat("x", 17<<10),
		} {
			f.Add(uint(i), value)
		}
	}
	f.Fuzz(func(t *testing.T, index uint, value string) {
		ing := newIngress("bob", "b.example.com", "/", networkingv1.PathTypePrefix)
		ing.Annotations = map[string]string{"fairlead.dev/group": group, names[index%uint(len(names))]: value}
		if !acceptable(ing) {
			return // the API server refuses the Ingress
		}
		w := newWorld(t, nil)
		w.Ingresses = []*networkingv1.Ingress{newIngress("alice", "a.example.com", "/", networkingv1.PathTypePrefix), ing}
		w.Ingresses[0].Annotations = map[string]string{"fairlead.dev/group": group}
		within(t, func() {
			built, diagnostics := w.compile()
			check(t, built, diagnostics, []routing.Request{{Host: "a.example.com", Path: "/", Method: "GET"}, {Host: "b.example.com", Path: "/x", Method: "GET"}})
		})
	})
}

// FuzzConditions reads conditions, and asks for what they name.
func FuzzConditions(f *testing.F) {
	for _, value := range []string{
		`- {paths: [/], header: {X-Canary: [always, "v*"]}}`,
		`- {paths: ["/"], method: [GET, POST], query: [{a: b}], source: [10.0.0.0/8]}`,
		`[{"header": {"User-Agent": ["*"]}}]`, "- {query: ['?': '*']}", `- {source: ["::/0", 0.0.0.0/0]}`, "a: 1", "- header: {x-a: [&a \"AAA\", *a]}",
		"- !!binary aGVsbG8=", "- <<: {a: b}", "- header: {x: ['" + strings.Repeat("?*", 100) + "']}",
	} {
		f.Add(value, "x", "always")
	}
	f.Fuzz(func(t *testing.T, value, header, text string) {
		ing := newIngress("bob", "b.example.com", "/", networkingv1.PathTypePrefix)
		ing.Annotations = map[string]string{"fairlead.dev/conditions": value}
		if !acceptable(ing) {
			return // the API server refuses the Ingress
		}
		w := newWorld(t, nil)
		w.Ingresses = []*networkingv1.Ingress{ing}
		within(t, func() {
			built, diagnostics := w.compile()
			check(t, built, diagnostics, []routing.Request{
				{Host: "b.example.com", Path: "/", Method: "GET"},
				{Host: "b.example.com", Path: "/", Method: "POST", Header: map[string][]string{header: {text}}, Query: map[string][]string{header: {text}}},
			})
		})
	})
}
