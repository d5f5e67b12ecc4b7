package alb

import (
	"testing"
	"time"

	acm "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/albsim"
)

// This file asks for the names in certificates that Ingresses name.

func TestNamesOfCertificatesAreKeptForAWhile(t *testing.T) {
	inBubble(t, albsim.Options{}, func(w *world) {
		year := time.Now().AddDate(1, 0, 0)
		arn := lb.CertificateID(w.sim.Issue(year, acm.CertificateStatusIssued, "A.test", "*.b.test"))
		found := lb.CertificateID(w.sim.Issue(year, acm.CertificateStatusIssued, "found.test", "*.other.test"))
		gone := lb.CertificateID("arn:aws:acm:eu-west-1:123456789012:certificate/none")
		ask := func(when string, hosts []string, want map[lb.CertificateID][]string, calls int) {
			w.Helper()
			w.sim.Forget()
			facts, err := w.cloud.Lookup(w.Context(), lb.Questions{
				CertificateHosts:  hosts,
				NamedCertificates: []lb.CertificateID{arn, gone, "arn:aws:iam::123456789012:server-certificate/old"},
			})
			if diff := cmp.Diff(want, facts.Names); err != nil || diff != "" {
				w.Errorf("%s: error %v (-want +got):\n%s", when, err, diff)
			}
			if got := asked(w, "DescribeCertificate"); got != calls {
				w.Errorf("%s: %d certificates are read, want %d", when, got, calls)
			}
		}
		names := map[lb.CertificateID][]string{arn: {"a.test", "*.b.test"}}
		ask("at first", nil, names, 2)
		ask("at once again", nil, names, 0)
		time.Sleep(2 * time.Minute)
		ask("one that was not there, later", nil, names, 1)
		names[found] = []string{"found.test", "*.other.test"}
		ask("with one that is found by host", []string{"x.other.test"}, names, 0)
		time.Sleep(10 * time.Minute)
		ask("after the time that certificates are known", nil, map[lb.CertificateID][]string{arn: names[arn]}, 2)
	})
}
