package albsim

import (
	"crypto/x509"
	"testing"
)

func TestUsagesOfAKeyMayNotGo(t *testing.T) {
	of := func(algorithm x509.PublicKeyAlgorithm, usage x509.KeyUsage, purposes ...x509.ExtKeyUsage) *x509.Certificate {
		return &x509.Certificate{PublicKeyAlgorithm: algorithm, KeyUsage: usage, ExtKeyUsage: purposes}
	}
	const signs, enciphers = x509.KeyUsageDigitalSignature, x509.KeyUsageKeyEncipherment
	for name, c := range map[string]struct {
		before, next *x509.Certificate
		want         bool
	}{
		"the same":                  {of(x509.RSA, signs, x509.ExtKeyUsageServerAuth), of(x509.RSA, signs, x509.ExtKeyUsageServerAuth), false},
		"one more":                  {of(x509.RSA, signs), of(x509.RSA, signs|enciphers, x509.ExtKeyUsageServerAuth), false},
		"one less":                  {of(x509.RSA, signs|enciphers), of(x509.RSA, signs), true},
		"one less, of ECDSA":        {of(x509.ECDSA, signs|enciphers), of(x509.ECDSA, signs), false},
		"a purpose less":            {of(x509.RSA, signs, x509.ExtKeyUsageServerAuth), of(x509.RSA, signs), true},
		"clients are not any more":  {of(x509.RSA, signs, x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth), of(x509.RSA, signs, x509.ExtKeyUsageServerAuth), false},
		"Amazon has issued the old": {nil, of(x509.RSA, signs), false},
	} {
		if got := takesUsages(c.before, c.next); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
