package golden

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/test/objects"
)

// This file adds the objects that a story takes for granted.

// addService adds the Service that "shop/web:80" stands for, with one pod. Services of one story have different
// addresses.
func addService(o *ingress.Objects, spelt string, index int) error {
	made, err := objects.Service(spelt, index)
	if err != nil {
		return err
	}
	o.Services = append(o.Services, made.Service)
	o.EndpointSlices = append(o.EndpointSlices, made.Endpoints)
	o.Pods = append(o.Pods, made.Pod)
	return nil
}

// addSecret adds a TLS Secret whose certificate is for the hosts.
func addSecret(o *ingress.Objects, spelt string, hosts []string) error {
	made, err := objects.Secret(spelt, hosts)
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
