package fake

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"sync"
	"time"
)

// This file is the certificate authority.

// An authority signs certificates for hosts when they are first used. It lives as long as the
// cloud. Processes that share a state file share it.
type authority struct {
	mu     sync.Mutex
	root   *x509.Certificate
	key    *ecdsa.PrivateKey
	issued map[string]*tls.Certificate
}

// Roots returns the root certificate.
func (a *authority) Roots() (*x509.CertPool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.createRoot(); err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.root)
	return pool, nil
}

// Certificate returns the certificate of a host, which may be a wildcard.
func (a *authority) Certificate(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if issued := a.issued[host]; issued != nil {
		return issued, nil
	}
	if err := a.createRoot(); err != nil {
		return nil, err
	}
	der, key, err := sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: host},
		DNSNames:    []string{host},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.root, a.key)
	if err != nil {
		return nil, fmt.Errorf("signing a certificate for %s: %w", host, err)
	}
	a.issued[host] = &tls.Certificate{Certificate: [][]byte{der, a.root.Raw}, PrivateKey: key}
	return a.issued[host], nil
}

// createRoot makes the root certificate if there is none.
func (a *authority) createRoot() error {
	if a.root != nil {
		return nil
	}
	der, key, err := sign(&x509.Certificate{
		Subject:               pkix.Name{CommonName: "Fairlead's fake cloud"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}, nil, nil)
	if err != nil {
		return fmt.Errorf("making a root certificate: %w", err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		return fmt.Errorf("reading the root certificate: %w", err)
	}
	a.root, a.key, a.issued = root, key, map[string]*tls.Certificate{}
	return nil
}

// restore sets the root certificate to the saved one.
func (a *authority) restore(saved savedPair) error {
	pair, err := tls.X509KeyPair([]byte(saved.Chain), []byte(saved.Key))
	if err != nil {
		return err
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return fmt.Errorf("its key is of type %T", pair.PrivateKey)
	}
	a.root, a.key, a.issued = pair.Leaf, key, map[string]*tls.Certificate{}
	return nil
}

// sign makes a certificate with a new key. The issuer signs it; without an issuer it is
// self-signed.
func sign(
	template, issuer *x509.Certificate, issuerKey *ecdsa.PrivateKey,
) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if issuer == nil {
		issuer, issuerKey = template, key
	}
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = template.NotBefore.AddDate(1, 0, 0)
	if template.SerialNumber, err = rand.Int(rand.Reader,
		new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, issuerKey)
	return der, key, err
}

// savedPair is a certificate and its key in plain text, which an lb.KeyPair never prints.
type savedPair struct {
	Chain string `json:"chain"`
	Key   string `json:"key"`
}

// Persist uses the authority that is stored beside the state file, or stores its own there.
func (a *authority) Persist(files *stateFile) error {
	const suffix = ".authority"
	var saved savedPair
	if err := files.Read(suffix, &saved); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if saved.Key != "" {
		if err := a.restore(saved); err != nil {
			return fmt.Errorf("reading %s%s: %w", files.Path, suffix, err)
		}
		return nil
	}
	if err := a.createRoot(); err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		return fmt.Errorf("writing down the key of the root certificate: %w", err)
	}
	saved.Chain = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.root.Raw}))
	saved.Key = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	return files.Write(suffix, 0o600, saved)
}
