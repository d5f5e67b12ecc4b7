// Package keypair makes what tests serve HTTPS with.
package keypair

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/model/routing"
)

// New is a new certificate for hosts, and its key. It is valid whatever a test takes the date for.
func New(hosts ...string) (*routing.KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	self := about(hosts)
	return signed(self, key, self, key)
}

// Issued is a new certificate for hosts, and its key. The authority that has signed it stands
// behind it in the chain.
func Issued(t testing.TB, hosts ...string) *routing.KeyPair {
	t.Helper()
	var keys [2]*ecdsa.PrivateKey
	for i := range keys {
		var err error
		if keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatalf("making a key: %s", err)
		}
	}
	authority := about([]string{"authority.test"})
	authority.IsCA, authority.BasicConstraintsValid = true, true
	above, err := signed(authority, keys[0], authority, keys[0])
	if err != nil {
		t.Fatal(err)
	}
	pair, err := signed(about(hosts), keys[1], authority, keys[0])
	if err != nil {
		t.Fatal(err)
	}
	pair.Chain = append(pair.Chain, above.Chain...)
	return pair
}

// about is what a certificate says.
func about(hosts []string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: hosts[0]}, DNSNames: hosts,
		NotBefore: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

// signed is a certificate that an authority has signed, and its key.
func signed(about *x509.Certificate, key *ecdsa.PrivateKey, authority *x509.Certificate, by *ecdsa.PrivateKey) (*routing.KeyPair, error) {
	leaf, err := x509.CreateCertificate(rand.Reader, about, authority, key.Public(), by)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %v: %w", about.DNSNames, err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("writing the key of %v: %w", about.DNSNames, err)
	}
	return &routing.KeyPair{
		Chain: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf}),
		Key:   pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, nil
}

// For is a new one for a test.
func For(t testing.TB, hosts ...string) *routing.KeyPair {
	t.Helper()
	pair, err := New(hosts...)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// Data is what a Secret of the type kubernetes.io/tls holds.
func Data(pair *routing.KeyPair) map[string][]byte {
	return map[string][]byte{corev1.TLSCertKey: pair.Chain, corev1.TLSPrivateKeyKey: pair.Key}
}
