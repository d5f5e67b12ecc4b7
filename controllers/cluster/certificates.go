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

// CertificateCache holds judgements by the version of the Secret.
type CertificateCache struct {
	mu   sync.Mutex
	kept map[secretVersion]ingress.SecretCertificate
}

type secretVersion struct {
	uid     types.UID
	version string
}

// mostJudgements is the limit of kept judgements. With more Secrets some are parsed again.
const mostJudgements = 1000

// JudgementsOf returns the judgements of Secrets with certificates.
func (j *CertificateCache) JudgementsOf(
	objects []*corev1.Secret,
) map[*corev1.Secret]ingress.SecretCertificate {
	out := make(map[*corev1.Secret]ingress.SecretCertificate, len(objects))
	for _, s := range objects {
		if len(s.Data[corev1.TLSCertKey]) > 0 {
			out[s] = j.judgementOf(s)
		}
	}
	return out
}

func (j *CertificateCache) judgementOf(s *corev1.Secret) ingress.SecretCertificate {
	of := secretVersion{s.UID, s.ResourceVersion}
	j.mu.Lock()
	known, ok := j.kept[of]
	j.mu.Unlock()
	if ok {
		return known
	}
	judged := ingress.ReadCertificate(s)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.kept == nil || len(j.kept) >= mostJudgements {
		j.kept = map[secretVersion]ingress.SecretCertificate{}
	}
	j.kept[of] = judged
	return judged
}
