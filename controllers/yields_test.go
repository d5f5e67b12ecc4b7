package controllers_test

import (
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// This file is about hosts that yield to a certificate of another namespace, and what an operator
// that starts anew knows of them.

// encrypt is an edit that adds a host to an Ingress, and lists it with the Secret tls.
func encrypt(host string) func(*networkingv1.Ingress) {
	return func(i *networkingv1.Ingress) {
		i.Spec.Rules = append(i.Spec.Rules, networkingv1.IngressRule{Host: host, IngressRuleValue: i.Spec.Rules[0].IngressRuleValue})
		i.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{host}, SecretName: "tls"}}
	}
}

// yields waits until the record of the group says whether a host yields.
func (w *world) yields(host string, want bool) {
	w.Helper()
	w.eventually(func() error {
		hosts := w.report(w.groupReport()).Status.Memory.Hosts
		for _, h := range hosts {
			if h.Host == host {
				return noError(h.Yields == want, "host %s yields: %v", host, h.Yields)
			}
		}
		return noError(false, "host %s is not among %+v", host, hosts)
	})
}

// renew replaces the certificate of a Secret, and returns what is remembered of it until then.
func (w *world) renew(report, secret, host string) (before string) {
	w.Helper()
	before = w.certificateOf(report, secret)
	if before == "" {
		w.Fatalf("no certificate of Secret %s is remembered", secret)
	}
	fresh := w.secret(secret, host)
	if err := w.Update(w.Context(), fresh); err != nil {
		w.Fatal(err)
	}
	return before
}

// holds waits until the cloud has another certificate of a Secret than before.
func (w *world) holds(report, secret, before string) {
	w.Helper()
	w.eventually(func() error {
		id := w.certificateOf(report, secret)
		return noError(id != "" && id != before, "of Secret %s the cloud has the certificate %q, as before", secret, id)
	})
}

// certificateOf is what a record has of a Secret.
func (w *world) certificateOf(report, secret string) string {
	for _, c := range w.report(report).Status.Memory.Certificates {
		if c.Secret == w.namespace+"/"+secret {
			return c.ID
		}
	}
	return ""
}

// refusedSecure waits until an Ingress is told that a certificate is foreign on 443.
func (w *world) refusedSecure(ingress string) {
	w.Helper()
	w.told(ingress, "CertificateForeign")
	w.eventually(func() error {
		if len(w.ingress(ingress).Status.LoadBalancer.Ingress) == 0 {
			return noError(false, "%s has no address yet", ingress)
		}
		problem := w.portError(ingress, 443)
		return noError(problem == v1alpha1.Group+"/CertificateForeign", "port 443 of %s has the error %q", ingress, problem)
	})
}

// The Ingress of alice is the older one, so that by age alone her host would go before the
// certificate of bob.
func TestAHostYieldsToACertificateAfterAStart(t *testing.T) {
	alice, bob, watching := neighbours(t, 6*time.Second)
	alice.create(alice.secret("tls", "a.test"))
	bob.create(bob.secret("tls", "*.test"))
	older := alice.enter("web", "alice.example")
	alice.answers("web", "http://alice.example/", "alice")
	laterThan(older)
	secure := bob.askSecurely("web", "b.test", "web")
	secure.Annotations["fairlead.dev/group"] = "edge"
	bob.create(secure)
	bob.answers("web", "https://b.test/", "bob")

	alice.change("web", encrypt("a.test"))
	alice.refusedSecure("web")
	alice.yields("a.test", true)
	for range 2 {
		alice.stop()
		renewed := bob.renew(alice.groupReport(), "tls", "*.test") // meanwhile, so that by the certificate alone it would be new
		alice.run(watching)
		bob.holds(alice.groupReport(), "tls", renewed)
		alice.calm()
		bob.answers("web", "https://b.test/", "bob")
		alice.answers("web", "http://a.test/", "alice")
		alice.refusedSecure("web")
		alice.yields("a.test", true)
	}

	// Once the certificate is gone the host is served over HTTPS, and the certificate is foreign from
	// then on.
	bob.remove("web")
	alice.answers("web", "https://a.test/", "alice")
	alice.yields("a.test", false)
	alice.stop()
	alice.run(watching)
	again := bob.askSecurely("again", "b.test", "web")
	again.Annotations["fairlead.dev/group"] = "edge"
	bob.create(again)
	bob.refusedSecure("again")
	alice.calm()
	alice.answers("web", "https://a.test/", "alice")
	alice.yields("a.test", false)
}
