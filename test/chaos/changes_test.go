package chaos

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/test/kube"
)

// This file changes what is asked for. Each Ingress has a host of its own, is in one of some
// groups, and leads two paths to Services. Each Service keeps one of its pods for ever, so that
// there is always one that can answer.

const (
	services = 5
	groups   = 3
	most     = 8 // Ingresses
)

func service(i int) string      { return fmt.Sprintf("service-%d", i) }
func hostOf(name string) string { return name + ".example.com" }

// pod is one of the pods of a Service, as an address.
func pod(service string, i int) string {
	return fmt.Sprintf("10.0.%d.%d", 110+int(service[len(service)-1]-'0'), 10+i)
}

// createService makes a Service with one pod.
func (w *world) createService(t *testing.T, name string) {
	t.Helper()
	w.create(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}})
	w.create(t, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)}},
		Endpoints:   w.endpoints(t, name, 1),
	})
}

// endpoints are the first pods of a Service, which are accepted with that.
func (w *world) endpoints(t *testing.T, service string, n int) (out []discoveryv1.Endpoint) {
	t.Helper()
	var targets []string
	for i := range n {
		at := pod(service, i)
		p := kube.Pod(t, w, w.namespace, "pod-"+at, at)
		targets = append(targets, at+":8080")
		out = append(out, discoveryv1.Endpoint{
			Addresses: []string{at}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: w.namespace, Name: p.Name},
		})
	}
	w.history.scale(service, targets)
	return out
}

// change changes something, whatever that is.
func (w *world) change(t *testing.T) {
	t.Helper()
	w.changes++
	names := w.present()
	if len(names) == 0 {
		w.addIngress(t)
		return
	}
	name := names[w.rng.IntN(len(names))]
	switch w.rng.IntN(10) {
	case 0, 1:
		if len(names)+len(w.taken) < most {
			w.addIngress(t)
		}
	case 2:
		w.removeIngress(t, name)
	case 3:
		s := w.history.now()[name]
		s.group = w.rng.IntN(groups)
		w.update(t, name, s)
	case 4, 5:
		w.scale(t, service(w.rng.IntN(services)), 1+w.rng.IntN(3))
	default:
		s := w.history.now()[name]
		s.routes = w.drawRoutes()
		w.update(t, name, s)
	}
}

// present are the Ingresses that exist and were not taken by force.
func (w *world) present() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.history.now())), func(name string) bool {
		_, gone := w.taken[name]
		return gone
	})
}

// scale has a Service have so many pods.
func (w *world) scale(t *testing.T, name string, n int) {
	t.Helper()
	w.note("%s gets %d pods", name, n)
	slice := &discoveryv1.EndpointSlice{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, slice); err != nil {
		t.Fatal(err)
	}
	slice.Endpoints = w.endpoints(t, name, n)
	if err := w.Update(t.Context(), slice); err != nil {
		t.Fatal(err)
	}
}

// drawRoutes leads both paths somewhere.
func (w *world) drawRoutes() map[string]string {
	return map[string]string{"/": service(w.rng.IntN(services)), "/api": service(w.rng.IntN(services))}
}

// addIngress makes one more Ingress.
func (w *world) addIngress(t *testing.T) {
	t.Helper()
	w.serial++
	name := fmt.Sprintf("site-%03d", w.serial)
	w.makeIngress(t, name, site{w.rng.IntN(groups), w.drawRoutes()})
}

// makeIngress makes an Ingress.
func (w *world) makeIngress(t *testing.T, name string, s site) {
	t.Helper()
	w.note("%s is made: %v", name, s)
	w.history.accept(name, site{group: s.group}) // it was not there before
	w.history.accept(name, s)
	w.makeObject(t, name, s)
}

// makeObject makes the object of an Ingress.
func (w *world) makeObject(t *testing.T, name string, s site) {
	t.Helper()
	o := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	w.write(o, s)
	w.create(t, o)
}

// update has an Ingress become another version.
func (w *world) update(t *testing.T, name string, s site) {
	t.Helper()
	w.note("%s becomes %v", name, s)
	w.history.accept(name, s)
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		o := &networkingv1.Ingress{}
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, o); err != nil {
			return err
		}
		w.write(o, s)
		return w.Update(t.Context(), o)
	}); err != nil {
		t.Fatalf("changing %s: %s", name, err)
	}
}

// write writes a version into an Ingress.
func (w *world) write(o *networkingv1.Ingress, s site) {
	var http networkingv1.HTTPIngressRuleValue
	for _, p := range slices.Sorted(maps.Keys(s.routes)) {
		http.Paths = append(http.Paths, networkingv1.HTTPIngressPath{Path: p, PathType: new(networkingv1.PathTypePrefix), Backend: networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: s.routes[p], Port: networkingv1.ServiceBackendPort{Number: 80}},
		}})
	}
	o.Annotations = map[string]string{"fairlead.dev/group": fmt.Sprintf("group-%d", s.group)}
	o.Spec = networkingv1.IngressSpec{IngressClassName: &w.namespace, Rules: []networkingv1.IngressRule{{
		Host: hostOf(o.Name), IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &http},
	}}}
}

// removeIngress deletes an Ingress. It is gone when the operator lets go of it.
func (w *world) removeIngress(t *testing.T, name string) {
	t.Helper()
	w.note("%s is deleted", name)
	w.history.accept(name, site{group: w.history.now()[name].group})
	if err := w.Delete(t.Context(), &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}); err != nil {
		t.Fatal(err)
	}
}

// removeAll deletes all Ingresses.
func (w *world) removeAll(t *testing.T) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(w.history.now())) {
		w.removeIngress(t, name)
	}
}
