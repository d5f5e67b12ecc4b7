package listeners

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
	"fairlead.dev/fairlead/providers/aws/certificates"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/providers/aws/network"
)

// This file writes the settings of listeners and reads them back.

// Names of the settings of a listener that are not attributes, in the list of written settings. A
// trust store that the class gives by name is read back by name, not by ARN.
const (
	writtenPolicy     = "tls-policy"
	writtenMutual     = "mutual-authentication"
	writtenTrustNamed = "trust-store-by-name"
	writtenSecrets    = "client-secrets:" // followed by their digest: AWS does not return client secrets
	// followed by a range of IPv6 addresses that is wanted, and that others did not admit to a load balancer
	// that has IPv4 addresses only
	writtenUnreachable = "unreachable:"
)

// defaultPolicy is the security policy of HTTPS listeners that name none.
const defaultPolicy = "ELBSecurityPolicy-2016-08"

// writtenOfListener returns the names of the settings of a listener that are set, sorted.
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

// tagsFor returns the tags of a listener after its settings were written.
func (ls *Store) tagsFor(key lb.Key, want lb.Listener) map[string]string {
	tags := ls.Owned(key, want.Settings.Tags)
	client.MarkTags(tags, want.Settings.Tags)
	written := writtenOfListener(want.Settings)
	for _, source := range ls.firewalls.Unreachable(key, want.Settings.Inbound) {
		written = append(written, writtenUnreachable+source)
	}
	client.ListWritten(tags, written)
	tags[client.TagDigest] = string(want.Digest)
	return tags
}

// security returns the default certificate, the security policy and the mutual authentication of an
// HTTPS listener. Settings that were written before and are no longer wanted get AWS's default.
type security struct {
	certificates []elb.Certificate
	policy       *string
	mutual       *elb.MutualAuthenticationAttributes
}

func (ls *Store) security(
	ctx context.Context, seen *lb.Observed, want lb.Listener, gone []string,
) (security, error) {
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
		out.policy = aws.String(defaultPolicy)
	}
	switch {
	case want.Settings.Mutual != nil:
		out.mutual, err = ls.toMutual(ctx, *want.Settings.Mutual)
	case slices.Contains(gone, writtenMutual):
		out.mutual = &elb.MutualAuthenticationAttributes{Mode: aws.String("off")}
	}
	return out, err
}

// policyFor returns the security policy to send with ModifyListener. AWS sets no default there: "If
// you change the protocol from HTTP to HTTPS, you must add the security policy and server
// certificate properties"
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_ModifyListener.html).
func policyFor(before routing.Protocol, after elb.ProtocolEnum, said *string) *string {
	if said == nil && after == elb.ProtocolEnumHttps && before != routing.HTTPS {
		return aws.String(defaultPolicy)
	}
	return said
}

// toMutual converts the mutual authentication of a listener to the SDK. It looks up the ARN of a
// trust store that is given by name.
func (ls *Store) toMutual(
	ctx context.Context, m lb.MutualAuthentication,
) (*elb.MutualAuthenticationAttributes, error) {
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
	found, err := ls.ELB.DescribeTrustStores(ctx, &elbapi.DescribeTrustStoresInput{
		Names: []string{m.TrustStore},
	})
	if err != nil {
		return nil, client.Explain("finding trust store "+m.TrustStore, err)
	}
	if len(found.TrustStores) == 0 {
		return nil, fmt.Errorf("trust store %s does not exist: %w", m.TrustStore, providers.ErrRejected)
	}
	out.TrustStoreArn = found.TrustStores[0].TrustStoreArn
	return out, nil
}

// fromMutual converts the mutual authentication of a listener from the SDK. If named is true, the
// trust store is given by its name, else by its ARN.
func fromMutual(a *elb.MutualAuthenticationAttributes, named bool) *lb.MutualAuthentication {
	if a == nil {
		return nil
	}
	out := &lb.MutualAuthentication{
		Mode: aws.ToString(a.Mode), TrustStore: aws.ToString(a.TrustStoreArn),
		IgnoreExpiry:     aws.ToBool(a.IgnoreClientCertificateExpiry),
		AdvertiseCANames: a.AdvertiseTrustStoreCaNames == elb.AdvertiseTrustStoreCaNamesEnumOn,
	}
	// arn:…:truststore/name/id
	if parts := strings.Split(out.TrustStore, "/"); named && len(parts) == 3 {
		out.TrustStore = parts[1]
	}
	return out
}

// writtenSecretsIn returns the digest of the client secrets of a listener, from its tags.
func writtenSecretsIn(tags map[string]string) lb.Digest {
	for _, name := range client.WrittenIn(tags) {
		if secrets, is := strings.CutPrefix(name, writtenSecrets); is {
			return lb.Digest(secrets)
		}
	}
	return ""
}

