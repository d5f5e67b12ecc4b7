package conformance

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/test/keypair"
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

// certify makes a Secret with a self-signed certificate for a host, and trusts it.
func (f *feature) certify(t *testing.T, secret, host string) {
	t.Helper()
	pair := keypair.For(t, host)
	f.trusted.AppendCertsFromPEM(pair.Chain)
	if _, err := f.cluster.Client(t).CoreV1().Secrets(f.namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secret}, Type: corev1.SecretTypeTLS, Data: keypair.Data(pair),
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
