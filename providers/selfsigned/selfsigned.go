// Package selfsigned makes the certificates that a provider is tried with.
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

// Certificate is a new one for a host that signs itself, for a day, and its key.
func Certificate(host string) (lb.Certificate, error) {
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
		SerialNumber: serial, Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
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
	return lb.Certificate{
		ID:    lb.CertificateID("sha256:" + string(lb.DigestOf(string(chain)))[len("v1:"):]),
		Hosts: []string{host}, Kind: routing.KindOf(leaf), Secrets: []string{"prove/" + host},
		Pair: &routing.KeyPair{Chain: chain, Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})},
	}, nil
}
