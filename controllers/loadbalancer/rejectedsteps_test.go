package loadbalancer

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/keypair"
	"fairlead.dev/fairlead/test/nightly"
)

// This file has the cloud fail to carry out each kind of step, of bob, with each kind of error. What alice changes and deletes at the
// same time is carried out.

// A failing is a step that the cloud does not carry out.
type failing struct {
	plan.Step
	change  func(b rejecting)
	ofAll   string
	anyones bool // the step does not name bob, and alice needs none like it
}

// steps are all steps, each with what bob changes so that it is planned; or with the reason why it
// belongs to no namespace, so that a failure may delay all.
var steps = []failing{
	{Step: plan.CreateTargetGroup{}, change: func(b rejecting) { b.forwardTo("third") }},
	{Step: plan.RegisterTargets{}, change: func(b rejecting) { b.forwardTo("third") }},
	{Step: plan.ModifyTargetGroup{}, change: func(b rejecting) { b.checkHealthAt("/healthz") }},
	{Step: plan.DeleteTargetGroup{}, change: func(b rejecting) { b.forwardTo("third") }},
	{Step: plan.CreateRule{}, change: func(b rejecting) { b.ask("/admin", "/c", "/new") }},
	{Step: plan.ModifyRule{}, change: func(b rejecting) { b.forwardTo("third") }},
	{Step: plan.DeleteRule{}, change: func(b rejecting) { b.ask("/admin") }},
	{Step: plan.ImportCertificate{}, change: func(b rejecting) { b.secureBy("more", "more.example") }, anyones: true},
	{Step: plan.AttachCertificate{}, change: func(b rejecting) { b.secureBy("more", "more.example") }, anyones: true},
	{Step: plan.ReplaceCertificate{}, change: func(b rejecting) { b.renew() }, anyones: true},
	{Step: plan.DetachCertificate{}, change: func(b rejecting) { b.secureBy("more", "more.example") }, anyones: true},
	{Step: plan.DeleteCertificate{}, change: func(b rejecting) { b.secureBy("more", "more.example") }, anyones: true},
	{Step: plan.ModifyCertificate{}, ofAll: "it has the tags of the class; no step comes after it"},
	{Step: plan.AwaitTargets{}, ofAll: "it changes nothing that a cloud could reject; waits have tests of their own"},
	{Step: plan.CreateLoadBalancer{}, ofAll: "all need it"},
	{Step: plan.ModifyLoadBalancer{}, ofAll: "its settings are for all"},
	{Step: plan.DeleteLoadBalancer{}, ofAll: "no Ingress is left"},
	{Step: plan.SetWebACL{}, ofAll: "a load balancer has one web ACL"},
	{Step: plan.ShieldLoadBalancer{}, ofAll: "it is shielded as a whole"},
	{Step: plan.DeleteFirewall{}, ofAll: "it has one; no step comes after it"},
	{Step: plan.CreateListener{}, ofAll: "all on its port need it"},
	{Step: plan.ModifyListener{}, ofAll: "its settings are for all on its port"},
	{Step: plan.DeleteListener{}, ofAll: "no Ingress is left on its port, and no rule"},
	{Step: plan.RespaceRules{}, ofAll: "it moves the rules of all"},
}

// stepErrors are the errors with which a step may fail.
var stepErrors = map[string]error{
	"Rejected": providers.ErrRejected, "NoRoom": providers.ErrNoRoom, "Denied": providers.ErrDenied,
	"Pending": providers.ErrPending, "Throttled": providers.ErrThrottled, "Other": errors.New("InternalFailure"),
}

// A rejecting is a shared bench whose cloud will reject something.
type rejecting struct{ sharedBench }

