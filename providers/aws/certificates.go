package aws

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
	"golang.org/x/sync/errgroup"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/errorcode"
)

// This file keeps the certificates that Secrets brought, in AWS Certificate Manager.

// readCertificates finds out about those of a load balancer.
func (p *Provider) readCertificates(ctx context.Context, l *look, strewn map[string]map[string]string) error {
	known, err := p.certificatesUnder(ctx, l, strewn)
	if err != nil {
		return err
	}
	arns := sorted(known)
	found := make([]*lb.ObservedCertificate, len(arns))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(atOnce)
	for i, arn := range arns {
		reads.Go(providers.Safely(ctx, func() (err error) {
			found[i], err = p.observeCertificate(ctx, l, arn, known[arn])
			return err
		}))
	}
	if err := reads.Wait(); err != nil {
		return err
	}
	named := map[lb.CertificateID]bool{}
	for _, c := range found {
		if c == nil {
			continue
		}
		if named[c.ID] {
			c.ID = lb.CertificateID(c.Handle) // imported twice: nobody wants it under this name, so that it goes
		}
		named[c.ID] = true
		l.imported[c.Handle] = *c
	}
	return nil
}

// observeCertificate is one that is tagged as ours, or nil where it is gone. It is what its label
// says, as long as a listener serves it or it was imported a moment ago. Another one may be gone
// since its tags were looked at, and is read, as is one whose label does not say all, and one that
// is looked at deeply, whose tags are read as well. One that is not what its label says, or has
// none, is known by its ARN, which nobody wants, until it is imported once more.
func (p *Provider) observeCertificate(ctx context.Context, l *look, arn string, tags map[string]string) (*lb.ObservedCertificate, error) {
	if l.deep || p.labels.outdated(arn, tags[tagLabel]) {
		var err error
		if tags, err = p.tagsOfCertificate(ctx, arn); is(err, "ResourceNotFound") {
			return nil, nil // deleted a moment ago
		} else if err != nil {
			return nil, explained("reading the tags of "+arn, err)
		} else if !l.owns(tags) {
			p.own.forget(arn)
			return nil, nil // given to others meanwhile
		}
	}
	p.labels.learn(arn, tags[tagLabel])
	c := lb.Certificate{ID: lb.CertificateID(tags[tagCertificate]), Digest: lb.Digest(tags[tagDigest])}
	if l.deep && c.Digest != "" {
		c.Digest = lb.CertificateSettings{Tags: writtenTags(tags)}.Digest()
	}
	var whole bool
	if c.Kind, c.Hosts, whole = readLabel(tags[tagLabel]); !whole || l.deep || !l.serves(arn) && !p.recent.knows(":certificate/", arn) {
		leaf, err := p.readCertificate(ctx, arn)
		if leaf == nil {
			if err == nil {
				p.own.forget(arn)
			}
			return nil, err
		}
		c.Kind, c.Hosts = routing.KindOf(leaf), routing.NamesIn(leaf)
		if !isOf(tags[tagLabel], leaf) {
			c.ID = ""
		}
	}
	if c.ID == "" {
		c.ID = lb.CertificateID(arn)
	}
	return &lb.ObservedCertificate{Handle: arn, Certificate: c}, nil
}

