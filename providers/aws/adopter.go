package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"golang.org/x/sync/errgroup"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/network"
)

// This file takes over load balancers that others made, and gives them back, by their tags.

var _ providers.Adopter = (*Provider)(nil)

// Claim returns the changes of tags that make a found load balancer the wanted one: target groups, the security group,
// listeners and rules, and then the load balancer.
func (p *Provider) Claim(o *lb.Other, t lb.Takeover) ([]lb.TagChange, error) {
	c := &claim{Owner: p.clients.Owner, other: o, key: t.Want.Key}
	read := lb.ReadSettings{}
	if o.Read != nil {
		read = *o.Read
	}
	settings := routing.Settings{}
	if read.LoadBalancer != nil {
		settings = *read.LoadBalancer
	}
	for _, g := range o.TargetGroups {
		at := slices.IndexFunc(t.Want.TargetGroups, func(w lb.TargetGroup) bool { return w.ID == t.Groups[g.Handle] })
		if at < 0 || lb.OthersMade(t.Want.TargetGroups[at].ID) {
			continue
		}
		want := t.Want.TargetGroups[at]
		c.take(g.Handle, p.targetGroups.TagsOfTaken(t.Want.Key, want, read.TargetGroups[g.ID], !t.Differ[g.Handle]),
			want.Tags, true)
	}
	firewall := map[string]string{}
	if t.Firewall != "" {
		firewall = network.FirewallTags(o.Names[t.Firewall])
		tags := p.clients.Owned(t.Want.Key, t.Want.Settings.Tags)
		maps.Copy(tags, firewall)
		c.take(t.Firewall, tags, t.Want.Settings.Tags, true)
	}
	listening := slices.DeleteFunc(slices.Clone(o.Listeners), func(l lb.ObservedListener) bool { return t.Stay[l.Handle] })
	for _, l := range listening {
		at := slices.IndexFunc(t.Want.Listeners, func(w lb.Listener) bool { return w.Port == l.Port })
		want := lb.Listener{Port: l.Port}
		if at >= 0 {
			want = t.Want.Listeners[at]
		}
		c.take(l.Handle, p.listeners.TagsOfTaken(t.Want.Key, want, read.Listeners[l.Port],
			settings.IPFamily == string(elb.IpAddressTypeIpv4), t.Firewall != "", t.Shapes[l.Port],
			at >= 0 && !t.Differ[l.Handle]), want.Settings.Tags, false)
	}
	for _, l := range listening {
		for _, r := range l.Rules {
			c.take(r.Handle, map[string]string{client.TagInstallation: p.clients.Installation}, nil, false)
		}
	}
	c.share()
	tags := p.balancers.TagsOfTaken(t.Want, settings, t.Kept, !t.Differ[o.Handle])
	maps.Copy(tags, firewall)
	tags[client.TagTaken] = "true"
	if acl := t.Want.Protection.WebACL; acl != "" && acl == o.Protection.WebACL {
		tags[client.TagWebACL] = acl
	}
	if shield := t.Want.Protection.Shield; shield != "" && shield == o.Protection.Shield {
		tags[client.TagShield] = shield
	}
	c.take(o.Handle, tags, t.Want.Settings.Tags, true)
	return c.changes, errors.Join(c.errs...)
}

// A claim collects the changes of tags of a load balancer.
type claim struct {
	client.Owner
	other   *lb.Other
	key     lb.Key
	changes []lb.TagChange
	errs    []error
}

