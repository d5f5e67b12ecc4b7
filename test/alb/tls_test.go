package alb

import (
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
	"fairlead.dev/fairlead/test/keypair"
)

// This file renews and exchanges certificates, one after the other, and looks which of them clients
// are shown.

// secured gives an Ingress a certificate for all of its hosts.
func (w *world) secured(ing *networkingv1.Ingress, secret string) {
	w.Helper()
	w.change(ing.Name, func(ing *networkingv1.Ingress) { ing.Spec.TLS = []networkingv1.IngressTLS{{SecretName: secret}} })
}

func covers(names []string, host string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return routing.Host(name).Covers(routing.Host(host)) })
}

// TestNoHostIsShownAnothersCertificate rotates a Secret, exchanges the Secrets of two Ingresses and
// gives one host to another certificate (W6 of what the incumbent does wrong), looking after every
// call.
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
						shown := w.sim.Ask(w.seen.Address.Hostname, matching.Request{Port: 443, TLS: true, SNI: host, Host: host, Path: "/"}, matching.Reading{})
						if names := w.sim.Hosts(shown.Certificate); !covers(names, host) {
							w.Errorf("%s %s is shown the certificate of %v", when, host, names)
						}
					}
				}
				w.settleUnder(look)
			})
		})
	}
}

// TestAPortSpeaksTLSFromNowOn looks after every call while a port that was served in the clear gets
// certificates: a client is answered as before as long as it is, and who is answered over TLS is
// shown the certificate of the host that it asks for.
func TestAPortSpeaksTLSFromNowOn(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		hosts := []string{"one", "two", "three"}
		speak := func(protocol string) {
			for _, host := range hosts {
				w.change(host, func(ing *networkingv1.Ingress) {
					ing.Annotations["fairlead.dev/listen-ports"] = fmt.Sprintf(`[{%q:443}]`, protocol)
				})
			}
		}
		w.service("service-0", 1)
		for _, host := range hosts {
			w.secret(host, 0, host+".example.com")
			w.serve(host, map[string]string{"/": "service-0"})
		}
		speak("HTTP")
		w.settle()
		time.Sleep(time.Minute)

		for i, host := range hosts {
			w.secured(w.Ingresses[i], host)
		}
		speak("HTTPS")
		secured := 0
		look := func(when string) {
			for _, host := range hosts {
				name := host + ".example.com"
				ask := func(secure bool) albsim.Answer {
					return w.sim.Ask(w.seen.Address.Hostname, matching.Request{Port: 443, TLS: secure, SNI: name, Host: name, Path: "/"}, matching.Reading{})
				}
				switch plain, secure := ask(false), ask(true); {
				case plain.Refused || len(plain.Forward) > 0:
				case plain.Status != 400:
					w.Errorf("%s: %s is answered with %+v in the clear", when, name, plain)
				case len(secure.Forward) == 0: // no rule is there yet
				case !covers(w.sim.Hosts(secure.Certificate), name):
					w.Errorf("%s: %s is shown the certificate of %v", when, name, w.sim.Hosts(secure.Certificate))
				default:
					secured++
				}
			}
		}
		w.settleUnder(look)
		time.Sleep(time.Minute)
		secured = 0
		if look("in the end"); secured != len(hosts) {
			w.Errorf("%d of %d hosts are served over TLS", secured, len(hosts))
		}
	})
}

// TestARenewedSecretKeepsItsARN counts what a rotation costs: one import, and the tags that AWS
// does not take with it, of which one goes before.
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
		if total, _ := w.sim.Cost(); total != 3 {
			w.Errorf("it took %d calls: %v", total, w.sim.Calls())
		}
	})
}

