package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/certificates"
	"fairlead.dev/fairlead/providers/aws/resource"
)

// This file writes the settings of listeners and reads them back, as settings.go does those of load
// balancers.

// What of a listener can be written besides attributes. A trust store that was asked for by its
// name is read back as its name.
const (
	writtenPolicy     = "tls-policy"
	writtenMutual     = "mutual-authentication"
	writtenTrustNamed = "trust-store-by-name"
	writtenSecrets    = "client-secrets:" // and their digest, for they cannot be read back
)

// usualPolicy is what HTTPS listeners have that are not told.
const usualPolicy = "ELBSecurityPolicy-2016-08"

// usualHeaders are AWS's defaults of the attributes that give headers their names. The others hold
// values of headers, of which there are none, except for this one.
var usualHeaders = map[string]string{
	"routing.http.request.x_amzn_mtls_clientcert_serial_number.header_name": "X-Amzn-Mtls-Clientcert-Serial-Number",
	"routing.http.request.x_amzn_mtls_clientcert_issuer.header_name":        "X-Amzn-Mtls-Clientcert-Issuer",
	"routing.http.request.x_amzn_mtls_clientcert_subject.header_name":       "X-Amzn-Mtls-Clientcert-Subject",
	"routing.http.request.x_amzn_mtls_clientcert_validity.header_name":      "X-Amzn-Mtls-Clientcert-Validity",
	"routing.http.request.x_amzn_mtls_clientcert_leaf.header_name":          "X-Amzn-Mtls-Clientcert-Leaf",
	"routing.http.request.x_amzn_mtls_clientcert.header_name":               "X-Amzn-Mtls-Clientcert",
	"routing.http.request.x_amzn_tls_version.header_name":                   "X-Amzn-Tls-Version",
	"routing.http.request.x_amzn_tls_cipher_suite.header_name":              "X-Amzn-Tls-Cipher-Suite",
	"routing.http.response.server.enabled":                                  "true",
}

// writtenOfListener lists what the settings of a listener say, sorted.
func writtenOfListener(s lb.ListenerSettings) []string {
	out := slices.Sorted(maps.Keys(s.Attributes))
	if s.TLSPolicy != "" {
		out = append(out, writtenPolicy)
	}
	if s.Mutual != nil {
		out = append(out, writtenMutual)
		if s.Mutual.TrustStore != "" && !strings.HasPrefix(s.Mutual.TrustStore, "arn:") {
			out = append(out, writtenTrustNamed)
		}
	}
	if s.ClientSecrets != "" {
		out = append(out, writtenSecrets+string(s.ClientSecrets))
	}
	slices.Sort(out)
	return out
}

// listenerTags are the tags of a listener whose settings are written.
func (p *Provider) listenerTags(key lb.Key, want lb.Listener) map[string]string {
	tags := p.tags.Owned(key, want.Settings.Tags)
	resource.MarkTags(tags, want.Settings.Tags)
	resource.ListWritten(tags, writtenOfListener(want.Settings))
	tags[resource.TagDigest] = string(want.Digest)
	return tags
}

// security is what HTTPS needs of a listener: its default certificate, its TLS policy, and what is
// done with the certificates of clients. What was written before and is gone has AWS's default.
type security struct {
	certificates []elb.Certificate
	policy       *string
	mutual       *elb.MutualAuthenticationAttributes
}

func (p *Provider) security(ctx context.Context, seen *lb.Observed, want lb.Listener, gone []string) (security, error) {
	if want.Protocol != routing.HTTPS || len(want.Certificates) == 0 {
		return security{}, nil
	}
	arn, err := certificates.ARN(seen, want.Certificates[0])
	if err != nil {
		return security{}, err
	}
	out := security{certificates: []elb.Certificate{{CertificateArn: aws.String(arn)}}}
	switch {
	case want.Settings.TLSPolicy != "":
		out.policy = aws.String(want.Settings.TLSPolicy)
	case slices.Contains(gone, writtenPolicy):
		out.policy = aws.String(usualPolicy)
	}
	switch {
	case want.Settings.Mutual != nil:
		out.mutual, err = p.toMutual(ctx, *want.Settings.Mutual)
	case slices.Contains(gone, writtenMutual):
		out.mutual = &elb.MutualAuthenticationAttributes{Mode: aws.String("off")}
	}
	return out, err
}

