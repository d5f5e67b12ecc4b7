package alb

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/acm/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file asks for hosts whose certificate is the default one of the listener, while others fit as well.

// named gives an Ingress for a host of its name the certificates with ARNs, the first of them by default.
func (w *world) named(host, arns string) {
	w.serve(host, map[string]string{"/": "service-0"})
	w.change(host, func(ing *networkingv1.Ingress) {
		ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{host + ".example.com"}}}
		ing.Annotations["fairlead.dev/certificate-arn"] = arns
	})
}

// handshake returns the certificate that a client of one.example.com is shown; "" if it supports none.
func (w *world) handshake(rsaOnly bool) string {
	const host = "one.example.com"
	return w.sim.Ask(w.seen.Address.Hostname, matching.Request{
		Port: 443, TLS: true, SNI: host, RSAOnly: rsaOnly, Host: host, Path: "/",
	}, matching.Reading{}).Certificate
}

// TestADefaultCertificateServesItsNames: one of RSA and one of ECDSA fit for a host, and the one that is the default serves
// those clients that do not support the other, after every call.
func TestADefaultCertificateServesItsNames(t *testing.T) {
	for name, serve := range map[string]func(w *world, rsa, curve string){
		"an Ingress has both":           func(w *world, rsa, curve string) { w.named("one", rsa+","+curve) },
		"the other is of a neighbour":   func(w *world, rsa, curve string) { w.named("one", rsa); w.named("two", curve) },
		"the other comes later":         func(w *world, rsa, curve string) { w.named("one", rsa); w.settle(); w.named("two", curve) },
		"the neighbour has more of all": func(w *world, rsa, curve string) { w.named("one", rsa); w.named("two", curve+","+rsa) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, usual(), func(w *world) {
				w.service("service-0", 1)
				rsa := w.sim.Issue(time.Now().AddDate(1, 0, 0), types.CertificateStatusIssued, "one.example.com")
				curve := w.sim.IssueECDSA(time.Now().AddDate(1, 0, 0), "*.example.com")
				serve(w, rsa, curve)
				w.settle()
				time.Sleep(time.Minute)
				look := func(when string) {
					if old, young := w.handshake(true), w.handshake(false); old != rsa || young != curve {
						w.Errorf("%s clients that support RSA alone are shown %q, and others %q", when, old, young)
					}
				}
				look("at first")
				next := w.sim.Issue(time.Now().AddDate(1, 0, 0), types.CertificateStatusIssued, "one.example.com")
				w.named("later", next)
				w.change("one", func(ing *networkingv1.Ingress) { ing.Annotations["fairlead.dev/certificate-arn"] = next })
				w.settleUnder(func(when string) {
					if old := w.handshake(true); old != rsa && old != next {
						w.Errorf("%s clients that support RSA alone are shown %q", when, old)
					}
				})
			})
		})
	}
}

// TestAListenerWithoutItsDefaultCertificateInTheList gets it there, once.
func TestAListenerWithoutItsDefaultCertificateInTheList(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.service("service-0", 1)
		rsa := w.sim.Issue(time.Now().AddDate(1, 0, 0), types.CertificateStatusIssued, "one.example.com")
		curve := w.sim.IssueECDSA(time.Now().AddDate(1, 0, 0), "*.example.com")
		w.named("one", rsa+","+curve)
		w.settle()
		w.unlist(rsa, curve)
		time.Sleep(time.Minute)
		if shown := w.handshake(true); shown != "" {
			t.Fatalf("clients that support RSA alone are shown %q", shown)
		}
		w.restart()
		w.settle()
		time.Sleep(time.Minute)
		if shown := w.handshake(true); shown != rsa {
			t.Errorf("clients that support RSA alone are shown %q", shown)
		}
		w.restart()
		w.sim.Forget()
		w.settle()
		if _, writes := w.sim.Cost(); writes > 0 {
			t.Errorf("it wrote again: %v", w.sim.Calls())
		}
	})
}

// TestTheDefaultCertificateIsListedOnce, however many others a plan attaches.
func TestTheDefaultCertificateIsListedOnce(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.service("service-0", 1)
		join := func(host string) {
			w.named(host, w.sim.Issue(time.Now().AddDate(1, 0, 0), types.CertificateStatusIssued, host+".example.com"))
		}
		join("one")
		w.settle()
		w.sim.Forget()
		for _, host := range []string{"two", "three", "four", "five", "six"} {
			join(host)
		}
		w.settle()
		added := 0
		for _, c := range w.sim.Calls() {
			if strings.HasSuffix(c.Action, "AddListenerCertificates") {
				added++
			}
		}
		if added != 6 {
			t.Errorf("five certificates and the default one are added by %d calls", added)
		}
	})
}

// unlist takes the default certificate of port 443 from the list, in which another one stays.
func (w *world) unlist(first, other string) {
	w.Helper()
	api, listener := elbapi.NewFromConfig(w.sim.OwnersConfig()), w.seen.Listener(443).Handle
	for _, arn := range []string{other, first} {
		if _, err := api.ModifyListener(w.Context(), &elbapi.ModifyListenerInput{ListenerArn: &listener, Certificates: []elb.Certificate{{CertificateArn: &arn}}}); err != nil {
			w.Fatal(err)
		}
		if arn == first {
			return
		}
		if _, err := api.RemoveListenerCertificates(w.Context(), &elbapi.RemoveListenerCertificatesInput{ListenerArn: &listener, Certificates: []elb.Certificate{{CertificateArn: &first}}}); err != nil {
			w.Fatal(err)
		}
	}
}