// newRejecting has Ingresses of alice and bob, with HTTPS. Bob's answer for all hosts, so that steps
// of alice come after steps of his.
func newRejecting(t *testing.T) rejecting {
	page := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bob", Name: "page"}}
	page.Spec.Services = []v1alpha1.WeightedService{{Name: "web", Port: v1alpha1.ServicePort{Number: 80}}}
	targets := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "bob", Name: "third-1", Labels: map[string]string{discoveryv1.LabelServiceName: "third"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.9"}}},
	}
	third := service()
	third.Namespace, third.Name = "bob", "third"
	b := rejecting{newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) { c.ForeignEndpoints = true }, page, targets, third)}
	for _, namespace := range []string{"alice", "bob"} {
		b.certify(namespace, "tls", namespace+".example")
	}
	for _, host := range []string{"alice.example", "a1.example"} {
		b.put(b.alices(host, "/p"))
	}
	b.ask("/admin", "/c")
	b.work()
	b.answers("alice.example", "/p", "alice/web")
	b.answers("b.example", "/admin", "bob/web")
	return b
}

func (b rejecting) alices(host string, paths ...string) *networkingv1.Ingress {
	ing := joins("alice", strings.TrimSuffix(host, ".example"), host, paths...)
	ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"alice.example"}, SecretName: "tls"}}
	return ing
}

func (b rejecting) certify(namespace, name, host string) {
	b.Helper()
	s := secretNamed(name, keypair.Data(keypair.For(b.T, host)))
	s.Namespace, s.Type, s.UID = namespace, corev1.SecretTypeTLS, types.UID(namespace+name)
	b.create(s)
}

// ask has bob ask for paths, the first of which is answered by his Backend.
func (b rejecting) ask(paths ...string) {
	b.Helper()
	b.put(b.bobs("tls", "bob.example", paths...))
}

func (b rejecting) bobs(secret, host string, paths ...string) *networkingv1.Ingress {
	ing := joins("bob", "b", "", paths...)
	ing.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{
		APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: "page",
	}}
	for i, name := range []string{"other", "third"}[:len(paths)-1] {
		ing.Spec.Rules[0].HTTP.Paths[1+i].Backend.Service = toService(name)
	}
	ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{host}, SecretName: secret}}
	return ing
}

// secureBy has bob use another Secret.
func (b rejecting) secureBy(secret, host string) {
	b.Helper()
	b.certify("bob", secret, host)
	b.put(b.bobs(secret, host, "/admin", "/c"))
}

// renew has bob renew his certificate.
func (b rejecting) renew() {
	b.Helper()
	s := &corev1.Secret{}
	b.edit(client.ObjectKey{Namespace: "bob", Name: "tls"}, s, func() { s.Data = keypair.Data(keypair.For(b.T, "bob.example")) })
	b.Secrets.ForgetAll()
}

// forwardTo has bob's Backend forward to another Service.
func (b rejecting) forwardTo(service string) {
	b.Helper()
	page := &v1alpha1.Backend{}
	b.edit(client.ObjectKey{Namespace: "bob", Name: "page"}, page, func() { page.Spec.Services[0].Name = service })
}

// checkHealthAt has the health of bob's Services checked elsewhere.
func (b rejecting) checkHealthAt(path string) {
	b.Helper()
	ing := b.bobs("tls", "bob.example", "/admin", "/c")
	ing.Annotations["fairlead.dev/health-check-path"] = path
	b.put(ing)
}

func (b rejecting) edit(key client.ObjectKey, o client.Object, change func()) {
	b.Helper()
	if err := b.Get(b.Context(), key, o); err != nil {
		b.Fatal(err)
	}
	change()
	if err := b.Update(b.Context(), o); err != nil {
		b.Fatal(err)
	}
}

// TestTheCloudRejectsAnyStepOfBob: whichever step of bob the cloud does not carry out, and for
// whatever cause, what alice changes, creates and deletes is carried out by the reconcile after the
// one that learns of it.
func TestTheCloudRejectsAnyStepOfBob(t *testing.T) {
	for _, c := range steps {
		if c.ofAll != "" {
			continue
		}
		for _, failure := range nightly.Some(t, 2, slices.Sorted(maps.Keys(stepErrors))) {
			c.failsFor(t, reflect.TypeOf(c.Step).Name(), failure, stepErrors[failure])
		}
	}
}

