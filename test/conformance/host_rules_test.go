package conformance

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestHostRules(t *testing.T) {
	f := newFeature(t)
	f.deploy(t, "precise", "wildcard")
	f.certify(t, "cert", "www.precise.example")
	f.expose(t, `
tls:
- {hosts: [www.precise.example], secretName: cert}
rules:
- host: "*.wild.example"
  http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: wildcard, port: {number: 8080}}}}]}
- host: www.precise.example
  http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: precise, port: {name: http}}}}]}
`)
	f.run(t, []scenario{
		{"a host over TLS, with the certificate of its Secret", "https://www.precise.example/", "precise"},
		{"a host that has TLS, without it", "http://www.precise.example/", "precise"},
		{"another host of the same domain", "http://other.precise.example/", ""},
		{"a wildcard stands for a label", "http://any.wild.example/", "wildcard"},
		{"and for no more than one", "http://too.many.wild.example/", ""},
		{"and not for none", "http://wild.example/", ""},
	})
}

// certify makes a Secret with a certificate for a host that signs itself, and trusts it.
func (f *feature) certify(t *testing.T, secret, host string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, // so that it may sign itself
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
	f.trusted.AppendCertsFromPEM(certificate)
	if _, err := f.cluster.Client(t).CoreV1().Secrets(f.namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secret}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
