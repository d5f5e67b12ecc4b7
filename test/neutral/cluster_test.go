package neutral

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/keypair"
)

// This file is what there is in the cluster besides the Ingresses that tests make.

const (
	key      = lb.Key("fairlead/shop/@all/internal")
	services = 4
)

// newCluster is Services, a Secret, and no Ingress.
func newCluster(t *testing.T) ingress.Objects {
	t.Helper()
	o := ingress.Objects{
		IngressClasses: []*networkingv1.IngressClass{{
			ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}, Spec: networkingv1.IngressClassSpec{Controller: ingress.ControllerName},
		}},
		Secrets: []*corev1.Secret{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "tls"}, Type: corev1.SecretTypeTLS,
			Data: keypair.Data(keypair.For(t, "a.example.com", "b.example.com")),
		}},
		PodsKnown: true,
	}
	for i := range services {
		addService(&o, fmt.Sprintf("service-%d", i), fmt.Sprintf("10.20.0.%d", 1+i))
	}
	return o
}

// addService adds a Service with one ready Pod.
func addService(o *ingress.Objects, name, address string) {
	about, ready := metav1.ObjectMeta{Namespace: "shop", Name: name}, true
	port, tcp := int32(8080), corev1.ProtocolTCP
	o.Services = append(o.Services, &corev1.Service{ObjectMeta: about, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(port), Protocol: tcp}},
	}})
	o.Pods = append(o.Pods, &corev1.Pod{ObjectMeta: about, Status: corev1.PodStatus{
		Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: address}},
	}})
	about.Labels = map[string]string{discoveryv1.LabelServiceName: name}
	o.EndpointSlices = append(o.EndpointSlices, &discoveryv1.EndpointSlice{
		ObjectMeta: about, AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: &port, Protocol: &tcp}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: name},
		}},
	})
}

// newIngress is an Ingress of the group, without rules.
func newIngress(name string, age int) *networkingv1.Ingress {
	class := "fairlead"
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, Annotations: map[string]string{"fairlead.dev/group": "all"},
			CreationTimestamp: metav1.NewTime(time.Unix(int64(1_700_000_000+age), 0)),
		},
		Spec: networkingv1.IngressSpec{IngressClassName: &class},
	}
}

// newBackend is a Backend.
func newBackend(name string, spec v1alpha1.BackendSpec) *v1alpha1.Backend {
	return &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: spec}
}

// weightOf is a Service and its share of the requests.
func weightOf(service string, weight int32) v1alpha1.WeightedService {
	return v1alpha1.WeightedService{Name: service, Port: v1alpha1.ServicePort{Number: 80}, Weight: &weight}
}

// toService and toBackend are where a path leads.
func toService(name string) networkingv1.IngressBackend {
	return networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: name, Port: networkingv1.ServiceBackendPort{Number: 80}}}
}

func toBackend(name string) networkingv1.IngressBackend {
	group := v1alpha1.Group
	return networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: "Backend", Name: name}}
}
