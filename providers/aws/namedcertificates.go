package aws

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"golang.org/x/sync/errgroup"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/throttle"
)

// This file finds out which names there are in the certificates that Ingresses name by their ARNs.

// namedCertificates are those that were asked for, by ARN.
type namedCertificates struct {
	mu    sync.Mutex
	known map[lb.CertificateID]description
}

// A description is what AWS said of a certificate.
type description struct {
	names []string
	there bool
	at    time.Time
}

// describe adds the names of certificates to facts, each asked for once within the time that other
// certificates of the account are known. Those that AWS does not know, or does not tell about, are
// left out: an ARN that one Ingress makes up keeps no other one waiting.
func (p *Provider) describe(ctx context.Context, ids []lb.CertificateID, facts *lb.Facts) error {
	found, unread := make([]description, len(ids)), make([]error, len(ids))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(atOnce)
	for i, id := range ids {
		if !strings.Contains(string(id), ":acm:") {
			continue // a server certificate of IAM, which the role is not allowed to read
		}
		reads.Go(providers.Safely(ctx, func() (err error) {
			if found[i], err = p.description(ctx, id); err != nil && !throttle.Late(err) && ctx.Err() == nil {
				unread[i], err = err, nil
			}
			return err
		}))
	}
	if err := reads.Wait(); err != nil {
		return err
	}
	if err := errors.Join(unread...); err != nil {
		facts.CertificatesUnread = err.Error()
	}
	for i, d := range found {
		if d.there {
			facts.Names[ids[i]] = d.names
		}
	}
	return nil
}

// description is what AWS says of a certificate, or said not long ago; or before, where it does not
// let the role ask any more.
func (p *Provider) description(ctx context.Context, id lb.CertificateID) (description, error) {
	before := p.asked.last(id)
	if before.holds() {
		return before, nil
	}
	now := time.Now()
	out, err := p.acm.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: aws.String(string(id))})
	d := description{at: now}
	switch {
	case is(err, "AccessDenied") && before.there:
		d.there, d.names = true, before.names
	case is(err, "ResourceNotFound", "InvalidArn", "Validation", "ValidationError", "AccessDenied"):
	case err != nil:
		return d, explained("reading certificate "+string(id), err)
	case out.Certificate == nil:
		return d, unsaid("DescribeCertificate", "certificate "+string(id))
	default:
		if out.Certificate.Type == acmtypes.CertificateTypeAmazonIssued {
			p.own.disown(string(id))
		}
		d.there, d.names = true, namesIn(aws.ToString(out.Certificate.DomainName), out.Certificate.SubjectAlternativeNames)
	}
	p.asked.learn(id, d)
	return d, nil
}

// last is what AWS said last of a certificate.
func (n *namedCertificates) last(id lb.CertificateID) description {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[id]
}

// holds reports whether a description need not be asked for again.
func (d description) holds() bool {
	if !d.there {
		return time.Since(d.at) < missingLife
	}
	return time.Since(d.at) < shelfLife
}

// learn notes what AWS said, and forgets certificates that were not there when AWS was asked long
// ago.
func (n *namedCertificates) learn(id lb.CertificateID, d description) {
	n.mu.Lock()
	defer n.mu.Unlock()
	kept := map[lb.CertificateID]description{id: d}
	for other, known := range n.known {
		if other != id && (known.there || known.holds()) {
			kept[other] = known
		}
	}
	n.known = kept
}

// namesIn are all names of a certificate: its alternative names, and its domain, which for one that
// was imported is its common name and need not be a host.
func namesIn(domain string, alternatives []string) []string {
	out := lower(alternatives)
	if domain = strings.ToLower(domain); routing.NamesHost(domain) && !slices.Contains(out, domain) {
		out = append(out, domain)
	}
	return out
}
