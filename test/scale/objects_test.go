package scale

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
)

// This file is the cluster that is measured: groups of Ingresses, some to a namespace; each Ingress
// with a host, a Service and three paths of its own, and a path to a Service that another group
// serves too. The last group has a class of its own. A shape says what is otherwise.

// rare is the class of the last group. The other groups have the other classes in turn.
const rare = "rare"

// A fleet is the Ingresses of a measurement.
type fleet struct {
	client.WithWatch
	shape
	ingresses, groups, classes int
}

// newFleet has as many Ingresses in every group.
func newFleet(t testing.TB, s server, ingresses, groups, classCount int) *fleet {
	t.Helper()
	c, err := client.NewWithWatch(s.Config, client.Options{Scheme: cluster.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	shapeOf, is := shapes[*shapeName]
	if !is {
		t.Fatalf("there is no shape %q", *shapeName)
	}
	f := &fleet{c, shapeOf(groups), ingresses, groups, max(2, classCount)}
	for i := range f.classes {
		class := f.className(i)
		api := v1alpha1.Group
		f.create(t,
			&v1alpha1.ClusterLoadBalancerClass{
				ObjectMeta: metav1.ObjectMeta{Name: class},
				Spec:       v1alpha1.LoadBalancerClassSpec{LoadBalancers: v1alpha1.LoadBalancerBounds{CertificatesPerNamespace: 10_000}},
			},
			&networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: networkingv1.IngressClassSpec{
				Controller: ingress.ControllerName,
				Parameters: &networkingv1.IngressClassParametersReference{APIGroup: &api, Kind: v1alpha1.KindClusterLoadBalancerClass, Name: class},
			}},
		)
	}
	for g := 0; g < groups; g += f.groupsPerNamespace {
		f.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace(g)}})
	}
	return f
}

// populate makes all objects. It returns how long that took.
func (f *fleet) populate(t testing.TB) time.Duration {
	t.Helper()
	begin := time.Now()
	var made sync.WaitGroup
	jobs := make(chan []client.Object)
	for range 8 {
		made.Go(func() {
			for objects := range jobs {
				f.create(t, objects...)
			}
		})
	}
	for g := 0; g < f.groups; g += f.groupsPerShared {
		objects := service(f.namespace(g), f.shared(g))
		if f.backends {
			objects = append(objects, backendOf(f.namespace(g), f.shared(g)))
		}
		jobs <- objects
	}
	for i := range f.ingresses {
		jobs <- append(f.uses(t, i), f.ingress(i))
	}
	close(jobs)
	made.Wait()
	return time.Since(begin)
}

func (f *fleet) create(t testing.TB, objects ...client.Object) {
	for _, o := range objects {
		running := o.DeepCopyObject().(client.Object)
		if err := f.Create(t.Context(), o); err != nil {
			t.Errorf("creating %s: %s", o.GetName(), err)
		}
		if pod, ok := o.(*corev1.Pod); ok { // whose status is not its creator's to write
			pod.Status = running.(*corev1.Pod).Status
			if err := f.Status().Update(t.Context(), pod); err != nil {
				t.Errorf("starting %s: %s", pod.Name, err)
			}
		}
	}
}

// group is that of an Ingress.
func (f *fleet) group(i int) int { return i % f.groups }

func (s shape) namespace(group int) string { return fmt.Sprintf("team-%d", group/s.groupsPerNamespace) }

func groupName(group int) string { return fmt.Sprintf("group-%d", group) }

// class is that of a group.
func (f *fleet) class(group int) string {
	if group == f.groups-1 {
		return rare
	}
	return f.className(group % (f.classes - 1))
}

// className returns the name of one of the classes, of which the last is the rare one.
func (f *fleet) className(i int) string {
	if i == f.classes-1 {
		return rare
	}
	return fmt.Sprintf("usual-%d", i)
}

// key is the load balancer of a group.
func (f *fleet) key(group int) lb.Key {
	return lb.Key(strings.Join([]string{f.class(group), f.namespace(group), "@" + groupName(group), v1alpha1.SchemeInternal}, "/"))
}

func name(i int) string { return fmt.Sprintf("app-%d", i) }

// shared is the Service that a group serves besides those of its Ingresses.
func (s shape) shared(group int) string { return fmt.Sprintf("shared-%d", group/s.groupsPerShared) }

func (f *fleet) ingress(i int) *networkingv1.Ingress {
	g := f.group(i)
	path := func(path, service string) networkingv1.HTTPIngressPath {
		prefix := networkingv1.PathTypePrefix
		return networkingv1.HTTPIngressPath{Path: path, PathType: &prefix, Backend: f.backend(service)}
	}
	own := f.service(i)
	class := f.class(g)
	ing := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: f.namespace(g), Name: name(i),
			Labels: map[string]string{"app.kubernetes.io/name": name(i), "app.kubernetes.io/managed-by": "test"},
			Annotations: map[string]string{
				"fairlead.dev/group": groupName(g),
				// As kubectl apply leaves it: a copy of the object, which nobody here reads.
				corev1.LastAppliedConfigAnnotation: strings.Repeat("x", 1000),
			},
		},
		Spec: networkingv1.IngressSpec{
			IngressClassName: &class,
			Rules: []networkingv1.IngressRule{{
				Host: name(i) + ".example.com",
				IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{
					path("/", own), path("/api", own), path("/static/", own), path("/shared", f.shared(g)),
				}}},
			}},
		},
	}
	if f.secrets {
		ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{name(i) + ".example.com"}, SecretName: name(i)}}
	}
	return ing
}

// service is a Service and its three endpoints, with their Pods.
func service(namespace, name string) []client.Object {
	port, ready := int32(8080), true
	var pods []client.Object
	var endpoints []discoveryv1.Endpoint
	for n := range 3 {
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, n)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web.test/web"}}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: fmt.Sprintf("10.244.0.%d", n+1)}}},
		})
		endpoints = append(endpoints, discoveryv1.Endpoint{
			Addresses:  []string{fmt.Sprintf("10.244.0.%d", n+1)},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, n)},
		})
	}
	http := "http"
	return append(pods,
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app.kubernetes.io/name": name}},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app.kubernetes.io/name": name}, Ports: []corev1.ServicePort{{Name: http, Port: 80}}},
		},
		&discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Name: &http, Port: &port}},
			Endpoints:   endpoints,
		},
	)
}

// programmed waits until every Ingress has been told where it is reached, which is after the whole
// of its load balancer's first plan. It returns when that was.
func (f *fleet) programmed(t testing.TB) time.Time {
	t.Helper()
	most := f.times(patience) + time.Duration(10*f.ingresses)**writeTime
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	told := map[string]bool{}
	see := func(o runtime.Object) {
		if ing, ok := o.(*networkingv1.Ingress); ok && len(ing.Status.LoadBalancer.Ingress) > 0 {
			told[ing.Name] = true
		}
	}
	for ctx.Err() == nil { // a watch may end at any time
		var list networkingv1.IngressList
		if err := f.List(ctx, &list); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			see(&list.Items[i])
		}
		if len(told) == f.ingresses {
			return time.Now()
		}
		changes, err := f.Watch(ctx, &networkingv1.IngressList{}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
		if err != nil {
			t.Fatal(err)
		}
		for e := range changes.ResultChan() {
			if see(e.Object); len(told) == f.ingresses {
				changes.Stop()
				return time.Now()
			}
		}
	}
	t.Fatalf("%d of %d Ingresses are programmed after %s", len(told), f.ingresses, most)
	return time.Time{}
}
