package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/ingress"
)

// This file starts pods for the demo: small HTTP servers that answer with their names.

// usualPods is the number of pods of a Service. It is enough to see that requests are balanced.
const usualPods = 2

// An echo is the answer of a pod.
type echo struct {
	Service string `json:"service"`
	Pod     string `json:"pod"`
	Host    string `json:"host"`
	Path    string `json:"path"`
}

// backends holds the pods by Service. A Service keeps its pods while the demo runs.
type backends struct {
	each   int // pods of a Service
	pods   map[string][]pod
	health string      // the path of health checks; "" if any request is one of this load balancer
	asked  atomic.Bool // a pod got a request, such as a health check
}

type pod struct {
	name    string
	server  *http.Server
	address *net.TCPAddr
}

// join starts pods for every Service that has no EndpointSlice among the objects. It adds the
// EndpointSlices and the Node that a cluster would have for them. If the objects have Nodes, node
// ports are reached through these only.
func (b *backends) join(ctx context.Context, objects *ingress.Objects) error {
	alone := len(objects.Nodes) == 0
	if alone {
		objects.Nodes = append(objects.Nodes, thisMachine())
	}
	for _, service := range objects.Services {
		if service.Spec.Type == corev1.ServiceTypeExternalName || hasEndpoints(objects, service) {
			continue
		}
		pods, err := b.podsOf(ctx, service)
		if err != nil {
			return fmt.Errorf("starting pods of Service %s/%s: %w", service.Namespace, service.Name, err)
		}
		for _, p := range pods {
			objects.EndpointSlices = append(objects.EndpointSlices, p.slice(service))
			objects.Pods = append(objects.Pods, p.object(service))
		}
		if alone {
			pods[0].openNodePorts(service)
		}
	}
	return nil
}

func hasEndpoints(objects *ingress.Objects, service *corev1.Service) bool {
	return slices.ContainsFunc(objects.EndpointSlices, func(s *discoveryv1.EndpointSlice) bool {
		return s.Namespace == service.Namespace && s.Labels[discoveryv1.LabelServiceName] == service.Name
	})
}

// podsOf returns the pods of a Service, and starts them if necessary.
func (b *backends) podsOf(ctx context.Context, service *corev1.Service) ([]pod, error) {
	name := service.Namespace + "/" + service.Name
	if pods, ok := b.pods[name]; ok {
		return pods, nil
	}
	if b.pods == nil {
		b.pods = map[string][]pod{}
	}
	for i := range b.each {
		p, err := b.start(ctx, name, fmt.Sprintf("%s-%d", service.Name, i+1))
		if err != nil {
			return nil, err
		}
		b.pods[name] = append(b.pods[name], p)
	}
	return b.pods[name], nil
}

// has reports whether the Service has pods of the demo, which answer with an echo.
func (b *backends) has(service string) bool { return len(b.pods[service]) > 0 }

// close stops all pods.
func (b *backends) close() {
	for _, pods := range b.pods {
		for _, p := range pods {
			_ = p.server.Close() // it ends with the process anyway
		}
	}
}

func (b *backends) start(ctx context.Context, service, name string) (pod, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", podListens+":0")
	if err != nil {
		return pod{}, err
	}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if b.isOurs(r) {
				b.asked.Store(true)
			}
			w.Header().Set("Content-Type", "application/json")
			encoder := json.NewEncoder(w)
			encoder.SetEscapeHTML(false)
			// An error means that the client is gone.
			_ = encoder.Encode(echo{Service: service, Pod: name, Host: r.Host, Path: r.RequestURI})
		}),
	}
	go func() { _ = server.Serve(listener) }() // ends with Close
	return pod{name, server, listener.Addr().(*net.TCPAddr)}, nil
}

// isOurs reports whether a request came by the load balancer. A health check of another one, for a process
// that had the port before, has an address as its host, and another path.
func (b *backends) isOurs(r *http.Request) bool {
	_, err := netip.ParseAddrPort(r.Host)
	return err != nil || b.health == "" || r.URL.Path == b.health
}

// slice returns the EndpointSlice of a pod. The one port of the pod stands for every port of its
// Service.
func (p pod) slice(service *corev1.Service) *discoveryv1.EndpointSlice {
	ready, port, tcp := true, int32(p.address.Port), corev1.ProtocolTCP // a port is at most 65535
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace,
			Name:      p.name,
			Labels:    map[string]string{discoveryv1.LabelServiceName: service.Name},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses:  []string{podAddress},
			NodeName:   new(machine),
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: service.Namespace, Name: p.name},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		}},
	}
	for _, sp := range service.Spec.Ports {
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: &sp.Name, Port: &port, Protocol: &tcp})
	}
	return s
}

// object returns the Pod as a cluster would have it.
func (p pod) object(service *corev1.Service) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: p.name},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: podAddress}}},
	}
}

// machine is the name of the Node that all pods run on.
const machine = "this-machine"

// thisMachine returns that Node.
func thisMachine() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: machine},
		Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: podAddress}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// openNodePorts makes the port of a pod the node port of every port of its Service, if the Service
// has node ports.
func (p pod) openNodePorts(service *corev1.Service) {
	if service.Spec.Type != corev1.ServiceTypeNodePort &&
		service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return
	}
	for i := range service.Spec.Ports {
		service.Spec.Ports[i].NodePort = int32(p.address.Port) // a port is at most 65535
	}
}
