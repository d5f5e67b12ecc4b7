package loadbalancer

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/keypair"
)

// This file tests that what cannot be read costs those who need it, and nothing that is served.

// unreadable refuses reads of one object, or lists of a kind.
type unreadable struct {
	client.Reader
	object, list string
}

var errUndecryptable = errors.New("Internal error occurred: unable to transform key")

func (u unreadable) Get(ctx context.Context, key client.ObjectKey, o client.Object, with ...client.GetOption) error {
	if _, secret := o.(*corev1.Secret); secret && key.Name == u.object {
		return errUndecryptable
	}
	return u.Reader.Get(ctx, key, o, with...)
}

func (u unreadable) List(ctx context.Context, list client.ObjectList, with ...client.ListOption) error {
	if _, nodes := list.(*corev1.NodeList); nodes && u.list == "nodes" {
		return errUndecryptable
	}
	return u.Reader.List(ctx, list, with...)
}

// unread has the API server refuse to read something.
func (b *bench) unread(u unreadable) {
	u.Reader = b.Client
	b.Secrets.From, b.Gatherer.Cache = u, u
}

// found are the reasons of what is said of the load balancer's members.
func (b *bench) found() []diag.Reason {
	b.Helper()
	var out []diag.Reason
	for _, d := range b.Records.Get(benchKey).Diagnostics {
		out = append(out, diag.Reason(d.Reason))
	}
	return out
}

// listener is that of a port; nil if there is none.
func (b *bench) listener(port int32) *lb.ObservedListener {
	b.Helper()
	seen, err := b.cloud.Cloud.Observe(b.Context(), benchKey, false)
	if err != nil {
		b.Fatal(err)
	}
	return seen.Listener(port)
}

func secretNamed(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Data: data}
}

func TestASecretThatCannotBeReadCostsNothingThatIsServed(t *testing.T) {
	secure := func() *networkingv1.Ingress {
		ing := ask("shop.example")
		ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"shop.example"}, SecretName: "tls"}}
		return ing
	}
	for name, anew := range map[string]func(*bench){
		"while the operator runs": func(*bench) {},
		"before it starts":        func(b *bench) { b.succeed(); b.place() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, secure(), service(), secretNamed("tls", keypair.Data(keypair.For(t, "shop.example"))))
			b.place()
			b.settle()
			before, rules := b.listener(443), b.rules()
			if before == nil {
				t.Fatal("port 443 is closed")
			}
			anew(b)
			b.Secrets.ForgetAll() // a minute later
			b.unread(unreadable{object: "tls"})
			b.change()
			result, err := b.reconcile()
			if err != nil || result.RequeueAfter == 0 || result.RequeueAfter > time.Minute {
				t.Errorf("the reconcile ends with %+v, %v, want another within a minute", result, err)
			}
			if !slices.Contains(b.found(), diag.SecretUnread) {
				t.Errorf("the diagnostics are %v", b.found())
			}
			after := b.listener(443)
			if after == nil || !slices.Equal(after.Certificates, before.Certificates) || b.rules() != rules+1 {
				t.Errorf("the listener was %+v and is %+v, and of %d rules there are %d, want one more", before, after, rules, b.rules())
			}
			b.unread(unreadable{})
			b.settle()
			if slices.Contains(b.found(), diag.SecretUnread) || b.listener(443) == nil {
				t.Errorf("once it can be read, the diagnostics are %v", b.found())
			}
		})
	}
}

// A Secret that could not be read yet keeps its host off HTTPS, and nothing else waits.
func TestAnIngressWithAnUnreadSecretIsServedOverHTTP(t *testing.T) {
	ing := ask("shop.example")
	ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"shop.example"}, SecretName: "tls"}}
	ing.Annotations = map[string]string{v1alpha1.Group + "/listen-ports": `[{"HTTP":80},{"HTTPS":443}]`}
	b := newBench(t, ing, service(), secretNamed("tls", keypair.Data(keypair.For(t, "shop.example"))))
	b.place()
	b.unread(unreadable{object: "tls"})
	b.settle()
	if b.listener(80) == nil || b.listener(443) != nil {
		t.Errorf("port 80 is %+v and port 443 %+v", b.listener(80), b.listener(443))
	}
	b.unread(unreadable{})
	if _, err := b.reconcile(); err != nil || b.listener(443) == nil {
		t.Errorf("once it can be read, port 443 is closed: %v", err)
	}
}

func TestNodesThatCannotBeReadCostThoseWhoNeedThem(t *testing.T) {
	instances := func(ing *networkingv1.Ingress) *networkingv1.Ingress {
		ing.Annotations = map[string]string{v1alpha1.Group + "/target-type": v1alpha1.TargetTypeInstance}
		return ing
	}
	ported := service()
	ported.Spec.Type, ported.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, 30080
	b := newBench(t, instances(ask("shop.example")), ported)
	b.place()
	b.unread(unreadable{list: "nodes"})
	if _, err := b.reconcile(); err != nil || !slices.Contains(b.found(), diag.NodesUnread) {
		t.Errorf("the reconcile ends with %v, and the diagnostics are %v", err, b.found())
	}
	b.unread(unreadable{})
	b.settle()
	rules := b.rules()
	b.unread(unreadable{list: "nodes"})
	b.change()
	for range 3 {
		result, err := b.reconcile()
		if err != nil || result.RequeueAfter == 0 || result.RequeueAfter > time.Minute || !slices.Contains(b.found(), diag.NodesUnread) {
			t.Errorf("the reconcile ends with %+v, %v, and the diagnostics are %v", result, err, b.found())
		}
	}
	if n := b.rules(); n != rules {
		t.Errorf("there are %d rules, and %d before the change that waits", n, rules)
	}
	b.unread(unreadable{})
	b.settle()
	if n := b.rules(); n != rules+1 {
		t.Errorf("once they can be read, there are %d rules, want %d", n, rules+1)
	}
}
