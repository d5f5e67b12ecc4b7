package golden

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

	"fairlead.dev/fairlead/model/ingress"
)

// This file makes the objects that a story takes for granted: Services that work and Secrets that
// hold a certificate.

// addService adds the Service that "shop/web:80" stands for, with one ready endpoint. Services of
// one story have different addresses.
func addService(o *ingress.Objects, spelt string, index int) error {
	object, port, found := strings.Cut(spelt, ":")
	namespace, name, slash := strings.Cut(object, "/")
	number, err := strconv.ParseInt(port, 10, 32)
	if !found || !slash || err != nil {
		return fmt.Errorf("a Service is namespace/name:port, not %q", spelt)
	}
	const portName, listensOn = "http", 8080
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	o.Services = append(o.Services, &corev1.Service{
		ObjectMeta: meta,
		Spec: corev1.ServiceSpec{
			Type:      corev1.ServiceTypeClusterIP,
			ClusterIP: fmt.Sprintf("10.96.0.%d", index+1),
			Ports: []corev1.ServicePort{{
				Name: portName, Port: int32(number), TargetPort: intstr.FromInt32(listensOn), Protocol: corev1.ProtocolTCP,
			}},
		},
	})
	meta.Labels = map[string]string{discoveryv1.LabelServiceName: name}
	meta.Name += "-1"
	o.EndpointSlices = append(o.EndpointSlices, &discoveryv1.EndpointSlice{
		ObjectMeta:  meta,
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses:  []string{fmt.Sprintf("10.0.0.%d", index+1)},
			Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
		}},
		Ports: []discoveryv1.EndpointPort{{Name: new(portName), Port: new(int32(listensOn)), Protocol: new(corev1.ProtocolTCP)}},
	})
	return nil
}

// addSecret adds a TLS Secret whose certificate is for the hosts. Its key follows from its name, so
// that a story prints the same on every run and no key is ever stored.
func addSecret(o *ingress.Objects, spelt string, hosts []string) error {
	namespace, name, found := strings.Cut(spelt, "/")
	if !found {
		return fmt.Errorf("a Secret is namespace/name")
	}
	seed := sha256.Sum256([]byte(spelt))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), seed[:])
	if err != nil {
		return err
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
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	o.Secrets = append(o.Secrets, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Type:       corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
			corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		},
	})
	return nil
}
