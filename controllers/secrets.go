package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// This file reads Secrets. Of all but those that an Ingress names only the metadata is watched: the
// contents of a cluster's Secrets are nowhere in this process.

// SecretsMode says which Secrets may be served.
type SecretsMode string

// The modes. Each has its role in config/rbac/secrets.
const (
	SecretsAll      SecretsMode = "all"      // that an Ingress names
	SecretsLabelled SecretsMode = "labelled" // that an Ingress names and that carry SecretLabel
	SecretsNone     SecretsMode = "none"     // certificates are those that the cloud has
)

// SecretLabel lets a Secret be served in the mode SecretsLabelled, if its value is "true".
const SecretLabel = v1alpha1.Group + "/serve"

var labelledSecrets = client.MatchingLabels{SecretLabel: "true"}

// A secretReader reads Secrets by their names, from the API server itself.
type secretReader struct {
	mode SecretsMode
	from client.Reader
}

// read reads those that exist and may be served.
func (s secretReader) read(ctx context.Context, refs map[ref]bool) ([]*corev1.Secret, error) {
	switch s.mode {
	case SecretsNone:
		return nil, nil
	case SecretsLabelled:
		return s.list(ctx, refs)
	default: // all
		return readAll[corev1.Secret](ctx, s.from, refs, nil)
	}
}

// withheld says to whoever names a Secret that is not read why that may be.
func (s secretReader) withheld() string {
	switch s.mode {
	case SecretsNone:
		return "the operator reads none"
	case SecretsLabelled:
		return "the operator serves only those with the label " + SecretLabel + "=true"
	default: // all
		return ""
	}
}

// list reads without asking for one by its name, which the mode's role does not permit.
func (s secretReader) list(ctx context.Context, refs map[ref]bool) ([]*corev1.Secret, error) {
	var out []*corev1.Secret
	for r := range refs {
		var found corev1.SecretList
		err := s.from.List(ctx, &found, client.InNamespace(r.namespace), labelledSecrets, client.MatchingFields{metav1.ObjectNameField: r.name})
		if err != nil {
			return nil, fmt.Errorf("reading Secret %s: %w", r, err)
		}
		out = append(out, pointers(found.Items)...)
	}
	return out, nil
}

// secretMetadata is the kind that is watched.
func secretMetadata() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kindSecret))
	return o
}
