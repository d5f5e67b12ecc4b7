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
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/cache"
	"fairlead.dev/fairlead/providers/aws/errorcode"
	"fairlead.dev/fairlead/providers/aws/resource"
	"fairlead.dev/fairlead/providers/aws/throttle"
)

// This file keeps the certificates of Secrets in AWS Certificate Manager.

// certificates keeps what is known of certificates: of imported ones, and of those of the account.
type certificates struct {
	resource.API
	acm          *acm.Client
	isNew        func(arn string) bool
	deleteUnused func(ctx context.Context, seen *lb.Observed, arn string, remove func() error) error

	imported ownCertificates
	labels   labels              // of imported certificates
	account  cache.Value[[]held] // certificates of the account that were not imported
	named    namedCertificates   // certificates that Ingresses name by ARN
}

// newCertificates returns certificates without state. isNew reports whether this process has imported
// a certificate a moment ago; deleteUnused deletes a certificate, unless AWS may still use it.
func newCertificates(
	api resource.API, client *acm.Client, isNew func(arn string) bool,
	deleteUnused func(ctx context.Context, seen *lb.Observed, arn string, remove func() error) error,
) *certificates {
	return &certificates{API: api, acm: client, isNew: isNew, deleteUnused: deleteUnused, imported: ownCertificates{
		known: map[string]ownCertificate{}, foreign: map[string]time.Time{}, unanswered: map[string]time.Time{},
	}}
}

