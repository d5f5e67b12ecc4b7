package fuzz

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/test/objects"
)

// FuzzCertificate reads any PEM as the certificate and key of a Secret.
func FuzzCertificate(f *testing.F) {
	good, err := objects.Secret("alice/tls", []string{"a.example.com"})
	if err != nil {
		f.Fatal(err)
	}
	other, err := objects.Secret("alice/other", []string{"*.example.com", "a.example.com"})
	if err != nil {
		f.Fatal(err)
	}
	certificate, key := good.Data[corev1.TLSCertKey], good.Data[corev1.TLSPrivateKeyKey]
	f.Add(certificate, key)
	f.Add(append(append([]byte{}, certificate...), other.Data[corev1.TLSCertKey]...), key)
	f.Add(append(append([]byte("# a comment\n"), other.Data[corev1.TLSCertKey]...), certificate...), key)
	f.Add(certificate, other.Data[corev1.TLSPrivateKeyKey])
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), key)
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, certificate, key []byte) {
		if len(certificate)+len(key) > 1<<20 {
			return // the API server refuses the Secret
		}
		w := newWorld(t, nil)
		w.Secrets = []*corev1.Secret{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "alice", Name: "tls"}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
		}}
		ing := newIngress("alice", "a.example.com", "/", networkingv1.PathTypePrefix)
		ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"a.example.com"}, SecretName: "tls"}}
		w.Ingresses = []*networkingv1.Ingress{ing}
		within(t, func() {
			built, diagnostics := w.compile()
			check(t, built, diagnostics, nil)
		})
	})
}
