package operator

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/test/keypair"
)

// This file counts what the operator asks of AWS where each Ingress brings a certificate for its
// host, besides what it asks in the clear.

func TestCostOverTLS(t *testing.T) {
	t.Parallel()
	const n = 20
	for name, account := range map[string]func(*testing.T) account{
		"albsim": func(t *testing.T) account { return simulating(t, usual) },
		"moto":   emulated,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, account(t))
			w.flags = []string{"--aws-rates=write=100/100,modify=100/100,targets=100/100,acm-write=100/100,acm-import=100/100"} // it is nobody's account
			w.begin(t)
			for _, c := range []work{
				{"create from nothing", 6*n + 25, 6*n + 8, func() { w.secretBySecret(t, n) }, func() bool { return w.secured(t, n, n) }},
				{"restart, nothing changed", n + 11, 0, func() { w.replace(t) }, w.looked(n)},
				{"periodic resync", 0, 0, func() { time.Sleep(2 * rest) }, func() bool { return true }},
				{"renew a certificate", 3, 3, func() { w.renew(t, site(3)) }, func() bool { return w.holds(t, site(3)) }},
				{"restart after that", n + 11, 0, func() { w.replace(t) }, w.looked(n)},
				{"one Ingress more, Service already served", 5, 4, func() { w.secure(t, w.ingress(site(n), backend(0), "/")) },
					func() bool { return w.secured(t, n+1, n) }},
				w.securedDeletion(t, n+1),
			} {
				w.count(t, c)
			}
		})
	}
}

// secure makes an Ingress that is served over TLS, and the Secret of its certificate before.
func (w *world) secure(t *testing.T, ing *networkingv1.Ingress) {
	t.Helper()
	host := ing.Spec.Rules[0].Host
	w.create(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: ing.Name}, Type: corev1.SecretTypeTLS, Data: keypair.Data(keypair.For(t, host)),
	})
	ing.Spec.TLS = []networkingv1.IngressTLS{{SecretName: ing.Name, Hosts: []string{host}}}
	w.create(t, ing)
}

// secretBySecret makes the Ingresses and all that they refer to, as they stand in a file.
func (w *world) secretBySecret(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		w.serve(t, backend(i), pods(i, 2)...)
		w.secure(t, w.sited(i))
	}
}

// renew puts another certificate for the host of an Ingress into its Secret.
func (w *world) renew(t *testing.T, name string) {
	t.Helper()
	edit(t, w, &corev1.Secret{}, name, func(s *corev1.Secret) { s.Data = keypair.Data(keypair.For(t, name+".example.com")) })
}

// secured reports whether so many Ingresses are served on both ports, with a certificate each, and
// there are so many target groups.
func (w *world) secured(t *testing.T, ingresses, groups int) bool {
	t.Helper()
	if !w.served(t, ingresses, groups) {
		return false
	}
	for _, l := range w.listeners(t) {
		if aws.ToInt32(l.Port) == 443 {
			return len(w.rulesOf(t, l)) == ingresses+1 && len(w.imported(t)) == ingresses
		}
	}
	return false
}

// imported are the certificates of the account.
func (w *world) imported(t *testing.T) []acmtypes.CertificateSummary {
	t.Helper()
	out, err := acm.NewFromConfig(w.config).ListCertificates(t.Context(), &acm.ListCertificatesInput{
		Includes: &acmtypes.Filters{KeyTypes: []acmtypes.KeyAlgorithm{acmtypes.KeyAlgorithmEcPrime256v1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.CertificateSummaryList
}

// holds reports whether AWS has the certificate that is in a Secret.
func (w *world) holds(t *testing.T, secret string) bool {
	t.Helper()
	s := &corev1.Secret{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: secret}, s); err != nil {
		t.Fatal(err)
	}
	for _, c := range w.imported(t) {
		out, err := acm.NewFromConfig(w.config).GetCertificate(t.Context(), &acm.GetCertificateInput{CertificateArn: c.CertificateArn})
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(*out.Certificate) == strings.TrimSpace(string(s.Data[corev1.TLSCertKey])) {
			return true
		}
	}
	return false
}

// securedDeletion deletes one Ingress after the other. What is deleted meanwhile takes its
// certificate with it.
func (w *world) securedDeletion(t *testing.T, n int) work {
	c := w.deletion(t, n)
	c.total, c.write = c.total+n, c.write+n
	return c
}
