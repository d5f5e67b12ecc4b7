package controllers_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Hosts of spec.tls without a rule of their own, over real TLS: with a default backend, a rule
// without a host, and a rule for a wildcard.
func TestListedHostsAreServedOverHTTPS(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.create(w.secret("tls", "shop.example"))
	for name, edit := range map[string]func(*networkingv1.Ingress){
		"default":  func(i *networkingv1.Ingress) { fallback(i); i.Spec.Rules = nil },
		"hostless": func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "" },
		"wildcard": func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "*.example" },
	} {
		ing := w.ask(name, "", "/", "web")
		edit(ing)
		secured("tls", "shop.example")(ing)
		w.create(ing)
		w.answers(name, "https://shop.example/cart", "web-1")
		w.answers(name, "http://shop.example/cart", "web-1")
		w.answers(name, "http://other.example/", "web-1")
		if err := w.request(w.address(name), "https://other.example/", "web-1"); err == nil {
			t.Errorf("%s serves a host over HTTPS that is not listed", name)
		}
		if told := w.reasons(name); len(told) > 0 {
			t.Errorf("%s is told %v", name, told)
		}
		if diff := cmp.Diff([]networkingv1.IngressPortStatus{{Port: 80, Protocol: "TCP"}, {Port: 443, Protocol: "TCP"}},
			w.ingress(name).Status.LoadBalancer.Ingress[0].Ports); diff != "" {
			t.Errorf("the ports of %s (-want +got):\n%s", name, diff)
		}
	}
}

// A port that speaks another protocol is listed with its error. An Ingress that has no other port
// has no address, until it asks for one.
func TestAnAddressComesAndGoesWithWhatIsServed(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.create(w.secret("tls", "b.example"))
	older, both, only := w.ask("older", "a.example", "/", "web"), w.ask("two-ports", "c.example", "/", "web"), w.ask("one-port", "b.example", "/", "web")
	annotate("fairlead.dev/listen-ports", "HTTP:8080")(older)
	w.join("all", older)
	w.answers("older", "http://a.example:8080/", "web-1")
	for _, i := range []*networkingv1.Ingress{both, only} {
		secured("tls", "b.example")(i)
		i.Spec.TLS[0].Hosts = nil
	}
	annotate("fairlead.dev/listen-ports", "HTTP:80,HTTPS:8080")(both)
	annotate("fairlead.dev/listen-ports", "HTTPS:8080")(only)
	w.join("all", both, only)
	w.answers("two-ports", "http://c.example/", "web-1")
	w.eventually(func() error {
		problem := w.portError("two-ports", 8080)
		return noError(problem == "fairlead.dev/PortUnavailable", "port 8080 has the error %q", problem)
	})
	if problem := w.portError("two-ports", 80); problem != "" {
		t.Errorf("port 80 has the error %q", problem)
	}
	w.told("one-port", "PortUnavailable")
	w.calm()
	addressed := func(want bool) error {
		entries := w.ingress("one-port").Status.LoadBalancer.Ingress
		return noError(len(entries) > 0 == want, "its status is %v", entries)
	}
	if err := addressed(false); err != nil {
		t.Error(err)
	}

	// What another controller has written there stays.
	other := w.ingress("one-port")
	other.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: "another.example"}}
	if err := w.Status().Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	w.change("older", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "d.example" })
	w.answers("older", "http://d.example:8080/", "web-1")
	w.calm()
	if got := w.ingress("one-port").Status.LoadBalancer.Ingress; !slices.ContainsFunc(got, func(e networkingv1.IngressLoadBalancerIngress) bool { return e.Hostname == "another.example" }) || len(got) != 1 {
		t.Errorf("the status of another controller is now %v", got)
	}

	w.change("one-port", func(i *networkingv1.Ingress) { i.Annotations["fairlead.dev/listen-ports"] = "HTTPS:8443" })
	w.answers("one-port", "https://b.example:8443/", "web-1")
	w.change("one-port", func(i *networkingv1.Ingress) { i.Annotations["fairlead.dev/listen-ports"] = "HTTPS:8080" })
	w.eventually(func() error { return addressed(false) })
	w.answers("older", "http://d.example:8080/", "web-1")
}

// An Ingress that is alone and of which nothing can be served any more loses its address.
func TestNoAddressWhileNothingIsServed(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	secret := w.secret("tls", "shop.example")
	w.create(secret)
	shop := w.askSecurely("shop", "shop.example", "web")
	annotate("fairlead.dev/listen-ports", "HTTPS:443")(shop)
	w.create(shop)
	w.answers("shop", "https://shop.example/", "web-1")
	if err := w.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error {
		entries := w.ingress("shop").Status.LoadBalancer.Ingress
		return noError(len(entries) == 0, "its status is %v", entries)
	})
	w.create(w.secret("tls", "shop.example"))
	w.answers("shop", "https://shop.example/", "web-1")
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(shop), shop); err != nil {
		t.Fatal(fmt.Errorf("reading it: %w", err))
	}
}
