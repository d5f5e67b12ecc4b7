package cluster

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/test/keypair"
)

func TestEachVersionOfASecretIsParsedOnce(t *testing.T) {
	pair, err := keypair.New("a.test")
	if err != nil {
		t.Fatal(err)
	}
	secret := func(version string, chain []byte) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cert", UID: "1", ResourceVersion: version},
			Data:       map[string][]byte{corev1.TLSCertKey: chain, corev1.TLSPrivateKeyKey: pair.Key},
		}
	}
	var j CertificateCache
	good := secret("1", pair.Chain)
	first := j.CertificatesOf([]*corev1.Secret{good})[good]
	if !reflect.DeepEqual(first, ingress.ReadCertificate(good)) || reflect.DeepEqual(first, ingress.SecretCertificate{}) {
		t.Fatal("a Secret has no judgement")
	}
	// One that says of itself that it is the same version is not read again.
	same := secret("1", []byte("junk"))
	if got := j.CertificatesOf([]*corev1.Secret{same})[same]; !reflect.DeepEqual(got, first) {
		t.Errorf("the same version is parsed again: %v", got)
	}
	next := secret("2", []byte("junk"))
	if got := j.CertificatesOf([]*corev1.Secret{next})[next]; reflect.DeepEqual(got, first) {
		t.Error("another version is not parsed")
	}
	opaque := secret("3", nil)
	if got := j.CertificatesOf([]*corev1.Secret{opaque}); len(got) != 0 {
		t.Errorf("a Secret without a certificate is parsed: %v", got)
	}
}

func TestJudgementsAreBounded(t *testing.T) {
	var j CertificateCache
	for i := range mostCertificates + 10 {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{UID: "1", ResourceVersion: string(rune(i + 1))}, Data: map[string][]byte{corev1.TLSCertKey: []byte("junk")}}
		j.CertificatesOf([]*corev1.Secret{s})
	}
	if len(j.kept) > mostCertificates {
		t.Errorf("%d are kept", len(j.kept))
	}
}
