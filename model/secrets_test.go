package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
)

func TestCertificatesOfSecrets(t *testing.T) {
	type ids = map[string]lb.CertificateID
	brings := func(id lb.CertificateID, secrets ...string) lb.Certificate {
		return lb.Certificate{ID: id, Secrets: secrets}
	}
	cases := map[string]struct {
		reason   string
		compiled []lb.Certificate
		seen     []lb.CertificateID
		before   ids
		want     ids
	}{
		"first":      {"it is there now", []lb.Certificate{brings("1", "shop/tls")}, []lb.CertificateID{"1"}, nil, ids{"shop/tls": "1"}},
		"shared":     {"two Secrets hold one", []lb.Certificate{brings("1", "shop/copy", "shop/tls")}, []lb.CertificateID{"1"}, nil, ids{"shop/copy": "1", "shop/tls": "1"}},
		"renewed":    {"the new one is there", []lb.Certificate{brings("2", "shop/tls")}, []lb.CertificateID{"2"}, ids{"shop/tls": "1"}, ids{"shop/tls": "2"}},
		"on its way": {"the cloud has the old one still", []lb.Certificate{brings("2", "shop/tls")}, []lb.CertificateID{"1"}, ids{"shop/tls": "1"}, ids{"shop/tls": "1"}},
		"neither":    {"nothing could be served", []lb.Certificate{brings("2", "shop/tls")}, nil, ids{"shop/tls": "1"}, ids{}},
		"over":       {"the Secret or what names it is gone", nil, []lb.CertificateID{"1"}, ids{"shop/tls": "1"}, ids{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			seen := &lb.Observed{}
			for _, id := range c.seen {
				seen.Certificates = append(seen.Certificates, lb.ObservedCertificate{Certificate: lb.Certificate{ID: id}})
			}
			if diff := cmp.Diff(c.want, CertificatesOfSecrets(lb.LoadBalancer{Certificates: c.compiled}, seen, c.before)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
