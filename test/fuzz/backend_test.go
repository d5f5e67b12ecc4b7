package fuzz

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

// FuzzBackend has an Ingress lead to a Backend of any spec. What the schema of the kind refuses
// gets here too, as an object that an older schema let in does.
func FuzzBackend(f *testing.F) {
	for _, spec := range []string{
		`{"redirect": {"host": "#{host}", "path": "/#{path}", "statusCode": 301}}`,
		`{"fixedResponse": {"statusCode": 503, "contentType": "text/plain", "body": "away"}}`,
		`{"services": [{"name": "web", "port": {"number": 80}, "weight": 1}, {"name": "web", "port": {"name": "http"}, "weight": 0}], "stickiness": {"durationSeconds": 60}}`,
		`{"services": [{"name": "web", "port": {"number": 80}, "weight": 1}], "rewrite": {"url": {"regex": "^/(a*)*b", "replacement": "/$1"}}}`,
		`{"services": [{"name": "web", "port": {"number": 80}, "weight": 1}], "authenticate": {"oidc": {"issuer": "https://a", "authorizationEndpoint": "https://a/a", "tokenEndpoint": "https://a/t", "userInfoEndpoint": "https://a/u", "secretName": "s"}}}`,
		`{"services": [{"name": "web", "port": {"number": 80}, "weight": 1}], "authenticate": {"jwt": {"issuer": "a", "jwksEndpoint": "https://a/k"}}}`,
		`{}`, `{"services": []}`, `{"redirect": {}, "fixedResponse": {}}`,
	} {
		f.Add(spec, "id")
	}
	f.Fuzz(func(t *testing.T, text, secret string) {
		b := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "alice", Name: "b"}}
		if json.Unmarshal([]byte(text), &b.Spec) != nil {
			return // no Backend has this spec
		}
		w := newWorld(t, nil)
		w.Backends = []*v1alpha1.Backend{b}
		w.Secrets = []*corev1.Secret{{ObjectMeta: metav1.ObjectMeta{Namespace: "alice", Name: "s"}, Data: map[string][]byte{"clientID": []byte(secret), "clientSecret": []byte(secret)}}}
		ing := newIngress("alice", "a.example.com", "/", networkingv1.PathTypePrefix)
		ing.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{
			Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: "b"},
		}
		w.Ingresses = []*networkingv1.Ingress{ing}
		within(t, func() {
			built, diagnostics := w.compile()
			check(t, built, diagnostics, []routing.Request{{Host: "a.example.com", Path: "/b/c", Method: "GET"}})
		})
	})
}
