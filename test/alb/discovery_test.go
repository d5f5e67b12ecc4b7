package alb

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	acm "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file finds certificates by host among those that the account holds.

func TestCertificatesAreDiscovered(t *testing.T) {
	const day = 24 * time.Hour
	inBubble(t, albsim.Options{}, func(w *world) {
		issue := func(left time.Duration, status acm.CertificateStatus, hosts ...string) lb.CertificateID {
			time.Sleep(time.Second) // so that each is newer than those before
			return lb.CertificateID(w.sim.Issue(time.Now().Add(left), status, hosts...))
		}
		const issued = acm.CertificateStatusIssued
		wild := issue(300*day, issued, "*.shop.test", "shop.test")
		old := issue(300*day, issued, "a.shop.test")
		named := issue(30*day, issued, "other.test", "A.shop.test")
		newer := issue(20*day, issued, "a.shop.test")
		issue(6*day, issued, "a.shop.test", "soon.test")
		issue(300*day, acm.CertificateStatusPendingValidation, "a.shop.test", "pending.test")
		issue(300*day, acm.CertificateStatusRevoked, "a.shop.test")
		time.Sleep(time.Second)
		w.sim.IssueFor(acm.CertificateManagedByCloudfront, time.Now().Add(300*day), "a.shop.test") // newer than all, and CloudFront's own
		many := []string{"first.test"}
		for range 120 {
			many = append(many, "filler.test")
		}
		long := issue(300*day, issued, append(many, "last.test")...)

		want := map[string][]lb.CertificateID{
			"a.shop.test": {newer, named, old, wild}, "b.shop.test": {wild}, "shop.test": {wild}, "*.shop.test": {wild}, "last.test": {long},
		}
		hosts := []string{"a.shop.test", "b.shop.test", "shop.test", "*.shop.test", "last.test", "x.y.shop.test", "soon.test", "pending.test", "nobody.test"}
		w.sim.Forget()
		facts, err := w.cloud.Lookup(w.Context(), lb.Questions{CertificateHosts: hosts})
		if diff := cmp.Diff(want, facts.Certificates); err != nil || diff != "" {
			w.Errorf("error %v (-want +got):\n%s", err, diff)
		}
		if total, _ := w.sim.Cost(); total != 4 {
			w.Errorf("%d calls, want the account's limits, the list, the tags of those that were imported, and the one certificate with more hosts than a list shows", total)
		}
	})
}

func TestCertificatesAreReadOnceForAll(t *testing.T) {
	inBubble(t, albsim.Options{}, func(w *world) {
		w.sim.Issue(time.Now().AddDate(1, 0, 0), acm.CertificateStatusIssued, "a.test")
		ask := func(host string) []lb.CertificateID {
			facts, err := w.cloud.Lookup(w.Context(), lb.Questions{CertificateHosts: []string{host}})
			if err != nil {
				w.Error(err)
			}
			return facts.Certificates[host]
		}
		cost := func(want int, when string) {
			w.Helper()
			if got, _ := w.sim.Cost(); got != want {
				w.Errorf("%s: %d calls, want %d", when, got, want)
			}
			w.sim.Forget()
		}
		var together sync.WaitGroup
		for range 10 {
			together.Go(func() { ask("a.test") })
		}
		together.Wait()
		cost(3, "ten who ask at the same time, and for the account's limits, too")
		time.Sleep(5 * time.Minute)
		ask("a.test")
		cost(0, "a known host, some minutes later")
		ask("b.test")
		cost(2, "an unknown host")
		ask("b.test")
		cost(0, "an unknown host, at once again")
		w.sim.Issue(time.Now().AddDate(1, 0, 0), acm.CertificateStatusIssued, "b.test")
		time.Sleep(2 * time.Minute)
		if len(ask("b.test")) == 0 {
			w.Error("a certificate that was issued is not found two minutes later")
		}
	})
}

