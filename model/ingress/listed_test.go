package ingress

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

func TestListedHosts(t *testing.T) {
	missing := "error CertificateMissing Ingress shop/web spec.tls[%d].secretName"
	cases := map[string]struct {
		with []func(*networkingv1.Ingress)
		want []string
		told []string
	}{
		"a rule for the wildcard answers, and no rule without a host": {
			with: []func(*networkingv1.Ingress){ruled("*.test", prefixed("/w", "web:80")), ruled("", prefixed("/any", "web:80")), secured("cert", "a.test")},
			want: []string{"name *.test [80]", "name a.test [443]", "route *.test Prefix /w [80] → shop/web:80", "route  Prefix /any [80] → shop/web:80", "route a.test Prefix /w [443] → shop/web:80"},
		},
		"a rule for the wildcard that has no paths answers too": {
			with: []func(*networkingv1.Ingress){ruled("*.test"), ruled("", prefixed("/any", "web:80")), secured("cert", "a.test")},
			want: []string{"name *.test [80]", "name a.test [443]", "route  Prefix /any [80] → shop/web:80"},
		},
		"two labels below the star are not its host": {
			with: []func(*networkingv1.Ingress){ruled("*.test", prefixed("/w", "web:80")), secured("cert", "x.a.test")},
			want: []string{"name *.test [80]", "route *.test Prefix /w [80] → shop/web:80"},
			told: []string{"warning CertificateUnused Ingress shop/web spec.tls[0].hosts[0]"},
		},
		"rules without a host, all of them": {
			with: []func(*networkingv1.Ingress){ruled("", prefixed("/a", "web:80")), ruled("", prefixed("/b", "web:80")), secured("cert", "a.test")},
			want: []string{"name a.test [443]", "route  Prefix /a [80] → shop/web:80", "route  Prefix /b [80] → shop/web:80", "route a.test Prefix /a [443] → shop/web:80", "route a.test Prefix /b [443] → shop/web:80"},
		},
		"a default backend": {
			with: []func(*networkingv1.Ingress){defaulted(to("web:80")), secured("cert", "a.test")},
			want: []string{"name a.test [443]", "default [80] → shop/web:80"},
		},
		"a rule that names the host is all there is for it": {
			with: []func(*networkingv1.Ingress){ruled("a.test"), ruled("", prefixed("/", "web:80")), secured("cert", "a.test")},
			want: []string{"name a.test [80 443]", "route  Prefix / [80] → shop/web:80"},
		},
		"what is served for every host is not listed besides": {
			with: []func(*networkingv1.Ingress){ruled("", prefixed("/", "web:80")), ruled("*.test", prefixed("/", "web:80")), secured("cert"), secured("cert", "a.test", "b.other")},
			want: []string{"name *.test [80 443]", "route  Prefix / [80 443] → shop/web:80", "route *.test Prefix / [80 443] → shop/web:80"},
		},
		"the certificate of the wildcard is missing, that of the host is not": {
			with: []func(*networkingv1.Ingress){ruled("*.test", prefixed("/", "web:80")), secured("gone", "*.test"), secured("cert", "a.test")},
			want: []string{"name *.test [80]", "name a.test [443]", "route *.test Prefix / [80] → shop/web:80", "route a.test Prefix / [443] → shop/web:80"},
			told: []string{fmt.Sprintf(missing, 0)},
		},
		"without a certificate it is as if it were not listed": {
			with: []func(*networkingv1.Ingress){defaulted(to("web:80")), secured("gone", "a.test")},
			want: []string{"default [80] → shop/web:80"},
			told: []string{fmt.Sprintf(missing, 0)},
		},
		"listed twice it is one host": {
			with: []func(*networkingv1.Ingress){defaulted(to("web:80")), secured("cert", "a.test", "a.test"), secured("cert", "a.test")},
			want: []string{"name a.test [443]", "default [80] → shop/web:80"},
		},
		"on its own HTTPS ports": {
			with: []func(*networkingv1.Ingress){annotated("listen-ports", "HTTPS:8443,HTTPS:443"), defaulted(to("web:80")), secured("cert", "a.test")},
			want: []string{"name a.test [443 8443]", "default [] → shop/web:80"},
		},
		"HTTPS ports that are asked for are said not to serve what no listed host stands for": {
			with: []func(*networkingv1.Ingress){annotated("listen-ports", "HTTP:80,HTTPS:443"), ruled("*.test", prefixed("/", "web:80")), ruled("b.other", prefixed("/", "web:80")), secured("cert", "a.test")},
			want: []string{"name *.test [80]", "name b.other [80]", "name a.test [443]",
				"route *.test Prefix / [80] → shop/web:80", "route b.other Prefix / [80] → shop/web:80", "route a.test Prefix / [443] → shop/web:80"},
			told: []string{"warning HostNotCovered Ingress shop/web spec.rules[1].host"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			config, found := translated(t, nil, anIngress("shop/web", c.with...), aService("shop/web:80"), aSecret(t, "shop/cert", "a.test", "*.test", "*.other"))
			compare(t, "served", servedBy(config), c.want)
			compare(t, "told", told(found), c.told)
		})
	}
}

