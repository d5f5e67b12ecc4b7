package controllers_test

import (
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/kube"
)

// This file is about hosts of a group across namespaces, and whose they are.

// neighbours are two namespaces with an operator that looks after both, and a class with a group
// that they share.
func neighbours(t *testing.T, grace time.Duration) (alice, bob *world, watching func(*settings)) {
	t.Helper()
	t.Parallel()
	alice = emptyWorld(t, kube.Shared(t))
	bob = &world{T: alice.T, Client: alice.Client, cluster: alice.cluster, namespace: alice.cluster.Namespace(t), class: alice.class, cloud: alice.cloud}
	alice.parameterize(alice.class, &v1alpha1.LoadBalancerClassSpec{
		MoveGrace: &metav1.Duration{Duration: grace}, Groups: []v1alpha1.SharedGroup{{Name: "edge"}},
	})
	watching = func(s *settings) {
		s.manager.Cache = cache.Options{DefaultNamespaces: map[string]cache.Config{alice.namespace: {}, bob.namespace: {}}}
	}
	alice.serve("web", "alice")
	bob.serve("web", "bob")
	alice.run(watching)
	return alice, bob, watching
}

// enter makes an Ingress for hosts in the group.
func (w *world) enter(name string, hosts ...string) *networkingv1.Ingress {
	w.Helper()
	ing := w.ask(name, hosts[0], "/", "web")
	ing.Annotations["fairlead.dev/group"] = "edge"
	for _, host := range hosts[1:] {
		ing.Spec.Rules = append(ing.Spec.Rules, networkingv1.IngressRule{Host: host, IngressRuleValue: ing.Spec.Rules[0].IngressRuleValue})
	}
	w.create(ing)
	return ing
}

// laterThan waits until what is created from now on is younger than an object.
func laterThan(o client.Object) {
	time.Sleep(time.Until(o.GetCreationTimestamp().Add(1100 * time.Millisecond)))
}

// groupReport is the name of the LoadBalancer of the group.
func (w *world) groupReport() string {
	return v1alpha1.Name(w.class+"/@edge/"+v1alpha1.SchemeInternal, w.namespace)
}

func TestAHostBelongsToTheNamespaceThatNamedItFirst(t *testing.T) {
	alice, bob, watching := neighbours(t, 6*time.Second)
	older := bob.enter("older", "bob.example")
	bob.answers("older", "http://bob.example/", "bob")
	laterThan(older)
	alice.enter("web", "shop.example")
	alice.answers("web", "http://shop.example/", "alice")

	// An Ingress that is older, and edited.
	bob.change("older", func(i *networkingv1.Ingress) {
		i.Spec.Rules = append(i.Spec.Rules, networkingv1.IngressRule{Host: "shop.example", IngressRuleValue: i.Spec.Rules[0].IngressRuleValue})
	})
	bob.told("older", "HostTaken")
	alice.told("web", "HostTaken")
	alice.calm()
	alice.answers("web", "http://shop.example/", "alice")

	// While it is deployed anew, an operator starts in between.
	alice.remove("web")
	bob.answers("older", "http://shop.example/", "404")
	alice.stop()
	alice.run(watching)
	alice.enter("web", "shop.example")
	alice.answers("web", "http://shop.example/", "alice")

	// Once the grace is over bob is served, although nothing of his is touched.
	address, version := bob.address("older"), bob.ingress("older").Generation
	alice.remove("web")
	bob.eventually(func() error { return bob.request(address, "http://shop.example/", "bob") })
	if now := bob.ingress("older").Generation; now != version {
		t.Errorf("the Ingress has generation %d, not %d", now, version)
	}
	alice.enter("web", "shop.example")
	alice.told("web", "HostTaken")
	alice.calm()
	if err := bob.request(address, "http://shop.example/", "bob"); err != nil {
		t.Error(err)
	}
}

func TestAReservedHostOutlivesItsLoadBalancer(t *testing.T) {
	const grace = 6 * time.Second
	alice, bob, watching := neighbours(t, grace)
	alice.enter("web", "shop.example")
	alice.answers("web", "http://shop.example/", "alice")
	alice.remove("web")
	left := time.Now()
	alice.gone()
	alice.eventually(func() error {
		report := alice.report(alice.groupReport())
		hosts := report.Status.Memory.Hosts
		return noError(len(hosts) == 1 && hosts[0].Until != nil && report.Status.Address == "", "the report has the address %q and remembers %+v", report.Status.Address, hosts)
	})
	alice.stop()
	alice.run(watching)

	bob.enter("web", "shop.example", "bob.example")
	bob.answers("web", "http://bob.example/", "bob")
	bob.told("web", "HostTaken")
	bob.answers("web", "http://shop.example/", "bob")
	if early := time.Since(left); early < grace-2*time.Second {
		t.Errorf("bob has the host %s after alice let it go", early)
	}
	bob.remove("web")
	bob.eventually(func() error {
		err := bob.Get(bob.Context(), client.ObjectKey{Name: alice.groupReport()}, &v1alpha1.LoadBalancer{})
		return noError(client.IgnoreNotFound(err) == nil && err != nil, "the report is still there: %v", err)
	})
}