// observe reads the imported certificates of a load balancer, by ARN. It is given those that the
// listeners serve, and the resources that the index of tags lists.
func (cs *certificates) observe(
	ctx context.Context, key lb.Key, deep bool, served []string, indexed map[string]map[string]string,
) (map[string]lb.ObservedCertificate, error) {
	known, err := cs.ofLoadBalancer(ctx, key, served, indexed)
	if err != nil {
		return nil, err
	}
	arns := slices.Sorted(maps.Keys(known))
	found := make([]*lb.ObservedCertificate, len(arns))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(throttle.AtOnce)
	for i, arn := range arns {
		reads.Go(providers.Safely(ctx, func() (err error) {
			found[i], err = cs.observeOne(ctx, key, deep, slices.Contains(served, arn), arn, known[arn])
			return err
		}))
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	out := map[string]lb.ObservedCertificate{}
	named := map[lb.CertificateID]bool{}
	for _, c := range found {
		if c == nil {
			continue
		}
		if named[c.ID] {
			c.ID = lb.CertificateID(c.Handle) // imported twice: under this ID it is not wanted, and is deleted
		}
		named[c.ID] = true
		out[c.Handle] = *c
	}
	return out, nil
}

// observeOne returns a certificate that is tagged as ours, or nil where it is gone. Its label
// describes it as long as a listener serves it, or it was imported a moment ago. Another
// certificate may have been deleted since its tags were read, so it is read, and so is one whose
// label is short; with a deep look, its tags are read as well. A certificate that differs from its
// label, or has none, gets its ARN for an ID: under that ID it is not wanted, and is imported once
// more.
func (cs *certificates) observeOne(
	ctx context.Context, key lb.Key, deep, served bool, arn string, tags map[string]string,
) (*lb.ObservedCertificate, error) {
	if deep || cs.labels.outdated(arn, tags[resource.TagLabel]) {
		var err error
		if tags, err = cs.readTags(ctx, arn); awserr.Is(err, "ResourceNotFound") {
			return nil, nil // deleted a moment ago
		} else if err != nil {
			return nil, awserr.Explain("reading the tags of "+arn, err)
		} else if !cs.Owns(key, tags) {
			cs.imported.remove(arn)
			return nil, nil // it has tags of others by now
		}
	}
	cs.labels.set(arn, tags[resource.TagLabel])
	c := lb.Certificate{ID: lb.CertificateID(tags[resource.TagCertificate]), Digest: lb.Digest(tags[resource.TagDigest])}
	if deep && c.Digest != "" {
		c.Digest = lb.CertificateSettings{Tags: resource.WrittenTags(tags)}.Digest()
	}
	var whole bool
	c.Kind, c.Hosts, whole = readLabel(tags[resource.TagLabel])
	if !whole || deep || !served && !cs.isNew(arn) {
		leaf, err := cs.readLeaf(ctx, arn)
		if leaf == nil {
			if err == nil {
				cs.imported.remove(arn)
			}
			return nil, err
		}
		c.Kind, c.Hosts = routing.KindOf(leaf), routing.NamesIn(leaf)
		if !isOf(tags[resource.TagLabel], leaf) {
			c.ID = ""
		}
	}
	if c.ID == "" {
		c.ID = lb.CertificateID(arn)
	}
	return &lb.ObservedCertificate{Handle: arn, Certificate: c}, nil
}

// readLeaf reads a certificate that was imported; nil where it is gone.
func (cs *certificates) readLeaf(ctx context.Context, arn string) (*x509.Certificate, error) {
	out, err := cs.acm.GetCertificate(ctx, &acm.GetCertificateInput{CertificateArn: aws.String(arn)})
	if awserr.Is(err, "ResourceNotFound") {
		return nil, nil
	}
	if err != nil {
		return nil, awserr.Explain("reading certificate "+arn, err)
	}
	leaf, err := parseLeaf([]byte(aws.ToString(out.Certificate)))
	if err != nil {
		return nil, fmt.Errorf("reading certificate %s: %w", arn, err)
	}
	return leaf, nil
}

// certificateARN returns the ARN of a certificate.
func certificateARN(seen *lb.Observed, id lb.CertificateID) (string, error) {
	if c := seen.Certificate(id); c != nil {
		return c.Handle, nil
	}
	if strings.HasPrefix(string(id), "arn:") {
		return string(id), nil
	}
	return "", fmt.Errorf("certificate %s is not there", id)
}

// importNew imports a certificate with its key. AWS imports the same certificate as often as it is
// called, and allows an account 5,000 imports a year, a new account fewer
// (https://docs.aws.amazon.com/acm/latest/userguide/acm-limits.html). So a certificate that this
// process has imported is not imported again. After an import without an answer, the certificate is
// searched first.
func (cs *certificates) importNew(ctx context.Context, seen *lb.Observed, c lb.Certificate) (string, error) {
	if there := seen.Certificate(c.ID); there != nil {
		return there.Handle, nil
	}
	in, known, err := cs.importInput(seen.Key, c)
	if err != nil {
		return "", err
	}
	if arn, err := cs.importedBefore(ctx, seen, known, c); arn != "" || err != nil {
		return arn, err
	}
	tags := certificateTags(known, c)
	in.Tags = acmTags(tags)
	cs.imported.beginImport(seen.Key, c.ID)
	out, err := cs.acm.ImportCertificate(ctx, in, onlyRefused)
	if err == nil {
		arn, err := awserr.Required(out.CertificateArn, "ImportCertificate", "an ARN")
		if err != nil {
			return "", err // the next try searches it, as after no answer
		}
		cs.imported.endImport(seen.Key, c.ID)
		cs.imported.set(seen.Key, arn, tags)
		cs.labels.set(arn, known[resource.TagLabel])
		return arn, nil
	}
	explained := awserr.Explain("importing certificate "+string(c.ID), err)
	refused := func(class error) bool { return errors.Is(explained, class) }
	switch {
	case refused(providers.ErrRejected), refused(providers.ErrDenied), refused(providers.ErrThrottled):
		cs.imported.endImport(seen.Key, c.ID) // AWS did not import it
	case errorcode.Of(err) == "":
		if arn, unknown := cs.importedBefore(ctx, seen, known, c); unknown == nil && arn != "" {
			return arn, nil
		}
	}
	return "", explained
}

// importedBefore returns the ARN of a certificate that this process has imported, with or without
// an answer, or "". It adds the tags that the certificate is to have by now.
func (cs *certificates) importedBefore(ctx context.Context, seen *lb.Observed, known map[string]string, c lb.Certificate) (string, error) {
	key, besides := seen.Key, map[string]bool{}
	for _, other := range seen.Certificates {
		besides[other.Handle] = true
	}
	found, err := cs.confirmed(ctx, key, besides)
	if err != nil {
		return "", err
	}
	// Those that are observed have other IDs.
	maps.DeleteFunc(found, func(arn string, _ map[string]string) bool { return besides[arn] })
	arn := named(found, c.ID)
	if arn == "" && cs.imported.importing(key, c.ID) {
		if found, err = cs.search(ctx, key, known, c); err != nil {
			return "", err
		}
		if arn = named(found, c.ID); arn != "" {
			cs.imported.set(key, arn, found[arn])
		}
	}
	if arn == "" {
		return "", nil
	}
	cs.imported.endImport(key, c.ID)
	cs.labels.set(arn, known[resource.TagLabel])
	before := lb.Digest(found[arn][resource.TagDigest])
	if before == c.Digest {
		return arn, nil
	}
	return arn, cs.writeTags(ctx, arn, before, certificateTags(known, c))
}

// named returns the first of some certificates that has an ID, or "".
func named(tags map[string]map[string]string, id lb.CertificateID) string {
	for _, arn := range slices.Sorted(maps.Keys(tags)) {
		if tags[arn][resource.TagCertificate] == string(id) {
			return arn
		}
	}
	return ""
}

// search searches a certificate that AWS may have imported: in the index of tags, and then among
// all certificates of the account, because the index may be out of date. The tags of each
// certificate itself decide.
func (cs *certificates) search(ctx context.Context, key lb.Key, known map[string]string, c lb.Certificate) (
	map[string]map[string]string, error,
) {
	listed, err := cs.Find(ctx, known, "acm:certificate")
	if err != nil {
		return nil, err
	}
	found, err := cs.ownedAmong(ctx, key, slices.Sorted(maps.Keys(listed)))
	if err != nil || named(found, c.ID) != "" {
		return found, err
	}
	leaf, err := parseLeaf(c.Pair.Chain)
	if err != nil {
		return nil, err
	}
	all, err := cs.list(ctx)
	if err != nil {
		return nil, err
	}
	var alike []string
	for _, s := range all {
		sameTime := aws.ToTime(s.NotAfter).Equal(leaf.NotAfter) && aws.ToTime(s.NotBefore).Equal(leaf.NotBefore)
		if s.Type == acmtypes.CertificateTypeImported && sameTime {
			alike = append(alike, aws.ToString(s.CertificateArn))
		}
	}
	return cs.ownedAmong(ctx, key, alike)
}

// onlyRefused has the SDK repeat a call that AWS throttled, and not one whose answer was lost: AWS
// imports a certificate as often as it is called. LimitExceededException counts as throttling in
// the SDK, and is a quota here.
func onlyRefused(o *acm.Options) {
	rates := maps.Clone(retry.DefaultThrottleErrorCodes)
	delete(rates, "LimitExceededException")
	o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) {
		s.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: rates}}
	})
}

