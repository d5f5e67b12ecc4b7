package planner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file holds plans to what they promise about certificates: a host that is served with one
// before and after is served with one in between.

// certified is an HTTPS port with certificates, the default first.
func certified(port int32, certificates ...lb.Certificate) lb.Listener {
	l := lb.Listener{Port: port, Protocol: "HTTPS", Default: fixed(404)}
	for _, c := range certificates {
		l.Certificates = append(l.Certificates, c.ID)
	}
	if len(certificates) > 0 {
		first := l.Certificates[0]
		rest := slices.DeleteFunc(l.Certificates[1:], func(id lb.CertificateID) bool { return id == first })
		slices.Sort(rest)
		l.Certificates = l.Certificates[:1+len(rest)]
	}
	return l
}

// holding is a load balancer that holds what its listeners serve.
func holding(certificates []lb.Certificate, listeners ...lb.Listener) lb.LoadBalancer {
	b := balancer(listeners...)
	for _, c := range certificates {
		if slices.ContainsFunc(listeners, func(l lb.Listener) bool { return slices.Contains(l.Certificates, c.ID) }) {
			b.Certificates = append(b.Certificates, c)
		}
	}
	slices.SortFunc(b.Certificates, func(a, b lb.Certificate) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return b
}

func TestCertificatesTakeThePlaceOfOthers(t *testing.T) {
	of := func(id lb.CertificateID, hosts ...string) lb.Certificate {
		return lb.Certificate{ID: id, Hosts: hosts, Kind: "ECDSA"}
	}
	a, b := of("a1", "a.test"), of("b1", "b.test")
	rsa := of("a2", "a.test")
	rsa.Kind = "RSA"
	port := func(certificates ...lb.Certificate) lb.LoadBalancer {
		return holding(certificates, certified(443, certificates...))
	}
	for name, c := range map[string]struct {
		from, to lb.LoadBalancer
		want     []string
	}{
		"a rotated Secret":               {port(a, b), port(a, of("b2", "b.test")), []string{"replace certificate b1"}},
		"the default one":                {port(a, b), port(of("a2", "a.test"), b), []string{"replace certificate a1"}},
		"all of them":                    {port(a, b), port(of("a2", "a.test"), of("b2", "b.test")), []string{"replace certificate a1", "replace certificate b1"}},
		"each by the one for its hosts":  {port(a, b), port(of("0", "b.test"), of("1", "a.test")), []string{"replace certificate b1", "replace certificate a1", "modify listener 443"}},
		"one for more hosts":             {port(a), port(of("a2", "*.test", "a.test")), []string{"replace certificate a1"}},
		"one for two is for one of them": {port(a, b), port(of("ab", "a.test", "b.test")), []string{"replace certificate a1", "detach certificate 443 b1", "delete certificate b1"}},
		"one for fewer hosts does not": {port(of("ab", "a.test", "b.test")), port(a, b),
			[]string{"import certificate a1", "import certificate b1", "attach certificate 443 b1", "modify listener 443", "delete certificate ab"}},
		"one of another kind does not": {port(a), port(rsa), []string{"import certificate a2", "modify listener 443", "delete certificate a1"}},
		"one that is still wanted stays": {port(a), port(a, of("a2", "a.test")),
			[]string{"import certificate a2", "attach certificate 443 a2"}},
		"on every port at once": {
			holding([]lb.Certificate{a}, certified(443, a), certified(8443, a)),
			holding([]lb.Certificate{of("a2", "a.test")}, certified(443, of("a2", "a.test")), certified(8443, of("a2", "a.test"))),
			[]string{"replace certificate a1"},
		},
		"and leaves a port where it is not wanted": {
			holding([]lb.Certificate{a, b}, certified(443, a), certified(8443, b, a)),
			holding([]lb.Certificate{of("a2", "a.test"), b}, certified(443, of("a2", "a.test")), certified(8443, b)),
			[]string{"replace certificate a1", "detach certificate 8443 a2"},
		},
		"no default is lost when another one becomes it": {port(a, b), port(b, of("a2", "a.test")),
			[]string{"replace certificate a1", "modify listener 443"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := Diff(built(c.from, lb.ALB()), c.to, lb.ALB())
			if diff := cmp.Diff(c.want, named(p)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// drawCertificates are certificates of which each is for some of the hosts.
func drawCertificates(r *rand.Rand, n int, hosts []string) []lb.Certificate {
	var all []lb.Certificate
	for i := range n {
		c := lb.Certificate{ID: lb.CertificateID(fmt.Sprintf("%02d", i)), Kind: []string{"ECDSA", "RSA"}[r.IntN(2)]}
		for _, h := range hosts {
			if r.IntN(3) == 0 {
				c.Hosts = append(c.Hosts, h)
			}
		}
		all = append(all, c)
	}
	return all
}

func TestNoHostLosesItsCertificate(t *testing.T) { hostsKeepCertificates(t, 5000) }

func TestNoHostLosesItsCertificateInAFewPlans(t *testing.T) { hostsKeepCertificates(t, 60) }

func hostsKeepCertificates(t *testing.T, count int) {
	t.Helper()
	w := newWorld(t, lb.ALB().Dialect)
	r := rand.New(rand.NewPCG(3, 4))
	hosts := []string{"a.test", "b.test", "c.test", "*.test"}
	all := drawCertificates(r, 24, hosts)
	draw := func() lb.LoadBalancer {
		var listeners []lb.Listener
		for _, port := range []int32{443, 8443}[:1+r.IntN(2)] {
			var served []lb.Certificate
			for range 1 + r.IntN(4) {
				served = append(served, all[r.IntN(len(all))])
			}
			l := certified(port, served...)
			l.Certificates = slices.Compact(l.Certificates)
			listeners = append(listeners, l)
		}
		return holding(all, listeners...)
	}
	for range count {
		seen, want := built(draw(), lb.ALB()), draw()
		goal := built(want, lb.ALB())
		p := Diff(seen, want, lb.ALB())
		for _, pick := range []func(int) int{inOrder, r.IntN} {
			end := w.followed(seen, p, pick, func(o *lb.Observed, step int) {
				for _, l := range o.Listeners {
					for _, h := range hosts {
						if valid(seen, l.Port, h) && valid(goal, l.Port, h) && !valid(o, l.Port, h) {
							t.Fatalf("after step %d port %d has no certificate for %s\n%s", step, l.Port, h, w.describe(seen, want, p))
						}
					}
				}
			})
			w.arrived(end, want, lb.ALB())
			for i, l := range want.Listeners {
				if diff := cmp.Diff(l.Certificates, end.Listeners[i].Certificates); diff != "" {
					t.Fatalf("port %d (-want +got):\n%s\n%s", l.Port, diff, w.describe(seen, want, p))
				}
			}
		}
	}
}

// valid reports whether a port serves a certificate for a host.
func valid(o *lb.Observed, port int32, host string) bool {
	l := o.Listener(port)
	return l != nil && slices.ContainsFunc(l.Certificates, func(id lb.CertificateID) bool {
		c := o.Certificate(id)
		return c != nil && slices.ContainsFunc(c.Hosts, func(name string) bool { return routing.Host(name).Covers(routing.Host(host)) })
	})
}

// A host whose rule comes, goes or changes is answered with a certificate for it all the same: by
// its new rule as soon as there is one, and by its old rule as long as there is one.
func TestNobodyIsShownTheCertificateOfAnother(t *testing.T) {
	hostsShowCertificates(t, drawn(10000, 500))
}

func TestNobodyIsShownTheCertificateOfAnotherInAFewPlans(t *testing.T) { hostsShowCertificates(t, 60) }

func hostsShowCertificates(t *testing.T, count int) {
	t.Helper()
	c := lb.ALB()
	w := newWorld(t, c.Dialect)
	r := rand.New(rand.NewPCG(5, 6))
	hosts := []string{"a.test", "b.test", "c.test", "*.test"}
	all := drawCertificates(r, 16, hosts)
	draw := func() lb.LoadBalancer {
		var served []lb.Certificate
		for range 1 + r.IntN(4) {
			served = append(served, all[r.IntN(len(all))])
		}
		l := certified(443, served...)
		l.Certificates = slices.Compact(l.Certificates)
		l.Default = fixed(404 + r.IntN(2))
		covered := built(holding(all, l), c)
		for range r.IntN(5) {
			if host := hosts[r.IntN(len(hosts))]; valid(covered, 443, host) { // else it is left out of the port
				l.Rules = append(l.Rules, rule(host, []string{"", "/x"}[r.IntN(2)], forward(lb.GroupID("AB"[r.IntN(2):][:1]))))
			}
		}
		l.Rules = distinct(l.Rules)
		return w.withGroups(holding(all, l))
	}
	tried := 0
	for range count {
		seen, want := built(draw(), c), draw()
		goal := built(want, c)
		p := Diff(seen, want, c)
		if len(p.Diagnostics) > 0 {
			t.Fatalf("%v\n%s", p.Diagnostics, w.describe(seen, want, p))
		}
		for _, pick := range []func(int) int{inOrder, r.IntN} {
			w.arrived(w.followed(seen, p, pick, func(o *lb.Observed, step int) {
				for _, h := range hosts[:3] {
					for _, path := range []string{"/", "/x"} {
						ask := routing.Request{Port: 443, Host: h, Path: path}
						before, after, now := answer(seen, ask, c), answer(goal, ask, c), answer(o, ask, c)
						needed := now != before && valid(goal, 443, h) || now != after && valid(seen, 443, h)
						if tried++; needed && strings.HasPrefix(now, "forward") && !valid(o, 443, h) {
							t.Fatalf("after step %d %s%s gets %s and no certificate for it\n%s", step, h, path, now, w.describe(seen, want, p))
						}
					}
				}
			}), want, c)
		}
	}
	if tried < 10*count {
		t.Errorf("only %d answers were looked at", tried)
	}
}

// answer is what a request gets, in words.
func answer(o *lb.Observed, r routing.Request, c lb.Capabilities) string {
	l := o.Listener(r.Port).Plain()
	at, _ := lb.NewMatcher(l, c.Dialect).Match(r)
	if at < 0 {
		return l.Default.Key()
	}
	return l.Rules[at].Action.Key()
}
