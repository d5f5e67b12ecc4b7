package certificates

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file imports certificates, and replaces imported ones.

// ARN returns the ARN of a certificate.
func ARN(seen *lb.Observed, id lb.CertificateID) (string, error) {
	if c := seen.Certificate(id); c != nil {
		return c.Handle, nil
	}
	if strings.HasPrefix(string(id), "arn:") {
		return string(id), nil
	}
	return "", fmt.Errorf("certificate %s does not exist", id)
}

// Import imports a certificate with its key. Each call imports the certificate anew, and an account
// has 5,000 imports a year, a new account fewer
// (https://docs.aws.amazon.com/acm/latest/userguide/acm-limits.html). So a certificate that this
// process has imported is not imported again. After an import without an answer, the certificate is
// looked for first, and so is one that the process before may have imported right before its end.
func (s *Store) Import(ctx context.Context, seen *lb.Observed, c lb.Certificate) (string, error) {
	if there := seen.Certificate(c.ID); there != nil {
		return there.Handle, nil
	}
	in, known, err := s.importInput(seen.Key, c)
	if err != nil {
		return "", err
	}
	if arn, err := s.importedBefore(ctx, seen, known, c); arn != "" || err != nil {
		return arn, err
	}
	undo, err := s.pace.begin(c, "", time.Now())
	if err != nil {
		return "", fmt.Errorf("importing certificate %s: %w", c.ID, err)
	}
	tags := Tags(known, c)
	in.Tags = acmTags(tags)
	s.imported.beginImport(seen.Key, c.ID)
	out, err := s.acm.ImportCertificate(ctx, in, retryThrottled)
	if err == nil {
		arn, err := client.RequireID(out.CertificateArn, "ImportCertificate", "an ARN")
		if err != nil {
			return "", err // the next try looks for it, as after no answer
		}
		s.imported.endImport(seen.Key, c.ID)
		s.imported.set(seen.Key, arn, tags)
		s.labels.set(arn, known[client.TagLabel])
		return arn, nil
	}
	explained := client.Explain("importing certificate "+string(c.ID), err)
	refused := func(class error) bool { return errors.Is(explained, class) }
	switch {
	case refused(providers.ErrRejected), refused(providers.ErrDenied), refused(providers.ErrThrottled):
		s.imported.endImport(seen.Key, c.ID) // AWS did not import it
		undo()
	case client.ErrorCode(err) == "":
		if arn, unknown := s.importedBefore(ctx, seen, known, c); unknown == nil && arn != "" {
			return arn, nil
		}
	}
	return "", explained
}

// importedBefore returns the ARN of a certificate that this process has imported, with or without
// an answer, or "". It adds the tags that the certificate should have.
func (s *Store) importedBefore(ctx context.Context, seen *lb.Observed, known map[string]string,
	c lb.Certificate) (string, error) {
	key, besides := seen.Key, map[string]bool{}
	for _, other := range seen.Certificates {
		besides[other.Handle] = true
	}
	found, err := s.confirmOwned(ctx, key, besides)
	if err != nil {
		return "", err
	}
	// Observed certificates have other IDs.
	maps.DeleteFunc(found, func(arn string, _ map[string]string) bool { return besides[arn] })
	arn := findByID(found, c.ID)
	if arn == "" {
		search := s.searchRecent
		if s.imported.importing(key, c.ID) {
			search = func(ctx context.Context, key lb.Key, c lb.Certificate) (map[string]map[string]string, error) {
				return s.searchImported(ctx, key, known, c)
			}
		}
		if found, err = search(ctx, key, c); err != nil {
			return "", err
		}
		if arn = findByID(found, c.ID); arn != "" {
			s.imported.set(key, arn, found[arn])
		}
	}
	if arn == "" {
		return "", nil
	}
	s.imported.endImport(key, c.ID)
	s.labels.set(arn, known[client.TagLabel])
	before := lb.Digest(found[arn][client.TagDigest])
	if before == c.Digest {
		return arn, nil
	}
	return arn, s.writeTags(ctx, arn, before, Tags(known, c))
}

