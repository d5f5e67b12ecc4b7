package demo

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/ingress"
)

// This file makes the Secrets that manifests rightly leave out: certificates that sign
// themselves, for the demo to serve HTTPS with.

// selfSigned are the Secrets made so far. A Secret is made anew only when its hosts change, so
// that a change of something else is no change of a certificate.
type selfSigned struct {
	made map[string]*corev1.Secret // by namespace/name and hosts
}

// join adds every Secret that an Ingress names and that is not among the objects. It returns the
// names of those that it had to make just now.
func (s *selfSigned) join(objects *ingress.Objects) ([]string, error) {
	var fresh []string
	for _, ing := range objects.Ingresses {
		for _, entry := range ing.Spec.TLS {
			if entry.SecretName == "" || hasSecret(objects, ing.Namespace, entry.SecretName) {
				continue
			}
			hosts := secretHosts(objects, ing.Namespace, entry.SecretName)
			name := ing.Namespace + "/" + entry.SecretName
			id := name + " " + strings.Join(hosts, " ")
			if s.made[id] == nil {
				secret, err := newSelfSigned(ing.Namespace, entry.SecretName, hosts)
				if err != nil {
					return nil, fmt.Errorf("making a certificate for Secret %s: %w", name, err)
				}
				if s.made == nil {
					s.made = map[string]*corev1.Secret{}
				}
				s.made[id] = secret
				fresh = append(fresh, name)
			}
			objects.Secrets = append(objects.Secrets, s.made[id])
		}
	}
	return fresh, nil
}

func hasSecret(objects *ingress.Objects, namespace, name string) bool {
	return slices.ContainsFunc(objects.Secrets, func(s *corev1.Secret) bool {
		return s.Namespace == namespace && s.Name == name
	})
}

// secretHosts are the hosts that Ingresses want a Secret for. An entry that lists none stands
// for all hosts of its Ingress.
func secretHosts(objects *ingress.Objects, namespace, name string) []string {
	var hosts []string
	for _, ing := range objects.Ingresses {
		for _, entry := range ing.Spec.TLS {
			if ing.Namespace != namespace || entry.SecretName != name {
				continue
			}
			hosts = append(hosts, entry.Hosts...)
			if len(entry.Hosts) == 0 {
				hosts = append(hosts, ruleHosts(ing)...)
			}
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// ruleHosts are the hosts of an Ingress's rules, or a name that says that it has none.
func ruleHosts(ing *networkingv1.Ingress) []string {
	var hosts []string
	for _, rule := range ing.Spec.Rules {
		if rule.Host != "" {
			hosts = append(hosts, rule.Host)
		}
	}
	if len(hosts) == 0 {
		return []string{"any.example"}
	}
	return hosts
}

func newSelfSigned(namespace, name string, hosts []string) (*corev1.Secret, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "Fairlead demo"},
		DNSNames:     hosts,
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(0, 0, 30),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Type:       corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
			corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		},
	}, nil
}
