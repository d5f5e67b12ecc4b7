package kube

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// An authority signs the certificates of one control plane and keeps them as files: name.crt and
// name.key.
type authority struct {
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	issued      int64
	admin       string // the token: a certificate would be verified again for each request
}

// newAuthority issues all that a control plane needs: its own certificate, the server's, the
// administrator's token, and the key that signs the tokens of service accounts.
func newAuthority(dir string) (*authority, error) {
	a := &authority{dir: dir}
	if err := a.issue("ca", &x509.Certificate{
		Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}); err != nil {
		return nil, err
	}
	if err := a.issue("server", &x509.Certificate{
		Subject: pkix.Name{CommonName: "kube-apiserver"}, IPAddresses: []net.IP{net.ParseIP(host)}, DNSNames: []string{"localhost"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}); err != nil {
		return nil, err
	}
	a.admin = rand.Text()
	// The group is one that RBAC lets do everything.
	if err := os.WriteFile(a.path("tokens.csv"), []byte(a.admin+",admin,admin,system:masters\n"), 0o600); err != nil {
		return nil, fmt.Errorf("writing tokens: %w", err)
	}
	return a, a.issue("accounts", &x509.Certificate{Subject: pkix.Name{CommonName: "service accounts"}})
}

// issue makes a key and a certificate for it. The first is the authority's own.
func (a *authority) issue(name string, template *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the key of %s: %w", name, err)
	}
	a.issued++
	template.SerialNumber = big.NewInt(a.issued)
	// No test runs outside of these years, whatever its machine takes the date for.
	template.NotBefore, template.NotAfter = time.Unix(0, 0), time.Unix(7_000_000_000, 0)
	if a.certificate == nil {
		a.certificate, a.key = template, key
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("signing the certificate of %s: %w", name, err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("writing the key of %s: %w", name, err)
	}
	if err := a.write(name+".crt", "CERTIFICATE", signed); err != nil {
		return err
	}
	return a.write(name+".key", "EC PRIVATE KEY", private)
}

func (a *authority) write(file, kind string, content []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
	if err := os.WriteFile(a.path(file), text, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return nil
}

func (a *authority) path(file string) string { return filepath.Join(a.dir, file) }