// exceptQuotas has the SDK repeat calls by its defaults, except where a quota is used up, which the
// SDK takes for throttling.
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

// replace imports a certificate in place of another one: the ARN stays, and with it the listeners
// that serve it. That call takes no tags, so they follow, and the label is short in between.
func (cs *certificates) replace(ctx context.Context, seen *lb.Observed, s plan.ReplaceCertificate) error {
	old := seen.Certificate(s.Old)
	if old == nil {
		if seen.Certificate(s.New.ID) != nil {
			return nil
		}
		return fmt.Errorf("certificate %s is not there", s.Old)
	}
	in, known, err := cs.importInput(seen.Key, s.New)
	if err != nil {
		return err
	}
	label := shortened(cs.labels.of(old.Handle), known[resource.TagLabel])
	if err := cs.addTags(ctx, old.Handle, cs.Owned(seen.Key, map[string]string{resource.TagLabel: label})); err != nil {
		return err
	}
	in.CertificateArn = aws.String(old.Handle)
	if _, err := cs.acm.ImportCertificate(ctx, in, exceptQuotas); err != nil {
		return awserr.Explain("importing certificate "+string(s.New.ID)+" in the place of "+old.Handle, err)
	}
	return cs.writeTags(ctx, old.Handle, old.Digest, certificateTags(known, s.New))
}

// modify changes the tags of a certificate.
func (cs *certificates) modify(ctx context.Context, seen *lb.Observed, c lb.Certificate) error {
	there := seen.Certificate(c.ID)
	if there == nil {
		return fmt.Errorf("certificate %s is not there", c.ID)
	}
	return cs.writeTags(ctx, there.Handle, there.Digest, certificateTags(cs.Owned(seen.Key, nil), c))
}

// certificateTags returns all tags of a certificate: ours, and those of its class.
func certificateTags(known map[string]string, c lb.Certificate) map[string]string {
	tags := maps.Clone(known)
	maps.Copy(tags, c.Tags)
	resource.MarkTags(tags, c.Tags)
	if c.Digest != "" {
		tags[resource.TagDigest] = string(c.Digest)
	}
	return tags
}