func TestListedHostsFallThroughWhereTheClassSaysSo(t *testing.T) {
	class := aClass("fairlead", v1alpha1.LoadBalancerClassSpec{HostMiss: v1alpha1.HostMissLessSpecific})
	config, _ := translated(t, nil, class, aService("shop/web:80"), aSecret(t, "shop/cert", "a.test"),
		anIngress("shop/web", ruled("", prefixed("/any", "web:80")), ruled("*.test", prefixed("/w", "web:80")), secured("cert", "a.test")))
	compare(t, "served", servedBy(config), []string{"name *.test [80]", "name a.test [443]",
		"route  Prefix /any [80] → shop/web:80", "route *.test Prefix /w [80] → shop/web:80",
		"route a.test Prefix /w [443] → shop/web:80", "route a.test Prefix /any [443] → shop/web:80"})
}

func TestListedHostsAreLookedUpInTheCloud(t *testing.T) {
	for name, c := range map[string]struct {
		ing  *networkingv1.Ingress
		want []string
	}{
		"beside a rule without a host":  {anIngress("shop/web", ruled("", prefixed("/users", "web:80")), secured("", "www.test")), []string{"www.test"}},
		"beside a default backend":      {anIngress("shop/web", defaulted(to("web:80")), secured("", "www.test", "*.test")), []string{"*.test", "www.test"}},
		"below a wildcard":              {anIngress("shop/web", ruled("*.test"), secured("", "www.test")), []string{"www.test"}},
		"not where nothing answers":     {anIngress("shop/web", ruled("a.test"), secured("", "a.test", "www.test")), []string{"a.test"}},
		"not where a Secret is named":   {anIngress("shop/web", defaulted(to("web:80")), secured("cert", "www.test")), nil},
		"not where an ARN is named":     {anIngress("shop/web", defaulted(to("web:80")), annotated("certificate-arn", "arn:aws:acm:eu-west-1:123456789012:certificate/1"), secured("", "www.test")), nil},
		"below one that is listed, too": {anIngress("shop/web", ruled("a.test"), defaulted(to("web:80")), secured("", "*.test")), []string{"*.test"}},
	} {
		t.Run(name, func(t *testing.T) {
			snapshots, _ := Place(objectsOf(c.ing, aService("shop/web:80")), ClassOptions{AssumeClasses: []string{"fairlead"}})
			compare(t, "asked", CertificateHosts(snapshots[0]), c.want)
		})
	}
}

// A sign-in of a rule without a host sends users to the HTTPS port of the hosts that are listed.
func TestUsersOfListedHostsSignIn(t *testing.T) {
	backend := aBackend("shop/members", v1alpha1.BackendSpec{
		Services: []v1alpha1.WeightedService{{Name: "web", Port: v1alpha1.ServicePort{Number: 80}}},
		Authenticate: &v1alpha1.Authenticate{Cognito: &v1alpha1.Cognito{
			UserPoolARN: "arn:aws:cognito-idp:eu-west-1:123456789012:userpool/eu-west-1_abc", UserPoolClientID: "id", UserPoolDomain: "shop",
		}},
	})
	config, found := translated(t, nil, anIngress("shop/web", defaulted(toResource("fairlead.dev/Backend/members")), secured("cert", "a.test")),
		backend, aService("shop/web:80"), aSecret(t, "shop/cert", "a.test"))
	compare(t, "told", told(found), []string(nil))
	table := precedence.New(config)
	plain := table.Match(routing.Request{Port: 80, Host: "a.test", Path: "/"}).Action
	if plain.Redirect == nil {
		t.Errorf("on port 80 users get %s", plain.Key())
	}
	if secure := table.Match(routing.Request{Port: 443, Host: "a.test", Path: "/"}).Action; secure.Auth == nil {
		t.Errorf("on port 443 users get %s without having signed in", secure.Key())
	}
	if other := table.Match(routing.Request{Port: 443, Host: "b.test", Path: "/"}).Action; other.Key() != "404" {
		t.Errorf("a host that is not listed gets %s on port 443", other.Key())
	}
}

