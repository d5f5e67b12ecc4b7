package source

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/routing"
)

// anIngress has one rule, and one entry of spec.tls, for all of its hosts if it names none.
func anIngress(host, secret string, hosts ...string) *networkingv1.Ingress {
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: networkingv1.IngressSpec{
			Rules: []networkingv1.IngressRule{{Host: host}},
			TLS:   []networkingv1.IngressTLS{{SecretName: secret, Hosts: hosts}},
		},
	}
}

func names(of []*corev1.Secret) []string {
	var out []string
	for _, s := range of {
		out = append(out, s.Namespace+"/"+s.Name)
	}
	return out
}

func TestSecretsThatAreMissingAreMadeOnce(t *testing.T) {
	var made Secrets
	o := &ingress.Objects{
		Ingresses: []*networkingv1.Ingress{
			anIngress("a.com", "tls"), anIngress("b.com", "tls", "b.com"), anIngress("c.com", "there"), anIngress("d.com", ""),
		},
		Secrets: []*corev1.Secret{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "there"}}},
	}
	fresh, err := made.Add(o)
	if err != nil || !slices.Equal(fresh, []string{"shop/tls"}) {
		t.Fatalf("made %v, %v", fresh, err)
	}
	if got := names(o.Secrets); !slices.Equal(got, []string{"shop/there", "shop/tls"}) {
		t.Errorf("Secrets %v", got)
	}
	certificate := ingress.ReadCertificate(o.Secrets[1])
	if certificate.Err != nil {
		t.Fatal(certificate.Err)
	}
	if got := certificate.Hosts; !slices.Equal(got, []routing.Host{"a.com", "b.com"}) {
		t.Errorf("the certificate is for %v", got)
	}
	again := &ingress.Objects{Ingresses: o.Ingresses}
	if fresh, err := made.Add(again); err != nil || !slices.Equal(fresh, []string{"shop/there"}) {
		t.Errorf("made anew: %v, %v", fresh, err)
	}
	if !slices.Contains(again.Secrets, o.Secrets[1]) {
		t.Error("the Secret of the same hosts is another one")
	}
}

// A Secret that both sets lack is the same in both, and one that a single set has stays alone.
func TestSecretsOfTwoSets(t *testing.T) {
	a := &ingress.Objects{
		Ingresses: []*networkingv1.Ingress{anIngress("a.com", "tls")},
		Secrets:   []*corev1.Secret{newClient("shop", "alone")},
	}
	b := &ingress.Objects{Ingresses: []*networkingv1.Ingress{anIngress("a.com", "tls")}}
	AddToBoth(a, b, []string{"shop/client", "shop/alone", "shop/tls"})
	if got := names(a.Secrets); !slices.Equal(got, []string{"shop/alone", "shop/tls", "shop/client"}) {
		t.Errorf("the first set has %v", got)
	}
	if !slices.Equal(a.Secrets[1:], b.Secrets) {
		t.Errorf("the second set has %v", names(b.Secrets))
	}
}

// What is known of a placeholder is what is read of a real certificate for the same hosts, but for its ID, which is the same each time.
func TestAPlaceholderIsReadAsACertificate(t *testing.T) {
	for _, hosts := range [][]string{{"a.com"}, {"*.b.com", "A.com", "a.com"}, {"B.com", "a.com"}} {
		signed, err := newSecret("shop", "tls", hosts)
		if err != nil {
			t.Fatal(err)
		}
		secret, got := newPlaceholder("shop", "tls", hosts)
		want := ingress.ReadCertificate(signed)
		if want.Err != nil || !slices.Equal(slices.Sorted(slices.Values(got.Hosts)), slices.Sorted(slices.Values(want.Hosts))) ||
			!slices.Equal(got.Certificate.Hosts, want.Certificate.Hosts) || got.Certificate.Kind != want.Certificate.Kind {
			t.Errorf("for %v, it is %+v, and not %+v", hosts, got, want)
		}
		if until := want.Until.Sub(got.Until); until.Abs() > time.Hour || secret.Type != signed.Type {
			t.Errorf("for %v, it is valid until %v, and not %v", hosts, got.Until, want.Until)
		}
		_, again := newPlaceholder("shop", "tls", hosts)
		_, other := newPlaceholder("shop", "other", hosts)
		if again.Certificate.ID != got.Certificate.ID || other.Certificate.ID == got.Certificate.ID {
			t.Errorf("the IDs are %s, %s and %s", got.Certificate.ID, again.Certificate.ID, other.Certificate.ID)
		}
	}
}

// The certificates of placeholders are known to both sets, beside those that were known.
func TestPlaceholdersAreNotParsed(t *testing.T) {
	known := &corev1.Secret{}
	a := &ingress.Objects{Ingresses: []*networkingv1.Ingress{anIngress("a.com", "tls")},
		Certificates: map[*corev1.Secret]ingress.SecretCertificate{known: {}}}
	b := &ingress.Objects{}
	before := a.Certificates
	AddToBoth(a, b, nil)
	if _, is := a.Certificates[known]; !is || len(a.Certificates) != 2 || len(b.Certificates) != 1 || len(before) != 1 {
		t.Errorf("known are %v and %v, and before %v", a.Certificates, b.Certificates, before)
	}
	if got := b.Certificates[b.Secrets[0]]; !slices.Equal(got.Hosts, []routing.Host{"a.com"}) {
		t.Errorf("the certificate is for %v", got.Hosts)
	}
}
