package ingress

import (
	"fmt"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

// servedBy prints what is served where: names, routes and defaults, one a line.
func servedBy(c routing.Config) []string {
	var out []string
	for _, n := range c.Names {
		out = append(out, fmt.Sprintf("name %s %v", n.Host, n.Ports))
	}
	for _, r := range c.Routes {
		out = append(out, fmt.Sprintf("route %s %s %v → %s", r.Host, r.Path, r.Ports, r.Action.Key()))
	}
	for _, d := range c.Defaults {
		out = append(out, fmt.Sprintf("default %v → %s", d.Ports, d.Action.Key()))
	}
	return out
}

// listening prints the ports.
func listening(c routing.Config) string {
	var out []string
	for _, l := range c.Listeners {
		out = append(out, fmt.Sprintf("%s %d%s", l.Protocol, l.Port, strings.Repeat("*", len(l.Certificates))))
	}
	return strings.Join(out, ", ")
}

func TestPathsAreReadAsTheClassSays(t *testing.T) {
	cases := map[string]struct {
		reading string
		kind    networkingv1.PathType
		path    string
		want    routing.Path
	}{
		"exact":                                    {"", exact, "/a/", routing.Path{Type: routing.Exact, Value: "/a/"}},
		"a star in an exact path is a star":        {"", exact, "/a*", routing.Path{Type: routing.Exact, Value: "/a*"}},
		"a prefix loses its trailing slash":        {"", byPrefix, "/a/", routing.Path{Type: routing.Prefix, Value: "/a"}},
		"the root":                                 {"", byPrefix, "/", routing.Root},
		"a star in a prefix is a star":             {"", byPrefix, "/a*", routing.Path{Type: routing.Prefix, Value: "/a*"}},
		"specific without wildcards is a prefix":   {"", specific, "/a/", routing.Path{Type: routing.Prefix, Value: "/a"}},
		"specific and empty is everything":         {"", specific, "", routing.Root},
		"specific with a star is a glob":           {"", specific, "/a/*", routing.Path{Type: routing.Glob, Value: "/a/*"}},
		"specific with a question mark too":        {"", specific, "/a?", routing.Path{Type: routing.Glob, Value: "/a?"}},
		"said: Fairlead":                           {v1alpha1.ReadFairlead, specific, "/a", routing.Path{Type: routing.Prefix, Value: "/a"}},
		"glob without wildcards":                   {v1alpha1.ReadGlob, specific, "/a/", routing.Path{Type: routing.Glob, Value: "/a/"}},
		"glob and empty is everything":             {v1alpha1.ReadGlob, specific, "", routing.Root},
		"regex":                                    {v1alpha1.ReadRegex, specific, "/a/[0-9]+", routing.Path{Type: routing.Regex, Value: "/a/[0-9]+"}},
		"the class's reading is for one type only": {v1alpha1.ReadRegex, byPrefix, "/a", routing.Path{Type: routing.Prefix, Value: "/a"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			config, _ := translated(t, nil, aClass("fairlead", v1alpha1.LoadBalancerClassSpec{ImplementationSpecific: c.reading}),
				anIngress("shop/web", ruled("a.test", path(c.kind, c.path, to("web:80")))), aService("shop/web:80"))
			compare(t, "path", config.Routes[0].Path, c.want)
			if config.Routes[0].Spelt != c.path {
				t.Errorf("spelt %q, want %q", config.Routes[0].Spelt, c.path)
			}
		})
	}
}

func TestAnExpressionThatMakesNoSenseCostsItsRoute(t *testing.T) {
	config, found := translated(t, nil, aClass("fairlead", v1alpha1.LoadBalancerClassSpec{ImplementationSpecific: v1alpha1.ReadRegex}),
		anIngress("shop/web", ruled("a.test", path(specific, "/a(", to("web:80")), prefixed("/", "web:80"))), aService("shop/web:80"))
	compare(t, "served", servedBy(config), []string{"name a.test [80]", "route a.test Prefix / [80] → shop/web:80"})
	compare(t, "told", told(found), []string{"error Invalid Ingress shop/web spec.rules[0].http.paths[0].path"})
	if config.Routes[0].Index != 1 {
		t.Errorf("index %d, want that of the second path", config.Routes[0].Index)
	}
}

func TestSourcesAreSpeltAsTheAPIDoes(t *testing.T) {
	config, _ := translated(t, nil, anIngress("shop/web", defaulted(to("web:80")),
		ruled("a.test"), ruled("b.test", prefixed("/", "web:80"), prefixed("/b", "web:80")), ruled("b.test", prefixed("/c", "web:80"))))
	var got []string
	for _, n := range config.Names {
		got = append(got, n.Source.String())
	}
	for _, r := range config.Routes {
		got = append(got, fmt.Sprintf("%s #%d", r.Source, r.Index))
	}
	compare(t, "sources", append(got, config.Defaults[0].Source.String()), []string{
		"Ingress shop/web spec.rules[0].host",
		"Ingress shop/web spec.rules[1].host",
		"Ingress shop/web spec.rules[1].http.paths[0] #0",
		"Ingress shop/web spec.rules[1].http.paths[1] #1",
		"Ingress shop/web spec.rules[2].http.paths[0] #2",
		"Ingress shop/web spec.defaultBackend",
	})
}

func TestSettingsOfTheClass(t *testing.T) {
	config, _ := translated(t, nil, aClass("fairlead", v1alpha1.LoadBalancerClassSpec{
		Scheme: "internet-facing", IPFamily: "dualstack", Attributes: map[string]string{"b": "c"}, Tags: map[string]string{"d": "e"},
		HostMiss: v1alpha1.HostMissLessSpecific,
	}), anIngress("shop/web", defaulted(to("web:80"))))
	compare(t, "settings", config.Settings, routing.Settings{
		Scheme: "internet-facing", IPFamily: "dualstack", Attributes: map[string]string{"b": "c"}, Tags: map[string]string{"d": "e"},
	})
	if config.HostMiss != routing.MissFallsThrough || config.Key != "fairlead/shop/web/internet-facing" {
		t.Errorf("key %s, host miss %v", config.Key, config.HostMiss)
	}
	compare(t, "members", config.Members, []routing.Owner{{Namespace: "shop", Name: "web"}})
}

func TestPorts(t *testing.T) {
	rules := func(ing *networkingv1.Ingress) {
		ruled("a.test", prefixed("/", "web:80"))(ing)
		ruled("b.test")(ing)
		ruled("", prefixed("/any", "web:80"))(ing)
		defaulted(to("web:80"))(ing)
	}
	onPorts := func(a, b, others string) []string {
		return []string{
			"name a.test " + a, "name b.test " + b,
			"route a.test Prefix / " + a + " → shop/web:80", "route  Prefix /any " + others + " → shop/web:80",
			"default " + others + " → shop/web:80",
		}
	}
	const host = "warning HostNotCovered Ingress shop/web spec.rules[%d].host"
	cases := map[string]struct {
		with      []func(*networkingv1.Ingress)
		listeners string
		want      []string
		told      []string
	}{
		"HTTP 80 unless said otherwise":        {nil, "HTTP 80", onPorts("[80]", "[80]", "[80]"), nil},
		"HTTPS for the listed hosts":           {[]func(*networkingv1.Ingress){secured("ab", "a.test")}, "HTTP 80, HTTPS 443*", onPorts("[80 443]", "[80]", "[80]"), nil},
		"HTTPS for all hosts of a plain entry": {[]func(*networkingv1.Ingress){secured("ab")}, "HTTP 80, HTTPS 443*", onPorts("[80 443]", "[80 443]", "[80 443]"), nil},
		"HTTPS for what a wildcard covers": {[]func(*networkingv1.Ingress){secured("ab", "*.test")}, "HTTP 80, HTTPS 443*", []string{
			"name a.test [80 443]", "name b.test [80 443]", "name *.test [443]",
			"route a.test Prefix / [80 443] → shop/web:80", "route  Prefix /any [80] → shop/web:80", "route *.test Prefix /any [443] → shop/web:80",
			"default [80] → shop/web:80",
		}, []string{"warning CertificateInvalid Ingress shop/web spec.tls[0].secretName"}},
		"other HTTP ports":                       {[]func(*networkingv1.Ingress){annotated("listen-ports", "HTTP:8080,HTTP:80")}, "HTTP 80, HTTP 8080", onPorts("[80 8080]", "[80 8080]", "[80 8080]"), nil},
		"tls besides other HTTP ports is on 443": {[]func(*networkingv1.Ingress){annotated("listen-ports", "HTTP:8080"), secured("ab")}, "HTTPS 443*, HTTP 8080", onPorts("[443 8080]", "[443 8080]", "[443 8080]"), nil},
		"listed HTTPS ports are instead of 443":  {[]func(*networkingv1.Ingress){annotated("listen-ports", "HTTP:80,HTTPS:8443"), secured("ab")}, "HTTP 80, HTTPS 8443*", onPorts("[80 8443]", "[80 8443]", "[80 8443]"), nil},
		"HTTPS only":                             {[]func(*networkingv1.Ingress){annotated("listen-ports", `[{"HTTPS":443}]`), secured("ab")}, "HTTPS 443*", onPorts("[443]", "[443]", "[443]"), nil},
		"HTTPS without tls": {[]func(*networkingv1.Ingress){annotated("listen-ports", "HTTP:80,HTTPS:443")}, "HTTP 80", onPorts("[80]", "[80]", "[80]"),
			[]string{fmt.Sprintf(host, 0), fmt.Sprintf(host, 1), fmt.Sprintf(host, 2)}},
		"HTTPS with tls for one host": {[]func(*networkingv1.Ingress){annotated("listen-ports", "HTTPS:443"), secured("ab", "a.test")}, "HTTPS 443*", onPorts("[443]", "[]", "[]"),
			[]string{fmt.Sprintf(host, 1), fmt.Sprintf(host, 2)}},
		"a missing Secret leaves HTTP alone": {[]func(*networkingv1.Ingress){secured("missing", "a.test")}, "HTTP 80", onPorts("[80]", "[80]", "[80]"),
			[]string{"error CertificateMissing Ingress shop/web spec.tls[0].secretName"}},
		"one missing Secret of two": {[]func(*networkingv1.Ingress){secured("missing", "a.test"), secured("ab", "b.test")}, "HTTP 80, HTTPS 443*", onPorts("[80]", "[80 443]", "[80]"),
			[]string{"error CertificateMissing Ingress shop/web spec.tls[0].secretName"}},
		"a missing Secret for a host that another entry covers": {[]func(*networkingv1.Ingress){secured("missing", "a.test"), secured("ab")}, "HTTP 80, HTTPS 443*", onPorts("[80 443]", "[80 443]", "[80 443]"),
			[]string{"error CertificateMissing Ingress shop/web spec.tls[0].secretName"}},
		"the same port over both protocols": {[]func(*networkingv1.Ingress){annotated("listen-ports", "HTTP:443"), secured("ab")}, "HTTP 443", onPorts("[443]", "[443]", "[443]"),
			[]string{"error PortUnavailable Ingress shop/web metadata.annotations[fairlead.dev/listen-ports]"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			config, found := translated(t, nil, anIngress("shop/web", append(c.with, rules)...), aService("shop/web:80"), aSecret(t, "shop/ab", "a.test", "b.test"))
			compare(t, "listeners", listening(config), c.listeners)
			compare(t, "served", servedBy(config), c.want)
			compare(t, "told", told(found), c.told)
		})
	}
}

func TestPortsOfTheClassAreNotAskedForByItsIngresses(t *testing.T) {
	config, found := translated(t, nil, aClass("fairlead", v1alpha1.LoadBalancerClassSpec{ListenPorts: []v1alpha1.ListenPort{{Protocol: "HTTP", Port: 80}, {Protocol: "HTTPS", Port: 8443}}}),
		anIngress("shop/a", annotated("group", "g"), ruled("a.test")), anIngress("shop/b", annotated("group", "g"), ruled("b.test"), secured("cert")), aSecret(t, "shop/cert", "b.test"))
	compare(t, "listeners", listening(config), "HTTP 80, HTTPS 8443*")
	compare(t, "served", servedBy(config), []string{"name a.test [80]", "name b.test [80 8443]"})
	compare(t, "told", told(found), []string(nil))
}

func TestTwoProtocolsOnOnePort(t *testing.T) {
	group := annotated("group", "g")
	config, found := translated(t, nil,
		anIngress("shop/old", group, aged(2), annotated("listen-ports", "HTTP:8000"), ruled("a.test")),
		anIngress("shop/new", group, aged(1), annotated("listen-ports", "HTTPS:8000,HTTP:80"), ruled("b.test"), secured("cert")),
		aSecret(t, "shop/cert", "b.test"))
	compare(t, "listeners", listening(config), "HTTP 80, HTTP 8000")
	compare(t, "served", servedBy(config), []string{"name a.test [8000]", "name b.test [80]"})
	compare(t, "told", told(found), []string{"error PortUnavailable Ingress shop/new metadata.annotations[fairlead.dev/listen-ports]"})
}

func TestAllowedHosts(t *testing.T) {
	everywhere := metav1.LabelSelector{}
	shop := metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "shop"}}
	pay := metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "pay"}}
	allow := func(selector metav1.LabelSelector, hosts ...string) v1alpha1.AllowedHosts {
		return v1alpha1.AllowedHosts{NamespaceSelector: selector, Hosts: hosts}
	}
	all := []string{
		"name a.test [80]", "name *.b.test [80]", "route a.test Prefix / [80] → shop/web:80",
		"route *.b.test Prefix / [80] → shop/web:80", "route  Prefix / [80] → shop/web:80", "default [80] → shop/web:80",
	}
	const noDefault = "default [] → shop/web:80"
	refused := func(fields ...string) []string {
		var out []string
		for _, f := range fields {
			severity := "error"
			if f == "spec.defaultBackend" {
				severity = "warning"
			}
			out = append(out, severity+" HostNotAllowed Ingress shop/web "+f)
		}
		return out
	}
	cases := map[string]struct {
		allowed []v1alpha1.AllowedHosts
		want    []string
		told    []string
	}{
		"unset allows everything":      {nil, all, nil},
		"a star allows everything":     {[]v1alpha1.AllowedHosts{allow(everywhere, "*")}, all, nil},
		"an empty list allows nothing": {[]v1alpha1.AllowedHosts{}, []string{noDefault}, refused("spec.defaultBackend", "spec.rules[0].host", "spec.rules[1].host", "spec.rules[2].host")},
		"another namespace's list":     {[]v1alpha1.AllowedHosts{allow(pay, "*")}, []string{noDefault}, refused("spec.defaultBackend", "spec.rules[0].host", "spec.rules[1].host", "spec.rules[2].host")},
		"a precise host":               {[]v1alpha1.AllowedHosts{allow(shop, "a.test")}, []string{all[0], all[2], noDefault}, refused("spec.defaultBackend", "spec.rules[1].host", "spec.rules[2].host")},
		"a wildcard allows itself and what it covers": {[]v1alpha1.AllowedHosts{allow(shop, "*.test"), allow(everywhere, "*.b.test")}, []string{all[0], all[1], all[2], all[3], noDefault},
			refused("spec.defaultBackend", "spec.rules[2].host")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			config, found := translated(t, nil, aClass("fairlead", v1alpha1.LoadBalancerClassSpec{AllowedHosts: c.allowed}),
				anIngress("shop/web", ruled("a.test", prefixed("/", "web:80")), ruled("*.b.test", prefixed("/", "web:80")), ruled("", prefixed("/", "web:80")), defaulted(to("web:80"))),
				aService("shop/web:80"))
			compare(t, "served", servedBy(config), c.want)
			compare(t, "told", told(found), c.told)
		})
	}
}

func TestAHostThatIsNotAllowedBringsNoCertificate(t *testing.T) {
	config, _ := translated(t, nil,
		aClass("fairlead", v1alpha1.LoadBalancerClassSpec{AllowedHosts: []v1alpha1.AllowedHosts{{Hosts: []string{"a.test"}}}}),
		anIngress("shop/web", ruled("a.test"), ruled("b.test"), secured("b", "b.test")), aSecret(t, "shop/b", "b.test"))
	compare(t, "listeners", listening(config), "HTTP 80")
}