// listenerDigest returns the digest in the tag of a listener. On a deep read, it computes the
// digest again, from the live values of the settings that this operator wrote.
func listenerDigest(l *look.Look, of elb.Listener) lb.Digest {
	arn := aws.ToString(of.ListenerArn)
	tags := l.Tags[arn]
	if !l.Deep || tags[client.TagDigest] == "" || l.Assumed[arn] {
		return lb.Digest(tags[client.TagDigest])
	}
	return lb.DigestOf(SettingsOf(l, of))
}

// SettingsOf returns the live values that a deep look read of the settings of a listener that this
// operator wrote.
func SettingsOf(l *look.Look, of elb.Listener) lb.ListenerSettings {
	arn := aws.ToString(of.ListenerArn)
	tags := l.Tags[arn]
	written := client.WrittenIn(tags)
	s := lb.ListenerSettings{
		Attributes: l.Attributes[arn], Tags: client.WrittenTags(tags),
		ClientSecrets: writtenSecretsIn(tags),
	}
	if l.GroupsRight {
		s.Inbound = network.InboundOf(l, aws.ToInt32(of.Port), unreachableIn(l.Balancer.IpAddressType, written))
	}
	for _, name := range written {
		switch name {
		case writtenPolicy:
			s.TLSPolicy = aws.ToString(of.SslPolicy)
		case writtenMutual:
			s.Mutual = fromMutual(of.MutualAuthentication, slices.Contains(written, writtenTrustNamed))
		}
	}
	return s
}

// AllSettingsOf returns the live values of all settings of a listener, besides its clients.
func AllSettingsOf(l *look.Look, of elb.Listener) lb.ListenerSettings {
	out := lb.ListenerSettings{
		Attributes: l.Attributes[aws.ToString(of.ListenerArn)], TLSPolicy: aws.ToString(of.SslPolicy),
		Mutual: fromMutual(of.MutualAuthentication, false),
	}
	if out.Mutual == nil && of.Protocol == elb.ProtocolEnumHttps {
		out.Mutual = &lb.MutualAuthentication{Mode: "off"}
	}
	return out
}

// UsualSettings returns the settings that AWS gives to a listener of a protocol if nothing asks for any.
func UsualSettings(protocol elb.ProtocolEnum) lb.ListenerSettings {
	out := lb.ListenerSettings{Attributes: look.ListenerDefaults}
	if protocol == elb.ProtocolEnumHttps {
		out.TLSPolicy, out.Mutual = defaultPolicy, &lb.MutualAuthentication{Mode: "off"}
	}
	return out
}

// unreachableIn returns the ranges of clients that cannot reach a load balancer of a family, from the list of settings.
func unreachableIn(family elb.IpAddressType, written []string) []string {
	var out []string
	for _, name := range written {
		if source, is := strings.CutPrefix(name, writtenUnreachable); is && family == elb.IpAddressTypeIpv4 {
			out = append(out, source)
		}
	}
	return out
}

// TagsOfTaken returns the tags of a listener that was taken over, and had the settings that were read. It has a digest if
// these are the wanted ones, as far as something asks for them; same is false if they are known not to be. firewall says
// whether its clients are settings of the listener. With a shape, it keeps its rules.
func (ls *Store) TagsOfTaken(
	key lb.Key, want lb.Listener, read lb.ListenerSettings, ipv4, firewall bool, shape string, same bool,
) map[string]string {
	has := want.Settings
	has.Attributes = look.Some(read.Attributes, has.Attributes)
	if has.TLSPolicy != "" {
		has.TLSPolicy = read.TLSPolicy
	}
	if has.Mutual != nil {
		has.Mutual = asNamed(read.Mutual, has.Mutual)
	}
	var unreachable []string
	if firewall {
		wanted := want.Settings.Inbound
		if wanted == nil {
			wanted = look.Everywhere
		}
		for _, source := range look.OnlyIPv6(wanted) {
			if ipv4 && !slices.Contains(read.Inbound, source) {
				unreachable = append(unreachable, source)
			}
		}
		have := slices.Sorted(slices.Values(slices.Concat(read.Inbound, unreachable)))
		if !slices.Equal(have, slices.Sorted(slices.Values(wanted))) {
			has.Inbound = have
		}
	}
	tags := ls.tagsFor(key, want)
	written := writtenOfListener(want.Settings)
	for _, source := range unreachable {
		written = append(written, writtenUnreachable+source)
	}
	client.ListWritten(tags, written)
	if shape != "" {
		tags[client.TagShape] = shape
	}
	if !same || want.Digest != lb.DigestOf(has) {
		return client.WithoutDigest(tags)
	}
	return tags
}

// asNamed returns a mutual authentication with the trust store as a wanted one names it.
func asNamed(read, want *lb.MutualAuthentication) *lb.MutualAuthentication {
	if read == nil || want.TrustStore == "" || strings.HasPrefix(want.TrustStore, "arn:") {
		return read
	}
	out := *read
	if parts := strings.Split(out.TrustStore, "/"); len(parts) == 3 {
		out.TrustStore = parts[1]
	}
	return &out
}
