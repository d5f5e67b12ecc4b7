package ingress

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// A namespace that asks for hundreds of thousands of targets gets those of its oldest Ingresses, is
// told of the others, and costs its neighbour nothing.
func TestEndpointsOfANamespaceAreBounded(t *testing.T) {
	const services, ports, endpoints = 6, 100, 999
	given := []any{shared(), inEdge("alice/a", aged(1), ruled("alice.test", prefixed("/", "web:80"))), aService("alice/web:80"), aSlice("alice/web", nil, "10.1.0.1")}
	var paths []func(*networkingv1.Ingress)
	for i := range services {
		s := aService(fmt.Sprintf("bob/web%d:80", i))
		s.Spec.Ports = nil
		var addresses []string
		for e := range endpoints {
			addresses = append(addresses, fmt.Sprintf("10.0.%d.%d", e/250, e%250+1))
		}
		slice := aSlice(fmt.Sprintf("bob/web%d", i), nil, addresses...)
		slice.Ports = nil
		for p := range ports {
			name, number := fmt.Sprintf("p%d", p), int32(8000)
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: name, Port: int32(p + 1)})
			slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &name, Port: &number})
			paths = append(paths, ruled(fmt.Sprintf("h%d-%d.test", i, p), prefixed("/", fmt.Sprintf("web%d:%d", i, p+1))))
		}
		given = append(given, s, slice)
	}
	given = append(given, inEdge("bob/b", append(paths, aged(10))...))
	o := objectsOf(given...)
	snapshots, _ := Place(o, ClassOptions{})
	s := snapshotOf(t, edgeKey, snapshots)
	config, found := Translate(*s, Certificates{})
	with, without := 0, 0
	for _, b := range config.Backends {
		switch {
		case b.Service == "alice/web" && len(b.Targets) == 0:
			t.Error("the neighbour has no targets")
		case len(b.Targets) > 0:
			with++
		default:
			without++
		}
	}
	if most := mostEndpoints / (1 + ports + endpoints); with != most+1 || without != services*ports-most {
		t.Errorf("%d backends have targets and %d have none", with, without)
	}
	told := map[string]int{}
	for _, d := range found {
		told[string(d.Severity)+" "+string(d.Reason)+" "+d.Source.Namespace]++
	}
	if told["error TooComplex bob"] == 0 || told["error TooComplex alice"] > 0 {
		t.Errorf("told: %v", told)
	}
}