// readCertificate reads one that was imported; nil where it is gone.
func (p *Provider) readCertificate(ctx context.Context, arn string) (*x509.Certificate, error) {
	out, err := p.acm.GetCertificate(ctx, &acm.GetCertificateInput{CertificateArn: aws.String(arn)})
	if is(err, "ResourceNotFound") {
		return nil, nil
	}
	if err != nil {
		return nil, explained("reading certificate "+arn, err)
	}
	leaf, err := parseLeaf([]byte(aws.ToString(out.Certificate)))
	if err != nil {
		return nil, fmt.Errorf("reading certificate %s: %w", arn, err)
	}
	return leaf, nil
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

// importCertificate gives AWS a certificate with its key. AWS would import it as often as it is
// asked to, and lets an account do so 5,000 times a year, a new one less often
// (https://docs.aws.amazon.com/acm/latest/userguide/acm-limits.html). So a certificate that this
// process had imported is not imported again. After an import without an answer the certificate is
// looked for first.
func (p *Provider) importCertificate(ctx context.Context, seen *lb.Observed, c lb.Certificate) (string, error) {
	if there := seen.Certificate(c.ID); there != nil {
		return there.Handle, nil
	}
	in, known, err := p.toImport(seen.Key, c)
	if err != nil {
		return "", err
	}
	if arn, err := p.importedBefore(ctx, seen, known, c); arn != "" || err != nil {
		return arn, err
	}
	tags := certificateTags(known, c)
	in.Tags = acmTags(tags)
	p.own.ask(seen.Key, c.ID)
	out, err := p.acm.ImportCertificate(ctx, in, onlyRefused)
	if err == nil {
		arn, err := said(out.CertificateArn, "ImportCertificate", "an ARN")
		if err != nil {
			return "", err // it is looked for with the next try, as after no answer
		}
		p.own.answer(seen.Key, c.ID)
		p.own.learn(seen.Key, arn, tags)
		p.labels.learn(arn, known[tagLabel])
		return arn, nil
	}
	explained := explained("importing certificate "+string(c.ID), err)
	switch {
	case errors.Is(explained, providers.ErrRejected), errors.Is(explained, providers.ErrDenied), errors.Is(explained, providers.ErrThrottled):
		p.own.answer(seen.Key, c.ID) // AWS did not import it
	case errorcode.Of(err) == "":
		if arn, unknown := p.importedBefore(ctx, seen, known, c); unknown == nil && arn != "" {
			return arn, nil
		}
	}
	return "", explained
}

// importedBefore is the ARN of a certificate that this process had imported, or asked for without
// an answer, or "". It is given the tags that it is to have by now.
func (p *Provider) importedBefore(ctx context.Context, seen *lb.Observed, known map[string]string, c lb.Certificate) (string, error) {
	key, besides := seen.Key, map[string]bool{}
	for _, other := range seen.Certificates {
		besides[other.Handle] = true
	}
	found, err := p.confirmed(ctx, key, besides)
	if err != nil {
		return "", err
	}
	maps.DeleteFunc(found, func(arn string, _ map[string]string) bool { return besides[arn] }) // these are known by other IDs
	arn := named(found, c.ID)
	if arn == "" && p.own.unanswered(key, c.ID) {
		if found, err = p.search(ctx, key, known, c); err != nil {
			return "", err
		}
		if arn = named(found, c.ID); arn != "" {
			p.own.learn(key, arn, found[arn])
		}
	}
	if arn == "" {
		return "", nil
	}
	p.own.answer(key, c.ID)
	p.labels.learn(arn, known[tagLabel])
	before := lb.Digest(found[arn][tagDigest])
	if before == c.Digest {
		return arn, nil
	}
	return arn, p.retagCertificate(ctx, arn, before, certificateTags(known, c))
}

// named is the first of some certificates that has an ID, or "".
func named(tags map[string]map[string]string, id lb.CertificateID) string {
	for _, arn := range sorted(tags) {
		if tags[arn][tagCertificate] == string(id) {
			return arn
		}
	}
	return ""
}

// search looks for a certificate that AWS may have imported: in the index of tags, and then among
// all certificates of the account, for the index may be behind. The tags of each certificate itself
// decide.
func (p *Provider) search(ctx context.Context, key lb.Key, known map[string]string, c lb.Certificate) (map[string]map[string]string, error) {
	listed, err := p.find(ctx, known, "acm:certificate")
	if err != nil {
		return nil, err
	}
	found, err := p.oursAmong(ctx, key, sorted(listed))
	if err != nil || named(found, c.ID) != "" {
		return found, err
	}
	leaf, err := parseLeaf(c.Pair.Chain)
	if err != nil {
		return nil, err
	}
	all, err := p.listCertificates(ctx)
	if err != nil {
		return nil, err
	}
	var alike []string
	for _, s := range all {
		if s.Type == acmtypes.CertificateTypeImported && aws.ToTime(s.NotAfter).Equal(leaf.NotAfter) && aws.ToTime(s.NotBefore).Equal(leaf.NotBefore) {
			alike = append(alike, aws.ToString(s.CertificateArn))
		}
	}
	return p.oursAmong(ctx, key, alike)
}

// onlyRefused has the SDK make a call again where AWS refused it for its rate, and not where the
// answer was lost: AWS imports a certificate as often as it is asked to. What the SDK takes for a
// rate, too, is a quota here.
func onlyRefused(o *acm.Options) {
	rates := maps.Clone(retry.DefaultThrottleErrorCodes)
	delete(rates, "LimitExceededException")
	o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) {
		s.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: rates}}
	})
}

// exceptQuotas has the SDK make a call again as ever, but for a quota that is used up, which the
// SDK takes for a rate.
func exceptQuotas(o *acm.Options) {
	quota := retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
		if errorcode.Of(err) == "LimitExceeded" {
			return aws.FalseTernary
		}
		return aws.UnknownTernary
	})
	o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) {
		s.Retryables = slices.Insert(slices.Clone(s.Retryables), 0, retry.IsErrorRetryable(quota))
	})
}

// replaceCertificate imports a certificate in the place of another one, which keeps its ARN and
// with it everything that serves it. AWS takes no tags then, so these follow, and the label is
// short in between.
func (p *Provider) replaceCertificate(ctx context.Context, seen *lb.Observed, s plan.ReplaceCertificate) error {
	old := seen.Certificate(s.Old)
	if old == nil {
		if seen.Certificate(s.New.ID) != nil {
			return nil
		}
		return fmt.Errorf("certificate %s is not there", s.Old)
	}
	in, known, err := p.toImport(seen.Key, s.New)
	if err != nil {
		return err
	}
	label := shortened(p.labels.of(old.Handle), known[tagLabel])
	if err := p.label(ctx, old.Handle, p.owned(seen.Key, map[string]string{tagLabel: label})); err != nil {
		return err
	}
	in.CertificateArn = aws.String(old.Handle)
	if _, err := p.acm.ImportCertificate(ctx, in, exceptQuotas); err != nil {
		return explained("importing certificate "+string(s.New.ID)+" in the place of "+old.Handle, err)
	}
	return p.retagCertificate(ctx, old.Handle, old.Digest, certificateTags(known, s.New))
}