// TestDiscoveredCertificatesAreServed goes the whole way, and sees to it that what is served stays
// though it ends soon, and that a certificate of another one's Secret is nobody's to discover.
func TestDiscoveredCertificatesAreServed(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.service("service-0", 1)
		w.secret("mine", 0, "both.example.com", "two.example.com")
		both := w.serve("both", map[string]string{"/": "service-0"})
		w.secured(both, "mine")
		arn := lb.CertificateID(w.sim.Issue(time.Now().AddDate(0, 0, 30), acm.CertificateStatusIssued, "one.example.com"))
		for _, name := range []string{"one", "two"} {
			ing := w.serve(name, map[string]string{"/": "service-0"})
			ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{name + ".example.com"}}}
		}
		for _, days := range []int{0, 27} {
			time.Sleep(time.Duration(days) * 24 * time.Hour)
			w.settle()
			l := w.seen.Listener(443)
			if l == nil || len(l.Certificates) != 2 || !slices.Contains(l.Certificates, arn) {
				w.Fatalf("%d days on, port 443 is %+v", days, l)
			}
			time.Sleep(time.Minute)
		}
		shown := w.sim.Ask(w.seen.Address.Hostname, matching.Request{Port: 443, TLS: true, SNI: "two.example.com", Host: "two.example.com", Path: "/"}, matching.Reading{})
		if shown.Status != 404 {
			w.Errorf("two.example.com is served with %+v, though no certificate of the account is for it", shown)
		}
	})
}

// While the account's certificates cannot be asked for, an operator that starts goes on with those
// that were chosen before, and a neighbour's Ingress comes and goes. A host that none was chosen
// for waits for HTTPS.
func TestCertificatesThatCannotBeAskedForStay(t *testing.T) {
	for name, action := range map[string]string{"they are discovered": "ListCertificates", "one is named": "DescribeCertificate"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, usual(), func(w *world) {
				w.service("web", 1)
				arn := w.sim.Issue(time.Now().AddDate(1, 0, 0), acm.CertificateStatusIssued, "one.example.com")
				late := w.sim.Issue(time.Now().AddDate(1, 0, 0), acm.CertificateStatusIssued, "late.example.com")
				if action == "DescribeCertificate" {
					w.class(func(c *v1alpha1.LoadBalancerClassSpec) {
						c.AllowedHosts = []v1alpha1.AllowedHosts{{Hosts: []string{"*.example.com"}}}
					})
				}
				secured := func(name string) {
					ing := w.serve(name, map[string]string{"/": "web"})
					ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{name + ".example.com"}}}
					if action == "DescribeCertificate" && name == "one" {
						ing.Annotations["fairlead.dev/certificate-arn"] = arn
					}
				}
				secured("one")
				w.serve("gone", map[string]string{"/": "web"})
				w.settle()
				before := w.seen.Listener(443)
				if before == nil || !slices.Contains(before.Certificates, lb.CertificateID(arn)) {
					t.Fatalf("port 443 is %+v", before)
				}
				w.sim.Break(func(c albsim.Call) albsim.Fault {
					if c.Action == action {
						return albsim.Unavailable
					}
					return albsim.NoFault
				})
				w.restart()
				w.remove("gone")
				secured("late")
				w.settle()
				after := w.seen.Listener(443)
				want := before.Certificates
				if action == "DescribeCertificate" { // which nothing else needs
					want = append(slices.Clone(want), lb.CertificateID(late))
				}
				if after == nil || !slices.Equal(after.Certificates, want) {
					t.Errorf("port 443 was %+v and is %+v", before, after)
				}
				hosts := fmt.Sprint(w.seen.Listener(80).Rules)
				if strings.Contains(hosts, "gone.example.com") || !strings.Contains(hosts, "late.example.com") {
					t.Errorf("port 80 has %s", hosts)
				}
				w.sim.Break(nil)
				w.settle()
				if l := w.seen.Listener(443); l == nil || len(l.Certificates) != 2 {
					t.Errorf("once they can be asked for, port 443 is %+v", l)
				}
			})
		})
	}
}
