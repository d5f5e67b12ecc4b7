package controllers_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/test/keypair"
	"fairlead.dev/fairlead/test/kube"
)

// This file counts the objects that an operator reads from its caches because of one event.

// groupSize is how many Ingresses a load balancer has here.
const groupSize = 5

// eventCosts are the most objects that an operator may read because of one event. A reconcile reads
// about 40, and an event can lead to two or three: the report of the first may come late.
var eventCosts = []struct {
	event  string
	most   int64
	happen func(w *groupedWorld)
}{
	{"an Ingress gets a path", 130, func(w *groupedWorld) {
		ing := w.ingressOf(1, 0)
		w.edit(ing, func() {
			paths := &ing.Spec.Rules[0].HTTP.Paths
			more := (*paths)[0]
			more.Path = "/more"
			*paths = append(*paths, more)
		})
	}},
	{"an Ingress is created", 150, func(w *groupedWorld) { w.create(w.newIngress(1, groupSize)) }},
	{"an Ingress is deleted", 170, func(w *groupedWorld) { w.remove(w.ingressOf(1, groupSize)) }},
	{"a Service changes its port", 110, func(w *groupedWorld) {
		s := &corev1.Service{ObjectMeta: w.named(1, "web-0")}
		w.edit(s, func() { s.Spec.Ports[0].AppProtocol = new("http") })
	}},
	{"an EndpointSlice loses an endpoint", 6, func(w *groupedWorld) {
		s := &discoveryv1.EndpointSlice{ObjectMeta: w.named(1, "web-0")}
		w.edit(s, func() { s.Endpoints = s.Endpoints[1:] })
	}},
	{"a Secret gets another certificate", 110, func(w *groupedWorld) {
		s := &corev1.Secret{ObjectMeta: w.named(1, "tls")}
		w.edit(s, func() { s.Data = keypair.Data(keypair.For(w.T, host(1, 0))) })
	}},
	{"a Backend changes", 110, func(w *groupedWorld) {
		b := &v1alpha1.Backend{ObjectMeta: w.named(1, "sorry")}
		w.edit(b, func() { b.Spec.FixedResponse.StatusCode = 410 })
	}},
	{"an IngressClass changes its parameters", 200, func(w *groupedWorld) {
		c := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: className(1)}}
		w.edit(c, func() { c.Spec.Parameters = parametersNamed(className(1)) })
	}},
	{"the parameters of a class change", 200, func(w *groupedWorld) {
		p := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: className(1)}}
		w.edit(p, func() { p.Spec.Attributes = map[string]string{"idle_timeout.timeout_seconds": "61"} })
	}},
	{"a Namespace changes its labels", 170, func(w *groupedWorld) {
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceName(1)}}
		w.edit(n, func() { n.Labels["team"] = "other" })
	}},
	{"a Node comes", 0, func(w *groupedWorld) { w.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}) }},
	{"an object of no Ingress comes", 0, func(w *groupedWorld) {
		w.create(&corev1.Secret{ObjectMeta: w.named(1, "other")}, &corev1.ConfigMap{ObjectMeta: w.named(1, "other")},
			w.service(1, "other"), &v1alpha1.Backend{ObjectMeta: w.named(1, "other"), Spec: sorry()})
	}},
	{"a Pod gets another address", 12, func(w *groupedWorld) {
		kube.Pod(w.T, w, namespaceName(1), "web-0-1", "10.244.0.9")
	}},
}

// TestAnEventReadsItsOwn lets each event happen in a cluster with 16 load balancers. The bound of the
// objects that are read is that of one load balancer.
func TestAnEventReadsItsOwn(t *testing.T) {
	t.Parallel()
	w := newGroupedWorld(t, 16)
	for _, c := range eventCosts {
		read := w.reads(c.happen)
		t.Logf("%s: %d objects are read", c.event, read)
		if read > c.most {
			t.Errorf("%s: %d objects are read, want at most %d", c.event, read, c.most)
		}
	}
}

// A groupedWorld has load balancers of groupSize Ingresses, each with its own namespace and class.
type groupedWorld struct {
	*world
	read metrics.Reads
}

