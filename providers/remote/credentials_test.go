package remote

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/serve"
)

// This file rotates what the operator and a provider know each other by.

// An authority signs certificates.
type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{key, certificate}
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// sign makes a certificate and its key, in PEM.
func (a *authority) sign(t *testing.T, until time.Time) (certificate, key []byte) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &own.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw})
}

func put(t *testing.T, directory string, files map[string][]byte) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(directory, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCertificatesRotate has the provider's certificate, the operator's, and the CA of both be
// replaced without a restart.
func TestCertificatesRotate(t *testing.T) {
	old, young := newAuthority(t), newAuthority(t)
	var trusted atomic.Pointer[authority]
	var shown atomic.Pointer[tls.Certificate]
	show := func(a *authority, until time.Time) {
		certificate, key := a.sign(t, until)
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			t.Fatal(err)
		}
		shown.Store(&pair)
		trusted.Store(a)
	}
	show(old, time.Now().Add(time.Hour))
	server := httptest.NewUnstartedServer(serving(t, fake.Options{Capabilities: lb.ALB()}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		pool := x509.NewCertPool()
		pool.AddCert(trusted.Load().certificate)
		return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*shown.Load()}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}, nil
	}}
	server.StartTLS()
	t.Cleanup(server.Close)

	directory := t.TempDir()
	own := func(a *authority) {
		certificate, key := a.sign(t, time.Now().Add(time.Hour))
		put(t, directory, map[string][]byte{"ca.crt": a.pem(), "tls.crt": certificate, "tls.key": key})
	}
	own(old)
	p := opened(t, Endpoint{URL: server.URL, Credentials: directory})
	fresh := func() error {
		p.Close()
		server.CloseClientConnections()
		_, err := p.List(t.Context())
		return err
	}
	if err := fresh(); err != nil {
		t.Fatal(err)
	}
	show(young, time.Now().Add(time.Hour))
	if err := fresh(); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of another CA: told %v", err)
	}
	own(young)
	if err := fresh(); err != nil {
		t.Errorf("after the operator has the new CA and a new certificate: %v", err)
	}
	show(young, time.Now().Add(-time.Minute))
	if err := fresh(); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("a certificate that has expired: told %v", err)
	}
}

// TestATokenRotates replaces the provider's token, and then the operator's.
func TestATokenRotates(t *testing.T) {
	var token atomic.Pointer[string]
	want := func(text string) { token.Store(&text) }
	want("first")
	directory := t.TempDir()
	put(t, directory, map[string][]byte{"token": []byte("first\n")})
	cloud := newCounting(t)
	p := opened(t, Endpoint{URL: served(t, serve.New(cloud, serve.Options{Token: func() string { return *token.Load() }})), Credentials: directory})
	want("second")
	if _, err := p.List(t.Context()); !errors.Is(err, providers.ErrDenied) {
		t.Errorf("with the token of before: told %v", err)
	}
	put(t, directory, map[string][]byte{"token": []byte("second")})
	if _, err := p.List(t.Context()); err != nil {
		t.Errorf("with the new token: told %v", err)
	}
}

func TestURLs(t *testing.T) {
	for url, want := range map[string]string{
		"https://lb.example.com:8443/x": "", "http://127.0.0.1:9000": "", "http://localhost": "", "http://[::1]:80": "", "unix:///run/p.sock": "",
		"http://lb.example.com": "it has to be https", "https://me:secret@a": "a user", "https://a?token=b": "a query", "unix://run/p.sock": "no URL of a provider",
		"https://a#b": "a fragment", "unix:run/p.sock": "no URL of a provider",
		"https:///a":      "no URL of a provider",
		"ftp://127.0.0.1": "no URL of a provider", "http://10.0.0.1": "it has to be https",
		"ftp://a": "no URL of a provider", "://": "reading its URL", "https://": "no URL of a provider",
	} {
		if _, err := parse(url); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: told %v, want %q", url, err, want)
		}
	}
}

func TestTheConfigurationOfConnections(t *testing.T) {
	a := newAuthority(t)
	certificate, key := a.sign(t, time.Now().Add(time.Hour))
	for name, c := range map[string]struct {
		files        map[string][]byte
		ca           bool
		certificates int
		want         string
	}{
		"nothing":     {},
		"empty files": {files: map[string][]byte{"ca.crt": {}, "tls.crt": {}, "tls.key": {}}},
		"a CA":        {files: map[string][]byte{"ca.crt": a.pem()}, ca: true},
		"a certificate": {
			files: map[string][]byte{"tls.crt": certificate, "tls.key": key}, certificates: 1,
		},
		"a key alone": {files: map[string][]byte{"tls.key": key}},
		"a certificate alone": {
			files: map[string][]byte{"tls.crt": certificate},
			want:  "reading the credentials: tls.crt and tls.key: ",
		},
		"a CA that is no certificate": {
			files: map[string][]byte{"ca.crt": key},
			want:  "reading the credentials: ca.crt has no certificate in PEM",
		},
	} {
		directory := t.TempDir()
		put(t, directory, c.files)
		got, err := credentials{directory}.tls()
		if c.want != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: told %v, want %q", name, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if (got.RootCAs != nil) != c.ca || len(got.Certificates) != c.certificates {
			t.Errorf("%s: a CA is %v, %d certificates", name, got.RootCAs != nil, len(got.Certificates))
		}
	}
	for _, file := range []string{"ca.crt", "tls.crt", "tls.key"} {
		directory := t.TempDir()
		put(t, directory, map[string][]byte{"tls.crt": certificate})
		_ = os.Remove(filepath.Join(directory, file))
		if err := os.Mkdir(filepath.Join(directory, file), 0o700); err != nil { // it cannot be read
			t.Fatal(err)
		}
		_, err := credentials{directory}.tls()
		if !errors.Is(err, syscall.EISDIR) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s cannot be read: told %v", file, err)
		}
	}
}
