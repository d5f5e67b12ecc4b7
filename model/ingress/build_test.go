package ingress

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file builds objects for tests: each test states what matters to it and nothing else.

// anIngress is one of class fairlead, by namespace/name.
func anIngress(of string, with ...func(*networkingv1.Ingress)) *networkingv1.Ingress {
	namespace, name, _ := strings.Cut(of, "/")
	ing := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{}},
		Spec:       networkingv1.IngressSpec{IngressClassName: new("fairlead")},
	}
	for _, w := range with {
		w(ing)
	}
	return ing
}

// aged makes an object so many seconds old as the order of ages in a test needs.
func aged(seconds int64) func(*networkingv1.Ingress) {
	return func(ing *networkingv1.Ingress) {
		ing.CreationTimestamp = metav1.Unix(2_000_000_000-seconds, 0)
	}
}

// annotated sets an annotation, whose prefix may be left out.
func annotated(name, value string) func(*networkingv1.Ingress) {
	return func(ing *networkingv1.Ingress) { ing.Annotations[settings.Full(name)] = value }
}

// ofClass sets spec.ingressClassName; "" removes it.
func ofClass(class string) func(*networkingv1.Ingress) {
	return func(ing *networkingv1.Ingress) {
		ing.Spec.IngressClassName = nil
		if class != "" {
			ing.Spec.IngressClassName = &class
		}
	}
}

// ruled adds a rule for a host.
func ruled(host string, paths ...networkingv1.HTTPIngressPath) func(*networkingv1.Ingress) {
	return func(ing *networkingv1.Ingress) {
		r := networkingv1.IngressRule{Host: host}
		if len(paths) > 0 {
			r.HTTP = &networkingv1.HTTPIngressRuleValue{Paths: paths}
		}
		ing.Spec.Rules = append(ing.Spec.Rules, r)
	}
}

// defaulted sets the default backend.
func defaulted(to networkingv1.IngressBackend) func(*networkingv1.Ingress) {
	return func(ing *networkingv1.Ingress) { ing.Spec.DefaultBackend = &to }
}

// secured adds an entry of spec.tls.
func secured(secret string, hosts ...string) func(*networkingv1.Ingress) {
	return func(ing *networkingv1.Ingress) {
		ing.Spec.TLS = append(ing.Spec.TLS, networkingv1.IngressTLS{Hosts: hosts, SecretName: secret})
	}
}

func path(t networkingv1.PathType, p string, to networkingv1.IngressBackend) networkingv1.HTTPIngressPath {
	return networkingv1.HTTPIngressPath{Path: p, PathType: &t, Backend: to}
}

func prefixed(p, service string) networkingv1.HTTPIngressPath {
	return path(networkingv1.PathTypePrefix, p, to(service))
}

// to is a Service backend: "web:80" or "web:http".
func to(service string) networkingv1.IngressBackend {
	name, port, _ := strings.Cut(service, ":")
	b := networkingv1.IngressServiceBackend{Name: name}
	if number, err := strconv.Atoi(port); err == nil {
		b.Port.Number = int32(number)
	} else {
		b.Port.Name = port
	}
	return networkingv1.IngressBackend{Service: &b}
}

// toResource is a resource backend: "fairlead.dev/Backend/name".
func toResource(ref string) networkingv1.IngressBackend {
	parts := strings.Split(ref, "/")
	return networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{APIGroup: &parts[0], Kind: parts[1], Name: parts[2]}}
}

// aService is one with a port called http, by namespace/name:port.
func aService(of string, with ...func(*corev1.Service)) *corev1.Service {
	object, port, _ := strings.Cut(of, ":")
	namespace, name, _ := strings.Cut(object, "/")
	number, _ := strconv.Atoi(port)
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: int32(number)}}},
	}
	for _, w := range with {
		w(s)
	}
	return s
}

// aSlice is the EndpointSlice of a Service, whose port http is served on 8080 by each address.
func aSlice(service string, with func(*discoveryv1.EndpointSlice), addresses ...string) *discoveryv1.EndpointSlice {
	namespace, name, _ := strings.Cut(service, "/")
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name + "-" + addresses[0], Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}},
	}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	if with != nil {
		with(s)
	}
	return s
}

// ofPods has the endpoints of an EndpointSlice name Pods that go by their addresses.
func ofPods(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	for i, e := range s.Endpoints {
		if e.TargetRef == nil && len(e.Addresses) > 0 {
			s.Endpoints[i].TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: s.Namespace, Name: "pod-" + e.Addresses[0]}
		}
	}
	return s
}

// podsOf are the Pods of an EndpointSlice.
func podsOf(s *discoveryv1.EndpointSlice) []*corev1.Pod {
	var out []*corev1.Pod
	for c := range endpoints.Claims(s) {
		out = append(out, aPod(c.Namespace+"/"+c.Pod, c.Address))
	}
	return out
}