func (c failing) failsFor(t *testing.T, name, failure string, err error) {
	t.Run(name+failure, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newRejecting(t)
			var rejected atomic.Int32
			b.cloud.Refuses = func(s plan.Step) error {
				if reflect.TypeOf(s) != reflect.TypeOf(c.Step) || !c.anyones && !strings.Contains(s.ID()+s.Detail(), "bob/") {
					return nil
				}
				rejected.Add(1)
				return err
			}
			c.change(b)
			if c.anyones || name == "ModifyTargetGroup" || name == "DeleteTargetGroup" { // it is known before alice does anything
				b.work()
			}
			b.remove("alice", "a1", false)
			b.put(joins("alice", "a2", "a2.example", "/p"))
			b.put(b.alices("alice.example", "/p", "/q"))
			for range 4 {
				_, _ = b.Reconcile(t.Context(), sharedKey)
			}
			if rejected.Load() == 0 {
				t.Fatal("no such step was planned")
			}
			if b.find("alice", "a1") != nil {
				t.Error("the Ingress that alice deleted stays")
			}
			if len(b.find("alice", "a2").Status.LoadBalancer.Ingress) == 0 {
				t.Error("the Ingress that alice created has no address")
			}
			b.answers("a2.example", "/p", "alice/web")
			b.answers("alice.example", "/q", "alice/web")
			if got := b.answer("a1.example", "/p"); got != "404" {
				t.Errorf("what alice deleted is answered by %s", got)
			}
			if got := b.answer("b.example", "/admin"); got != "bob/web" && got != "bob/third" {
				t.Errorf("what bob serves is answered by %s", got)
			}
			if !c.anyones && failure == "Denied" && !strings.HasPrefix(name, "Delete") {
				b.hears("bob", "b", "its change waits", "denied")
			}
			b.cloud.Refuses = nil
			b.work()
			b.answers("a2.example", "/p", "alice/web")
		})
	})
}

// TestANewLoadBalancerOpensWithoutWhatFails: steps of alice come first, and fail. A load balancer is
// created for bob, who is served over HTTPS, with his own certificate.
func TestANewLoadBalancerOpensWithoutWhatFails(t *testing.T) {
	for failure, err := range stepErrors {
		for _, name := range []string{"CreateTargetGroup", "ImportCertificate"} {
			t.Run(name+failure, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := rejecting{newSharedBench(t, nil)}
					b.certify("alice", "tls", "alice.example")
					b.certify("bob", "tls", "bob.example")
					failed := 0
					b.cloud.Refuses = func(s plan.Step) error {
						secrets := ""
						if s, is := s.(plan.ImportCertificate); is {
							secrets = strings.Join(s.Certificate.Secrets, " ")
						}
						if reflect.TypeOf(s).Name() != name || !strings.Contains(s.ID()+s.Detail()+secrets, "alice/") {
							return nil
						}
						failed++
						return err
					}
					b.put(b.alices("alice.example", "/p"))
					bobs := joins("bob", "b", "bob.example", "/p")
					bobs.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"bob.example"}, SecretName: "tls"}}
					b.put(bobs)
					for range 4 {
						_, _ = b.Reconcile(t.Context(), sharedKey)
					}
					if failed == 0 {
						t.Fatal("no such step was planned")
					}
					seen, err := b.cloud.Cloud.Observe(t.Context(), sharedKey, false)
					if err != nil {
						t.Fatal(err)
					}
					l := seen.Listener(443)
					if l == nil || len(l.Certificates) == 0 || !slices.ContainsFunc(l.Certificates, func(id lb.CertificateID) bool {
						return slices.Contains(seen.Certificate(id).Hosts, "bob.example")
					}) {
						t.Fatal("port 443 is not open with the certificate of bob")
					}
					_, action := l.Plain().Match(routing.Request{Port: 443, Host: "bob.example", Path: "/p", Method: "GET"}, b.cloud.Capabilities(lb.Class{}).Dialect)
					if len(action.Groups()) == 0 {
						t.Error("bob is not served")
					}
					if len(b.find("bob", "b").Status.LoadBalancer.Ingress) == 0 {
						t.Error("bob has no address")
					}
				})
			})
		}
	}
}
