package cluster

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/model/ingress"
)

// This file caches what was read from the certificates in Secrets. To parse a key and to check a
// chain takes milliseconds, and several load balancers can use one Secret: each version of a Secret
// is parsed once. Keys are not kept.

// CertificateCache has certificates by the version of the Secret.
type CertificateCache struct {
	mu   sync.Mutex
	kept map[secretVersion]ingress.SecretCertificate
}

type secretVersion struct {
	uid     types.UID
	version string
}

// mostCertificates is the limit of kept certificates. With more Secrets some are parsed again.
const mostCertificates = 1000

// CertificatesOf returns the certificates in Secrets.
func (c *CertificateCache) CertificatesOf(
	objects []*corev1.Secret,
) map[*corev1.Secret]ingress.SecretCertificate {
	out := make(map[*corev1.Secret]ingress.SecretCertificate, len(objects))
	for _, s := range objects {
		if len(s.Data[corev1.TLSCertKey]) > 0 {
			out[s] = c.certificateOf(s)
		}
	}
	return out
}

func (c *CertificateCache) certificateOf(s *corev1.Secret) ingress.SecretCertificate {
	of := secretVersion{s.UID, s.ResourceVersion}
	c.mu.Lock()
	known, ok := c.kept[of]
	c.mu.Unlock()
	if ok {
		return known
	}
	read := ingress.ReadCertificate(s)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= mostCertificates {
		c.kept = map[secretVersion]ingress.SecretCertificate{}
	}
	c.kept[of] = read
	return read
}
