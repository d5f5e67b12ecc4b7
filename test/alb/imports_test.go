package alb

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file has certificates found by their tags late, or after they were deleted, and counts how
// often they are imported: rows A4 and A6 of what differs between a simulator and AWS. It judges
// before any deep look.

// twoSecrets are two hosts with a Secret each.
func twoSecrets(w *world) {
	w.service("web", 1)
	for _, name := range []string{"one", "two"} {
		w.secret(name, 0, name+".example.com")
		w.secured(w.serve(name, map[string]string{"/": "web"}), name)
	}
}

// imports is how often a certificate was imported.
func (w *world) imports() int {
	n := 0
	for _, c := range w.sim.Calls() {
		if c.Action == "ImportCertificate" && c.Error == "" {
			n++
		}
	}
	return n
}

// expectImports says how often certificates were imported in all, and how many there are.
func (w *world) expectImports(when string, asked, there int) {
	w.Helper()
	if got := w.imports(); got != asked {
		w.Errorf("%s, certificates were imported %d times, want %d", when, got, asked)
	}
	if got := w.sim.Inventory()["certificates"]; got != there {
		w.Errorf("%s, there are %d certificates, want %d", when, got, there)
	}
}

// showsOwn looks which certificates clients are shown.
func (w *world) showsOwn(when string, hosts ...string) {
	w.Helper()
	time.Sleep(time.Minute) // for listeners and rules to be deployed
	for _, host := range hosts {
		answer := w.sim.Ask(w.seen.Address.Hostname, matching.Request{Port: 443, TLS: true, SNI: host, Host: host, Path: "/", Source: "203.0.113.7"}, matching.Reading{})
		if !covers(w.sim.Hosts(answer.Certificate), host) {
			w.Errorf("%s, clients of %s are shown the certificate of %v", when, host, w.sim.Hosts(answer.Certificate))
		}
	}
}

// Row A4.
func TestASecretIsImportedOnceWhileTheIndexLags(t *testing.T) {
	for _, action := range []string{"CreateListener", "AddListenerCertificates", "CreateRule", "ModifyListener"} {
		t.Run(action, func(t *testing.T) {
			o := lagging()
			o.Indexing = 5 * time.Minute
			inBubble(t, o, func(w *world) {
				twoSecrets(w)
				w.failing(action, 40)
				for range 20 {
					if _, err := w.try(); err != nil {
						w.seen = nil
						time.Sleep(patience)
					}
				}
				w.persist()
				w.expectImports("when it is made", 2, 2)
				w.showsOwn("when it is made", "one.example.com", "two.example.com")
				w.secret("one", 1, "one.example.com")
				w.seen = nil
				w.persist()
				w.expectImports("when a Secret is renewed", 3, 2)
				w.seen = nil
				w.persist()
				w.expectImports("when it is looked at again", 3, 2)
				w.showsOwn("when a Secret is renewed", "one.example.com", "two.example.com")
				w.Ingresses, w.seen = nil, nil
				w.persist()
				w.expectImports("when nothing is served", 3, 0)
			})
		})
	}
}

// Another process finds the certificates that listeners serve.
func TestServedCertificatesAreKnownWhileTheIndexLags(t *testing.T) {
	o := lagging()
	o.Indexing = time.Hour
	inBubble(t, o, func(w *world) {
		twoSecrets(w)
		w.settle()
		w.restart()
		if todo := w.look(false); !todo.Empty() {
			t.Errorf("there is to be done:\n%s", todo.Print())
		}
		w.settle()
		w.expectImports("after a start", 2, 2)
		w.restart()
		w.Ingresses = nil
		w.settle()
		w.expectImports("when nothing is served", 2, 0)
	})
}

// The tags of a certificate that an Ingress names are read once by each process, and those of one
// that was discovered and that Amazon issued are not.
func TestCertificatesOfOthersAreLookedAtOnce(t *testing.T) {
	for name, named := range map[string]bool{"named": true, "discovered": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, usual(), func(w *world) {
				amazons := w.sim.Issue(time.Now().AddDate(1, 0, 0), "ISSUED", "one.example.com")
				w.service("web", 1)
				w.serve("one", map[string]string{"/": "web"})
				w.ask("one", "listen-ports", "HTTPS:443")
				if named {
					w.ask("one", "certificate-arn", amazons)
				} else {
					w.change("one", func(ing *networkingv1.Ingress) {
						ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"one.example.com"}}}
					})
				}
				w.settle()
				w.restart()
				w.sim.Forget()
				for range 3 {
					w.seen = nil
					w.settle()
				}
				if diff := cmp.Diff([]lb.CertificateID{lb.CertificateID(amazons)}, w.seen.Listener(443).Certificates); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				asked := 0
				for _, c := range w.sim.Calls() {
					if c.Action == "ListTagsForCertificate" {
						asked++
					}
				}
				if most := map[bool]int{true: 1}[named]; asked > most {
					t.Errorf("the tags of the certificate were read %d times, at most %d are needed", asked, most)
				}
			})
		})
	}
}

