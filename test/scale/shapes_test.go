package scale

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/keypair"
)

// This file is the shapes that a cluster can have.

var shapeName = flag.String("shape", "usual", "the `shape` of the cluster: "+
	strings.Join(slices.Sorted(maps.Keys(shapes)), ", "))

// A shape is how the objects of a cluster refer to each other.
type shape struct {
	groupsPerNamespace int
	groupsPerShared    int  // groups that serve one shared Service, which is in their namespace
	oneService         bool // all Ingresses have the Service of the first one
	secrets            bool // each Ingress has a Secret with a certificate of its own
	backends           bool // each path refers to a Backend, of which each Service has one
}

// shapes are made for a number of groups.
var shapes = map[string]func(groups int) shape{
	"usual":       func(int) shape { return shape{groupsPerNamespace: 10, groupsPerShared: 2} },
	"namespaces":  func(int) shape { return shape{groupsPerNamespace: 1, groupsPerShared: 1} },
	"one-service": func(n int) shape { return shape{groupsPerNamespace: n, groupsPerShared: n, oneService: true} },
	"secrets":     func(int) shape { return shape{groupsPerNamespace: 10, groupsPerShared: 2, secrets: true} },
	"backends":    func(int) shape { return shape{groupsPerNamespace: 10, groupsPerShared: 2, backends: true} },
}

// service returns the name of the Service of an Ingress.
func (s shape) service(i int) string {
	if s.oneService {
		i = 0
	}
	return name(i)
}

// backend refers to a Service, or to its Backend.
func (s shape) backend(service string) networkingv1.IngressBackend {
	if s.backends {
		group := v1alpha1.Group
		return networkingv1.IngressBackend{
			Resource: &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: v1alpha1.KindBackend, Name: service},
		}
	}
	return networkingv1.IngressBackend{
		Service: &networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Name: "http"}},
	}
}

// uses returns the objects that an Ingress refers to, and no other Ingress before it.
func (f *fleet) uses(t testing.TB, i int) []client.Object {
	var out []client.Object
	namespace := f.namespace(f.group(i))
	if f.service(i) == name(i) {
		out = service(namespace, name(i))
	}
	if f.secrets {
		out = append(out, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name(i)},
			Type:       corev1.SecretTypeTLS,
			Data:       keypair.Data(keypair.For(t, name(i)+".example.com")),
		})
	}
	if f.backends {
		out = append(out, backendOf(namespace, f.service(i)))
	}
	return out
}

// backendOf is a Backend that has requests answered by the Service of its name.
func backendOf(namespace, service string) *v1alpha1.Backend {
	return &v1alpha1.Backend{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: service},
		Spec: v1alpha1.BackendSpec{
			Services: []v1alpha1.WeightedService{{Name: service, Port: v1alpha1.ServicePort{Name: "http"}}},
		},
	}
}
