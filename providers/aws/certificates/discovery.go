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
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file finds certificates for hosts in the account. They are read once for all hosts and all
// load balancers.

// The times for which the list is used: for hosts with a certificate in it, and for others, whose
// certificate may have been issued since. A certificate has to be valid for leastLeft, unless it is
// in use already.
const (
	shelfLife   = 10 * time.Minute
	missingLife = time.Minute
	leastLeft   = 7 * 24 * time.Hour
)

// An accountCertificate is a certificate of the account that Fairlead did not import.
type accountCertificate struct {
	arn      string
	domain   string // may not be one of the hosts if the certificate was imported
	hosts    []string
	from, to time.Time
	inUse    bool
}

// Discover finds the certificates for each host, the best first, with all of their names.
func (s *Store) Discover(ctx context.Context, hosts []string, facts *lb.Facts) error {
	if len(hosts) == 0 {
		return nil
	}
	all, err := s.accountSince(ctx, time.Now().Add(-shelfLife))
	facts.Certificates = matchHosts(all, hosts)
	if err == nil && len(facts.Certificates) < len(hosts) {
		all, err = s.accountSince(ctx, time.Now().Add(-missingLife))
		facts.Certificates = matchHosts(all, hosts)
	}
	switch {
	case err != nil && s.account.Last() != nil:
		facts.Stale = append(facts.Stale, err.Error())
	case client.IsTimeout(err):
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

// accountSince returns the certificates that the account had at a time, or later; with an error,
// those of the last list. It leaves out ours, also those that the index of tags does not list yet.
func (s *Store) accountSince(ctx context.Context, when time.Time) ([]accountCertificate, error) {
	all, err := s.account.ReadSince(when, func() ([]accountCertificate, error) {
		return s.readAccount(ctx)
	})
	if err != nil {
		all = s.account.Last()
	}
	return slices.DeleteFunc(slices.Clone(all), func(c accountCertificate) bool {
		return s.imported.has(c.arn)
	}), err
}

// readAccount reads the certificates that can be served and that no installation of Fairlead
// imported: those are deleted with their Secrets.
func (s *Store) readAccount(ctx context.Context) ([]accountCertificate, error) {
	imported, err := s.Find(ctx, map[string]string{client.TagInstallation: ""}, "acm:certificate")
	if err != nil {
		return nil, err
	}
	listed, err := s.listCertificates(ctx)
	if err != nil {
		return nil, err
	}
	var all []accountCertificate
	for _, c := range listed {
		arn := aws.ToString(c.CertificateArn)
		if _, ours := imported[arn]; ours || s.imported.has(arn) {
			continue
		}
		if c.Type == acmtypes.CertificateTypeAmazonIssued {
			s.imported.addForeign(arn)
		}
		all = append(all, toAccountCertificate(c))
	}
	return all, s.readHosts(ctx, all)
}

// listCertificates reads the list of the account's certificates that can be served. It leaves out
// those that another service of AWS manages.
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
			return nil, client.Explain("listing certificates", err)
		}
		for _, c := range page.CertificateSummaryList {
			// "Identifies the Amazon Web Services service that manages the certificate": CloudFront
			// requests its own for the hosts of its distributions
			// (https://docs.aws.amazon.com/acm/latest/APIReference/API_CertificateSummary.html).
			if c.ManagedBy == "" {
				all = append(all, c)
			}
		}
	}
	return all, nil
}

// toAccountCertificate converts a certificate of the list, without hosts if the list does not have
// all of them.
func toAccountCertificate(c acmtypes.CertificateSummary) accountCertificate {
	out := accountCertificate{
		arn: aws.ToString(c.CertificateArn), domain: strings.ToLower(aws.ToString(c.DomainName)),
		from: aws.ToTime(c.NotBefore), to: aws.ToTime(c.NotAfter), inUse: aws.ToBool(c.InUse),
	}
	if !aws.ToBool(c.HasAdditionalSubjectAlternativeNames) {
		out.hosts = lowerCase(c.SubjectAlternativeNameSummaries)
	}
	return out
}

// readHosts reads the hosts of certificates if the list does not have all of them.
func (s *Store) readHosts(ctx context.Context, all []accountCertificate) error {
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(client.ParallelReads)
	for i := range all {
		if c := &all[i]; len(c.hosts) == 0 {
			reads.Go(providers.CatchPanics(ctx, func() error {
				out, err := s.acm.DescribeCertificate(ctx,
					&acm.DescribeCertificateInput{CertificateArn: aws.String(c.arn)})
				if client.HasCode(err, "ResourceNotFound") {
					return nil // deleted a moment ago
				}
				if err != nil {
					return client.Explain("reading certificate "+c.arn, err)
				}
				d := out.Certificate
				if d == nil {
					return client.MissingError("DescribeCertificate", "certificate "+c.arn)
				}
				c.hosts, c.from, c.to, c.inUse = lowerCase(d.SubjectAlternativeNames), aws.ToTime(d.NotBefore),
					aws.ToTime(d.NotAfter), len(d.InUseBy) > 0
				return nil
			}))
		}
	}
	return reads.Wait()
}

// matchHosts returns the certificates for each host, the best first.
func matchHosts(all []accountCertificate, hosts []string) map[string][]lb.CertificateID {
	found := map[string][]lb.CertificateID{}
	for _, host := range hosts {
		for _, c := range rankCertificates(all, host, time.Now()) {
			found[host] = append(found[host], lb.CertificateID(c.arn))
		}
	}
	return found
}

// rankCertificates returns the certificates that can be served for a host: first those that name
// it, then those with a wildcard, in each case the newest first.
func rankCertificates(all []accountCertificate, host string, now time.Time) []accountCertificate {
	fit := slices.DeleteFunc(slices.Clone(all), func(c accountCertificate) bool {
		left := c.to.Sub(now)
		return now.Before(c.from) || left <= 0 || left < leastLeft && !c.inUse || !c.matchesHost(host)
	})
	slices.SortFunc(fit, func(a, b accountCertificate) int {
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
func (c accountCertificate) names() []string { return namesIn(c.domain, c.hosts) }

// matchesHost reports whether clients accept the certificate for a host, or for a wildcard host.
func (c accountCertificate) matchesHost(host string) bool {
	if strings.HasPrefix(host, "*.") {
		return slices.Contains(c.hosts, host)
	}
	return (&x509.Certificate{DNSNames: c.hosts}).VerifyHostname(host) == nil
}

// lowerCase returns the names in lower case.
func lowerCase(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.ToLower(n)
	}
	return out
}
