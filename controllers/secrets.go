package controllers

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"

	"fairlead.dev/fairlead/model/printable"
)

// This file reads Secrets. Of all but those that an Ingress names only the metadata is watched: the
// contents of a cluster's Secrets are nowhere in this process. Those that were read are kept for a minute, for a load
// balancer that waits for the cloud is compiled every few seconds.

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
	mode    SecretsMode
	from    client.Reader
	watched client.Reader // the cache of their metadata
	kept    *keptSecrets
}

// read reads those that exist and may be served, and says of those that could not be read why, by namespace/name.
func (s secretReader) read(ctx context.Context, refs map[ref]bool) ([]*corev1.Secret, map[string]string) {
	var out []*corev1.Secret
	unread := map[string]string{}
	for r := range refs {
		secret, err := s.get(ctx, r)
		switch {
		case err != nil:
			unread[r.String()] = printable.Shorten(err.Error())
		case secret != nil:
			out = append(out, secret)
		}
	}
	return out, unread
}

// get reads a Secret, as the mode's role permits; nil if there is none that may be served.
func (s secretReader) get(ctx context.Context, r ref) (*corev1.Secret, error) {
	switch s.mode {
	case SecretsNone:
		return nil, nil
	case SecretsLabelled:
		return s.list(ctx, r)
	default: // all
		return s.getKept(ctx, r)
	}
}

// getKept reads a Secret that is not as it was when it was read within the last minute.
func (s secretReader) getKept(ctx context.Context, r ref) (*corev1.Secret, error) {
	if known := s.kept.get(r, s.version(ctx, r)); known != nil {
		return known, nil
	}
	secret := &corev1.Secret{}
	if err := s.from.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: r.name}, secret); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	s.kept.put(r, secret)
	return secret, nil
}

// version is the resource version of a Secret as it was seen last; "" where it was not.
func (s secretReader) version(ctx context.Context, r ref) string {
	metadata := secretMetadata()
	if err := s.watched.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: r.name}, metadata); err != nil {
		return "" // it is read
	}
	return metadata.ResourceVersion
}

// untilUnreadAgain is when to come back for what the API server did not let be read.
const untilUnreadAgain = 15 * time.Second

// keptFor is how long the contents of a Secret stay in this process.
const keptFor = time.Minute

// keptSecrets are those that were read within the last minute.
type keptSecrets struct {
	mu  sync.Mutex
	all map[ref]*corev1.Secret
}

// get is a Secret of a version; nil if that is not kept.
func (k *keptSecrets) get(r ref, version string) *corev1.Secret {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.all[r]; s != nil && s.ResourceVersion == version {
		return s
	}
	return nil
}

// put keeps one for a minute.
func (k *keptSecrets) put(r ref, s *corev1.Secret) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = map[ref]*corev1.Secret{}
	}
	k.all[r] = s
	time.AfterFunc(keptFor, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.all[r] == s {
			delete(k.all, r)
		}
	})
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
func (s secretReader) list(ctx context.Context, r ref) (*corev1.Secret, error) {
	var found corev1.SecretList
	err := s.from.List(ctx, &found, client.InNamespace(r.namespace), labelledSecrets, client.MatchingFields{metav1.ObjectNameField: r.name})
	if err != nil || len(found.Items) == 0 {
		return nil, err
	}
	return &found.Items[0], nil
}

// secretMetadata is the kind that is watched.
func secretMetadata() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kindSecret))
	return o
}