// findByID returns the ARN of the first certificate with an ID, or "".
func findByID(tags map[string]map[string]string, id lb.CertificateID) string {
	for _, arn := range slices.Sorted(maps.Keys(tags)) {
		if tags[arn][client.TagCertificate] == string(id) {
			return arn
		}
	}
	return ""
}

// searchImported looks for a certificate that AWS may have imported: in the index of tags, and then
// among all certificates of the account, because the index may be out of date. It compares the tags
// of the certificates themselves.
func (s *Store) searchImported(
	ctx context.Context, key lb.Key, known map[string]string, c lb.Certificate,
) (
	map[string]map[string]string, error,
) {
	listed, err := s.Find(ctx, known, "acm:certificate")
	if err != nil {
		return nil, err
	}
	found, err := s.ownedAmong(ctx, key, slices.Sorted(maps.Keys(listed)))
	if err != nil || findByID(found, c.ID) != "" {
		return found, err
	}
	all, err := s.listCertificates(ctx)
	if err != nil {
		return nil, err
	}
	return s.ownedAlike(ctx, key, c, all)
}

// ownedAlike returns those of some certificates of the account that were imported for a load balancer and
// are for the same hosts, and valid as long, as another one.
func (s *Store) ownedAlike(ctx context.Context, key lb.Key, c lb.Certificate, all []acmtypes.CertificateSummary) (
	map[string]map[string]string, error,
) {
	leaf, err := parseLeaf(c.Pair.Chain)
	if err != nil {
		return nil, err
	}
	var alike []string
	for _, summary := range all {
		sameTime := aws.ToTime(summary.NotAfter).Equal(leaf.NotAfter) &&
			aws.ToTime(summary.NotBefore).Equal(leaf.NotBefore)
		if summary.Type == acmtypes.CertificateTypeImported && sameTime && isFor(summary, leaf) {
			alike = append(alike, aws.ToString(summary.CertificateArn))
		}
	}
	return s.ownedAmong(ctx, key, alike)
}

// isFor reports whether a listed certificate may be for the first host of another one.
func isFor(summary acmtypes.CertificateSummary, leaf *x509.Certificate) bool {
	return len(leaf.DNSNames) == 0 || aws.ToBool(summary.HasAdditionalSubjectAlternativeNames) ||
		slices.ContainsFunc(summary.SubjectAlternativeNameSummaries, func(host string) bool {
			return strings.EqualFold(host, leaf.DNSNames[0])
		})
}

// indexDelay is longer than the delay of the index of tags: what the process before imported is in it
// once this one is as old.
const indexDelay = time.Hour

// searchRecent looks for a certificate that the process before may have imported right before its end: the
// index of tags may not have it yet. The list is read once.
func (s *Store) searchRecent(ctx context.Context, key lb.Key, c lb.Certificate) (
	map[string]map[string]string, error,
) {
	select {
	case s.recent.turn <- struct{}{}: // one reads the list, and others wait for it
		defer func() { <-s.recent.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if time.Since(s.began) >= indexDelay {
		s.recent.all = nil
		return nil, nil
	}
	if !s.recent.read {
		all, err := s.listCertificates(ctx)
		if err != nil && !errors.Is(err, providers.ErrDenied) { // by an earlier version of the policy
			return nil, err
		}
		s.recent.read = true
		s.recent.all = slices.DeleteFunc(all, func(summary acmtypes.CertificateSummary) bool {
			at := aws.ToTime(summary.ImportedAt)
			return at.Before(s.began.Add(-indexDelay)) || s.imported.has(aws.ToString(summary.CertificateArn))
		})
	}
	return s.ownedAlike(ctx, key, c, s.recent.all)
}

// retryThrottled makes the SDK repeat a call that AWS throttled, and not one whose answer was lost:
// each call imports the certificate anew. The SDK treats LimitExceededException as throttling, but
// it is a quota here.
func retryThrottled(o *acm.Options) {
	rates := maps.Clone(retry.DefaultThrottleErrorCodes)
	delete(rates, "LimitExceededException")
	o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) {
		s.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: rates}}
	})
}