// writeTags adds tags to a certificate, and removes those that it was given before: none where it
// has no digest.
func (cs *certificates) writeTags(ctx context.Context, arn string, before lb.Digest, after map[string]string) error {
	if before != "" {
		if err := cs.removeTags(ctx, arn, after); err != nil {
			return err
		}
	}
	if err := cs.addTags(ctx, arn, after); err != nil {
		return err
	}
	cs.imported.set(resource.KeyIn(after), arn, after)
	return nil
}

// addTags adds tags to a certificate, and keeps the label among them.
func (cs *certificates) addTags(ctx context.Context, arn string, tags map[string]string) error {
	if label, has := tags[resource.TagLabel]; has {
		cs.labels.set(arn, label)
	}
	cs.imported.forgetTags(arn)
	_, err := cs.acm.AddTagsToCertificate(ctx, &acm.AddTagsToCertificateInput{
		CertificateArn: aws.String(arn), Tags: acmTags(tags),
	})
	return awserr.Explain("tagging "+arn, err)
}

// readTags reads the tags of a certificate.
func (cs *certificates) readTags(ctx context.Context, arn string) (map[string]string, error) {
	out, err := cs.acm.ListTagsForCertificate(ctx, &acm.ListTagsForCertificateInput{CertificateArn: aws.String(arn)})
	if err != nil {
		return nil, err
	}
	tags := map[string]string{}
	for _, t := range out.Tags {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags, nil
}

// removeTags removes the tags that a certificate was given and is not to have any more.
func (cs *certificates) removeTags(ctx context.Context, arn string, after map[string]string) error {
	before, err := cs.readTags(ctx, arn)
	if err != nil {
		return awserr.Explain("reading the tags of "+arn, err)
	}
	var gone []acmtypes.Tag
	for _, name := range resource.Surplus(before, after) {
		gone = append(gone, acmtypes.Tag{Key: aws.String(name)})
	}
	if len(gone) == 0 {
		return nil
	}
	cs.imported.forgetTags(arn)
	_, err = cs.acm.RemoveTagsFromCertificate(ctx, &acm.RemoveTagsFromCertificateInput{
		CertificateArn: aws.String(arn), Tags: gone,
	})
	return awserr.Explain("removing tags of "+arn, err)
}

// importInput returns a certificate in the form of the SDK, and our tags of it. AWS refuses one
// that is not valid yet, so no call is made for it; expired ones are not compiled.
func (cs *certificates) importInput(key lb.Key, c lb.Certificate) (*acm.ImportCertificateInput, map[string]string, error) {
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
		return nil, nil, refuse(fmt.Errorf("it is not valid before %s", leaf.NotBefore.Format(time.DateTime)))
	}
	own, above := split(c.Pair.Chain)
	in := &acm.ImportCertificateInput{Certificate: own, CertificateChain: above, PrivateKey: c.Pair.Key}
	return in, cs.Owned(key, map[string]string{resource.TagCertificate: string(c.ID), resource.TagLabel: labelOf(leaf)}), nil
}

// acmTags returns tags in the form of Certificate Manager.
func acmTags(tags map[string]string) []acmtypes.Tag {
	var out []acmtypes.Tag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, acmtypes.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return out
}

// parseLeaf parses the first certificate of a chain.
func parseLeaf(chain []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(chain)
	if block == nil {
		return nil, errors.New("there is no PEM block")
	}
	return x509.ParseCertificate(block.Bytes)
}

// split returns the first certificate of a chain, and the chain above it.
func split(chain []byte) (leaf, above []byte) {
	block, rest := pem.Decode(chain)
	leaf = pem.EncodeToMemory(block)
	if next, _ := pem.Decode(rest); next == nil {
		return leaf, nil
	}
	return leaf, rest
}

// delete deletes a certificate, once no listener serves it any more.
func (cs *certificates) delete(ctx context.Context, seen *lb.Observed, id lb.CertificateID) error {
	c := seen.Certificate(id)
	if c == nil {
		return nil
	}
	err := cs.deleteUnused(ctx, seen, c.Handle, func() error {
		_, err := cs.acm.DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: aws.String(c.Handle)})
		return err
	})
	if err == nil || awserr.Is(err, "ResourceNotFound") {
		cs.imported.endImport(seen.Key, id)
		cs.imported.remove(c.Handle)
		cs.labels.remove(c.Handle)
		return nil
	}
	return awserr.Explain("deleting certificate "+c.Handle, err)
}
