package balancers

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
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/providers/aws/network"
)

// This file writes the settings of load balancers and reads them back. A tag lists the settings
// that were written, as in package look: a setting that the class no longer has is reset to
// AWS's default.

// Names of the settings of a load balancer that are not attributes, in the list of written
// settings.
const (
	writtenSubnets = "subnets"
	writtenFamily  = "ip-family"
)

// defaultFamily is the IP address type of load balancers whose class names none.
const defaultFamily = elb.IpAddressTypeIpv4

// writtenOf returns the names of the settings that are set, sorted.
func writtenOf(s routing.Settings) []string {
	out := slices.Sorted(maps.Keys(s.Attributes))
	if len(s.Subnets) > 0 {
		out = append(out, writtenSubnets)
	}
	if s.IPFamily != "" {
		out = append(out, writtenFamily)
	}
	if len(s.SecurityGroups) > 0 {
		out = append(out, network.WrittenGroups)
	}
	slices.Sort(out)
	return out
}

// tagsFor returns the tags of a load balancer after its settings were written.
func (bs *Store) tagsFor(want lb.LoadBalancer) map[string]string {
	tags := bs.Owned(want.Key, want.Settings.Tags)
	maps.Copy(tags, bs.firewalls.TagsFor(want.Key))
	client.MarkTags(tags, want.Settings.Tags)
	client.ListWritten(tags, writtenOf(want.Settings))
	tags[client.TagDigest] = string(want.Digest)
	return tags
}

// complete reports whether the call that creates a load balancer can set all of its settings.
func complete(s routing.Settings) bool { return len(s.Attributes) == 0 }

// Modify changes the settings of a load balancer.
func (bs *Store) Modify(
	ctx context.Context, seen *lb.Observed, want lb.LoadBalancer,
) (plan.Result, error) {
	there, err := bs.readOwned(ctx, want.Key)
	if err != nil {
		return plan.Result{}, err
	}
	firewall, err := bs.firewalls.Write(ctx, there.LoadBalancer, seen, want, bs.targets.PortsOf(seen))
	if err != nil {
		return plan.Result{}, err
	}
	return plan.Result{Firewall: firewall}, bs.writeSettings(ctx, there, want)
}

// writeSettings writes the settings of a load balancer, and then the tag with their digest.
func (bs *Store) writeSettings(ctx context.Context, b *balancer, want lb.LoadBalancer) error {
	gone := slices.DeleteFunc(client.WrittenIn(b.tags), func(name string) bool {
		return slices.Contains(writtenOf(want.Settings), name)
	})
	if err := bs.writeNetwork(ctx, b, want.Settings, gone); err != nil {
		return err
	}
	return look.OfLoadBalancers(bs.ELB, b.Scheme).WriteAll(
		ctx, bs.API, b.arn(), want.Settings.Attributes, b.tags, bs.tagsFor(want),
	)
}

// writeNetwork sets the subnets and the IP address type of a load balancer.
func (bs *Store) writeNetwork(
	ctx context.Context, b *balancer, want routing.Settings, gone []string,
) error {
	family := elb.IpAddressType(want.IPFamily)
	if slices.Contains(gone, writtenFamily) {
		family = defaultFamily
	}
	if family == b.IpAddressType {
		family = ""
	}
	if len(want.Subnets) > 0 && !slices.Equal(want.Subnets, SubnetsIn(b.LoadBalancer)) {
		_, err := bs.ELB.SetSubnets(ctx, &elbapi.SetSubnetsInput{
			LoadBalancerArn: b.LoadBalancerArn, Subnets: want.Subnets, IpAddressType: family,
		})
		doing := fmt.Sprintf("changing %s to subnets %s", b.arn(), strings.Join(want.Subnets, ", "))
		if client.HasCode(err, zoneUnsupported) {
			return bs.explainZone(doing, client.KeyIn(b.tags), want.Subnets, err)
		}
		return client.Explain(doing, err)
	}
	if family == "" {
		return nil
	}
	_, err := bs.ELB.SetIpAddressType(ctx, &elbapi.SetIpAddressTypeInput{
		LoadBalancerArn: b.LoadBalancerArn, IpAddressType: family,
	})
	return client.Explain("changing the IP family of "+b.arn(), err)
}

// DigestOf returns the digest of the settings: the one in the tag, or, with a deep look, that of
// the live values of the settings that this operator wrote. It returns "" if not all of them were
// written, or if the firewall does not exist.
func DigestOf(l *look.Look) lb.Digest {
	if l.FirewallMissing {
		return ""
	}
	arn := aws.ToString(l.Balancer.LoadBalancerArn)
	if tag := l.Tags[arn][client.TagDigest]; !l.Deep || tag == "" || l.Assumed[arn] {
		return lb.Digest(tag)
	}
	return lb.DigestOf(SettingsOf(l))
}

// SettingsOf returns the live values that a deep look read of the settings that this operator
// wrote.
func SettingsOf(l *look.Look) routing.Settings {
	tags := l.Tags[aws.ToString(l.Balancer.LoadBalancerArn)]
	s := routing.Settings{
		Scheme: string(l.Balancer.Scheme), SecurityGroups: network.WrongGroups(l),
		Attributes: l.Attributes[aws.ToString(l.Balancer.LoadBalancerArn)],
		Tags:       tagsThroughout(l, client.WrittenTags(tags)),
	}
	for _, name := range client.WrittenIn(tags) {
		switch name {
		case writtenSubnets:
			s.Subnets = SubnetsIn(*l.Balancer)
		case writtenFamily:
			s.IPFamily = string(l.Balancer.IpAddressType)
		case network.WrittenGroups:
			s.SecurityGroups = slices.DeleteFunc(slices.Sorted(slices.Values(l.Balancer.SecurityGroups)),
				func(id string) bool { return slices.Contains(network.KeptIn(tags), id) })
		}
	}
	return s
}

// tagsThroughout returns the tags that the firewall has, too. Without a firewall it returns all of
// them.
func tagsThroughout(l *look.Look, tags map[string]string) map[string]string {
	if l.Firewall == "" {
		return tags
	}
	var out map[string]string
	for name, value := range tags {
		if there, has := l.FirewallTags[name]; has && there == value {
			out = look.With(out, name, value)
		}
	}
	return out
}

// TagsOfTaken returns the tags of a load balancer that was taken over, and had the settings that were read. It has a digest
// if these are the wanted ones, as far as something asks for them; same is false if they are known not to be. Subnets that
// nothing asks for stay.
func (bs *Store) TagsOfTaken(want lb.LoadBalancer, read routing.Settings, kept []string, same bool) map[string]string {
	if len(want.Settings.Subnets) == 0 && want.Digest == lb.DigestOf(want.Settings) {
		want.Settings.Subnets = read.Subnets
		want.Digest = lb.DigestOf(want.Settings)
	}
	has := want.Settings
	has.Scheme, has.Attributes = read.Scheme, look.Some(read.Attributes, has.Attributes)
	if len(has.Subnets) > 0 {
		has.Subnets = read.Subnets
	}
	if has.IPFamily != "" {
		has.IPFamily = read.IPFamily
	}
	if len(has.SecurityGroups) > 0 {
		has.SecurityGroups = slices.DeleteFunc(slices.Clone(read.SecurityGroups), func(id string) bool {
			return slices.Contains(kept, id)
		})
	}
	tags := bs.tagsFor(want)
	maps.Copy(tags, network.KeptTags(kept))
	if !same || want.Digest != lb.DigestOf(has) {
		return client.WithoutDigest(tags)
	}
	return tags
}
