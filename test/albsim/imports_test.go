package albsim_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/acm"

	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/keypair"
)

// This file imports certificates as fast and as often as Certificate Manager lets an account, and
// once more.

// An importer imports certificates of an account.
type importer struct {
	*testing.T
	acm *acm.Client
}

// expect imports a certificate, in the place of another one if there is one, and is told no more
// than it wants.
func (i importer) expect(when string, place *string, want string) *string {
	i.Helper()
	pair := keypair.For(i.T, "a.example.com")
	out, err := i.acm.ImportCertificate(i.Context(), &acm.ImportCertificateInput{Certificate: pair.Chain, PrivateKey: pair.Key, CertificateArn: place}, func(o *acm.Options) { o.RetryMaxAttempts = 1 })
	if code(err) != want {
		i.Errorf("%s: %v, want %q", when, err, want)
	}
	if err != nil {
		return nil
	}
	return out.CertificateArn
}

func TestImportsOfAYear(t *testing.T) {
	for _, renewals := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			sim := albsim.New(albsim.Options{Limits: albsim.Limits{ImportsPerYear: 2}, RenewalsCount: renewals})
			i := importer{t, acm.NewFromConfig(sim.Config())}
			full := map[bool]string{true: "LimitExceededException"}
			first := i.expect("the first", nil, "")
			time.Sleep(24 * time.Hour)
			i.expect("the second", nil, "")
			i.expect("a third", nil, "LimitExceededException")
			if _, err := i.acm.DeleteCertificate(t.Context(), &acm.DeleteCertificateInput{CertificateArn: first}); err != nil {
				t.Fatal(err)
			}
			i.expect("a third, when the first is gone", nil, "LimitExceededException")
			time.Sleep(364*24*time.Hour + time.Second)
			third := i.expect("a third, when the first is a year ago", nil, "")
			i.expect("one in the place of that", third, full[renewals])
		})
	}
}

func TestImportsOfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := albsim.New(albsim.Options{Rates: albsim.Published()})
		i := importer{t, acm.NewFromConfig(sim.Config())}
		i.expect("the first", nil, "")
		i.expect("one right behind it", nil, "ThrottlingException")
		time.Sleep(time.Second)
		i.expect("one a second later", nil, "")
	})
}
