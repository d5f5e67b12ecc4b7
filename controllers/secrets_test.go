package controllers_test

import (
	"bytes"
	"encoding/pem"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/test/keypair"
)

// This file is the life of a certificate: it comes late, and is replaced under load.

func TestASecretThatComesLate(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.serve("solver", "proof")
	shop := w.askSecurely("shop", "shop.example", "web")
	shop.Annotations["fairlead.dev/group"] = "all"
	w.create(shop)
	w.answers("shop", "http://shop.example/", "web-1")
	w.told("shop", "CertificateMissing")
	if got := w.portError("shop", 443); got != "fairlead.dev/CertificateMissing" {
		t.Errorf("port 443 has the error %q", got)
	}

	// Whoever makes certificates has to prove that the host is theirs: on port 80, with an Ingress
	// that comes and goes.
	const challenge = "/.well-known/acme-challenge/token"
	solver := w.ask("solver", "shop.example", challenge, "solver")
	solver.Annotations["fairlead.dev/group"] = "all"
	w.create(solver)
	w.answers("solver", "http://shop.example"+challenge, "proof")

	w.create(w.secret("tls", "shop.example"))
	w.eventually(func() error {
		problem := w.portError("shop", 443)
		return noError(problem == "", "port 443 still has the error %q", problem)
	})
	w.answers("shop", "https://shop.example/", "web-1")
	if err := w.Delete(t.Context(), solver); err != nil {
		t.Fatal(err)
	}
	w.answers("shop", "http://shop.example"+challenge, "web-1")
}

func TestACertificateIsReplacedUnderLoad(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.create(w.secret("tls", "shop.example"), w.askSecurely("shop", "shop.example", "web"))
	w.answers("shop", "https://shop.example/", "web-1")

	ip := w.address("shop")
	kept := w.dials(ip)
	fresh := w.dials(ip)
	fresh.DisableKeepAlives = true
	ends := w.load(
		func() error { return w.get(kept, "https://shop.example/", "web-1") },
		func() error { return w.get(fresh, "https://shop.example/", "web-1") },
	)
	for range 3 {
		next := w.secret("tls", "shop.example")
		if err := w.Update(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		w.eventually(func() error { return w.shows(ip, next) })
	}
	if n := ends(); n < 100 {
		t.Errorf("only %d requests were made", n)
	}
}

// askSecurely is an Ingress whose host is covered by the Secret "tls".
func (w *world) askSecurely(name, host, service string) *networkingv1.Ingress {
	ing := w.ask(name, host, "/", service)
	ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{host}, SecretName: "tls"}}
	return ing
}

// secret is a certificate for a host, another one each time.
func (w *world) secret(name, host string) *corev1.Secret {
	w.Helper()
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Type:       corev1.SecretTypeTLS,
		Data:       keypair.Data(keypair.For(w.T, host)),
	}
}

// portError is what keeps an Ingress from being served on a port.
func (w *world) portError(ingress string, port int32) string {
	w.Helper()
	for _, p := range w.ingress(ingress).Status.LoadBalancer.Ingress[0].Ports {
		if p.Port == port && p.Error != nil {
			return *p.Error
		}
	}
	return ""
}

// shows is whether a new connection is shown the certificate of a Secret.
func (w *world) shows(ip string, secret *corev1.Secret) error {
	r, err := http.NewRequestWithContext(w.Context(), http.MethodGet, "https://shop.example/", http.NoBody)
	if err != nil {
		return err
	}
	through := w.dials(ip)
	defer through.CloseIdleConnections()
	response, err := through.RoundTrip(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	want, _ := pem.Decode(secret.Data[corev1.TLSCertKey])
	return noError(bytes.Equal(response.TLS.PeerCertificates[0].Raw, want.Bytes), "the old certificate is shown")
}