// skipQuotaErrors makes the SDK repeat calls by its defaults, except if a quota is used up, which
// the SDK treats as throttling.
func skipQuotaErrors(o *acm.Options) {
	quota := retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
		if client.ErrorCode(err) == "LimitExceeded" {
			return aws.FalseTernary
		}
		return aws.UnknownTernary
	})
	o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) {
		s.Retryables = slices.Insert(slices.Clone(s.Retryables), 0, retry.IsErrorRetryable(quota))
	})
}

// Replace imports a certificate in place of another one: the ARN stays, and with it the listeners
// that serve it. That call takes no tags, so another call writes them, and the label is short in
// between.
func (s *Store) Replace(ctx context.Context, seen *lb.Observed,
	step plan.ReplaceCertificate) error {
	old := seen.Certificate(step.Old)
	if old == nil {
		if seen.Certificate(step.New.ID) != nil {
			return nil
		}
		return fmt.Errorf("certificate %s does not exist", step.Old)
	}
	in, known, err := s.importInput(seen.Key, step.New)
	if err != nil {
		return err
	}
	undo, err := s.pace.begin(step.New, old.Handle, time.Now())
	if err != nil {
		return fmt.Errorf("importing certificate %s in the place of %s: %w", step.New.ID, old.Handle, err)
	}
	label := shortenLabel(s.labels.get(old.Handle), known[client.TagLabel])
	if err := s.addTags(ctx, old.Handle,
		s.Owned(seen.Key, map[string]string{client.TagLabel: label})); err != nil {
		undo()
		return err
	}
	in.CertificateArn = aws.String(old.Handle)
	if _, err := s.acm.ImportCertificate(ctx, in, skipQuotaErrors); err != nil {
		undo() // so that the next try does not wait
		return client.Explain("importing certificate "+string(step.New.ID)+" in the place of "+old.Handle,
			err)
	}
	return s.writeTags(ctx, old.Handle, old.Digest, Tags(known, step.New))
}

// importInput returns a certificate in the form of the SDK, and our tags of it. AWS refuses a
// certificate that is not valid yet, so no call is made for it; expired ones are not compiled.
func (s *Store) importInput(key lb.Key,
	c lb.Certificate) (*acm.ImportCertificateInput, map[string]string, error) {
	refuse := func(why error) error {
		return fmt.Errorf("importing certificate %s of Secret %s: %w: %w",
			c.ID, strings.Join(c.Secrets, ", "), why, providers.ErrRejected)
	}
	if c.Pair == nil {
		return nil, nil, refuse(errors.New("it comes without its key"))
	}
	leaf, err := parseLeaf(c.Pair.Chain)
	if err != nil {
		return nil, nil, refuse(err)
	}
	if time.Now().Before(leaf.NotBefore) {
		return nil, nil, refuse(fmt.Errorf("it is not valid before %s",
			leaf.NotBefore.Format(time.DateTime)))
	}
	own, above := splitChain(c.Pair.Chain)
	in := &acm.ImportCertificateInput{
		Certificate: own, CertificateChain: above, PrivateKey: c.Pair.Key,
	}
	return in, s.Owned(key, map[string]string{
		client.TagCertificate: string(c.ID), client.TagLabel: labelOf(leaf),
	}), nil
}

// parseLeaf parses the first certificate of a chain.
func parseLeaf(chain []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(chain)
	if block == nil {
		return nil, errors.New("there is no PEM block")
	}
	return x509.ParseCertificate(block.Bytes)
}

// splitChain returns the first certificate of a chain, and the chain above it.
func splitChain(chain []byte) (leaf, above []byte) {
	block, rest := pem.Decode(chain)
	leaf = pem.EncodeToMemory(block)
	if next, _ := pem.Decode(rest); next == nil {
		return leaf, nil
	}
	return leaf, rest
}
