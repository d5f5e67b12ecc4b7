package saved

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// The certificate of an assumed Secret is the same in all tables, and other ones stay as they are.
func TestCertificatesOfAssumedSecretsAreAlike(t *testing.T) {
	table := func(id routing.CertificateID, host string) *precedence.Table {
		return precedence.New(routing.Config{
			Listeners: []routing.Listener{{Port: 443, Protocol: routing.HTTPS, Certificates: []routing.CertificateID{"own", id, "other"}}},
			Certificates: []routing.Certificate{
				{ID: id, Hosts: []string{host}, Secrets: []string{"shop/tls"}}, {ID: "own", Hosts: []string{"own.test"}, Secrets: []string{"shop/own"}},
			},
		})
	}
	one, other, again := table("one", "a.test"), table("two", "b.test"), table("three", "a.test")
	MakeAlike([]string{"shop/tls"}, []*precedence.Table{one, again}, []*precedence.Table{other})
	for _, got := range []*precedence.Table{one, other, again} {
		if diff := cmp.Diff([]routing.CertificateID{"own", "of Secret shop/tls", "other"}, got.Listeners[0].Certificates); diff != "" {
			t.Error(diff)
		}
		want := []routing.Certificate{
			{ID: "of Secret shop/tls", Hosts: []string{"a.test", "b.test"}, Secrets: []string{"shop/tls"}},
			{ID: "own", Hosts: []string{"own.test"}, Secrets: []string{"shop/own"}},
		}
		if diff := cmp.Diff(want, got.Certificates); diff != "" {
			t.Error(diff)
		}
	}
}
