package ingress

import (
	"bytes"

	corev1 "k8s.io/api/core/v1"
)

// This file has the keys of Secrets with clients, and drops other contents.

// The keys of the Secret with the client of an identity provider.
const (
	ClientIDKey     = "clientID"
	ClientSecretKey = "clientSecret"
	longestClient   = 4096 // bytes of either
)

// longest is the most bytes of each key that are read.
var longest = map[string]int{
	corev1.TLSCertKey: longestChain, corev1.TLSPrivateKeyKey: longestKey,
	ClientIDKey: longestClient, ClientSecretKey: longestClient,
}

// ShortenSecret returns a Secret with only the contents that are read. A value that is too long stays too
// long.
func ShortenSecret(s *corev1.Secret) *corev1.Secret {
	short := &corev1.Secret{
		TypeMeta: s.TypeMeta, ObjectMeta: s.ObjectMeta, Type: s.Type, Data: map[string][]byte{},
	}
	short.ManagedFields, short.Annotations = nil, nil
	for key, most := range longest {
		if value, ok := s.Data[key]; ok {
			short.Data[key] = bytes.Clone(value[:min(len(value), most+1)])
		}
	}
	return short
}