func newGroupedWorld(t *testing.T, groups int) *groupedWorld {
	w := &groupedWorld{world: emptyWorld(t, kube.Start(t, kube.Options{}), func(o *fake.Options) { o.Serve = false })}
	for g := range groups {
		w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceName(g), Labels: map[string]string{"team": "one"}}},
			&v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: className(g)}},
			&networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: className(g)}, Spec: networkingv1.IngressClassSpec{Controller: ingress.ControllerName}},
			&v1alpha1.Backend{ObjectMeta: w.named(g, "sorry"), Spec: sorry()},
			&corev1.Secret{ObjectMeta: w.named(g, "tls"), Type: corev1.SecretTypeTLS, Data: keypair.Data(keypair.For(t, host(g, 0)))})
		for i := range groupSize + 1 {
			service := w.service(g, fmt.Sprint("web-", i))
			w.create(service)
			w.create(w.slice(service))
		}
		for i := range groupSize {
			w.create(w.newIngress(g, i))
		}
	}
	w.run(func(s *settings) {
		s.operator.Namespace, s.manager.Cache = "", cluster.Cache(cluster.SecretsAll, "")
		s.operator.OrphanInterval = time.Hour
		s.operator.Reads, s.manager.NewClient = &w.read, w.read.NewClient
	})
	for g := range groups {
		for i := range groupSize {
			w.eventually(func() error {
				if len(w.ingressOf(g, i).Status.LoadBalancer.Ingress) == 0 {
					return fmt.Errorf("Ingress %d of group %d has no status", i, g)
				}
				return nil
			})
		}
	}
	w.quiet()
	return w
}

// reads returns how many objects are read because of an event.
func (w *groupedWorld) reads(happen func(*groupedWorld)) int64 {
	w.Helper()
	before := w.read.Total()
	happen(w)
	w.quiet()
	return w.read.Total() - before
}

// quiet waits until nothing has been read for a while.
func (w *groupedWorld) quiet() {
	w.Helper()
	last, since := w.read.Total(), time.Now()
	w.eventually(func() error {
		if n := w.read.Total(); n != last {
			last, since = n, time.Now()
		}
		if time.Since(since) < 1500*time.Millisecond {
			return errors.New("objects are still read")
		}
		return nil
	})
}

func namespaceName(group int) string { return fmt.Sprint("group-", group) }
func className(group int) string     { return fmt.Sprint("class-", group) }
func host(group, i int) string       { return fmt.Sprintf("app-%d-%d.example", group, i) }

func (w *groupedWorld) named(group int, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespaceName(group), Name: name}
}

func parametersNamed(name string) *networkingv1.IngressClassParametersReference {
	return &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: name}
}

func sorry() v1alpha1.BackendSpec {
	return v1alpha1.BackendSpec{FixedResponse: &v1alpha1.FixedResponse{StatusCode: 503}}
}

func (w *groupedWorld) service(group int, name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: w.named(group, name), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
}

// slice creates two Pods of a Service, and returns its EndpointSlice.
func (w *groupedWorld) slice(of *corev1.Service) *discoveryv1.EndpointSlice {
	var endpoints []discoveryv1.Endpoint
	for i := range 2 {
		name, address := fmt.Sprintf("%s-%d", of.Name, i), fmt.Sprintf("10.244.0.%d", i+1)
		kube.Pod(w.T, w, of.Namespace, name, address)
		endpoints = append(endpoints, discoveryv1.Endpoint{
			Addresses: []string{address},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: of.Namespace, Name: name},
		})
	}
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name, Labels: map[string]string{discoveryv1.LabelServiceName: of.Name}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: endpoints,
		Ports: []discoveryv1.EndpointPort{{Name: new(string), Port: new(int32(8080))}},
	}
}

// newIngress returns one of the Ingresses of a group. The first has a certificate and a Backend.
func (w *groupedWorld) newIngress(group, i int) *networkingv1.Ingress {
	ing := w.ask(fmt.Sprint("app-", i), host(group, i), "/", fmt.Sprint("web-", i))
	ing.Namespace, ing.Spec.IngressClassName = namespaceName(group), new(className(group))
	ing.Annotations["fairlead.dev/group"] = "all"
	if i == 0 {
		ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{host(group, i)}, SecretName: "tls"}}
		paths := &ing.Spec.Rules[0].HTTP.Paths
		away := (*paths)[0]
		away.Path, away.Backend = "/away", networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{
			APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindBackend, Name: "sorry",
		}}
		*paths = append(*paths, away)
	}
	return ing
}

// ingressOf reads one of the Ingresses of a group.
func (w *groupedWorld) ingressOf(group, i int) *networkingv1.Ingress {
	w.Helper()
	ing := w.newIngress(group, i)
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(ing), ing); err != nil {
		w.Fatal(err)
	}
	return ing
}

// edit reads an object, and changes it.
func (w *groupedWorld) edit(o client.Object, edit func()) {
	w.Helper()
	err := w.Get(w.Context(), client.ObjectKeyFromObject(o), o)
	if err == nil {
		edit()
		err = w.Update(w.Context(), o)
	}
	if err != nil {
		w.Fatal(err)
	}
}

func (w *groupedWorld) remove(o client.Object) {
	w.Helper()
	if err := w.Delete(w.Context(), o); err != nil {
		w.Fatal(err)
	}
}
