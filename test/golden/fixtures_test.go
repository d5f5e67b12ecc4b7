package golden

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/ingress"
	testobjects "fairlead.dev/fairlead/test/objects"
)

// This file adds the objects that a story takes for granted.

// addService adds the Service that "shop/web:80" stands for, with one pod. Services of one story
// have different addresses.
func addService(o *ingress.Objects, spelt string, index int) error {
	made, err := testobjects.Service(spelt, index)
	if err != nil {
		return err
	}
	o.Services = append(o.Services, made.Service)
	o.EndpointSlices = append(o.EndpointSlices, made.Endpoints)
	o.Pods = append(o.Pods, made.Pod)
	return nil
}

// addPods adds the Pods that EndpointSlices name, each with the address of its endpoint.
func addPods(o *ingress.Objects, from []*discoveryv1.EndpointSlice) {
	for _, s := range from {
		for c := range endpoints.Claims(s) {
			o.Pods = append(o.Pods, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Pod},
				Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: c.Address}}},
			})
		}
	}
}

// addSecret adds a TLS Secret whose certificate is for the hosts.
func addSecret(o *ingress.Objects, spelt string, hosts []string) error {
	made, err := testobjects.Secret(spelt, hosts)
	if err != nil {
		return err
	}
	o.Secrets = append(o.Secrets, made)
	return nil
}

// copySecret adds a Secret with the contents of another one.
func copySecret(o *ingress.Objects, spelt, of string) error {
	namespace, name, found := strings.Cut(spelt, "/")
	at := slices.IndexFunc(o.Secrets, func(s *corev1.Secret) bool { return s.Namespace+"/"+s.Name == of })
	if !found || at < 0 {
		return fmt.Errorf("a Secret is namespace/name, and %q is no copy of %q", spelt, of)
	}
	s := o.Secrets[at].DeepCopy()
	s.Namespace, s.Name = namespace, name
	o.Secrets = append(o.Secrets, s)
	return nil
}