// What an Ingress lists and what answers for it are multiplied, so the product has an end.
func TestListedHostsAreBounded(t *testing.T) {
	var paths []networkingv1.HTTPIngressPath
	for i := range 200 {
		paths = append(paths, prefixed(fmt.Sprintf("/p%d", i), "web:80"))
	}
	listing := func(n int) *networkingv1.Ingress {
		var hosts []string
		for i := range n {
			hosts = append(hosts, fmt.Sprintf("h%d.test", i))
		}
		return anIngress("shop/web", ruled("", paths...), secured("cert", hosts...))
	}
	config, found := translated(t, nil, listing(50), aService("shop/web:80"), aSecret(t, "shop/cert", "*.test"))
	compare(t, "told", told(found), []string(nil))
	compare(t, "routes", len(config.Routes), 200+10_000)
	config, found = translated(t, nil, listing(51), aService("shop/web:80"), aSecret(t, "shop/cert", "*.test"))
	compare(t, "told", told(found), []string{"error TooComplex Ingress shop/web spec.tls"})
	compare(t, "listeners", listening(config), "HTTP 80")
	compare(t, "routes", len(config.Routes), 200)
	start := time.Now()
	_, found = translated(t, nil, listing(50_000), aService("shop/web:80"), aSecret(t, "shop/cert", "*.test"))
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("refusing 50,000 hosts took %v", took)
	}
	compare(t, "told", told(found)[0], "error TooComplex Ingress shop/web spec.tls")
}

