package source

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/ingress"
)

// This file makes Secrets for two sets of objects that are compared. A Secret that is missing in
// both sets gets the same placeholder in both, so it causes no difference. A Secret in one set only
// stays a difference.

// AddToBoth adds the Secrets that both sets lack: a certificate for a Secret in spec.tls, and a
// client of an identity provider for any other.
func AddToBoth(a, b *ingress.Objects, missing []string) error {
	all := ingress.Objects{
		Ingresses: slices.Concat(a.Ingresses, b.Ingresses), Secrets: slices.Concat(a.Secrets, b.Secrets),
	}
	known := len(all.Secrets)
	var made Secrets
	if _, err := made.Add(&all); err != nil {
		return err
	}
	for _, secret := range missing {
		namespace, name, _ := strings.Cut(secret, "/")
		if !hasSecret(&all, namespace, name) {
			all.Secrets = append(all.Secrets, newClient(namespace, name))
		}
	}
	a.Secrets = append(a.Secrets, all.Secrets[known:]...)
	b.Secrets = append(b.Secrets, all.Secrets[known:]...)
	return nil
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
