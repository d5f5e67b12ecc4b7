package controllers_test

import (
	"bytes"
	"encoding/pem"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/keypair"
	"fairlead.dev/fairlead/test/kube"
)

// This file is the life of a certificate: it comes late, is replaced under load, stays where its
// Secret turns bad, and goes with it.

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
	var onKept, onFresh atomic.Int32
	ends := w.load(
		func() error { onKept.Add(1); return w.get(kept, "https://shop.example/", "web-1") },
		func() error { onFresh.Add(1); return w.get(fresh, "https://shop.example/", "web-1") },
	)
	more := func(n int32) { // requests of either kind, however slow the machine is
		goneBy, before := onKept.Load(), onFresh.Load()
		w.eventually(func() error {
			return noError(onKept.Load() > goneBy+n && onFresh.Load() > before+n, "requests are not made")
		})
	}
	for range 3 {
		more(10)
		next := w.secret("tls", "shop.example")
		if err := w.Update(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		w.eventually(func() error { return w.shows(ip, next) })
	}
	more(10)
	ends()
}

// A load balancer that waits for the cloud is compiled again and again. Its Secrets are not read
// for that.
func TestASecretIsReadOnceWhileTheCloudIsAwaited(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.cloud.inactive.Store(6)
	w.run()
	w.serve("web", "web-1")
	w.create(w.secret("tls", "shop.example"), w.askSecurely("shop", "shop.example", "web"))
	w.answers("shop", "https://shop.example/", "web-1")
	if asked, read := 6-w.cloud.inactive.Load(), w.gate.secrets.Load(); asked < 6 || read > 2 {
		t.Errorf("the cloud was asked %d times, and the Secret was read %d times", asked, read)
	}
	w.change("shop", func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].HTTP.Paths[0].Path = "/shop" })
	w.answers("shop", "https://shop.example/shop", "web-1")

	next := w.secret("tls", "shop.example")
	if err := w.Update(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error { return w.shows(w.address("shop"), next) }) // although it was read a moment ago
}

// TestABadSecretCostsNothingThatIsServed breaks a Secret in every way, with requests under way that
// use it and an operator that stops and starts in between, then puts a good one in its place. A
// Secret that is deleted takes its certificate with it.
func TestABadSecretCostsNothingThatIsServed(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	good, other := w.secret("tls", "shop.example"), w.secret("tls", "shop.example")
	w.create(good.DeepCopy(), w.askSecurely("shop", "shop.example", "web"))
	w.answers("shop", "https://shop.example/", "web-1")
	w.calm()

	ip := w.address("shop")
	fresh := w.dials(ip)
	fresh.DisableKeepAlives = true
	var served atomic.Int32
	ends := w.load(func() error {
		defer served.Add(1)
		return w.get(fresh, "https://shop.example/", "web-1")
	})
	goesOn := func() {
		t.Helper()
		before := served.Load()
		w.eventually(func() error { return noError(served.Load() > before+5, "no requests are made") })
	}
	writes := w.cloud.writes.Load()
	with := func(crt, key []byte) *corev1.Secret {
		s := good.DeepCopy()
		s.Data = map[string][]byte{corev1.TLSCertKey: crt, corev1.TLSPrivateKeyKey: key}
		return s
	}
	chain, key := good.Data[corev1.TLSCertKey], good.Data[corev1.TLSPrivateKeyKey]
	for _, bad := range []struct {
		secret *corev1.Secret
		why    string
	}{
		{with(chain, other.Data[corev1.TLSPrivateKeyKey]), "private key does not match"},
		{with([]byte("certificate"), key), "failed to find any PEM data"},
		{with(nil, nil), corev1.TLSCertKey + " is missing"},
	} {
		if err := w.Update(t.Context(), bad.secret); err != nil {
			t.Fatal(err)
		}
		w.keeps(bad.why)
		goesOn()
	}
	w.told("shop", "CertificateInvalid")
	w.stop()
	if err := w.Update(t.Context(), with(other.Data[corev1.TLSCertKey], key)); err != nil {
		t.Fatal(err)
	}
	w.run()
	w.keeps("private key does not match")
	goesOn()
	if err := w.shows(ip, good); err != nil {
		t.Error(err)
	}
	if problem := w.portError("shop", 443); problem != "fairlead.dev/CertificateInvalid" {
		t.Errorf("port 443, whose Secret is bad, has the error %q", problem)
	}
	if n := w.cloud.writes.Load() - writes; n > 0 {
		t.Errorf("%d writes to the cloud while there was no good Secret", n)
	}

	if err := w.Update(t.Context(), other.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error { return w.shows(ip, other) })
	w.eventually(func() error {
		found := w.balancer("shop").Status.Diagnostics
		return noError(len(found) == 0, "there is still something to say: %v", found)
	})
	goesOn()
	ends()

	if err := w.Delete(t.Context(), other.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	w.told("shop", "CertificateMissing")
	w.eventually(func() error {
		problem, r := w.portError("shop", 443), w.balancer("shop").Status
		return noError(problem == "fairlead.dev/CertificateMissing" && len(r.Listeners) == 1 && len(r.Memory.Certificates) == 0,
			"of a Secret that is gone there are the ports %v, the error %q and the certificates %v", r.Listeners, problem, r.Memory.Certificates)
	})
}

// keeps waits until the report of the Ingress shop says that its Secret is not good any more, why,
// and what is served all the same.
func (w *world) keeps(why string) {
	w.Helper()
	w.eventually(func() error {
		found := w.balancer("shop").Status.Diagnostics
		told := slices.ContainsFunc(found, func(d v1alpha1.Diagnostic) bool {
			return d.Severity == "error" && d.Reason == "CertificateInvalid" && strings.Contains(d.Message, why) &&
				strings.Contains(d.Message, "host shop.example is served with the last certificate that it held")
		})
		return noError(told, "the report says %v, want %s", found, why)
	})
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
