package aws

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"golang.org/x/sync/errgroup"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file keeps the certificates that Secrets brought, in AWS Certificate Manager.

// readCertificates reads those of a load balancer.
func (p *Provider) readCertificates(ctx context.Context, l *look, strewn map[string]map[string]string) error {
	arns := slices.DeleteFunc(sorted(strewn), func(arn string) bool { return !strings.Contains(arn, ":acm:") })
	found := make([]*lb.ObservedCertificate, len(arns))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(atOnce)
	for i, arn := range arns {
		reads.Go(func() (err error) {
			found[i], err = p.readCertificate(ctx, arn, strewn[arn])
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return err
	}
	known := map[lb.CertificateID]bool{}
	for _, c := range found {
		if c == nil {
			continue
		}
		if known[c.ID] {
			c.ID = lb.CertificateID(c.Handle) // imported twice: nobody wants it under this name, so that it goes
		}
		known[c.ID] = true
		l.imported[c.Handle] = *c
	}
	return nil
}

// readCertificate reads one that is tagged as ours, or nil where it is gone. Its ID is in a tag, which
// is written after it was imported again: where the tags tell of another certificate, it is known by its
// ARN, which nobody wants, until it is imported once more.
func (p *Provider) readCertificate(ctx context.Context, arn string, tags map[string]string) (*lb.ObservedCertificate, error) {
	out, err := p.acm.GetCertificate(ctx, &acm.GetCertificateInput{CertificateArn: aws.String(arn)})
	if is(err, "ResourceNotFound") {
		return nil, nil // deleted a moment ago
	}
	if err != nil {
		return nil, explained("reading certificate "+arn, err)
	}
	leaf, err := parseLeaf([]byte(aws.ToString(out.Certificate)))
	if err != nil {
		return nil, fmt.Errorf("reading certificate %s: %w", arn, err)
	}
	c := lb.Certificate{ID: lb.CertificateID(tags[tagCertificate]), Hosts: routing.NamesIn(leaf), Kind: routing.KindOf(leaf)}
	if c.ID == "" || tags[tagLeaf] != fingerprint(leaf) {
		c.ID = lb.CertificateID(arn)
	}
	return &lb.ObservedCertificate{Handle: arn, Certificate: c}, nil
}

// certificateID is the ID of a certificate: our own, or what AWS calls it.
func (l *look) certificateID(arn string) lb.CertificateID {
	if c, ours := l.imported[arn]; ours {
		return c.ID
	}
	return lb.CertificateID(arn)
}

// certificateARN is what AWS calls a certificate.
func certificateARN(seen *lb.Observed, id lb.CertificateID) (string, error) {
	if c := seen.Certificate(id); c != nil {
		return c.Handle, nil
	}
	if strings.HasPrefix(string(id), "arn:") {
		return string(id), nil
	}
	return "", fmt.Errorf("certificate %s is not there", id)
}

// importCertificate gives AWS a certificate with its key. AWS would import it as often as it is asked to: so
// whoever has asked before, or got no answer, looks for what came of it.
func (p *Provider) importCertificate(ctx context.Context, seen *lb.Observed, c lb.Certificate) (string, error) {
	if known := seen.Certificate(c.ID); known != nil {
		return known.Handle, nil
	}
	in, tags, err := p.toImport(seen.Key, c)
	if err != nil {
		return "", err
	}
	if p.imports.again(seen.Key, c.ID) {
		if arn, err := p.importedAs(ctx, tags); arn != "" || err != nil {
			return arn, err
		}
	}
	in.Tags = acmTags(tags)
	out, err := p.acm.ImportCertificate(ctx, in, onlyRefused)
	if err == nil {
		return aws.ToString(out.CertificateArn), nil
	}
	if codeOf(err) == "" {
		if arn, unknown := p.importedAs(ctx, tags); unknown == nil && arn != "" {
			return arn, nil
		}
	}
	return "", explained("importing certificate "+string(c.ID), err)
}

// importedAs is what AWS calls a certificate that was imported with some tags, or "".
func (p *Provider) importedAs(ctx context.Context, tags map[string]string) (string, error) {
	made, err := p.find(ctx, tags, "acm:certificate")
	if err != nil || len(made) == 0 {
		return "", err
	}
	return sorted(made)[0], nil
}

// Imports are the certificates that AWS was asked to import.
type imports struct {
	mu    sync.Mutex
	asked map[string]bool
}

// again notes that AWS is asked for one, and reports whether it has been before.
func (i *imports) again(key lb.Key, id lb.CertificateID) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.asked == nil {
		i.asked = map[string]bool{}
	}
	name := string(key) + " " + string(id)
	before := i.asked[name]
	i.asked[name] = true
	return before
}

// over notes that one is gone: if it is asked for again, it is a new one.
func (i *imports) over(key lb.Key, id lb.CertificateID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.asked, string(key)+" "+string(id))
}

