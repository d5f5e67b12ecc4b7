package expect

import (
	"errors"
	"strings"
	"testing"
)

// This file tests what is read, and what is refused with its line.

const valid = `expectations:
- name: pay
  description: Only pay answers for pay.
  requests:
    hosts: ["*.Pay.example.com"]
    headers: {X-A: [yes]}
  except:
  - paths: [{exact: /healthz}]
  must:
    namespaces: [pay]
urls:
- url: https://shop.example.com/cart?v=1
  service: shop/cart:80
`

func TestRead(t *testing.T) {
	all, err := Read(valid)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d expectations: %v", len(all), err)
	}
	if e := all[0]; e.Line != 2 || e.Requests.Hosts[0] != "*.pay.example.com" || e.Requests.Headers["X-A"][0] != "yes" {
		t.Errorf("%+v", e)
	}
	if e := all[1]; e.Line != 12 || !*e.Must.Answered || e.Requests.URLs[0].Port != 443 || e.Must.Services[0] != "shop/cart:80" {
		t.Errorf("%+v", e)
	}
}

func TestReadRefuses(t *testing.T) {
	const begin = "expectations:\n- name: a\n  must: {answered: true}\n"
	for text, want := range map[string]string{
		"":                 "line 1: it is empty",
		"- a":              "line 1: it is not a mapping",
		"expectations: []": "line 1: expectations: it is an empty list",
		"expectation: []":  `line 1: there is no field "expectation"`,
		"expectations:\n- must: {answered: true}":                                              "line 2: expectations: an expectation needs a name",
		"expectations:\n- name: a":                                                             `line 2: expectations: expectation "a" says nothing: it has no field must`,
		"expectations:\n- name: a\n  must: {}":                                                 "line 3: expectations.must: it says nothing",
		"expectations:\n- name: a\n  must: {answer: true}":                                     `line 3: expectations.must: there is no field "answer"`,
		"expectations:\n- name: a\n  must: {answered: perhaps}":                                `line 3: expectations.must.answered: "perhaps" is neither true nor false`,
		"expectations:\n- name: a\n  must: {services: [cart]}":                                 `line 3: expectations.must.services: "cart" is neither namespace/name nor namespace/name:port`,
		"expectations:\n- name: a\n  must: {statuses: [7]}":                                    `line 3: expectations.must.statuses: "7" is not a number from 200 to 599`,
		begin + "  requests: {hosts: [a_b.*]}":                                                 `line 4: expectations.requests.hosts: "a_b.*" is neither`,
		begin + "  requests:\n    host: a":                                                     `line 5: expectations.requests: there is no field "host"`,
		begin + "  requests:\n    paths: [admin]":                                              "line 5: expectations.requests.paths: it is not a mapping",
		begin + "  requests:\n    paths: [{prefix: admin}]":                                    `line 5: expectations.requests.paths.prefix: no request has a path like "admin"`,
		begin + "  requests:\n    paths: [{exact: '/a?b'}]":                                    `line 5: expectations.requests.paths.exact: no request has a path`,
		begin + "  requests:\n    paths: [{regex: '/('}]":                                      `line 5: expectations.requests.paths.regex: "/(" is not a regular expression`,
		begin + "  requests:\n    paths: [{glob: '/*', decoded: true}]":                        "line 5: expectations.requests.paths: decoded is for the fields exact and prefix",
		begin + "  requests:\n    paths: [{glob: '/*', exact: /}]":                             "line 5: expectations.requests.paths: a path needs one of",
		"expectations:\n- name: a\n  must: {inboundWithin: [10.0.0.1]}":                        `line 3: expectations.must.inboundWithin: "10.0.0.1" is neither`,
		begin + "  requests: {sources: [10.0.0.1/8]}":                                          `line 4: expectations.requests.sources: "10.0.0.1/8" is not the first address of a range: that is 10.0.0.0/8`,
		begin + "  requests: {methods: [get]}":                                                 `line 4: expectations.requests.methods: "get" is not a method in capitals`,
		begin + "  requests: {headers: {Host: [a]}}":                                           "line 4: expectations.requests.headers: the field hosts is for the header Host",
		begin + "  requests: {urls: ['https://a.example.com/'], ports: [80]}":                  "line 4: expectations.requests: urls stand for",
		begin + "  requests: {urls: ['ftp://a.example.com/']}":                                 `line 4: expectations.requests.urls: "ftp://a.example.com/" does not begin with`,
		begin + "  requests: {urls: ['https://a.example.com/#x']}":                             "line 4: expectations.requests.urls:",
		begin + "  except: [{ports: [80]}, {schemes: [http]}, {schemes: [https]}]":             `line 2: expectation "a" is about nothing: no request is in its set`,
		begin + "  requests: {hosts: [a.example.com]}\n  except: [{hosts: ['*.example.com']}]": `line 2: expectation "a" is about nothing`,
		begin + "  requests: {paths: [{prefix: /a}]}\n  except: [{paths: [{regex: '/a.*'}]}]":  `line 2: expectation "a" is about nothing`,
		begin + "  requests: {methods: [GET]}\n  except: [{methods: [GET, POST]}]":             `line 2: expectation "a" is about nothing`,
		begin + "- name: a\n  must: {answered: true}":                                          `line 4: name "a" is used in line 2`,
		"urls:\n- url: https://a.example.com/":                                                 "line 2: urls: a URL needs the fields url and service",
		"a: &b 1":                                                                              "line 1: anchors and aliases are not read",
		"expectations:\n\t- a":                                                                 "line 2: it is neither YAML nor JSON",
	} {
		_, err := Read(text)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\nis refused with %v, want %s", text, err, want)
		}
		if _, is := errors.AsType[Error](err); err != nil && !is {
			t.Errorf("%v has no line", err)
		}
	}
}

// TestSetsWithARequest has exceptions that leave something.
func TestSetsWithARequest(t *testing.T) {
	for _, rest := range []string{
		"  requests: {hosts: ['*.example.com']}\n  except: [{hosts: [a.example.com]}]",
		"  requests: {hosts: ['**.example.com']}\n  except: [{hosts: ['*.example.com']}]",
		"  except: [{schemes: [http]}, {ports: [443]}]",
		"  except: [{loadBalancers: {classes: ['*']}}]",
		"  except: [{answeredBy: {namespaces: ['*']}}]",
		"  requests: {headers: {a: [b]}}\n  except: [{headers: {a: [c]}}]",
		"  requests: {sources: [10.0.0.0/8]}\n  except: [{sources: [10.0.0.0/9, 10.128.0.0/10]}]",
	} {
		if _, err := Read("expectations:\n- name: a\n  must: {forwarded: false}\n" + rest); err != nil {
			t.Errorf("%s\nis refused: %v", rest, err)
		}
	}
}