// aPod has addresses.
func aPod(of string, addresses ...string) *corev1.Pod {
	namespace, name, _ := strings.Cut(of, "/")
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	for _, a := range addresses {
		p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: a})
	}
	return p
}

// A written EndpointSlice is as somebody wrote it: its endpoints are not Pods by themselves.
type written struct{ *discoveryv1.EndpointSlice }

// aSecret holds a certificate for the hosts. Its key follows from its name and the hosts.
func aSecret(t *testing.T, of string, hosts ...string) *corev1.Secret {
	t.Helper()
	return aSecretOf(t, of, pkix.Name{CommonName: "common.test"}, hosts...)
}

// aSecretOf is a Secret with a certificate of a subject.
func aSecretOf(t *testing.T, of string, subject pkix.Name, hosts ...string) *corev1.Secret {
	t.Helper()
	namespace, name, _ := strings.Cut(of, "/")
	seed := sha256.Sum256([]byte(of + strings.Join(hosts, ",")))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), seed[:])
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: subject, DNSNames: hosts,
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(4_000_000_000, 0),
	}
	chain, err := x509.CreateCertificate(nil, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data: map[string][]byte{
			corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain}),
			corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		},
	}
}

// readCertificate returns the certificate of a Secret, and until when it is valid.
func readCertificate(s *corev1.Secret) (*routing.Certificate, time.Time, error) {
	c := ReadCertificate(s)
	return c.Certificate, c.Until, c.Err
}

// aNamespace has labels besides its name.
func aNamespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// aClass is an IngressClass of ours, with parameters of its name.
func aClass(name string, spec v1alpha1.LoadBalancerClassSpec) []any {
	return []any{
		&networkingv1.IngressClass{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: networkingv1.IngressClassSpec{Controller: ControllerName, Parameters: &networkingv1.IngressClassParametersReference{
				APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: name,
			}},
		},
		&v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec},
	}
}

// aBackend is a Backend by namespace/name.
func aBackend(of string, spec v1alpha1.BackendSpec) *v1alpha1.Backend {
	namespace, name, _ := strings.Cut(of, "/")
	return &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
}

// objectsOf sorts what it is given by kind.
func objectsOf(given ...any) Objects {
	o := Objects{PodsKnown: true}
	for _, g := range given {
		switch object := g.(type) {
		case []any:
			more := objectsOf(object...)
			o.IngressClasses = append(o.IngressClasses, more.IngressClasses...)
			o.ClusterLoadBalancerClasses = append(o.ClusterLoadBalancerClasses, more.ClusterLoadBalancerClasses...)
		case *networkingv1.Ingress:
			o.Ingresses = append(o.Ingresses, object)
		case *networkingv1.IngressClass:
			o.IngressClasses = append(o.IngressClasses, object)
		case *v1alpha1.LoadBalancerClass:
			o.LoadBalancerClasses = append(o.LoadBalancerClasses, object)
		case *v1alpha1.ClusterLoadBalancerClass:
			o.ClusterLoadBalancerClasses = append(o.ClusterLoadBalancerClasses, object)
		case *v1alpha1.Backend:
			o.Backends = append(o.Backends, object)
		case *corev1.Service:
			o.Services = append(o.Services, object)
		case *discoveryv1.EndpointSlice:
			o.EndpointSlices = append(o.EndpointSlices, ofPods(object))
			o.Pods = append(o.Pods, podsOf(object)...)
		case written:
			o.EndpointSlices = append(o.EndpointSlices, object.EndpointSlice)
		case *corev1.Pod:
			o.Pods = append(o.Pods, object)
		case *corev1.Secret:
			o.Secrets = append(o.Secrets, object)
		case *corev1.Namespace:
			o.Namespaces = append(o.Namespaces, object)
		case *corev1.Node:
			o.Nodes = append(o.Nodes, object)
		case map[routing.Key]record.Record:
			o.Records = object
		default:
			panic("a test gives an object that nobody reads")
		}
	}
	return o
}

// translated is the only load balancer of the objects, with everything that is said about it.
func translated(t *testing.T, certificates map[string][]routing.CertificateID, given ...any) (routing.Config, []diag.Diagnostic) {
	t.Helper()
	snapshots, found := Place(objectsOf(given...), ClassOptions{AssumeClasses: []string{"fairlead"}})
	if len(snapshots) != 1 {
		t.Fatalf("%d load balancers, want 1: %v", len(snapshots), found)
	}
	config, more := Translate(snapshots[0], Certificates{ByHost: certificates})
	return config, diag.Sort(append(found, more...))
}

// told are diagnostics without their sentences.
func told(found []diag.Diagnostic) []string {
	var out []string
	for _, d := range found {
		out = append(out, string(d.Severity)+" "+string(d.Reason)+" "+d.Source.String())
	}
	return out
}

// sortedStrings makes lists comparable whose order does not matter.
func sortedStrings(list []string) []string { return slices.Sorted(slices.Values(list)) }

func compare(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
