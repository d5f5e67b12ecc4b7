package certificates

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file holds our certificates, also those that the index of tags does not list yet:
// certificates that this process has imported, and certificates that listeners serve. The index
// (the Resource Groups Tagging API) is eventually consistent, and AWS publishes no bound;
// Certificate Manager itself returns the current tags of a certificate.

// ownCertificates holds the imported certificates that this process has seen, by ARN.
type ownCertificates struct {
	mu    sync.Mutex
	known map[string]ownCertificate
	// foreign holds the certificates that listeners serve and that were not imported for their load
	// balancer, by ARN, with the time when that was last needed.
	foreign map[string]time.Time
	// unanswered holds the imports that AWS has not answered, by load balancer and ID, with their
	// time.
	unanswered map[string]time.Time
}

// recentCertificates are those of the account that were imported shortly before this process began, or
// since.
type recentCertificates struct {
	turn chan struct{} // of who reads them
	read bool
	all  []acmtypes.CertificateSummary
}

// An ownCertificate was imported for a load balancer.
type ownCertificate struct {
	key  lb.Key
	tags map[string]string // nil if they were written since
	at   time.Time         // when it was last seen, with these tags
}

// certificateLife is the time after its last use for which an entry of a foreign certificate, or of
// an unanswered import, is kept. It is longer than the time between observations, and than the
// delay of the index of tags.
const certificateLife = 48 * time.Hour

// tagsLife is the time for which the tags that this process has written or read are used again.
const tagsLife = 2 * time.Minute

// removeOld removes entries that were not needed for certificateLife.
func removeOld(of map[string]time.Time) {
	maps.DeleteFunc(of, func(_ string, at time.Time) bool { return time.Since(at) >= certificateLife })
}

// beginImport records that an import begins. endImport records that its outcome is known.
func (o *ownCertificates) beginImport(key lb.Key, id lb.CertificateID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unanswered[string(key)+" "+string(id)] = time.Now()
	removeOld(o.unanswered)
}

func (o *ownCertificates) endImport(key lb.Key, id lb.CertificateID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.unanswered, string(key)+" "+string(id))
}

// importing reports whether an import has begun, and its outcome is not known.
func (o *ownCertificates) importing(key lb.Key, id lb.CertificateID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.unanswered[string(key)+" "+string(id)].IsZero()
}

// set records that a certificate of a load balancer exists with some tags.
func (o *ownCertificates) set(key lb.Key, arn string, tags map[string]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known[arn] = ownCertificate{key, tags, time.Now()}
	delete(o.foreign, arn)
}

// forgetTags forgets the tags of a certificate, which are about to be written.
func (o *ownCertificates) forgetTags(arn string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c, known := o.known[arn]; known {
		c.tags = nil
		o.known[arn] = c
	}
}

// remove forgets a certificate that no longer exists, or is not ours.
func (o *ownCertificates) remove(arn string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, arn)
}

// has reports whether a certificate is known to be ours.
func (o *ownCertificates) has(arn string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, known := o.known[arn]
	return known
}

// list returns the known certificates of a load balancer.
func (o *ownCertificates) list(key lb.Key) map[string]ownCertificate {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := map[string]ownCertificate{}
	for arn, c := range o.known {
		if c.key == key {
			out[arn] = c
		}
	}
	return out
}

// addForeign records that a certificate was not imported for the load balancer that serves it.
func (o *ownCertificates) addForeign(arn string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.foreign[arn] = time.Now()
	removeOld(o.foreign)
}

// isForeign reports whether a certificate was not imported for the load balancer that serves it.
func (o *ownCertificates) isForeign(arn string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, known := o.foreign[arn]
	if known {
		o.foreign[arn] = time.Now()
	}
	return known
}

// readOfLoadBalancer returns the certificates of a load balancer with their tags: those that the
// index of tags lists, those that this process has imported, and those that its listeners serve. It
// makes no call if the index lists all of them.
func (s *Store) readOfLoadBalancer(ctx context.Context, key lb.Key, served []string,
	indexed map[string]map[string]string) (
	map[string]map[string]string, error,
) {
	listed := map[string]bool{}
	for arn := range indexed {
		listed[arn] = strings.Contains(arn, ":acm:")
	}
	out, err := s.confirmOwned(ctx, key, listed)
	if err != nil {
		return nil, err
	}
	var unknown []string
	for _, arn := range served {
		_, known := out[arn]
		if !known && !listed[arn] && strings.Contains(arn, ":acm:") && !s.imported.isForeign(arn) {
			unknown = append(unknown, arn)
		}
	}
	slices.Sort(unknown)
	ours, err := s.ownedAmong(ctx, key, slices.Compact(unknown))
	if err != nil {
		return nil, err
	}
	for arn, tags := range ours {
		s.imported.set(key, arn, tags)
		out[arn] = tags
	}
	for _, arn := range unknown {
		if ours[arn] == nil {
			s.imported.addForeign(arn)
		}
	}
	for arn, tags := range indexed {
		// the index may list older tags than those that were just written
		if listed[arn] && out[arn] == nil {
			out[arn] = tags
		}
	}
	return out, nil
}

// confirmOwned returns the certificates of a load balancer that this process has read or imported,
// with their tags. It reads old ones again, except those in besides, which it leaves out.
func (s *Store) confirmOwned(ctx context.Context, key lb.Key, besides map[string]bool) (
	map[string]map[string]string, error,
) {
	out := map[string]map[string]string{}
	var old []string
	for arn, c := range s.imported.list(key) {
		switch {
		case c.tags != nil && time.Since(c.at) < tagsLife:
			out[arn] = c.tags
		case besides[arn]:
		default:
			old = append(old, arn)
		}
	}
	still, err := s.ownedAmong(ctx, key, old)
	if err != nil {
		return nil, err
	}
	for _, arn := range old {
		if still[arn] == nil {
			s.imported.remove(arn)
			continue
		}
		s.imported.set(key, arn, still[arn])
		out[arn] = still[arn]
	}
	return out, nil
}

// ownedAmong reads the tags of some certificates and returns those that belong to a load balancer.
// A role with an earlier version of the policy cannot read the tags of other certificates: if it
// cannot read the tags, the certificate is not ours.
func (s *Store) ownedAmong(ctx context.Context, key lb.Key,
	arns []string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	for _, arn := range arns {
		tags, err := s.readTags(ctx, arn)
		switch {
		case client.HasCode(err, "ResourceNotFound", "AccessDenied"):
		case err != nil:
			return nil, client.Explain("reading the tags of "+arn, err)
		case s.Owns(key, tags):
			out[arn] = tags
		}
	}
	return out, nil
}
