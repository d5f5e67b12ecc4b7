package aws

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file keeps the certificates that Secrets brought, in AWS Certificate Manager.

// readCertificates reads those of a load balancer.
func (p *Provider) readCertificates(ctx context.Context, l *look, strewn map[string]map[string]string) error {
	known := map[lb.CertificateID]bool{}
	for _, arn := range sorted(strewn) {
		if !strings.Contains(arn, ":acm:") {
			continue
		}
		out, err := p.acm.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: aws.String(arn)})
		if is(err, "ResourceNotFound") {
			continue // deleted a moment ago
		}
		if err != nil {
			return explained("reading certificate "+arn, err)
		}
		hosts := slices.Clone(out.Certificate.SubjectAlternativeNames)
		slices.Sort(hosts)
		id := lb.CertificateID(strewn[arn][tagCertificate])
		if known[id] {
			id = lb.CertificateID(arn) // imported twice: nobody wants it under this name, so that it goes
		}
		known[id] = true
		l.imported[arn] = lb.ObservedCertificate{Handle: arn, Certificate: lb.Certificate{ID: id, Hosts: hosts}}
	}
	return nil
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

// importCertificate gives AWS a certificate with its key.
func (p *Provider) importCertificate(ctx context.Context, seen *lb.Observed, c lb.Certificate) (string, error) {
	if known := seen.Certificate(c.ID); known != nil {
		return known.Handle, nil
	}
	if c.Pair == nil {
		return "", fmt.Errorf("certificate %s comes without its key: %w", c.ID, providers.ErrRejected)
	}
	leaf, chain, err := split(c.Pair.Chain)
	if err != nil {
		return "", fmt.Errorf("reading certificate %s: %w: %w", c.ID, err, providers.ErrRejected)
	}
	tags := p.owned(seen.Key, map[string]string{tagCertificate: string(c.ID)})
	made, err := p.find(ctx, tags, "acm:certificate")
	if err != nil {
		return "", err
	}
	if there := sorted(made); len(there) > 0 { // before an answer was lost
		return there[0], nil
	}
	in := &acm.ImportCertificateInput{Certificate: leaf, CertificateChain: chain, PrivateKey: c.Pair.Key}
	for _, t := range elbTags(tags) {
		in.Tags = append(in.Tags, acmtypes.Tag{Key: t.Key, Value: t.Value})
	}
	out, err := p.acm.ImportCertificate(ctx, in)
	if err != nil {
		return "", explained("importing certificate "+string(c.ID), err)
	}
	return aws.ToString(out.CertificateArn), nil
}

// split takes a chain apart into the certificate and what is above it.
func split(chain []byte) (leaf, above []byte, err error) {
	block, rest := pem.Decode(chain)
	if block == nil {
		return nil, nil, errors.New("there is no PEM block")
	}
	leaf = pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})
	if block, _ = pem.Decode(rest); block == nil {
		return leaf, nil, nil
	}
	return leaf, rest, nil
}

func (p *Provider) deleteCertificate(ctx context.Context, seen *lb.Observed, id lb.CertificateID) error {
	c := seen.Certificate(id)
	if c == nil {
		return nil
	}
	if p.released.early(c.Handle) {
		return fmt.Errorf("certificate %s was in use a moment ago: %w", id, providers.ErrPending)
	}
	_, err := p.acm.DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: aws.String(c.Handle)})
	if is(err, "ResourceNotFound") {
		return nil
	}
	return explained("deleting certificate "+c.Handle, err)
}