// The listed hosts of an Ingress have what its rules leave of the routes on all of its ports.
func TestListedHostsAndRulesAreBoundedTogether(t *testing.T) {
	for hosts, want := range map[int][]string{1000: nil, 1001: {"error TooComplex Ingress shop/web spec.tls"}} {
		var names []string
		for i := range hosts {
			names = append(names, fmt.Sprintf("h%d.test", i))
		}
		ing := anIngress("shop/web", ruled("*.test", prefixed("/", "web:80")), secured("cert", names...), annotated("fairlead.dev/listen-ports", "HTTP:80,HTTPS:443"))
		for i := range 8999 {
			ing.Spec.Rules = append(ing.Spec.Rules, networkingv1.IngressRule{Host: fmt.Sprintf("r%d.example.com", i)})
		}
		_, found := translated(t, nil, ing, aService("shop/web:80"), aSecret(t, "shop/cert", "*.test"))
		found = slices.DeleteFunc(found, func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
		compare(t, fmt.Sprintf("told of %d hosts", hosts), told(found), want)
	}
}

// Entries that each cover all hosts multiply, too.
func TestEntriesThatCoverEverythingAreBounded(t *testing.T) {
	with := []func(*networkingv1.Ingress){}
	for i := range 2000 {
		with = append(with, ruled(fmt.Sprintf("h%d.test", i)), secured(fmt.Sprintf("cert%d", i%500)))
	}
	start := time.Now()
	_, found := translated(t, nil, anIngress("shop/web", with...))
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if !slices.Contains(told(found), "error TooComplex Ingress shop/web spec.tls[50]") {
		t.Errorf("told %d things, and not that", len(found))
	}
}

// What a random Ingress with listed hosts asks for, besides its entries of spec.tls.
func listing(r *rand.Rand, service string) []func(*networkingv1.Ingress) {
	out := []func(*networkingv1.Ingress){annotated("group", "g")}
	for _, host := range []string{"", "", "*.test", "a.test", "c.other"} {
		if r.IntN(3) == 0 {
			path := []string{"/", "/x", "/y"}[r.IntN(3)]
			out = append(out, ruled(host, prefixed(path, service)))
		}
	}
	if r.IntN(3) == 0 || len(out) == 1 {
		out = append(out, defaulted(to(service)))
	}
	return out
}

// TestAnEntryForAllHostsGivesNoListedHostAway adds an entry of spec.tls without hosts to an Ingress that
// lists hosts. What these are answered over HTTPS stays, whatever others of the load balancer have.
func TestAnEntryForAllHostsGivesNoListedHostAway(t *testing.T) {
	r := drawing(t)
	secret := aSecret(t, "shop/cert", "a.test", "b.test", "*.test", "c.other")
	compared := 0
	for n := range 400 {
		all := []any{secret, aService("shop/mine:80"), aService("shop/other:80"), aService("shop/third:80")}
		for _, other := range []string{"other", "third"} {
			with := listing(r, other+":80")
			if r.IntN(2) == 0 {
				with = append(with, secured("cert"))
			}
			if r.IntN(3) == 0 {
				with = append(with, secured("cert", []string{"a.test", "b.test", "*.test"}[r.IntN(3)]))
			}
			all = append(all, anIngress("shop/"+other, with...))
		}
		mine := listing(r, "mine:80")
		hosts := []string{"b.test", "a.test", "c.other"}[r.IntN(3):]
		listed := append(slices.Clone(mine), secured("cert", hosts...))
		before, _ := translated(t, nil, append(slices.Clone(all), anIngress("shop/mine", listed...))...)
		after, _ := translated(t, nil, append(slices.Clone(all), anIngress("shop/mine", append(listed, secured("cert"))...))...)
		one, two := precedence.New(before), precedence.New(after)
		for _, host := range hosts {
			if !slices.ContainsFunc(before.Names, func(n routing.Name) bool {
				return string(n.Host) == host && n.Listed != nil && n.Owner.Name == "mine"
			}) {
				continue // a rule names it, or none answers for it
			}
			for _, path := range []string{"/", "/x", "/y/z"} {
				compared++
				q := routing.Request{Port: 443, Host: host, Path: path}
				if a, b := one.Match(q), two.Match(q); a.Action.Key() != b.Action.Key() {
					t.Errorf("world %d: https://%s%s is answered by %s (%s), and with the entry by %s (%s)", n,
						host, path, a.Action.Key(), a.Why(), b.Action.Key(), b.Why())
				}
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d answers were compared", compared)
	}
}

// TestRulesWithoutAHostAreNotForListedHosts adds an Ingress that names no host, served over HTTPS for
// all, beside an Ingress that lists hosts. What these are answered over HTTPS stays, with and
// without a second entry for all hosts. With LessSpecific, what misses the paths goes on.
func TestRulesWithoutAHostAreNotForListedHosts(t *testing.T) {
	r := drawing(t)
	secret := aSecret(t, "shop/cert", "a.test", "b.test", "*.test", "c.other")
	compared := 0
	for n := range 400 {
		miss := []string{v1alpha1.HostMissAnswer, v1alpha1.HostMissLessSpecific}[r.IntN(2)]
		class := aClass("fairlead", v1alpha1.LoadBalancerClassSpec{HostMiss: miss})
		mine := append(listing(r, "mine:80"), secured("cert", "b.test", "c.other"))
		if r.IntN(2) == 0 {
			mine = append(mine, secured("cert"))
		}
		all := []any{class, secret, aService("shop/mine:80"), aService("shop/other:80"), anIngress("shop/mine", mine...)}
		other := []func(*networkingv1.Ingress){annotated("group", "g"), secured("cert")}
		if r.IntN(2) == 0 {
			other = append(other, defaulted(to("other:80")))
		}
		if r.IntN(2) == 0 || len(other) == 2 {
			other = append(other, ruled("", prefixed([]string{"/", "/x", "/y/z"}[r.IntN(3)], "other:80")))
		}
		before, _ := translated(t, nil, all...)
		after, _ := translated(t, nil, append(slices.Clone(all), anIngress("shop/other", other...))...)
		one, two := precedence.New(before), precedence.New(after)
		for _, host := range []string{"b.test", "c.other"} {
			for _, path := range []string{"/", "/x", "/y/z"} {
				q := routing.Request{Port: 443, Host: host, Path: path}
				a, b := one.Match(q), two.Match(q)
				if slices.ContainsFunc(before.Names, func(n routing.Name) bool { return string(n.Host) == host && n.Listed == nil }) {
					continue // a rule names it
				}
				if a.Route == nil && (miss == v1alpha1.HostMissLessSpecific || !answersFor(anIngress("shop/mine", mine...), host)) {
					continue // no path of its own matches, so that others may answer
				}
				compared++
				if a.Action.Key() != b.Action.Key() {
					t.Errorf("world %d: https://%s%s is answered by %s (%s), and with the other Ingress by %s (%s)", n,
						host, path, a.Action.Key(), a.Why(), b.Action.Key(), b.Why())
				}
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d answers were compared", compared)
	}
}

// answersFor reports whether an Ingress has something that answers for a host of spec.tls.
func answersFor(ing *networkingv1.Ingress, host string) bool {
	parent, _ := routing.Host(host).Parent()
	return ing.Spec.DefaultBackend != nil || slices.ContainsFunc(ing.Spec.Rules, func(rule networkingv1.IngressRule) bool {
		return rule.Host == "" || rule.Host == host || rule.Host == string(parent)
	})
}
