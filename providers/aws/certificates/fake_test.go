package certificates

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	taggingtypes "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/awscalls"
	"fairlead.dev/fairlead/test/keypair"
)

// This file is an account with certificates, of which a test changes the answers.

const (
	key   lb.Key = "fairlead/shop/web/internal"
	other lb.Key = "fairlead/shop/other/internal"
)

var (
	denied = awscalls.Refused("AccessDeniedException", "no")
	gone   = awscalls.Refused("ResourceNotFoundException", "no")
	errNet = errors.New("connection reset")
)

// A certificate of the account.
type kept struct {
	tags    map[string]string
	chain   string
	summary acmtypes.CertificateSummary
	detail  acmtypes.CertificateDetail
}

// A trial is a store and the account that it works in.
type trial struct {
	*Store
	aws     awscalls.Answers
	all     map[string]*kept // by ARN
	refuse  map[string]error // calls, by their names
	ofARN   map[string]error // calls about a certificate, by its ARN
	indexed map[string]bool  // what the index of tags lists
	serial  int
	fresh   bool  // whether imports are of a moment ago
	lost    error // the answer of an import that was done
}

func newTrial() *trial {
	c := &trial{all: map[string]*kept{}, refuse: map[string]error{}, ofARN: map[string]error{}, indexed: map[string]bool{}}
	api := client.API{Owner: client.Owner{Installation: "test"}, Tagging: resourcegroupstaggingapi.NewFromConfig(c.aws.Config())}
	config := c.aws.Config()
	c.Store = New(api, acm.NewFromConfig(config), func(string) bool { return c.fresh }, func(_ context.Context, _ *lb.Observed, _ string, remove func() error) error {
		return remove()
	})
	c.answerImports()
	c.answerTags()
	c.answerLists()
	return c
}

// about returns the certificate of an ARN, or why a call about it fails.
func (c *trial) about(call string, arn *string) (*kept, error) {
	switch k := c.all[aws.ToString(arn)]; {
	case c.refuse[call] != nil:
		return nil, c.refuse[call]
	case c.ofARN[aws.ToString(arn)] != nil:
		return nil, c.ofARN[aws.ToString(arn)]
	case k == nil:
		return nil, gone
	default:
		return k, nil
	}
}