// policyFor is the security policy that a change of a listener names. AWS gives none by itself: "If
// you change the protocol from HTTP to HTTPS, you must add the security policy and server
// certificate properties"
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_ModifyListener.html).
func policyFor(before routing.Protocol, after elb.ProtocolEnum, said *string) *string {
	if said == nil && after == elb.ProtocolEnumHttps && before != routing.HTTPS {
		return aws.String(usualPolicy)
	}
	return said
}

// toMutual says in AWS's words what is done with the certificates of clients.
func (p *Provider) toMutual(ctx context.Context, m lb.MutualAuthentication) (*elb.MutualAuthenticationAttributes, error) {
	out := &elb.MutualAuthenticationAttributes{Mode: aws.String(m.Mode)}
	if !m.Verifies() {
		return out, nil
	}
	out.IgnoreClientCertificateExpiry = aws.Bool(m.IgnoreExpiry)
	if out.AdvertiseTrustStoreCaNames = elb.AdvertiseTrustStoreCaNamesEnumOff; m.AdvertiseCANames {
		out.AdvertiseTrustStoreCaNames = elb.AdvertiseTrustStoreCaNamesEnumOn
	}
	if out.TrustStoreArn = aws.String(m.TrustStore); strings.HasPrefix(m.TrustStore, "arn:") {
		return out, nil
	}
	found, err := p.elb.DescribeTrustStores(ctx, &elbapi.DescribeTrustStoresInput{Names: []string{m.TrustStore}})
	if err != nil {
		return nil, awserr.Explain("finding trust store "+m.TrustStore, err)
	}
	if len(found.TrustStores) == 0 {
		return nil, fmt.Errorf("there is no trust store %s: %w", m.TrustStore, providers.ErrRejected)
	}
	out.TrustStoreArn = found.TrustStores[0].TrustStoreArn
	return out, nil
}

// fromMutual is what was written of it, read back.
func fromMutual(a *elb.MutualAuthenticationAttributes, named bool) *lb.MutualAuthentication {
	if a == nil {
		return nil
	}
	out := &lb.MutualAuthentication{
		Mode: aws.ToString(a.Mode), TrustStore: aws.ToString(a.TrustStoreArn), IgnoreExpiry: aws.ToBool(a.IgnoreClientCertificateExpiry),
		AdvertiseCANames: a.AdvertiseTrustStoreCaNames == elb.AdvertiseTrustStoreCaNamesEnumOn,
	}
	if parts := strings.Split(out.TrustStore, "/"); named && len(parts) == 3 { // arn:…:truststore/name/id
		out.TrustStore = parts[1]
	}
	return out
}

// writtenSecretsIn stands for the client secrets that a listener was given, as tags say.
func writtenSecretsIn(tags map[string]string) lb.Digest {
	for _, name := range resource.WrittenIn(tags) {
		if secrets, is := strings.CutPrefix(name, writtenSecrets); is {
			return lb.Digest(secrets)
		}
	}
	return ""
}

// listenerDigest is that of the settings: what the tag says, or, looked at deeply, of what is there
// of that which was written.
func (l *look) listenerDigest(of elb.Listener) lb.Digest {
	arn := aws.ToString(of.ListenerArn)
	tags := l.tags[arn]
	if !l.deep || tags[resource.TagDigest] == "" || l.assumed[arn] {
		return lb.Digest(tags[resource.TagDigest])
	}
	written := resource.WrittenIn(tags)
	s := lb.ListenerSettings{Attributes: l.attributes[arn], Tags: resource.WrittenTags(tags), ClientSecrets: writtenSecretsIn(tags)}
	if l.groupsRight {
		s.Inbound = l.inboundOf(aws.ToInt32(of.Port))
	}
	for _, name := range written {
		switch name {
		case writtenPolicy:
			s.TLSPolicy = aws.ToString(of.SslPolicy)
		case writtenMutual:
			s.Mutual = fromMutual(of.MutualAuthentication, slices.Contains(written, writtenTrustNamed))
		}
	}
	return lb.DigestOf(s)
}
