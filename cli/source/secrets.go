package source

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/providers/selfsigned"
)

// This file makes Secrets with self-signed certificates.

// Secrets holds the Secrets made so far. A Secret is made again only when its hosts change.
type Secrets struct {
	made map[string]*corev1.Secret // by namespace/name and hosts
}

// Add adds each Secret that an Ingress names in spec.tls and that the objects lack. It returns the
// names of Secrets that it made in this call.
func (s *Secrets) Add(objects *ingress.Objects) ([]string, error) {
	var fresh []string
	err := addMissing(objects, func(namespace, secret string, hosts []string) (*corev1.Secret, error) {
		name := namespace + "/" + secret
		id := name + " " + strings.Join(hosts, " ")
		if s.made[id] == nil {
			made, err := newSecret(namespace, secret, hosts)
			if err != nil {
				return nil, fmt.Errorf("making a certificate for Secret %s: %w", name, err)
			}
			if s.made == nil {
				s.made = map[string]*corev1.Secret{}
			}
			s.made[id] = made
			fresh = append(fresh, name)
		}
		return s.made[id], nil
	})
	return fresh, err
}

// addMissing adds each Secret that an Ingress names in spec.tls and that the objects lack, as it is made for its hosts.
func addMissing(objects *ingress.Objects, made func(namespace, secret string, hosts []string) (*corev1.Secret, error)) error {
	there := map[string]bool{}
	for _, secret := range objects.Secrets {
		there[secret.Namespace+"/"+secret.Name] = true
	}
	needed := secretHosts(objects)
	for _, ing := range objects.Ingresses {
		for _, entry := range ing.Spec.TLS {
			name := ing.Namespace + "/" + entry.SecretName
			if entry.SecretName == "" || there[name] {
				continue
			}
			secret, err := made(ing.Namespace, entry.SecretName, slices.Compact(slices.Sorted(slices.Values(needed[name]))))
			if err != nil {
				return err
			}
			objects.Secrets, there[name] = append(objects.Secrets, secret), true
		}
	}
	return nil
}

func hasSecret(objects *ingress.Objects, namespace, name string) bool {
	return slices.ContainsFunc(objects.Secrets, func(s *corev1.Secret) bool {
		return s.Namespace == namespace && s.Name == name
	})
}

// secretHosts returns the hosts that Ingresses need Secrets for, by namespace/name. An entry of
// spec.tls without hosts stands for all hosts of its Ingress.
func secretHosts(objects *ingress.Objects) map[string][]string {
	out := map[string][]string{}
	for _, ing := range objects.Ingresses {
		for _, entry := range ing.Spec.TLS {
			hosts := entry.Hosts
			if len(hosts) == 0 {
				hosts = ruleHosts(ing)
			}
			name := ing.Namespace + "/" + entry.SecretName
			out[name] = append(out[name], hosts...)
		}
	}
	return out
}

// ruleHosts returns the hosts of an Ingress's rules, or a placeholder if it has none.
func ruleHosts(ing *networkingv1.Ingress) []string {
	var hosts []string
	for _, rule := range ing.Spec.Rules {
		if rule.Host != "" {
			hosts = append(hosts, rule.Host)
		}
	}
	if len(hosts) == 0 {
		return []string{"any.example"}
	}
	return hosts
}

// newSecret returns a Secret with a self-signed certificate for hosts.
func newSecret(namespace, name string, hosts []string) (*corev1.Secret, error) {
	made, err := selfsigned.Certificate(hosts...)
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Type:       corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey:       made.Pair.Chain,
			corev1.TLSPrivateKeyKey: made.Pair.Key,
		},
	}, nil
}