func (c *trial) answerImports() {
	awscalls.On(&c.aws, func(in *acm.ImportCertificateInput) (*acm.ImportCertificateOutput, error) {
		if c.refuse["ImportCertificate"] != nil {
			return nil, c.refuse["ImportCertificate"]
		}
		arn := aws.ToString(in.CertificateArn)
		if arn == "" {
			c.serial++
			arn = fmt.Sprint("arn:aws:acm:eu-west-1:1:certificate/", c.serial)
			c.all[arn] = &kept{tags: map[string]string{}}
		}
		k := c.all[arn]
		k.chain = string(in.Certificate)
		for _, tag := range in.Tags {
			k.tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
		leaf, err := parseLeaf(in.Certificate)
		if err != nil {
			return nil, err
		}
		k.summary = acmtypes.CertificateSummary{
			CertificateArn: aws.String(arn), Type: acmtypes.CertificateTypeImported, NotBefore: aws.Time(leaf.NotBefore), NotAfter: aws.Time(leaf.NotAfter),
			SubjectAlternativeNameSummaries: leaf.DNSNames,
		}
		if c.lost != nil {
			return nil, c.lost
		}
		return &acm.ImportCertificateOutput{CertificateArn: aws.String(arn)}, nil
	})
	awscalls.On(&c.aws, func(in *acm.GetCertificateInput) (*acm.GetCertificateOutput, error) {
		k, err := c.about("GetCertificate", in.CertificateArn)
		if err != nil {
			return nil, err
		}
		return &acm.GetCertificateOutput{Certificate: aws.String(k.chain)}, nil
	})
	awscalls.On(&c.aws, func(in *acm.DeleteCertificateInput) (*acm.DeleteCertificateOutput, error) {
		_, err := c.about("DeleteCertificate", in.CertificateArn)
		if err == nil {
			delete(c.all, aws.ToString(in.CertificateArn))
		}
		return &acm.DeleteCertificateOutput{}, err
	})
}

func (c *trial) answerTags() {
	awscalls.On(&c.aws, func(in *acm.ListTagsForCertificateInput) (*acm.ListTagsForCertificateOutput, error) {
		k, err := c.about("ListTagsForCertificate", in.CertificateArn)
		if err != nil {
			return nil, err
		}
		return &acm.ListTagsForCertificateOutput{Tags: acmTags(k.tags)}, nil
	})
	awscalls.On(&c.aws, func(in *acm.AddTagsToCertificateInput) (*acm.AddTagsToCertificateOutput, error) {
		k, err := c.about("AddTagsToCertificate", in.CertificateArn)
		if err != nil {
			return nil, err
		}
		for _, tag := range in.Tags {
			k.tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
		return &acm.AddTagsToCertificateOutput{}, nil
	})
	awscalls.On(&c.aws, func(in *acm.RemoveTagsFromCertificateInput) (*acm.RemoveTagsFromCertificateOutput, error) {
		k, err := c.about("RemoveTagsFromCertificate", in.CertificateArn)
		if err != nil {
			return nil, err
		}
		for _, tag := range in.Tags {
			delete(k.tags, aws.ToString(tag.Key))
		}
		return &acm.RemoveTagsFromCertificateOutput{}, nil
	})
}

func (c *trial) answerLists() {
	awscalls.On(&c.aws, func(*resourcegroupstaggingapi.GetResourcesInput) (*resourcegroupstaggingapi.GetResourcesOutput, error) {
		out := &resourcegroupstaggingapi.GetResourcesOutput{}
		for arn := range c.indexed {
			out.ResourceTagMappingList = append(out.ResourceTagMappingList, taggingtypes.ResourceTagMapping{ResourceARN: aws.String(arn)})
		}
		return out, c.refuse["GetResources"]
	})
	awscalls.On(&c.aws, func(in *acm.ListCertificatesInput) (*acm.ListCertificatesOutput, error) {
		out := &acm.ListCertificatesOutput{}
		arns := slices.Sorted(maps.Keys(c.all))
		if half := len(arns) / 2; in.NextToken != nil { // the list has two pages
			arns = arns[half:]
		} else if half > 0 {
			arns, out.NextToken = arns[:half], aws.String("more")
		}
		for _, arn := range arns {
			out.CertificateSummaryList = append(out.CertificateSummaryList, c.all[arn].summary)
		}
		return out, c.refuse["ListCertificates"]
	})
	awscalls.On(&c.aws, func(in *acm.DescribeCertificateInput) (*acm.DescribeCertificateOutput, error) {
		k, err := c.about("DescribeCertificate", in.CertificateArn)
		if err != nil {
			return nil, err
		}
		if k.detail.CertificateArn == nil {
			return &acm.DescribeCertificateOutput{}, nil
		}
		return &acm.DescribeCertificateOutput{Certificate: &k.detail}, nil
	})
}

// issue adds a certificate that Amazon issued, valid for a year. The list has all of its hosts.
func (c *trial) issue(id string, hosts ...string) string {
	arn := "arn:aws:acm:eu-west-1:1:certificate/" + id
	from, to := time.Now().Add(-time.Hour), time.Now().Add(365*24*time.Hour)
	c.all[arn] = &kept{
		tags: map[string]string{},
		summary: acmtypes.CertificateSummary{
			CertificateArn: aws.String(arn), Type: acmtypes.CertificateTypeAmazonIssued, NotBefore: aws.Time(from), NotAfter: aws.Time(to),
			SubjectAlternativeNameSummaries: hosts, DomainName: aws.String(hosts[0]),
		},
		detail: acmtypes.CertificateDetail{
			CertificateArn: aws.String(arn), Type: acmtypes.CertificateTypeAmazonIssued, NotBefore: aws.Time(from), NotAfter: aws.Time(to),
			SubjectAlternativeNames: hosts, DomainName: aws.String(hosts[0]),
		},
	}
	return arn
}

// secret is a certificate of a Secret.
func secret(t *testing.T, id string, hosts ...string) lb.Certificate {
	t.Helper()
	return lb.Certificate{ID: lb.CertificateID(id), Pair: keypair.For(t, hosts...), Secrets: []string{"shop/tls"}}
}

// observed is a load balancer with certificates.
func observed(ids ...string) *lb.Observed {
	o := &lb.Observed{Key: key}
	for i := 0; i+1 < len(ids); i += 2 {
		o.Certificates = append(o.Certificates, lb.ObservedCertificate{Certificate: lb.Certificate{ID: lb.CertificateID(ids[i])}, Handle: ids[i+1]})
	}
	return o
}

// imported imports a certificate.
func (c *trial) importAs(t *testing.T, cert lb.Certificate) string {
	t.Helper()
	arn, err := c.Import(t.Context(), observed(), cert)
	awscalls.ExpectError(t, "importing", err, nil)
	return arn
}

// count returns how often a call was made since the last time.
func (c *trial) count(call string) int {
	n := 0
	for _, made := range c.aws.Calls() {
		if made == call {
			n++
		}
	}
	return n
}

// mentions fails the test unless an error mentions a text; "" for no error.
func mentions(t *testing.T, about string, err error, text string) {
	t.Helper()
	if (err == nil) != (text == "") || err != nil && !strings.Contains(err.Error(), text) {
		t.Errorf("%s: the error is %v, want %q", about, err, text)
	}
}

// answerDescriptions describes each certificate after a wait.
func (c *trial) answerDescriptions(wait func()) {
	awscalls.On(&c.aws, func(in *acm.DescribeCertificateInput) (*acm.DescribeCertificateOutput, error) {
		wait()
		return &acm.DescribeCertificateOutput{Certificate: &c.all[aws.ToString(in.CertificateArn)].detail}, nil
	})
}

// answerChains answers each certificate with an output.
func (c *trial) answerChains(out func() *acm.GetCertificateOutput) {
	awscalls.On(&c.aws, func(*acm.GetCertificateInput) (*acm.GetCertificateOutput, error) { return out(), nil })
}

// failing is an answer with a status and no code of AWS.
func failing(status int) error {
	return &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: errNet}
}

// errText is an error that says a text.
func errText(text string) error { return errors.New(text) }