// onlyRefused has the SDK make a call again where AWS refused it for its rate, and not where the answer was
// lost: AWS imports a certificate as often as it is asked to.
func onlyRefused(o *acm.Options) {
	o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) {
		s.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes}}
	})
}

// replaceCertificate imports a certificate in the place of another one, which keeps its ARN and with it
// everything that serves it. AWS takes no tags then, so these follow.
func (p *Provider) replaceCertificate(ctx context.Context, seen *lb.Observed, s plan.ReplaceCertificate) error {
	old := seen.Certificate(s.Old)
	if old == nil {
		if seen.Certificate(s.New.ID) != nil {
			return nil
		}
		return fmt.Errorf("certificate %s is not there", s.Old)
	}
	in, tags, err := p.toImport(seen.Key, s.New)
	if err != nil {
		return err
	}
	in.CertificateArn = aws.String(old.Handle)
	if _, err := p.acm.ImportCertificate(ctx, in); err != nil {
		return explained("importing certificate "+string(s.New.ID)+" in the place of "+old.Handle, err)
	}
	_, err = p.acm.AddTagsToCertificate(ctx, &acm.AddTagsToCertificateInput{CertificateArn: in.CertificateArn, Tags: acmTags(tags)})
	return explained("tagging "+old.Handle, err)
}

// toImport is a certificate as AWS takes it, and the tags that it is known by. AWS refuses one that is
// not valid now, and is not asked.
func (p *Provider) toImport(key lb.Key, c lb.Certificate) (*acm.ImportCertificateInput, map[string]string, error) {
	refuse := func(why error) error {
		return fmt.Errorf("importing certificate %s of Secret %s: %w: %w", c.ID, c.Source, why, providers.ErrRejected)
	}
	if c.Pair == nil {
		return nil, nil, refuse(errors.New("it comes without its key"))
	}
	leaf, err := parseLeaf(c.Pair.Chain)
	if err != nil {
		return nil, nil, refuse(err)
	}
	switch now := time.Now(); {
	case now.After(leaf.NotAfter):
		return nil, nil, refuse(fmt.Errorf("it expired on %s", leaf.NotAfter.Format(time.DateTime)))
	case now.Before(leaf.NotBefore):
		return nil, nil, refuse(fmt.Errorf("it is not valid before %s", leaf.NotBefore.Format(time.DateTime)))
	}
	own, above := split(c.Pair.Chain)
	in := &acm.ImportCertificateInput{Certificate: own, CertificateChain: above, PrivateKey: c.Pair.Key}
	return in, p.owned(key, map[string]string{tagCertificate: string(c.ID), tagLeaf: fingerprint(leaf)}), nil
}

// acmTags are tags as Certificate Manager takes them.
func acmTags(tags map[string]string) []acmtypes.Tag {
	var out []acmtypes.Tag
	for _, k := range sorted(tags) {
		out = append(out, acmtypes.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return out
}

// parseLeaf reads the first certificate of a chain.
func parseLeaf(chain []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(chain)
	if block == nil {
		return nil, errors.New("there is no PEM block")
	}
	return x509.ParseCertificate(block.Bytes)
}

// fingerprint tells a certificate from all others.
func fingerprint(leaf *x509.Certificate) string {
	sum := sha256.Sum256(leaf.Raw)
	return hex.EncodeToString(sum[:16])
}

// split takes a chain apart into the certificate and what is above it.
func split(chain []byte) (leaf, above []byte) {
	block, rest := pem.Decode(chain)
	leaf = pem.EncodeToMemory(block)
	if next, _ := pem.Decode(rest); next == nil {
		return leaf, nil
	}
	return leaf, rest
}

func (p *Provider) deleteCertificate(ctx context.Context, seen *lb.Observed, id lb.CertificateID) error {
	c := seen.Certificate(id)
	if c == nil {
		return nil
	}
	err := p.whenReleased(ctx, seen, c.Handle, func() error {
		_, err := p.acm.DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: aws.String(c.Handle)})
		return err
	})
	if err == nil || is(err, "ResourceNotFound") {
		p.imports.over(seen.Key, id)
		return nil
	}
	return explained("deleting certificate "+c.Handle, err)
}
