// Package selfsigned makes self-signed certificates, for the demo and for tests of providers.
package selfsigned

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// Certificate makes a self-signed certificate for hosts, and its key. It is valid for a month.
func Certificate(hosts ...string) (lb.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return lb.Certificate{}, fmt.Errorf("making a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	if err != nil {
		return lb.Certificate{}, fmt.Errorf("making a certificate: %w", err)
	}
	now := time.Now()
	about := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: hosts[0]}, DNSNames: hosts,
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 0, 30),
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		return lb.Certificate{}, fmt.Errorf("making a certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return lb.Certificate{}, fmt.Errorf("making a certificate: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return lb.Certificate{}, fmt.Errorf("making a certificate: %w", err)
	}
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pair := &routing.KeyPair{
		Chain: chain,
		Key:   pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
	return lb.Certificate{
		ID:    lb.CertificateID("sha256:" + string(lb.DigestOf(string(chain)))[len("v1:"):]),
		Hosts: hosts, Kind: routing.KindOf(leaf), Secrets: []string{"prove/" + hosts[0]},
		Pair: pair,
	}, nil
}
