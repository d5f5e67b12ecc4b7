package cluster

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/model/secrets"
)

// This file caches what was read from the certificates in Secrets. To parse a key and to check a
// chain takes milliseconds, and several load balancers can use one Secret: each version of a Secret
// is parsed once. Keys are not kept.

// CertificateCache holds judgements by the version of the Secret.
type CertificateCache struct {
	mu   sync.Mutex
	kept map[secretVersion]secrets.Certificate
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
) map[*corev1.Secret]secrets.Certificate {
	out := make(map[*corev1.Secret]secrets.Certificate, len(objects))
	for _, s := range objects {
		if len(s.Data[corev1.TLSCertKey]) > 0 {
			out[s] = j.judgementOf(s)
		}
	}
	return out
}

func (j *CertificateCache) judgementOf(s *corev1.Secret) secrets.Certificate {
	of := secretVersion{s.UID, s.ResourceVersion}
	j.mu.Lock()
	known, ok := j.kept[of]
	j.mu.Unlock()
	if ok {
		return known
	}
	judged := secrets.ReadCertificate(s)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.kept == nil || len(j.kept) >= mostJudgements {
		j.kept = map[secretVersion]secrets.Certificate{}
	}
	j.kept[of] = judged
	return judged
}
