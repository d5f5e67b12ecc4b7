package aws

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"fairlead.dev/fairlead/model/lb"
)

// This file knows which certificates are ours though they are not found by their tags yet: those
// that this process had imported, and those that listeners serve. The Resource Groups Tagging API
// is eventually consistent, and AWS publishes no bound; the tags that Certificate Manager itself
// tells are those of the certificate.

// ownCertificates are those that this process has met, by ARN.
type ownCertificates struct {
	mu    sync.Mutex
	known map[string]ownCertificate
	// foreign are those that listeners serve and that were not imported for their load balancer, by
	// ARN, with when that was last asked.
	foreign map[string]time.Time
	// asked are those that AWS was asked to import and gave no answer, by load balancer and ID, with
	// when.
	asked map[string]time.Time
}

// An ownCertificate was imported for a load balancer.
type ownCertificate struct {
	key  lb.Key
	tags map[string]string // nil where they were written since
	at   time.Time         // when it was known to be there, with these tags
}

// certificateLife is how long it is known of a certificate that it is somebody else's, or may have
// been imported, after that was last asked. It is longer than looks are apart, and than the index
// of tags takes.
const certificateLife = 48 * time.Hour

// shrinkOld forgets what was not asked about for long.
func shrinkOld(of map[string]time.Time) {
	maps.DeleteFunc(of, func(_ string, at time.Time) bool { return time.Since(at) >= certificateLife })
}

// ask notes that AWS is asked to import a certificate; answer, that the outcome is known.
func (o *ownCertificates) ask(key lb.Key, id lb.CertificateID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked[string(key)+" "+string(id)] = time.Now()
	shrinkOld(o.asked)
}

func (o *ownCertificates) answer(key lb.Key, id lb.CertificateID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.asked, string(key)+" "+string(id))
}

// unanswered reports whether AWS was asked to import a certificate, and the outcome is not known.
func (o *ownCertificates) unanswered(key lb.Key, id lb.CertificateID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.asked[string(key)+" "+string(id)].IsZero()
}

// learn notes a certificate of a load balancer, which is there with some tags.
func (o *ownCertificates) learn(key lb.Key, arn string, tags map[string]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known[arn] = ownCertificate{key, tags, time.Now()}
	delete(o.foreign, arn)
}

// doubt notes that the tags of a certificate are about to be written.
func (o *ownCertificates) doubt(arn string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c, known := o.known[arn]; known {
		c.tags = nil
		o.known[arn] = c
	}
}

// forget notes that a certificate is gone, or is not ours.
func (o *ownCertificates) forget(arn string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, arn)
}

// has reports whether a certificate is ours, as far as this process has met it.
func (o *ownCertificates) has(arn string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, known := o.known[arn]
	return known
}

// of are the certificates of a load balancer.
func (o *ownCertificates) of(key lb.Key) map[string]ownCertificate {
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

// disown notes that a certificate was not imported for the load balancer that serves it.
func (o *ownCertificates) disown(arn string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.foreign[arn] = time.Now()
	shrinkOld(o.foreign)
}

func (o *ownCertificates) disowned(arn string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, known := o.foreign[arn]
	if known {
		o.foreign[arn] = time.Now()
	}
	return known
}

// certificatesUnder are the certificates of a load balancer with their tags: those that are found
// by these, those that this process had imported, and those that its listeners serve. Where all are
// found, none costs a call.
func (p *Provider) certificatesUnder(ctx context.Context, l *look, strewn map[string]map[string]string) (map[string]map[string]string, error) {
	listed := map[string]bool{}
	for arn := range strewn {
		listed[arn] = strings.Contains(arn, ":acm:")
	}
	out, err := p.confirmed(ctx, l.key, listed)
	if err != nil {
		return nil, err
	}
	var unknown []string
	for _, served := range l.served {
		for _, c := range served {
			arn := aws.ToString(c.CertificateArn)
			if _, known := out[arn]; !known && !listed[arn] && strings.Contains(arn, ":acm:") && !p.own.disowned(arn) {
				unknown = append(unknown, arn)
			}
		}
	}
	slices.Sort(unknown)
	ours, err := p.oursAmong(ctx, l.key, slices.Compact(unknown))
	if err != nil {
		return nil, err
	}
	for arn, tags := range ours {
		p.own.learn(l.key, arn, tags)
		out[arn] = tags
	}
	for _, arn := range unknown {
		if ours[arn] == nil {
			p.own.disown(arn)
		}
	}
	for arn, tags := range strewn {
		if listed[arn] && out[arn] == nil { // the index may list older tags than those that were just written
			out[arn] = tags
		}
	}
	return out, nil
}

// confirmed are the certificates of a load balancer that this process has met, with their tags. One
// that was met a while ago is looked at again, or left out if it is among some.
func (p *Provider) confirmed(ctx context.Context, key lb.Key, besides map[string]bool) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	var old []string
	for arn, c := range p.own.of(key) {
		switch {
		case c.tags != nil && time.Since(c.at) < recentFor:
			out[arn] = c.tags
		case besides[arn]:
		default:
			old = append(old, arn)
		}
	}
	slices.Sort(old)
	still, err := p.oursAmong(ctx, key, old)
	if err != nil {
		return nil, err
	}
	for _, arn := range old {
		if still[arn] == nil {
			p.own.forget(arn)
			continue
		}
		p.own.learn(key, arn, still[arn])
		out[arn] = still[arn]
	}
	return out, nil
}

// oursAmong are those of some certificates that belong to a load balancer, with the tags that they
// have at this moment. A role of an earlier version of the policy is not allowed to read the tags
// of others: those that it may not read are not ours.
func (p *Provider) oursAmong(ctx context.Context, key lb.Key, arns []string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	for _, arn := range arns {
		tags, err := p.tagsOfCertificate(ctx, arn)
		switch {
		case is(err, "ResourceNotFound", "AccessDenied"):
		case err != nil:
			return nil, explained("reading the tags of "+arn, err)
		case p.owns(key, tags):
			out[arn] = tags
		}
	}
	return out, nil
}