// TestABadSecretCostsNothingThatIsServed breaks a Secret in two ways and puts a good one in its
// place, with an operator that is new each time but for what it remembers, and makes a request
// after every call. The certificate keeps its ARN throughout; it goes with the Secret.
func TestABadSecretCostsNothingThatIsServed(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.service("service-0", 1)
		w.secret("one", 0, "one.example.com")
		w.secured(w.serve("one", map[string]string{"/": "service-0"}), "one")
		w.settle()
		time.Sleep(time.Minute)
		first, address := w.seen.Certificates[0], w.seen.Address.Hostname
		look := func(when string) {
			const host = "one.example.com"
			shown := w.sim.Ask(address, matching.Request{Port: 443, TLS: true, SNI: host, Host: host, Path: "/"}, matching.Reading{})
			if names := w.sim.Hosts(shown.Certificate); !covers(names, host) || len(shown.Forward) == 0 {
				w.Errorf("%s the request is answered %+v, with the certificate of %v", when, shown, names)
			}
		}
		w.sim.Watch(func(c albsim.Call) { look("after " + c.String()) })
		for _, stage := range []struct {
			name   string
			change func()
			writes int
			kept   bool
		}{
			{"a key of another certificate", func() {
				other := pair(w, 1, []string{"one.example.com"})
				w.Secrets[0] = w.Secrets[0].DeepCopy()
				w.Secrets[0].Data[corev1.TLSPrivateKeyKey] = other.Key
			}, 0, true},
			{"nothing in it", func() {
				w.Secrets[0] = w.Secrets[0].DeepCopy()
				w.Secrets[0].Data = nil
			}, 0, true},
			{"another good one", func() { w.secret("one", 1, "one.example.com") }, 3, false}, // tags, import and tags
		} {
			stage.change()
			w.restart()
			w.sim.Forget()
			w.settle()
			look("with " + stage.name)
			if len(w.seen.Certificates) != 1 {
				w.Fatalf("with %s there are the certificates %+v", stage.name, w.seen.Certificates)
			}
			got := w.seen.Certificates[0]
			if got.Handle != first.Handle || (got.ID == first.ID) != stage.kept {
				w.Errorf("with %s the certificate is %+v, it was %+v", stage.name, got, first)
			}
			if _, writes := w.sim.Cost(); writes != stage.writes {
				w.Errorf("with %s there are %d writes, want %d: %v", stage.name, writes, stage.writes, w.sim.Calls())
			}
		}
		w.sim.Watch(nil)
		w.Secrets = nil
		w.settle()
		if len(w.seen.Certificates) > 0 || w.seen.Listener(443) != nil {
			w.Errorf("%v and port 443 are left of a Secret that is gone", w.seen.Certificates)
		}
	})
}

// TestAnExpiredCertificateTakesNobodysPlace: AWS would not have it, so that the one before it goes
// on being shown, and its owner is told. Nobody else waits for that.
func TestAnExpiredCertificateTakesNobodysPlace(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.service("service-0", 1)
		w.secret("one", 0, "one.example.com")
		w.secured(w.serve("one", map[string]string{"/": "service-0"}), "one")
		w.settle()
		before := w.seen.Certificates[0]
		time.Sleep(125 * 365 * 24 * time.Hour) // past the end of every certificate of these tests
		w.secret("one", 1, "one.example.com")
		w.sim.Forget()
		for _, again := range []func(){func() {}, w.restart} {
			again()
			w.settle()
			_, built, err := w.reconcile()
			if err != nil || !slices.ContainsFunc(built.Diagnostics, func(d diag.Diagnostic) bool {
				return d.Reason == diag.CertificateInvalid && strings.Contains(d.Message, "the certificate in Secret shop/one expired on 2120-01-01")
			}) {
				w.Errorf("the error is %v, and it is said %v", err, built.Diagnostics)
			}
			if diff := cmp.Diff([]lb.ObservedCertificate{before}, w.seen.Certificates); diff != "" || !slices.Equal(w.seen.Listener(443).Certificates, []lb.CertificateID{before.ID}) {
				w.Errorf("port 443 shows %v; held are (-before +now):\n%s", w.seen.Listener(443).Certificates, diff)
			}
		}
		if _, writes := w.sim.Cost(); writes > 0 {
			w.Errorf("%d writes: %v", writes, w.sim.Calls())
		}
	})
}

// TestARenewalThatWasCutShort ends the operator before and after each call of a renewal. Whatever
// the Secret holds by then, AWS comes to hold the same, under the same ARN, and once that has been
// written nobody has to look.
func TestARenewalThatWasCutShort(t *testing.T) {
	const host = "one.example.com"
	issued := keypair.Issued(t, host)
	_, rest := pem.Decode(issued.Chain)
	alone := &routing.KeyPair{Chain: issued.Chain[:len(issued.Chain)-len(rest)], Key: issued.Key}
	first, next, third := keypair.For(t, host), keypair.For(t, host), keypair.For(t, host)
	for _, c := range []struct {
		reason            string
		first, next, then *routing.KeyPair
	}{
		{"the Secret is as it was to be", first, next, next},
		{"the Secret is as it was before", first, next, first},
		{"the Secret has been renewed once more", first, next, third},
		{"there is another chain, and the certificate is the same", alone, issued, issued},
		{"there was to be another chain, and is not any more", alone, issued, alone},
	} {
		for call := range 3 {
			for when, fault := range map[string]albsim.Fault{"before": albsim.LostBefore, "after": albsim.LostAfter} {
				t.Run(fmt.Sprintf("%s call %d: %s", when, call, c.reason), func(t *testing.T) {
					inBubble(t, usual(), func(w *world) {
						w.service("service-0", 1)
						w.keep("one", c.first)
						w.secured(w.serve("one", map[string]string{"/": "service-0"}), "one")
						w.settle()
						arn := w.seen.Certificates[0].Handle
						w.keep("one", c.next)
						w.cutOff(call, fault)
						w.restart()
						w.keep("one", c.then)
						w.settle()
						if len(w.seen.Certificates) != 1 || w.seen.Certificates[0].Handle != arn {
							w.Errorf("there is %v, and not %s alone", w.seen.Certificates, arn)
						}
						if held := w.held(arn); held != string(c.then.Chain) {
							w.Errorf("AWS holds\n%s\nand the Secret\n%s", held, c.then.Chain)
						}
						w.restart()
						w.sim.Forget()
						w.settle()
						if _, writes := w.sim.Cost(); writes > 0 || asked(w, "GetCertificate") > 0 && c.then != c.first {
							w.Errorf("that was not all: %v", w.sim.Calls())
						}
					})
				})
			}
		}
	}
}

