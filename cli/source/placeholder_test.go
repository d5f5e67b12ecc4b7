package source

import (
	"slices"
	"testing"

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
	if err := AddToBoth(a, b, []string{"shop/client", "shop/alone", "shop/tls"}); err != nil {
		t.Fatal(err)
	}
	if got := names(a.Secrets); !slices.Equal(got, []string{"shop/alone", "shop/tls", "shop/client"}) {
		t.Errorf("the first set has %v", got)
	}
	if !slices.Equal(a.Secrets[1:], b.Secrets) {
		t.Errorf("the second set has %v", names(b.Secrets))
	}
}