// modifyCertificate changes the tags of a certificate.
func (p *Provider) modifyCertificate(ctx context.Context, seen *lb.Observed, c lb.Certificate) error {
	there := seen.Certificate(c.ID)
	if there == nil {
		return fmt.Errorf("certificate %s is not there", c.ID)
	}
	return p.retagCertificate(ctx, there.Handle, there.Digest, certificateTags(p.owned(seen.Key, nil), c))
}

// certificateTags are the tags of a certificate whose settings are written: those that it is known
// by, and those that it is given.
func certificateTags(known map[string]string, c lb.Certificate) map[string]string {
	tags := maps.Clone(known)
	maps.Copy(tags, c.Tags)
	noteTags(tags, c.Tags)
	if c.Digest != "" {
		tags[tagDigest] = string(c.Digest)
	}
	return tags
}

// retagCertificate gives a certificate tags, and takes away those that it was given before: none
// where it has no digest.
func (p *Provider) retagCertificate(ctx context.Context, arn string, before lb.Digest, after map[string]string) error {
	if before != "" {
		if err := p.untagCertificate(ctx, arn, after); err != nil {
			return err
		}
	}
	if err := p.label(ctx, arn, after); err != nil {
		return err
	}
	p.own.learn(keyIn(after), arn, after)
	return nil
}

// label adds tags to a certificate, a label among them where they come with one.
func (p *Provider) label(ctx context.Context, arn string, tags map[string]string) error {
	if label, has := tags[tagLabel]; has {
		p.labels.learn(arn, label)
	}
	p.own.doubt(arn)
	_, err := p.acm.AddTagsToCertificate(ctx, &acm.AddTagsToCertificateInput{CertificateArn: aws.String(arn), Tags: acmTags(tags)})
	return explained("tagging "+arn, err)
}

// tagsOfCertificate are the tags that a certificate has at this moment.
func (p *Provider) tagsOfCertificate(ctx context.Context, arn string) (map[string]string, error) {
	out, err := p.acm.ListTagsForCertificate(ctx, &acm.ListTagsForCertificateInput{CertificateArn: aws.String(arn)})
	if err != nil {
		return nil, err
	}
	tags := map[string]string{}
	for _, t := range out.Tags {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags, nil
}

// untagCertificate takes away the tags that a certificate was given and is not to have any more.
func (p *Provider) untagCertificate(ctx context.Context, arn string, after map[string]string) error {
	before, err := p.tagsOfCertificate(ctx, arn)
	if err != nil {
		return explained("reading the tags of "+arn, err)
	}
	var gone []acmtypes.Tag
	for _, name := range surplus(before, after) {
		gone = append(gone, acmtypes.Tag{Key: aws.String(name)})
	}
	if len(gone) == 0 {
		return nil
	}
	p.own.doubt(arn)
	_, err = p.acm.RemoveTagsFromCertificate(ctx, &acm.RemoveTagsFromCertificateInput{CertificateArn: aws.String(arn), Tags: gone})
	return explained("removing tags of "+arn, err)
}

// toImport is a certificate as AWS takes it, and the tags that it is known by. AWS refuses one that
// is not valid yet, and is not asked; those that are not any more are not compiled.
func (p *Provider) toImport(key lb.Key, c lb.Certificate) (*acm.ImportCertificateInput, map[string]string, error) {
	refuse := func(why error) error {
		return fmt.Errorf("importing certificate %s of Secret %s: %w: %w", c.ID, strings.Join(c.Secrets, ", "), why, providers.ErrRejected)
	}
	if c.Pair == nil {
		return nil, nil, refuse(errors.New("it comes without its key"))
	}
	leaf, err := parseLeaf(c.Pair.Chain)
	if err != nil {
		return nil, nil, refuse(err)
	}
	if time.Now().Before(leaf.NotBefore) {
		return nil, nil, refuse(fmt.Errorf("it is not valid before %s", leaf.NotBefore.Format(time.DateTime)))
	}
	own, above := split(c.Pair.Chain)
	in := &acm.ImportCertificateInput{Certificate: own, CertificateChain: above, PrivateKey: c.Pair.Key}
	return in, p.owned(key, map[string]string{tagCertificate: string(c.ID), tagLabel: labelOf(leaf)}), nil
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
	err := p.releases.deleteUnused(ctx, seen, c.Handle, func() error {
		_, err := p.acm.DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: aws.String(c.Handle)})
		return err
	})
	if err == nil || is(err, "ResourceNotFound") {
		p.own.answer(seen.Key, id)
		p.own.forget(c.Handle)
		p.labels.forget(c.Handle)
		return nil
	}
	return explained("deleting certificate "+c.Handle, err)
}
