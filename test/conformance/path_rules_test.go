package conformance

import "testing"

func TestPathRules(t *testing.T) {
	f := newFeature(t)
	f.deploy(t, "exact", "prefix", "deep", "wide", "deep-slash", "exact-slash")
	f.expose(t, `
rules:
- host: exact.example
  http:
    paths:
    - {path: /cart, pathType: Exact, backend: {service: {name: exact, port: {number: 8080}}}}
- host: prefix.example
  http:
    paths:
    - {path: /cart, pathType: Prefix, backend: {service: {name: prefix, port: {number: 8080}}}}
    - {path: /docs/old, pathType: Prefix, backend: {service: {name: deep, port: {number: 8080}}}}
    - {path: /docs, pathType: Prefix, backend: {service: {name: wide, port: {number: 8080}}}}
- host: mixed.example
  http:
    paths:
    - {path: /cart, pathType: Prefix, backend: {service: {name: prefix, port: {number: 8080}}}}
    - {path: /cart, pathType: Exact, backend: {service: {name: exact, port: {number: 8080}}}}
- host: slash.example
  http:
    paths:
    - {path: /docs/old/, pathType: Prefix, backend: {service: {name: deep-slash, port: {number: 8080}}}}
    - {path: /cart/, pathType: Exact, backend: {service: {name: exact-slash, port: {number: 8080}}}}
`)
	f.run(t, []scenario{
		{"exact", "http://exact.example/cart", "exact"},
		{"exact has no trailing slash", "http://exact.example/cart/", ""},
		{"exact knows upper case", "http://exact.example/CART", ""},
		{"exact is no other path", "http://exact.example/docs", ""},

		{"prefix is the path itself", "http://prefix.example/cart", "prefix"},
		{"prefix with a trailing slash", "http://prefix.example/cart/", "prefix"},
		{"prefix and what is below it", "http://prefix.example/cart/1", "prefix"},
		{"prefix knows upper case", "http://prefix.example/CART", ""},
		{"the longer prefix", "http://prefix.example/docs/old", "deep"},
		{"the longer prefix and what is below it", "http://prefix.example/docs/old/1", "deep"},
		{"the shorter prefix has the rest", "http://prefix.example/docs/new", "wide"},
		{"prefix ends where an element does", "http://prefix.example/docsets", ""},

		{"exact comes before prefix", "http://mixed.example/cart", "exact"},

		{"prefix with a slash is the path without it", "http://slash.example/docs/old", "deep-slash"},
		{"prefix with a slash is the path with it", "http://slash.example/docs/old/", "deep-slash"},
		{"exact with a slash is not the path without it", "http://slash.example/cart", ""},
	})
}
