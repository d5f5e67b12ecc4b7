package certificates

import (
	"cmp"
	"context"
	"crypto/x509"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"golang.org/x/sync/errgroup"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/resource"
	"fairlead.dev/fairlead/providers/aws/throttle"
)

// This file finds certificates for hosts among those of the account. They are read once for all
// hosts and all load balancers.

// How long the list is used: for hosts with a certificate in it, and for others, whose certificate
// may have been issued since. A certificate has to be valid for leastLeft, unless it is in use
// already.
const (
	shelfLife   = 10 * time.Minute
	missingLife = time.Minute
	leastLeft   = 7 * 24 * time.Hour
)

// A held certificate is one of the account that Fairlead did not import.
type held struct {
	arn      string
	domain   string // need not be one of the hosts, where others imported it
	hosts    []string
	from, to time.Time
	inUse    bool
}

// Discover finds the certificates for each host, the best first, with all of their names.
func (s *Store) Discover(ctx context.Context, hosts []string, facts *lb.Facts) error {
	if len(hosts) == 0 {
		return nil
	}
	all, err := s.heldSince(ctx, time.Now().Add(-shelfLife))
	if facts.Certificates = among(all, hosts); err == nil && len(facts.Certificates) < len(hosts) {
		all, err = s.heldSince(ctx, time.Now().Add(-missingLife))
		facts.Certificates = among(all, hosts)
	}
	switch {
	case err != nil && s.account.Last() != nil:
		facts.Stale = append(facts.Stale, err.Error())
	case throttle.IsTimeout(err):
		return err // the next calls would wait as long
	case err != nil:
		facts.CertificatesUnread = err.Error()
	}
	names := make(map[lb.CertificateID][]string, len(all))
	for _, c := range all {
		names[lb.CertificateID(c.arn)] = c.names()
	}
	for _, found := range facts.Certificates {
		for _, id := range found {
			facts.Names[id] = names[id]
		}
	}
	return nil
}

// heldSince returns the certificates that the account had at a time, or later; with an error, those
// of the last list. Ours are left out, also those that the index of tags does not list yet.
func (s *Store) heldSince(ctx context.Context, when time.Time) ([]held, error) {
	all, err := s.account.Since(when, func() ([]held, error) { return s.readHeld(ctx) })
	if err != nil {
		all = s.account.Last()
	}
	return slices.DeleteFunc(slices.Clone(all), func(c held) bool {
		return s.imported.has(c.arn)
	}), err
}

// readHeld reads the certificates that can be served and that no installation of Fairlead imported:
// imported ones come and go with their Secrets.
func (s *Store) readHeld(ctx context.Context) ([]held, error) {
	imported, err := s.Find(ctx, map[string]string{resource.TagInstallation: ""}, "acm:certificate")
	if err != nil {
		return nil, err
	}
	listed, err := s.listCertificates(ctx)
	if err != nil {
		return nil, err
	}
	var all []held
	for _, c := range listed {
		arn := aws.ToString(c.CertificateArn)
		if _, ours := imported[arn]; ours || s.imported.has(arn) {
			continue
		}
		if c.Type == acmtypes.CertificateTypeAmazonIssued {
			s.imported.addForeign(arn)
		}
		all = append(all, toHeld(c))
	}
	return all, s.readHosts(ctx, all)
}

// listCertificates lists the certificates of the account that can be served.
func (s *Store) listCertificates(ctx context.Context) ([]acmtypes.CertificateSummary, error) {
	pages := acm.NewListCertificatesPaginator(s.acm, &acm.ListCertificatesInput{
		CertificateStatuses: []acmtypes.CertificateStatus{acmtypes.CertificateStatusIssued},
		// By default, AWS lists only certificates with short RSA keys.
		Includes: &acmtypes.Filters{KeyTypes: []acmtypes.KeyAlgorithm{
			acmtypes.KeyAlgorithmRsa2048, acmtypes.KeyAlgorithmRsa3072, acmtypes.KeyAlgorithmRsa4096,
			acmtypes.KeyAlgorithmEcPrime256v1, acmtypes.KeyAlgorithmEcSecp384r1,
			acmtypes.KeyAlgorithmEcSecp521r1,
		}},
		MaxItems: aws.Int32(1000),
	})
	var all []acmtypes.CertificateSummary
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Explain("listing certificates", err)
		}
		all = append(all, page.CertificateSummaryList...)
	}
	return all, nil
}

// toHeld returns a certificate of the list, without hosts where the list does not have all of them.
func toHeld(c acmtypes.CertificateSummary) held {
	out := held{
		arn: aws.ToString(c.CertificateArn), domain: strings.ToLower(aws.ToString(c.DomainName)),
		from: aws.ToTime(c.NotBefore), to: aws.ToTime(c.NotAfter), inUse: aws.ToBool(c.InUse),
	}
	if !aws.ToBool(c.HasAdditionalSubjectAlternativeNames) {
		out.hosts = lower(c.SubjectAlternativeNameSummaries)
	}
	return out
}

// readHosts reads the hosts of certificates of which the list does not have all.
func (s *Store) readHosts(ctx context.Context, all []held) error {
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(throttle.ParallelReads)
	for i := range all {
		if c := &all[i]; len(c.hosts) == 0 {
			reads.Go(providers.Safely(ctx, func() error {
				out, err := s.acm.DescribeCertificate(ctx,
					&acm.DescribeCertificateInput{CertificateArn: aws.String(c.arn)})
				if awserr.Is(err, "ResourceNotFound") {
					return nil // deleted a moment ago
				}
				if err != nil {
					return awserr.Explain("reading certificate "+c.arn, err)
				}
				d := out.Certificate
				if d == nil {
					return awserr.Missing("DescribeCertificate", "certificate "+c.arn)
				}
				c.hosts, c.from, c.to, c.inUse = lower(d.SubjectAlternativeNames), aws.ToTime(d.NotBefore),
					aws.ToTime(d.NotAfter), len(d.InUseBy) > 0
				return nil
			}))
		}
	}
	return reads.Wait()
}

// among returns the certificates for each host.
func among(all []held, hosts []string) map[string][]lb.CertificateID {
	found := map[string][]lb.CertificateID{}
	for _, host := range hosts {
		for _, c := range ranked(all, host, time.Now()) {
			found[host] = append(found[host], lb.CertificateID(c.arn))
		}
	}
	return found
}

// ranked returns the certificates that can be served for a host: first those that name it, then
// those with a wildcard, the newest first.
func ranked(all []held, host string, now time.Time) []held {
	fit := slices.DeleteFunc(slices.Clone(all), func(c held) bool {
		left := c.to.Sub(now)
		return now.Before(c.from) || left <= 0 || left < leastLeft && !c.inUse || !c.isFor(host)
	})
	slices.SortFunc(fit, func(a, b held) int {
		switch named := slices.Contains(a.hosts, host); {
		case named == slices.Contains(b.hosts, host):
			return cmp.Or(b.from.Compare(a.from), strings.Compare(a.arn, b.arn))
		case named:
			return -1
		}
		return 1
	})
	return fit
}

// names returns all names of the certificate.
func (c held) names() []string { return namesIn(c.domain, c.hosts) }

// isFor reports whether clients accept the certificate for a host, or for all hosts of a wildcard.
func (c held) isFor(host string) bool {
	if strings.HasPrefix(host, "*.") {
		return slices.Contains(c.hosts, host)
	}
	return (&x509.Certificate{DNSNames: c.hosts}).VerifyHostname(host) == nil
}

// lower returns names in lower case.
func lower(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.ToLower(n)
	}
	return out
}
