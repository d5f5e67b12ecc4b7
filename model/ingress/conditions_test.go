package ingress

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

func TestConditionsAreReadIntoOneSpelling(t *testing.T) {
	s, err := settings.ReadConditions(`
- query: {V: ["2", "1", "2"]}
  header: {X-B: [b], x-a: [B, a]}
- path: /a
  source: [10.0.0.7, "2001:db8::/32"]
- backend: other
  method: [GET]
`)
	if err != nil {
		t.Fatal(err)
	}
	everywhere := routing.Conditions{
		{Field: "header", Name: "x-a", Values: []string{"a", "b"}}, {Field: "header", Name: "x-b", Values: []string{"b"}},
		{Field: "query", Name: "v", Values: []string{"1", "2"}},
	}
	source := routing.Condition{Field: "source", Values: []string{"10.0.0.7/32", "2001:db8::/32"}}
	method := routing.Condition{Field: "method", Values: []string{"GET"}}
	for name, c := range map[string]struct {
		path networkingv1.HTTPIngressPath
		want routing.Conditions
	}{
		"those of all paths":               {prefixed("/", "web:80"), everywhere},
		"and those of a path":              {prefixed("/a", "web:80"), append(everywhere[:3:3], source)},
		"a path is meant as it is spelt":   {prefixed("/a/", "web:80"), everywhere},
		"and those of a backend, in order": {prefixed("/a", "other:80"), routing.Conditions{everywhere[0], everywhere[1], method, everywhere[2], source}},
		"a backend is meant by its name":   {prefixed("/", "other:80"), routing.Conditions{everywhere[0], everywhere[1], method, everywhere[2]}},
	} {
		compare(t, name, s.Of("a.com", &c.path), c.want)
	}
}

func TestConditionsHoldForNoDefaultBackend(t *testing.T) {
	for name, c := range map[string]struct {
		conditions string
		refused    bool
	}{
		"of all paths":           {`[{"method": ["GET"]}]`, true},
		"of its backend":         {`[{"backend": "web", "method": ["GET"]}]`, true},
		"of a path":              {`[{"path": "/", "method": ["GET"]}]`, false},
		"of a backend of a path": {`[{"backend": "other", "method": ["GET"]}]`, false},
	} {
		_, found := readAnnotations(anIngress("shop/web", annotated("conditions", c.conditions), defaulted(to("web:80")),
			ruled("a.com", prefixed("/", "web:80"), prefixed("/other", "other:80"))), &Class{})
		if hasError(found) != c.refused {
			t.Errorf("%s: %v", name, found)
		}
	}
}
