package alb

import (
	"slices"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/albsim"
)

// This file renews and exchanges certificates, one after the other, and looks which of them clients are
// shown.

// secured gives an Ingress a certificate for all of its hosts.
func (w *world) secured(ing *networkingv1.Ingress, secret string) {
	w.Helper()
	w.change(ing.Name, func(ing *networkingv1.Ingress) { ing.Spec.TLS = []networkingv1.IngressTLS{{SecretName: secret}} })
}

func covers(names []string, host string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return routing.Host(name).Covers(routing.Host(host)) })
}

// TestNoHostIsShownAnothersCertificate rotates a Secret, exchanges the Secrets of two Ingresses and gives
// one host to another certificate (W6 of what the incumbent does wrong), looking after every call.
func TestNoHostIsShownAnothersCertificate(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"a Secret is renewed": func(w *world) { w.secret("one", 1, "one.example.com") },
		"the default certificate is another": func(w *world) {
			w.secret("new", 0, "one.example.com", "two.example.com")
			w.secured(w.Ingresses[0], "new")
		},
		"two Ingresses exchange their Secret": func(w *world) {
			w.secret("one", 0, "two.example.com")
			w.secret("two", 0, "one.example.com")
			w.secured(w.Ingresses[0], "two")
			w.secured(w.Ingresses[1], "one")
		},
		"a wildcard comes for both": func(w *world) {
			w.secret("wild", 0, "*.example.com")
			w.secured(w.Ingresses[0], "wild")
			w.secured(w.Ingresses[1], "wild")
		},
		"an Ingress leaves": func(w *world) { w.remove("two") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, usual(), func(w *world) {
				w.service("service-0", 1)
				for _, host := range []string{"one", "two"} {
					w.secret(host, 0, host+".example.com")
					w.secured(w.serve(host, map[string]string{"/": "service-0"}), host)
				}
				w.settle()
				time.Sleep(time.Minute)
				change(w)
				look := func(when string) {
					for i := range w.Ingresses {
						host := w.Ingresses[i].Spec.Rules[0].Host
						shown := w.sim.Ask(w.seen.Address.Hostname, albsim.Request{Port: 443, TLS: true, SNI: host, Host: host, Path: "/"}, albsim.Reading{})
						if names := w.sim.Hosts(shown.Certificate); !covers(names, host) {
							w.Errorf("%s %s is shown the certificate of %v", when, host, names)
						}
					}
				}
				w.sim.Watch(func(c albsim.Call) {
					look("after " + c.String())
					time.Sleep(6 * time.Second)
					look("some time after " + c.String())
				})
				w.settle()
				w.sim.Watch(nil)
			})
		})
	}
}

// TestARenewedSecretKeepsItsARN counts what a rotation costs: one import and the tags that AWS does not
// take with it.
func TestARenewedSecretKeepsItsARN(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.service("service-0", 1)
		w.secret("one", 0, "one.example.com")
		w.secured(w.serve("one", map[string]string{"/": "service-0"}), "one")
		w.settle()
		before := w.seen.Certificates[0]
		w.secret("one", 1, "one.example.com")
		w.sim.Forget()
		w.settle()
		if after := w.seen.Certificates[0]; after.Handle != before.Handle || after.ID == before.ID {
			w.Errorf("%v became %v, which is not another certificate with the same ARN", before, after)
		}
		if total, _ := w.sim.Cost(); total != 2 {
			w.Errorf("it took %d calls: %v", total, w.sim.Calls())
		}
	})
}

// TestARenewalThatWasCutShort comes back to the certificate that was there before, which by its tags AWS
// still has.
func TestARenewalThatWasCutShort(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.service("service-0", 1)
		w.secret("one", 0, "one.example.com")
		w.secured(w.serve("one", map[string]string{"/": "service-0"}), "one")
		w.settle()
		want, first := w.seen, w.Secrets[0]
		w.secret("one", 1, "one.example.com")
		w.sim.Break(func(c albsim.Call) albsim.Fault {
			if c.Action == "AddTagsToCertificate" {
				return albsim.LostBefore
			}
			return albsim.NoFault
		})
		if _, _, err := w.reconcile(); err == nil {
			w.Fatal("nothing was lost")
		}
		w.sim.Break(nil)
		w.restart()
		w.Secrets[0] = first
		w.sim.Forget()
		w.settle()
		if got := w.seen.Certificates[0]; got.ID != want.Certificates[0].ID || got.Handle != want.Certificates[0].Handle {
			w.Errorf("%v, want %v", got, want.Certificates[0])
		}
		if !slices.ContainsFunc(w.sim.Calls(), func(c albsim.Call) bool { return c.Action == "ImportCertificate" }) {
			w.Error("the certificate was not imported again, so that AWS has the other one")
		}
	})
}

// TestACertificateIsImportedOnce loses the answer to an import: what was imported is found, and not imported
// a second time.
func TestACertificateIsImportedOnce(t *testing.T) {
	for name, fault := range map[string]albsim.Fault{"before it was carried out": albsim.LostBefore, "after that": albsim.LostAfter} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, usual(), func(w *world) {
				w.service("service-0", 1)
				w.serve("one", map[string]string{"/": "service-0"})
				secure(w, "one")
				lost := false
				w.sim.Break(func(c albsim.Call) albsim.Fault {
					if lost || c.Action != "ImportCertificate" {
						return albsim.NoFault
					}
					lost = true
					return fault
				})
				_ = w.rest() // which ends where nothing was imported: it is looked again then
				w.finish()
				if !lost || w.sim.Inventory()["certificates"] != 1 || w.seen.Listener(443) == nil {
					t.Errorf("lost: %t; the account has %v", lost, w.sim.Inventory())
				}
			})
		})
	}
}