// take adds the change of one resource, which gets our tags.
func (c *claim) take(handle string, ours, ofClass map[string]string, found bool) {
	before := c.other.Tags[handle]
	owner, key := before[client.TagInstallation], client.KeyIn(before)
	if owner != "" && owner != c.Installation || key != "" && key != c.key {
		c.errs = append(c.errs, fmt.Errorf("%s belongs to load balancer %s of installation %s: %w", handle, key, owner,
			providers.ErrRejected))
		return
	}
	add, gone := client.Claim(before, ours, ofClass, found)
	if err := client.CheckTags(handle, before, add); err != nil {
		c.errs = append(c.errs, err)
		return
	}
	for _, name := range gone {
		if _, asked := ofClass[name]; asked {
			c.errs = append(c.errs, fmt.Errorf("the class asks for the tag %s, by which the AWS Load Balancer Controller "+
				"finds what is its own: remove it from the class: %w", name, providers.ErrRejected))
			return
		}
	}
	c.add(handle, add, gone)
}

// add adds a change, unless it is empty.
func (c *claim) add(handle string, add map[string]string, gone []string) {
	if len(add)+len(gone) > 0 {
		c.changes = append(c.changes, lb.TagChange{Handles: []string{handle}, Add: add, Remove: gone})
	}
}

// share makes equal changes one, of as many resources as the tags of are read in one call: AWS documents no limit for
// changes.
func (c *claim) share() {
	var out []lb.TagChange
	for _, next := range c.changes {
		at := slices.IndexFunc(out, func(o lb.TagChange) bool {
			return maps.Equal(o.Add, next.Add) && slices.Equal(o.Remove, next.Remove)
		})
		if at < 0 {
			out = append(out, next)
		} else {
			out[at].Handles = append(out[at].Handles, next.Handles...)
		}
	}
	c.changes = out
}

func isSecurityGroup(handle string) bool { return strings.HasPrefix(handle, "sg-") }

// Return returns the changes of tags that give a load balancer back: first the load balancer, then its parts. Listeners are
// last: as long as they have our key, target groups that no rule names are found. It gives target groups that Fairlead made
// to the controller, which deletes them.
func (p *Provider) Return(o *lb.Other) []lb.TagChange {
	c := &claim{Owner: p.clients.Owner, other: o}
	first, last := claim{}, claim{}
	balancer := o.Tags[o.Handle]
	for _, handle := range slices.Sorted(maps.Keys(o.Tags)) {
		tags := o.Tags[handle]
		if tags[client.TagInstallation] != p.clients.Installation || isSecurityGroup(handle) && tags[client.TagFirewall] == "" {
			continue // such as the security group that all load balancers share
		}
		add, gone := client.Return(tags)
		if strings.Contains(handle, ":targetgroup/") && !client.WasOthers(tags) {
			maps.Copy(add, client.Abandon(tags, balancer))
		}
		switch {
		case handle == o.Handle:
			first.add(handle, add, gone)
		case strings.Contains(handle, ":listener/"):
			last.add(handle, add, gone)
		default:
			c.add(handle, add, gone)
		}
	}
	c.share()
	last.share()
	return slices.Concat(first.changes, c.changes, last.changes)
}