// The tags of a certificate are known by those that were written, and looked at deeply by those
// that it has.
func TestTheTagsOfCertificatesAreKnownWhileTheIndexLags(t *testing.T) {
	o := lagging()
	o.Indexing = time.Hour
	inBubble(t, o, func(w *world) {
		twoSecrets(w)
		w.settle()
		time.Sleep(2 * o.Indexing)
		w.class(func(s *spec) { s.Tags = map[string]string{"team": "web"} })
		w.settle()
		for _, deep := range []bool{false, true} {
			if todo := w.look(deep); !todo.Empty() {
				t.Errorf("looking deeply %t, there is to be done:\n%s", deep, todo.Print())
			}
		}
		w.restart()
		if todo := w.look(true); !todo.Empty() {
			t.Errorf("in another process, there is to be done:\n%s", todo.Print())
		}
	})
}

// A certificate of ours is not offered to Ingresses that look for one of the account's.
func TestOurCertificatesAreNotDiscoveredWhileTheIndexLags(t *testing.T) {
	inBubble(t, lagging(), func(w *world) {
		twoSecrets(w)
		w.settle()
		ask := func() map[string][]lb.CertificateID {
			return must(w.cloud.Lookup(w.Context(), lb.Questions{CertificateHosts: []string{"one.example.com"}})).Certificates
		}
		if found := ask(); len(found) > 0 {
			t.Errorf("in the same process, %v are found", found)
		}
		w.restart()
		w.look(false)
		if found := ask(); len(found) > 0 {
			t.Errorf("in another process, %v are found", found)
		}
	})
}

// The answer to an import is lost, and the certificate is not found by its tags yet.
func TestALostImportIsFoundWhileTheIndexLags(t *testing.T) {
	for name, fault := range map[string]albsim.Fault{"before it was carried out": albsim.LostBefore, "after that": albsim.LostAfter} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, lagging(), func(w *world) {
				twoSecrets(w)
				lost := false
				w.sim.Break(func(c albsim.Call) albsim.Fault {
					if lost || c.Action != "ImportCertificate" {
						return albsim.NoFault
					}
					lost = true
					return fault
				})
				w.persist()
				if there := w.sim.Inventory()["certificates"]; !lost || there != 2 {
					t.Errorf("lost: %t; there are %d certificates, want 2", lost, there)
				}
			})
		})
	}
}

// Row A6: a certificate that was deleted is listed for hours, and is not taken for the one that is
// wanted again.
func TestACertificateThatIsGoneIsImportedAgain(t *testing.T) {
	for name, between := range map[string]func(w *world){"the same process": func(w *world) { w.seen = nil }, "another process": (*world).restart} {
		t.Run(name, func(t *testing.T) {
			o := lagging()
			o.Ghosts = 6 * time.Hour
			inBubble(t, o, func(w *world) {
				twoSecrets(w)
				w.settle()
				time.Sleep(5 * time.Minute)
				before := w.Ingresses[0]
				w.Ingresses[0] = before.DeepCopy()
				w.Ingresses[0].Spec.TLS = nil
				w.settle()
				w.expectImports("when a Secret is not served any more", 2, 1)
				time.Sleep(5 * time.Minute)
				between(w)
				w.Ingresses[0] = before
				w.settle()
				w.expectImports("when it is again", 3, 2)
				w.showsOwn("when it is again", "one.example.com", "two.example.com")
			})
		})
	}
}

// A certificate that was deleted by hand is not remembered for good.
func TestACertificateThatWasDeletedByHandIsImportedAgain(t *testing.T) {
	inBubble(t, lagging(), func(w *world) {
		twoSecrets(w)
		w.failing("CreateListener", 9)
		if err := w.rest(); err == nil {
			t.Fatal("nothing fails")
		}
		w.expectImports("before there are listeners", 2, 2)
		time.Sleep(3 * time.Minute)
		api := acm.NewFromConfig(w.sim.OwnersConfig())
		for _, c := range must(api.ListCertificates(w.Context(), &acm.ListCertificatesInput{
			Includes: &acmtypes.Filters{KeyTypes: acmtypes.KeyAlgorithm("").Values()},
		})).CertificateSummaryList[:1] {
			must(api.DeleteCertificate(w.Context(), &acm.DeleteCertificateInput{CertificateArn: c.CertificateArn}))
		}
		w.seen = nil
		w.persist()
		w.expectImports("in the end", 3, 2)
		if diff := cmp.Diff(2, len(w.seen.Listener(443).Certificates)); diff != "" {
			t.Error(diff)
		}
		w.showsOwn("in the end", "one.example.com", "two.example.com")
	})
}

// The operator ends again and again before a listener has the certificates that it has imported, which the
// index does not have yet. They are imported once.
func TestAProcessThatEndsAgainAndAgainImportsOnce(t *testing.T) {
	o := lagging()
	o.Indexing = 5 * time.Minute
	inBubble(t, o, func(w *world) {
		twoSecrets(w)
		w.failing("CreateListener", 1000)
		for range 10 {
			for range 3 {
				if _, err := w.try(); err != nil {
					w.seen = nil
				}
			}
			w.restart()
			w.seen = nil
			time.Sleep(10 * time.Second)
		}
		w.expectImports("after ten starts", 2, 2)
		w.failing("CreateListener", 0)
		w.persist()
		w.expectImports("in the end", 2, 2)
		w.showsOwn("in the end", "one.example.com", "two.example.com")
	})
}
