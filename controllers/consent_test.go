package controllers_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/kube"
)

// This file is about what a class has permitted and does not permit any more.

// label sets a label of the world's namespace.
func (w *world) label(value string) {
	w.Helper()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	if err := w.Patch(w.Context(), n, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"edge":"`+value+`"}}}`))); err != nil {
		w.Fatal(err)
	}
}

// permit changes the parameters of the world's class.
func (w *world) permit(patch string) {
	w.Helper()
	parameters := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: w.class}}
	if err := w.Patch(w.Context(), parameters, client.RawPatch(types.MergePatchType, []byte(`{"spec":`+patch+`}`))); err != nil {
		w.Fatal(err)
	}
}

// A namespace that is put out of a group is not served there any more, whatever its Ingress says
// from then on.
func TestANamespaceThatLeavesAGroupIsNotServedThere(t *testing.T) {
	alice, bob, watching := neighbours(t, time.Hour)
	alice.permit(`{"groups":[{"name":"edge","namespaceSelector":{"matchLabels":{"edge":"in"}}}]}`)
	alice.label("in")
	bob.label("in")
	alice.enter("web", "alice.example")
	bob.enter("web", "bob.example")
	alice.answers("web", "http://alice.example/", "alice")
	bob.answers("web", "http://bob.example/", "bob")
	alice.calm()
	at := alice.address("web")

	bob.label("out")
	alice.eventually(func() error { return alice.request(at, "http://bob.example/", "404") })
	bob.told("web", "GroupNotAllowed")
	bob.told("web", "ConsentWithdrawn")
	bob.released("web")
	alice.calm()
	if n := len(bob.ingress("web").Status.LoadBalancer.Ingress); n > 0 {
		t.Errorf("it has %d addresses", n)
	}
	if err := alice.request(at, "http://alice.example/", "alice"); err != nil {
		t.Errorf("the neighbour is not served any more: %s", err)
	}
	alice.stop()
	alice.run(watching)

	// On a load balancer of its own it is served, and the group stays without it.
	bob.change("web", func(i *networkingv1.Ingress) { delete(i.Annotations, "fairlead.dev/group") })
	bob.answers("web", "http://bob.example/", "bob")
	alice.calm()
	if err := alice.request(at, "http://bob.example/", "404"); err != nil {
		t.Errorf("the group serves it again: %s", err)
	}
}

// A load balancer that is not deleted when its last Ingress is put out of the group answers nothing
// any more.
func TestALoadBalancerThatStaysAnswersNothingThatIsWithdrawn(t *testing.T) {
	for name, keeps := range map[string]string{
		"protected": `"attributes":{"deletion_protection.enabled":"true"}`, "retained": `"deletionPolicy":"Retain"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := emptyWorld(t, kube.Shared(t))
			w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{Groups: []v1alpha1.SharedGroup{{Name: "edge", NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"edge": "in"}}}}})
			w.permit(`{` + keeps + `}`)
			w.label("in")
			w.run()
			w.serve("web", "web-1")
			w.enter("web", "shop.example")
			w.answers("web", "http://shop.example/", "web-1")
			w.calm()
			at := w.address("web")
			w.label("out")
			w.told("web", "ConsentWithdrawn")
			w.released("web")
			w.calm()
			if w.request(at, "http://shop.example/", "web-1") == nil {
				t.Error("it is served still")
			}
			w.remains(1)
			if n := len(w.ingress("web").Status.LoadBalancer.Ingress); n > 0 {
				t.Errorf("it has %d addresses", n)
			}
			w.permit(`{"attributes":null,"deletionPolicy":null}`)
			w.gone()
		})
	}
}

// A permission that the class takes back ends what needed it, and one that it gives again serves it
// again.
func TestAPermissionThatIsWithdrawnEndsWhatNeededIt(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{})
	w.run()
	w.serve("web", "web-1")
	guarded := w.ask("guarded", "a.example", "/", "web")
	annotate("fairlead.dev/listen-ports", "HTTP:8080")(guarded)
	w.create(guarded, w.ask("open", "b.example", "/", "web"))
	w.answers("guarded", "http://a.example:8080/", "web-1")
	w.answers("open", "http://b.example/", "web-1")
	w.calm()

	w.permit(`{"annotations":["group"]}`)
	w.told("guarded", "ConsentWithdrawn")
	w.released("guarded")
	w.remains(1)
	w.answers("open", "http://b.example/", "web-1")

	w.permit(`{"annotations":null}`)
	w.answers("guarded", "http://a.example:8080/", "web-1")

	// Hosts that are not allowed any more, and allowed again.
	w.calm()
	w.permit(`{"allowedHosts":[{"hosts":["b.example"]}]}`)
	w.told("guarded", "HostNotAllowed")
	w.remains(1)
	w.eventually(func() error {
		entries := w.ingress("guarded").Status.LoadBalancer.Ingress
		return noError(len(entries) == 0, "its status is %v", entries)
	})
	w.permit(`{"allowedHosts":null}`)
	w.answers("guarded", "http://a.example:8080/", "web-1")
	w.answers("open", "http://b.example/", "web-1")
}

// No load balancer is made for an Ingress of which the class permits nothing, and none that would
// have no port.
func TestALoadBalancerIsNotMadeForNothing(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{Scheme: v1alpha1.SchemeInternetFacing, AllowedHosts: []v1alpha1.AllowedHosts{{Hosts: []string{"shop.example"}}}})
	w.run()
	w.serve("web", "web-1")
	secure := w.askSecurely("secure", "shop.example", "web")
	annotate("fairlead.dev/listen-ports", "HTTPS:443")(secure)
	w.create(w.ask("denied", "bank.example", "/", "web"), secure)
	w.told("denied", "HostNotAllowed")
	w.told("secure", "CertificateMissing")
	w.calm()
	if n := w.cloud.writes.Load(); n > 0 {
		t.Errorf("%d writes to the cloud for nothing", n)
	}
	for _, name := range []string{"denied", "secure"} {
		if entries := w.ingress(name).Status.LoadBalancer.Ingress; len(entries) > 0 {
			t.Errorf("the status of %s is %v", name, entries)
		}
	}
	w.create(w.secret("tls", "shop.example"))
	w.answers("secure", "https://shop.example/", "web-1")
	w.change("denied", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "shop.example" })
	w.answers("denied", "http://shop.example/", "web-1")

	// A mistake of the author leaves what was accepted, with its address.
	at := w.address("denied")
	w.change("denied", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "bank.example" })
	w.told("denied", "LastGood")
	w.calm()
	if err := w.request(at, "http://shop.example/", "web-1"); err != nil {
		t.Error(err)
	}
	w.remove("denied")
	w.remove("secure")
	w.gone()
}

// What the class let pass of another controller's annotations on a Service, and does not any more,
// is not served any more, also not by an operator that starts afterwards.
func TestAnnotationsOfAServiceAreNotLetPassAnyMore(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{ForeignAnnotations: v1alpha1.ForeignWarn})
	w.run()
	w.serve("web", "web-1")
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}
	if err := w.Patch(w.Context(), service, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"konghq.com/plugins":"key-auth"}}}`))); err != nil {
		t.Fatal(err)
	}
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.calm()
	w.permit(`{"foreignAnnotations":"Refuse"}`)
	w.told("shop", "ConsentWithdrawn")
	w.remains(0)
	w.calm()
	w.stop()
	w.run()
	w.calm()
	w.remains(0)
	w.permit(`{"foreignAnnotations":"Ignore"}`)
	w.answers("shop", "http://shop.example/", "web-1")
	w.remove("shop")
	w.gone()
}
