// Package certificates manages certificates in AWS Certificate Manager.
//
// It imports certificates of Secrets, finds certificates of the account for hosts, and reads the
// names of certificates that Ingresses name by ARN.
package certificates

import (
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
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

// A Store caches the imported certificates and the certificates of the account.
type Store struct {
	client.API
	acm          *acm.Client
	isNew        func(arn string) bool
	deleteUnused func(ctx context.Context, seen *lb.Observed, arn string, remove func() error) error

	began    time.Time // when this process began
	imported ownCertificates
	recent   recentCertificates
	pace     pace
	labels   labels                              // of imported certificates
	account  client.Cached[[]accountCertificate] // certificates of the account that were not imported
	named    namedCertificates                   // certificates that Ingresses name by ARN
}

// New returns a Store without state. isNew reports whether this process imported a certificate a
// moment ago; deleteUnused deletes a certificate, unless AWS may still use it.
func New(
	api client.API, client *acm.Client, isNew func(arn string) bool,
	deleteUnused func(ctx context.Context, seen *lb.Observed, arn string, remove func() error) error,
) *Store {
	return &Store{API: api, acm: client, isNew: isNew, deleteUnused: deleteUnused, began: time.Now(),
		recent: recentCertificates{turn: make(chan struct{}, 1)},
		imported: ownCertificates{
			known: map[string]ownCertificate{}, foreign: map[string]time.Time{},
			unanswered: map[string]time.Time{},
		}}
}

// Observe reads the imported certificates of a load balancer, by ARN. served has those that the
// listeners serve, and indexed the resources that the index of tags lists.
func (s *Store) Observe(
	ctx context.Context, key lb.Key, deep bool, served []string, indexed map[string]map[string]string,
) (map[string]lb.ObservedCertificate, error) {
	known, err := s.readOfLoadBalancer(ctx, key, served, indexed)
	if err != nil {
		return nil, err
	}
	arns := slices.Sorted(maps.Keys(known))
	found := make([]*lb.ObservedCertificate, len(arns))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(client.ParallelReads)
	for i, arn := range arns {
		reads.Go(providers.CatchPanics(ctx, func() (err error) {
			found[i], err = s.observeOne(ctx, key, deep, slices.Contains(served, arn), arn, known[arn])
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
			// imported twice: under this ID it is not wanted, and is deleted
			c.ID = lb.CertificateID(c.Handle)
		}
		named[c.ID] = true
		out[c.Handle] = *c
	}
	return out, nil
}

// observeOne returns a certificate with our tags, or nil if it no longer exists. Its label
// describes it if a listener serves it, or if it was imported a moment ago. Any other certificate
// is read, because it may have been deleted since its tags were read, and so is one with a short
// label; with a deep look, its tags are read as well. A certificate that differs from its label, or
// has none, gets its ARN as its ID: no wanted certificate has that ID, so it is imported once more.
func (s *Store) observeOne(
	ctx context.Context, key lb.Key, deep, served bool, arn string, tags map[string]string,
) (*lb.ObservedCertificate, error) {
	if deep || s.labels.outdated(arn, tags[client.TagLabel]) {
		var err error
		if tags, err = s.readTags(ctx, arn); client.HasCode(err, "ResourceNotFound") {
			return nil, nil // deleted a moment ago
		} else if err != nil {
			return nil, client.Explain("reading the tags of "+arn, err)
		} else if !s.Owns(key, tags) {
			s.imported.remove(arn)
			return nil, nil // it has tags of others by now
		}
	}
	s.labels.set(arn, tags[client.TagLabel])
	c := lb.Certificate{
		ID: lb.CertificateID(tags[client.TagCertificate]), Digest: lb.Digest(tags[client.TagDigest]),
	}
	if deep {
		c.Tags = client.WrittenTags(tags)
		c.Digest = lb.CertificateSettings{Tags: c.Tags}.Digest()
	}
	var whole bool
	c.Kind, c.Hosts, whole = readLabel(tags[client.TagLabel])
	if !whole || deep || !served && !s.isNew(arn) {
		leaf, err := s.readLeaf(ctx, arn)
		if leaf == nil {
			if err == nil {
				s.imported.remove(arn)
			}
			return nil, err
		}
		c.Kind, c.Hosts = routing.KindOf(leaf), routing.NamesIn(leaf)
		if !matchesLabel(tags[client.TagLabel], leaf) {
			c.ID = ""
		}
	}
	if c.ID == "" {
		c.ID = lb.CertificateID(arn)
	}
	return &lb.ObservedCertificate{Handle: arn, Certificate: c}, nil
}

// readLeaf reads an imported certificate; nil if it no longer exists.
func (s *Store) readLeaf(ctx context.Context, arn string) (*x509.Certificate, error) {
	out, err := s.acm.GetCertificate(ctx, &acm.GetCertificateInput{CertificateArn: aws.String(arn)})
	if client.HasCode(err, "ResourceNotFound") {
		return nil, nil
	}
	if err != nil {
		return nil, client.Explain("reading certificate "+arn, err)
	}
	leaf, err := parseLeaf([]byte(aws.ToString(out.Certificate)))
	if err != nil {
		return nil, fmt.Errorf("reading certificate %s: %w", arn, err)
	}
	return leaf, nil
}

// Modify changes the tags of a certificate.
func (s *Store) Modify(ctx context.Context, seen *lb.Observed, c lb.Certificate) error {
	there := seen.Certificate(c.ID)
	if there == nil {
		return fmt.Errorf("certificate %s does not exist", c.ID)
	}
	return s.writeTags(ctx, there.Handle, there.Digest, Tags(s.Owned(seen.Key, nil), c))
}

// Tags returns all tags of a certificate: ours, and those of its class.
func Tags(known map[string]string, c lb.Certificate) map[string]string {
	tags := maps.Clone(known)
	maps.Copy(tags, c.Tags)
	client.MarkTags(tags, c.Tags)
	if c.Digest != "" {
		tags[client.TagDigest] = string(c.Digest)
	}
	return tags
}

// writeTags adds tags to a certificate, and removes those that were written before: none if it has
// no digest.
func (s *Store) writeTags(ctx context.Context, arn string, before lb.Digest,
	after map[string]string) error {
	if before != "" {
		if err := s.removeTags(ctx, arn, after); err != nil {
			return err
		}
	}
	if err := s.addTags(ctx, arn, after); err != nil {
		return err
	}
	s.imported.set(client.KeyIn(after), arn, after)
	return nil
}

// addTags adds tags to a certificate, and caches the label among them.
func (s *Store) addTags(ctx context.Context, arn string, tags map[string]string) error {
	if label, has := tags[client.TagLabel]; has {
		s.labels.set(arn, label)
	}
	s.imported.forgetTags(arn)
	_, err := s.acm.AddTagsToCertificate(ctx, &acm.AddTagsToCertificateInput{
		CertificateArn: aws.String(arn), Tags: acmTags(tags),
	})
	return client.Explain("tagging "+arn, err)
}

// readTags reads the tags of a certificate.
func (s *Store) readTags(ctx context.Context, arn string) (map[string]string, error) {
	out, err := s.acm.ListTagsForCertificate(ctx,
		&acm.ListTagsForCertificateInput{CertificateArn: aws.String(arn)})
	if err != nil {
		return nil, err
	}
	tags := map[string]string{}
	for _, t := range out.Tags {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags, nil
}

// removeTags removes the written tags that a certificate should no longer have.
func (s *Store) removeTags(ctx context.Context, arn string, after map[string]string) error {
	before, err := s.readTags(ctx, arn)
	if err != nil {
		return client.Explain("reading the tags of "+arn, err)
	}
	var gone []acmtypes.Tag
	for _, name := range client.SurplusTags(before, after) {
		gone = append(gone, acmtypes.Tag{Key: aws.String(name)})
	}
	if len(gone) == 0 {
		return nil
	}
	s.imported.forgetTags(arn)
	_, err = s.acm.RemoveTagsFromCertificate(ctx, &acm.RemoveTagsFromCertificateInput{
		CertificateArn: aws.String(arn), Tags: gone,
	})
	return client.Explain("removing tags of "+arn, err)
}

// acmTags returns tags in the form of Certificate Manager.
func acmTags(tags map[string]string) []acmtypes.Tag {
	var out []acmtypes.Tag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, acmtypes.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return out
}

// Delete deletes a certificate, unless a listener still serves it.
func (s *Store) Delete(ctx context.Context, seen *lb.Observed, id lb.CertificateID) error {
	c := seen.Certificate(id)
	if c == nil {
		return nil
	}
	err := s.deleteUnused(ctx, seen, c.Handle, func() error {
		_, err := s.acm.DeleteCertificate(ctx,
			&acm.DeleteCertificateInput{CertificateArn: aws.String(c.Handle)})
		return err
	})
	if err == nil || client.HasCode(err, "ResourceNotFound") {
		s.imported.endImport(seen.Key, id)
		s.imported.remove(c.Handle)
		s.labels.remove(c.Handle)
		return nil
	}
	return client.Explain("deleting certificate "+c.Handle, err)
}