// TestARenewalThatAWSRefuses has AWS not take a certificate in the place of another one: that one
// goes on being known as what it is, so that it is served, and is what a Secret that turns invalid
// stays with.
func TestARenewalThatAWSRefuses(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.service("service-0", 1)
		w.secret("one", 0, "one.example.com")
		w.secured(w.serve("one", map[string]string{"/": "service-0"}), "one")
		w.settle()
		before := w.seen.Certificates
		w.secret("one", 1, "one.example.com")
		w.sim.Break(func(c albsim.Call) albsim.Fault {
			if c.Action == "ImportCertificate" {
				return albsim.Unavailable
			}
			return albsim.NoFault
		})
		for range 3 {
			if _, _, err := w.reconcile(); err == nil {
				w.Fatal("AWS has taken it")
			}
		}
		for _, forget := range []func(){func() {}, w.restart} {
			forget()
			w.look(false)
			if diff := cmp.Diff(before, w.seen.Certificates); diff != "" {
				w.Errorf("it is not known any more (-want +got):\n%s", diff)
			}
		}
		w.sim.Break(nil)
		w.settle()
		if after := w.seen.Certificates[0]; after.Handle != before[0].Handle || after.ID == before[0].ID {
			w.Errorf("in the end there is %v", after)
		}
	})
}

// cutOff reconciles, and ends the operator at a call that writes.
func (w *world) cutOff(call int, fault albsim.Fault) {
	w.Helper()
	n := -1
	w.sim.Break(func(c albsim.Call) albsim.Fault {
		if c.Write {
			n++
		}
		switch {
		case n < call:
			return albsim.NoFault
		case n == call:
			return fault
		}
		return albsim.LostBefore // it is dead
	})
	if _, _, err := w.reconcile(); err == nil {
		w.Fatalf("there are %d calls, and none was cut off", n+1)
	}
	w.sim.Break(nil)
}

// held is the chain that AWS holds under an ARN.
func (w *world) held(arn string) string {
	w.Helper()
	out, err := acm.NewFromConfig(w.sim.OwnersConfig()).GetCertificate(w.Context(), &acm.GetCertificateInput{CertificateArn: &arn})
	if err != nil {
		w.Fatal(err)
	}
	return *out.Certificate + sdk.ToString(out.CertificateChain)
}

// TestTheIndexOfTagsIsBehind has resources found by the tags that they had a while ago: a
// certificate that was renewed since, or is gone, is not taken for the one of before.
func TestTheIndexOfTagsIsBehind(t *testing.T) {
	for reason, change := range map[string]func(w *world){
		"a certificate is renewed, and then it is the one of before": func(w *world) {
			before := w.Secrets[0]
			w.secret("one", 1, "one.example.com")
			w.settle()
			w.Secrets[0] = before
		},
		"a certificate is deleted, and then it is wanted again": func(w *world) {
			before := w.Ingresses[0]
			w.Ingresses[0] = before.DeepCopy()
			w.Ingresses[0].Spec.TLS = nil
			w.settle()
			w.Ingresses[0] = before
		},
	} {
		t.Run(reason, func(t *testing.T) {
			o := usual()
			o.Indexing = 10 * time.Minute
			inBubble(t, o, func(w *world) {
				w.service("service-0", 1)
				w.secret("one", 0, "one.example.com")
				w.secured(w.serve("one", map[string]string{"/": "service-0"}), "one")
				w.settle()
				time.Sleep(2 * o.Indexing)
				change(w)
				w.seen = nil // something failed
				w.settle()
				served := w.seen.Listener(443).Certificates
				if len(served) != 1 || w.seen.Certificate(served[0]) == nil {
					w.Fatalf("%v is served, and there is %v", served, w.seen.Certificates)
				}
				if held, want := w.held(w.seen.Certificate(served[0]).Handle), string(w.Secrets[0].Data["tls.crt"]); held != want {
					w.Errorf("AWS holds\n%s\nand the Secret\n%s", held, want)
				}
			})
		})
	}
}

// TestACertificateIsImportedOnce loses the answer to an import: what was imported is found, and not
// imported a second time.
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
