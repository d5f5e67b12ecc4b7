package cluster

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

// This file reads the Secrets that Ingresses name. Of all others only the metadata is watched:
// their contents are never in this process. A Secret that was read is kept for a minute, since a
// load balancer that waits for the cloud is compiled every few seconds.

// SecretsMode says which Secrets may be served.
type SecretsMode string

// The modes. Each has its RBAC role in config/rbac/secrets.
const (
	SecretsAll      SecretsMode = "all"      // that an Ingress names
	SecretsLabelled SecretsMode = "labelled" // that an Ingress names and that carry SecretLabel
	SecretsNone     SecretsMode = "none"     // certificates are those that the cloud has
)

// SecretLabel lets a Secret be served in the mode SecretsLabelled, if its value is "true".
const SecretLabel = v1alpha1.Group + "/serve"

var labelledSecrets = client.MatchingLabels{SecretLabel: "true"}

// SecretReader reads Secrets by their names from the API server.
type SecretReader struct {
	Mode    SecretsMode
	From    client.Reader
	watched client.Reader // the cache of their metadata
	kept    *keptSecrets
}

// NewSecretReader makes a reader of the API server's Secrets, whose metadata is watched in a cache.
func NewSecretReader(mode SecretsMode, server, watched client.Reader) SecretReader {
	return SecretReader{mode, server, watched, &keptSecrets{}}
}

// ForgetAll forgets the Secrets that were read.
func (s *SecretReader) ForgetAll() { s.kept = &keptSecrets{} }

// Read returns the Secrets that exist and may be served, and for those that could not be read the
// reason, by namespace/name.
func (s SecretReader) Read(ctx context.Context,
	refs map[Ref]bool) ([]*corev1.Secret, map[string]string) {
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
func (s SecretReader) get(ctx context.Context, r Ref) (*corev1.Secret, error) {
	switch s.Mode {
	case SecretsNone:
		return nil, nil
	case SecretsLabelled:
		return s.list(ctx, r)
	default: // all
		return s.getKept(ctx, r)
	}
}

// getKept returns a Secret that was read within the last minute and has not changed since, and
// reads any other.
func (s SecretReader) getKept(ctx context.Context, r Ref) (*corev1.Secret, error) {
	if known := s.kept.get(r, s.version(ctx, r)); known != nil {
		return known, nil
	}
	secret := &corev1.Secret{}
	if err := s.From.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Name},
		secret); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	s.kept.put(r, secret)
	return secret, nil
}

// version returns the resource version of a Secret in the cache; "" if the cache lacks it.
func (s SecretReader) version(ctx context.Context, r Ref) string {
	metadata := SecretMetadata()
	if err := s.watched.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Name},
		metadata); err != nil {
		return "" // it is read
	}
	return metadata.ResourceVersion
}

// RetryUnread is the time until Secrets that could not be read are read again.
const RetryUnread = 15 * time.Second

// keptFor is how long the contents of a Secret stay in this process.
const keptFor = time.Minute

// keptSecrets holds the Secrets that were read within the last minute.
type keptSecrets struct {
	mu  sync.Mutex
	all map[Ref]*corev1.Secret
}

// get returns a Secret of a version; nil if it is not kept.
func (k *keptSecrets) get(r Ref, version string) *corev1.Secret {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.all[r]; s != nil && s.ResourceVersion == version {
		return s
	}
	return nil
}

// put keeps a Secret for a minute.
func (k *keptSecrets) put(r Ref, s *corev1.Secret) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = map[Ref]*corev1.Secret{}
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

// WithholdingReason returns the reason for which the operator may not have read a Secret that an
// Ingress names.
func (s SecretReader) WithholdingReason() string {
	switch s.Mode {
	case SecretsNone:
		return "the operator reads none"
	case SecretsLabelled:
		return "the operator serves only those with the label " + SecretLabel + "=true"
	default: // all
		return ""
	}
}

// list reads a Secret by a list, since the role of SecretsLabelled does not permit to get one by
// its name.
func (s SecretReader) list(ctx context.Context, r Ref) (*corev1.Secret, error) {
	var found corev1.SecretList
	err := s.From.List(ctx, &found, client.InNamespace(r.Namespace), labelledSecrets,
		client.MatchingFields{metav1.ObjectNameField: r.Name})
	if err != nil || len(found.Items) == 0 {
		return nil, err
	}
	return &found.Items[0], nil
}

// SecretMetadata returns an empty Secret, of which the metadata alone is watched.
func SecretMetadata() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(KindSecret))
	return o
}
