package source

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file makes Secrets for two sets of objects that are compared. A Secret that is missing in
// both sets gets the same placeholder in both, so it causes no difference. A Secret in one set only
// stays a difference.

// AddToBoth adds the Secrets that both sets lack: a certificate for a Secret in spec.tls, and a
// client of an identity provider for any other.
func AddToBoth(a, b *ingress.Objects, missing []string) {
	all := ingress.Objects{
		Ingresses: slices.Concat(a.Ingresses, b.Ingresses), Secrets: slices.Concat(a.Secrets, b.Secrets),
	}
	known := len(all.Secrets)
	judged := map[*corev1.Secret]ingress.SecretCertificate{}
	_ = addMissing(&all, func(namespace, name string, hosts []string) (*corev1.Secret, error) { // it cannot fail
		secret, certificate := newPlaceholder(namespace, name, hosts)
		judged[secret] = certificate
		return secret, nil
	})
	for _, secret := range missing {
		namespace, name, _ := strings.Cut(secret, "/")
		if !hasSecret(&all, namespace, name) {
			all.Secrets = append(all.Secrets, newClient(namespace, name))
		}
	}
	a.Secrets = append(a.Secrets, all.Secrets[known:]...)
	b.Secrets = append(b.Secrets, all.Secrets[known:]...)
	for _, o := range []*ingress.Objects{a, b} {
		o.Certificates = maps.Clone(o.Certificates)
		if o.Certificates == nil {
			o.Certificates = map[*corev1.Secret]ingress.SecretCertificate{}
		}
		maps.Copy(o.Certificates, judged)
	}
}

// newPlaceholder returns a Secret and what is known of its certificate, which nothing serves: to sign one takes longer than to
// compile an Ingress.
func newPlaceholder(namespace, name string, hosts []string) (*corev1.Secret, ingress.SecretCertificate) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: []byte("placeholder"), corev1.TLSPrivateKeyKey: []byte("placeholder")},
	}
	distinct := routing.DistinctHosts(hosts)
	names := make([]string, 0, len(distinct))
	for _, host := range distinct {
		names = append(names, string(host))
	}
	slices.Sort(names)
	id := routing.CertificateID("placeholder:" + string(lb.DigestOf([]any{namespace, name, hosts})))
	return secret, ingress.SecretCertificate{
		Certificate: &routing.Certificate{ID: id, Hosts: names, Kind: "ECDSA-256/0/[]",
			Pair: &routing.KeyPair{Chain: secret.Data[corev1.TLSCertKey]}},
		Hosts: distinct,
		Until: time.Now().AddDate(0, 0, 30),
	}
}

// newClient returns a Secret with the client of an identity provider.
func newClient(namespace, name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data: map[string][]byte{
			ingress.ClientIDKey: []byte("placeholder"), ingress.ClientSecretKey: []byte("placeholder"),
		},
	}
}