// Retag makes one change of tags: it adds some, and then removes others.
func (p *Provider) Retag(ctx context.Context, key lb.Key, c lb.TagChange) error {
	ctx = providers.WithKey(ctx, key)
	p.balancers.ForgetRecentRead(key)
	p.balancers.ForgetPlace(key)
	groups, arns := []string{}, []string{}
	for _, handle := range c.Handles {
		if isSecurityGroup(handle) {
			groups = append(groups, handle)
		} else {
			arns = append(arns, handle)
		}
	}
	if len(groups) > 0 {
		if err := p.securityGroups.Retag(ctx, groups, c.Add, c.Remove); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(arns, client.TagBatch) {
		if err := p.retag(ctx, part, c); err != nil {
			return err
		}
	}
	return nil
}

// retag changes the tags of resources of Elastic Load Balancing, with a call for each direction.
func (p *Provider) retag(ctx context.Context, arns []string, c lb.TagChange) error {
	about := strings.Join(arns, ", ")
	if len(c.Add) > 0 {
		_, err := p.clients.ELB.AddTags(ctx, &elbapi.AddTagsInput{ResourceArns: arns, Tags: client.ELBTags(c.Add)})
		if err != nil {
			return client.Explain("tagging "+about, err)
		}
	}
	if len(c.Remove) == 0 {
		return nil
	}
	_, err := p.clients.ELB.RemoveTags(ctx, &elbapi.RemoveTagsInput{ResourceArns: arns, TagKeys: c.Remove})
	return client.Explain("removing tags of "+about, err)
}

// Admit has the nodes admit a load balancer on the ports of its targets, by the security group that all load balancers of
// the installation share.
func (p *Provider) Admit(ctx context.Context, o *lb.Other, t lb.Takeover) error {
	if t.Firewall == "" {
		return nil
	}
	ctx = providers.WithKey(ctx, t.Want.Key)
	ports, err := p.portsOf(ctx, o)
	if err != nil {
		return err
	}
	return p.firewalls.Admit(ctx, t.Want.Key, o.Handle, ports)
}

// Dismiss undoes Admit.
func (p *Provider) Dismiss(ctx context.Context, o *lb.Other, key lb.Key) (left string, err error) {
	ctx = providers.WithKey(ctx, key)
	ports, err := p.portsOf(ctx, o)
	if err != nil {
		return "", err
	}
	return p.firewalls.Dismiss(ctx, key, o.Handle, firewallOf(o), ports)
}

// firewallOf returns the security group that a load balancer has of others and that we took over with it; "" if there is none.
func firewallOf(o *lb.Other) string {
	quoted := o.Tags[o.Handle][client.TagFirewall]
	for _, handle := range slices.Sorted(maps.Keys(o.Names)) {
		if quoted != "" && o.Names[handle] == client.UnquoteTag(quoted) {
			return handle
		}
	}
	return ""
}

// portsOf returns the ports of the targets and of the health checks of a found load balancer.
func (p *Provider) portsOf(ctx context.Context, o *lb.Other) ([]int32, error) {
	members := make([][]lb.TargetHealth, len(o.TargetGroups))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(client.ParallelReads)
	for i, g := range o.TargetGroups {
		reads.Go(providers.CatchPanics(ctx, func() (err error) {
			members[i], err = p.targetGroups.HealthOrLast(ctx, g.Handle)
			return err
		}))
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	var out []int32
	for i, g := range o.TargetGroups {
		if out = append(out, network.PortsOfMembers(members[i])...); o.Read != nil {
			out = append(out, network.CheckPort(o.Read.TargetGroups[g.ID].HealthCheck)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Discard deletes target groups that no rule names, takes the security groups of others from a load balancer, and removes
// the tags that could give it back.
func (p *Provider) Discard(ctx context.Context, key lb.Key, groups []string) error {
	ctx = providers.WithKey(ctx, key)
	b, err := p.balancers.ReadOwned(ctx, key)
	if err != nil {
		return err
	}
	o, err := p.Found(ctx, aws.ToString(b.LoadBalancerArn))
	if err != nil || o == nil {
		return err
	}
	theirs := func(tags map[string]string) bool { return client.LeftBy(tags, o.Tags[o.Handle]) }
	for _, arn := range groups {
		gone, err := p.targetGroups.DeleteLeft(ctx, arn, theirs)
		if err != nil {
			return err
		}
		if gone {
			delete(o.Tags, arn)
		}
	}
	if err := p.firewalls.Release(ctx, key, *b, network.KeptIn(o.Tags[o.Handle])); err != nil {
		return err
	}
	c := &claim{}
	for _, handle := range slices.Sorted(maps.Keys(o.Tags)) {
		if handle != o.Handle {
			c.add(handle, nil, client.Forget(o.Tags[handle]))
		}
	}
	c.share()
	c.add(o.Handle, nil, client.Forget(o.Tags[o.Handle]))
	for _, change := range c.changes {
		if err := p.Retag(ctx, key, change); err != nil {
			return err
		}
	}
	return nil
}
