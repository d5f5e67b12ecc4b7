// Package objects makes the objects that stories and cases take for granted: Services that work,
// with their pods, and Secrets that hold a certificate. They follow from their names, so that what
// is printed of them is the same on every run and no key is ever stored.
package objects

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A Served is a Service that works: with one pod, which is ready.
type Served struct {
	Service   *corev1.Service
	Endpoints *discoveryv1.EndpointSlice
	Pod       *corev1.Pod
}

// Service makes what "shop/web:80" stands for. Those of different indices have different addresses.
func Service(spelt string, index int) (Served, error) {
	object, port, found := strings.Cut(spelt, ":")
	namespace, name, slash := strings.Cut(object, "/")
	number, err := strconv.ParseInt(port, 10, 32)
	if !found || !slash || err != nil {
		return Served{}, fmt.Errorf("a Service is namespace/name:port, not %q", spelt)
	}
	const portName, listensOn = "http", 8080
	address, labels := fmt.Sprintf("10.0.0.%d", index+1), map[string]string{"app": name}
	return Served{
		Service: &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: corev1.ServiceSpec{
				Type:      corev1.ServiceTypeClusterIP,
				ClusterIP: fmt.Sprintf("10.96.0.%d", index+1),
				Selector:  labels,
				Ports: []corev1.ServicePort{{
					Name: portName, Port: int32(number), TargetPort: intstr.FromInt32(listensOn), Protocol: corev1.ProtocolTCP,
				}},
			},
		},
		Endpoints: &discoveryv1.EndpointSlice{
			TypeMeta:    metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
			ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: name}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints: []discoveryv1.Endpoint{{
				Addresses:  []string{address},
				Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
				TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: name},
			}},
			Ports: []discoveryv1.EndpointPort{{Name: new(portName), Port: new(int32(listensOn)), Protocol: new(corev1.ProtocolTCP)}},
		},
		Pod: &corev1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
			Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "web", Image: "web", Ports: []corev1.ContainerPort{{ContainerPort: listensOn}}}},
			},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		},
	}, nil
}

// Secret makes the TLS Secret namespace/name, whose certificate is for the hosts. Its key follows
// from its name.
func Secret(spelt string, hosts []string) (*corev1.Secret, error) {
	namespace, name, found := strings.Cut(spelt, "/")
	if !found || len(hosts) == 0 {
		return nil, fmt.Errorf("a Secret is namespace/name, for at least one host, not %q", spelt)
	}
	seed := sha256.Sum256([]byte(spelt))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), seed[:])
	if err != nil {
		return nil, fmt.Errorf("making the key of Secret %s: %w", spelt, err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: hosts[0]},
		DNSNames:     hosts,
		NotBefore:    time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	certificate, err := x509.CreateCertificate(nil, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("making the certificate of Secret %s: %w", spelt, err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("making Secret %s: %w", spelt, err)
	}
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Type:       corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
			corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		},
	}, nil
}
