package proof_test

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/routing"
)

// This file has promises about the certificates that clients are shown.

// tls is port 443 with certificates, of which the first is the default one.
func tls(ids ...lb.CertificateID) []lb.Listener {
	return []lb.Listener{{Port: 443, Protocol: routing.HTTPS, Default: fixed(404), Certificates: ids}}
}

// holds are the certificates before the plan, and those that are wanted.
func holds(before, after []lb.CertificateID) func(*lb.Observed, *lb.LoadBalancer) {
	return func(seen *lb.Observed, want *lb.LoadBalancer) {
		for _, id := range before {
			plan.ImportCertificate{Certificate: one(id)}.Do(seen, plan.Result{})
		}
		for _, id := range after {
			want.Certificates = append(want.Certificates, one(id))
		}
	}
}

func one(id lb.CertificateID) lb.Certificate {
	return lb.Certificate{ID: id, Hosts: certificates[id]}
}

func lead(ids ...lb.CertificateID) plan.Step { return plan.ModifyListener{Listener: tls(ids...)[0]} }
func load(id lb.CertificateID) plan.Step     { return plan.ImportCertificate{Certificate: one(id)} }
func unload(id lb.CertificateID) plan.Step   { return plan.DeleteCertificate{Certificate: id} }
func attach(id lb.CertificateID) plan.Step   { return plan.AttachCertificate{Port: 443, Certificate: id} }
func detach(id lb.CertificateID) plan.Step   { return plan.DetachCertificate{Port: 443, Certificate: id} }

type ids = []lb.CertificateID

// handshakes are the promises about certificates.
var handshakes = map[string]promise{
	"a certificate is detached once another one for its host is attached": {
		from: tls("other", "a"), to: tls("other", "a2"), alter: holds(ids{"other", "a"}, ids{"other", "a2"}),
		steps: []plan.Planned{done(load("a2")), done(attach("a2"), 0), done(detach("a"), 1), done(unload("a"), 2)},
		breaks: []breach{{2, 1, "not for a.test"}, {1, 0, "certificate a2"}, {3, 2, "certificate a"}, {0, dropped, "needs certificate a2"},
			{1, dropped, "does not serve"}, {2, dropped, "deletes certificate a"}},
	},
	"one for all hosts of a domain takes over from one for a host": {
		from: tls("other", "a"), to: tls("other", "any"), alter: holds(ids{"other", "a"}, ids{"other", "any"}),
		steps:  []plan.Planned{done(load("any")), done(attach("any"), 0), done(detach("a"), 1), done(unload("a"), 2)},
		breaks: []breach{{2, 1, "not for a.test"}},
	},
	"one for all hosts of a domain takes over from another one": {
		from: tls("other", "any"), to: tls("other", "any2"), alter: holds(ids{"any", "other"}, ids{"any2", "other"}),
		steps:  []plan.Planned{done(load("any2")), done(attach("any2"), 0), done(detach("any"), 1), done(unload("any"), 2)},
		breaks: []breach{{2, 1, "not for any.test"}},
	},
	"a certificate that is announced to go early": {
		from: tls("other", "a"), to: tls("other", "a2"), alter: holds(ids{"a", "other"}, ids{"a2", "other"}),
		steps: []plan.Planned{{Step: detach("a"), Early: diag.DeleteFirst}, done(load("a2")), done(attach("a2"), 0, 1), done(unload("a"), 0)},
	},
	"a port that closes and opens again": {
		from: tls("a"), to: tls("a2"), alter: holds(ids{"a"}, ids{"a2"}),
		steps:  []plan.Planned{done(load("a2")), done(plan.DeleteListener{Port: 443}), done(plan.CreateListener{Listener: tls("a2")[0]}, 0, 1), done(unload("a"), 1)},
		breaks: []breach{{2, 1, "port 443"}, {2, 0, "certificate a2"}},
	},
	"a default certificate goes once another one for its host is attached": {
		from: tls("a"), to: tls("other", "a2"), alter: holds(ids{"a"}, ids{"a2", "other"}),
		steps:  []plan.Planned{done(load("a2")), done(load("other")), done(attach("a2"), 0), done(lead("other", "a2"), 1, 2), done(unload("a"), 3)},
		breaks: []breach{{3, 2, "not for a.test"}, {3, 1, "certificate other"}, {4, 3, "certificate a"}, {3, dropped, "certificate a"}},
	},
	"a default certificate that stays behind another one is detached after that": {
		from: tls("a"), to: tls("ab"), alter: holds(ids{"a"}, ids{"ab"}),
		steps: []plan.Planned{done(load("ab")), done(lead("ab", "a"), 0), done(detach("a"), 1), done(unload("a"), 2)},
		breaks: []breach{{2, 1, "certificate a of port 443"}, {1, 0, "certificate ab"}, {2, dropped, "deletes certificate a"},
			{1, dropped, "takes the default certificate"}},
	},
	"a certificate takes the place of another one": {
		from: tls("other", "a"), to: tls("other", "ab"), alter: holds(ids{"other", "a"}, ids{"ab", "other"}),
		steps: []plan.Planned{done(plan.ReplaceCertificate{Old: "a", New: one("ab")})},
	},
	"a listener opens with its certificates": {
		to: tls("a", "cloud"), alter: holds(nil, ids{"a"}),
		steps:  []plan.Planned{done(load("a")), done(plan.CreateListener{Listener: tls("a", "cloud")[0]}, 0)},
		breaks: []breach{{1, 0, "certificate a"}},
	},
	"a certificate goes once its listener is closed": {
		from: tls("a"), alter: holds(ids{"a"}, nil),
		steps:  []plan.Planned{done(plan.DeleteListener{Port: 443}), done(unload("a"), 0)},
		breaks: []breach{{1, 0, "certificate a"}},
	},
	"a listener that stops to speak TLS serves no certificate": {
		from: tls("a", "b"), to: []lb.Listener{{Port: 443, Protocol: routing.HTTP, Default: fixed(404)}}, alter: holds(ids{"a", "b"}, nil),
		steps: []plan.Planned{
			done(plan.ModifyListener{Listener: lb.Listener{Port: 443, Protocol: routing.HTTP, Default: fixed(404)}}), done(unload("b"), 0)},
		breaks: []breach{{1, 0, "certificate b"}, {0, dropped, "deletes certificate b"}},
	},
}

func TestEachHostKeepsACertificate(t *testing.T) {
	for name, p := range handshakes {
		t.Run(name, p.test)
	}
}

func TestAListenerEndsWithItsDefaultCertificate(t *testing.T) {
	p := promise{from: tls("a", "b"), to: tls("b", "a"), alter: holds(ids{"a", "b"}, ids{"a", "b"}), steps: []plan.Planned{done(load("other"))}}
	if v := p.verdict(p.steps); v.Result != proof.Refuted || !strings.Contains(v.Why, "another default certificate") {
		t.Errorf("the plan is %s: %s", v.Result, v.Why)
	}
	p.steps = []plan.Planned{done(lead("b", "a"))}
	if v := p.verdict(p.steps); v.Result != proof.Proven {
		t.Errorf("the plan is %s: %s", v.Result, v.Why)
	}
}
