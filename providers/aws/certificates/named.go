package certificates

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
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file reads the host names of the certificates that Ingresses name by ARN.

// namedCertificates holds descriptions of those certificates, by ARN.
type namedCertificates struct {
	mu    sync.Mutex
	known map[lb.CertificateID]description
}

// A description holds AWS's description of a certificate.
type description struct {
	names []string
	there bool
	at    time.Time
}

// LookUpNames adds the names of certificates to facts. It reads each certificate as often as the
// certificates of the account. It leaves out certificates that AWS does not know, or does not
// describe: an invented ARN in one Ingress does not keep another Ingress waiting.
func (s *Store) LookUpNames(ctx context.Context, ids []lb.CertificateID, facts *lb.Facts) error {
	found, unread := make([]description, len(ids)), make([]error, len(ids))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(client.ParallelReads)
	for i, id := range ids {
		if !strings.Contains(string(id), ":acm:") {
			continue // a server certificate of IAM, which the role is not allowed to read
		}
		reads.Go(providers.CatchPanics(ctx, func() (err error) {
			if found[i], err = s.describe(ctx, id); !client.IsTimeout(err) && ctx.Err() == nil {
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
	for i, id := range ids {
		if found[i].there {
			facts.Names[id] = found[i].names
		}
	}
	return nil
}

// describe returns the description of a certificate: a recent one, or a new one, or an old one if
// the role can no longer read it.
func (s *Store) describe(ctx context.Context, id lb.CertificateID) (description, error) {
	before := s.named.get(id)
	if before.isRecent() {
		return before, nil
	}
	now := time.Now()
	out, err := s.acm.DescribeCertificate(ctx,
		&acm.DescribeCertificateInput{CertificateArn: aws.String(string(id))})
	d := description{at: now}
	switch {
	case client.HasCode(err, "AccessDenied") && before.there:
		d.there, d.names = true, before.names
	case client.HasCode(err, "ResourceNotFound", "InvalidArn", "Validation", "ValidationError",
		"AccessDenied"):
	case err != nil:
		return d, client.Explain("reading certificate "+string(id), err)
	case out.Certificate == nil:
		return d, client.MissingError("DescribeCertificate", "certificate "+string(id))
	default:
		if out.Certificate.Type == acmtypes.CertificateTypeAmazonIssued {
			s.imported.addForeign(string(id))
		}
		d.there, d.names = true, namesIn(aws.ToString(out.Certificate.DomainName),
			out.Certificate.SubjectAlternativeNames)
	}
	s.named.set(id, d)
	return d, nil
}

// get returns the last description of a certificate.
func (n *namedCertificates) get(id lb.CertificateID) description {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[id]
}

// isRecent reports whether a description can still be used.
func (d description) isRecent() bool {
	if !d.there {
		return time.Since(d.at) < missingLife
	}
	return time.Since(d.at) < shelfLife
}

// set stores a description, and forgets certificates that did not exist when they were last read.
func (n *namedCertificates) set(id lb.CertificateID, d description) {
	n.mu.Lock()
	defer n.mu.Unlock()
	kept := map[lb.CertificateID]description{id: d}
	for other, known := range n.known {
		if other != id && (known.there || known.isRecent()) {
			kept[other] = known
		}
	}
	n.known = kept
}

// namesIn returns all names of a certificate: its alternative names, and its domain. The domain of
// an imported certificate is its common name, which may not be a host.
func namesIn(domain string, alternatives []string) []string {
	out := lowerCase(alternatives)
	if domain = strings.ToLower(domain); routing.NamesHost(domain) && !slices.Contains(out, domain) {
		out = append(out, domain)
	}
	return out
}
