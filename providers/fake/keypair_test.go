package fake_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
)

// imported is a certificate for a host as an Ingress brings it, signed by its own key.
func imported(t *testing.T, id lb.CertificateID, host string) lb.Certificate {
	t.Helper()
	pair, err := newPair(host)
	if err != nil {
		t.Fatal(err)
	}
	return lb.Certificate{ID: id, Hosts: []string{host}, Pair: pair}
}

func newPair(host string) (*lb.KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		DNSNames:     []string{host},
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &lb.KeyPair{
		Chain: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:   pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
	}, nil
}
