package aws

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"golang.org/x/sync/errgroup"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/resource"
	"fairlead.dev/fairlead/providers/aws/throttle"
)

// This file reads the load balancer of a key in few calls: by name, by load balancer and in
// batches, never by listing the account.

// Observe reads the load balancer of a key.
func (p *Provider) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	ctx = providers.About(ctx, key)
	l := &look{
		key: key, owns: func(tags map[string]string) bool { return p.clients.Owns(key, tags) }, deep: deep,
		rules: map[string][]elb.Rule{}, served: map[string][]elb.Certificate{}, health: map[string][]lb.TargetHealth{},
		attributes: map[string]map[string]string{}, assumed: map[string]bool{},
	}
	if p.balancers.unlisted.Early(string(key)) {
		return nil, fmt.Errorf("reading load balancer %s: AWS did not list a moment ago what had been made: %w",
			key, providers.ErrPending)
	}
	indexed, err := p.clients.Find(ctx, p.clients.Owned(key, nil),
		"elasticloadbalancing:targetgroup", "acm:certificate", "ec2:security-group")
	if err != nil {
		return nil, err
	}
	if l.balancer, l.another, err = p.balancers.findByKey(ctx, key); err != nil {
		return nil, err
	}
	for _, read := range []reader{
		p.listeners.read, p.targetGroups.read, p.readInside, p.readTags, p.firewalls.find, p.readCertificates,
	} {
		if err := read(ctx, l, indexed); err != nil {
			return nil, err
		}
	}
	if missing := p.recent.unlisted(p.clients.LoadBalancerName(key), l.arns()); missing != "" && !l.another {
		p.balancers.unlisted.Wait(string(key), unlistedWait, unlistedWaitMax)
		return nil, fmt.Errorf("reading load balancer %s: AWS does not list %s yet, which was made a moment ago: %w",
			key, missing, providers.ErrPending)
	}
	p.balancers.unlisted.Forget(string(key))
	// No route waits for these. Settings that cannot be read are assumed to be as they were written.
	for _, read := range []reader{
		p.readAttributes, p.firewalls.observe, p.nodes.observe, p.webACLs.observe, p.protections.observe,
		p.balancers.observeProtection,
	} {
		err := read(ctx, l, indexed)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			l.unread = append(l.unread, err.Error())
		}
	}
	p.learn(l)
	return p.observed(l), nil
}

// The first wait until AWS lists what this process has made, and the longest.
const (
	unlistedWait    = time.Second
	unlistedWaitMax = 15 * time.Second
)

// readAttributes reads the attributes that this operator wrote.
func (p *Provider) readAttributes(ctx context.Context, l *look, _ map[string]map[string]string) error {
	return readAttributes(ctx, p.clients.ELB, l)
}

// learn passes what an observation found out to the collaborators that keep it.
func (p *Provider) learn(l *look) {
	if l.balancer == nil {
		p.balancers.learnAbsence(l.key)
	} else {
		p.conditions.learn(l.tags[aws.ToString(l.balancer.LoadBalancerArn)], l.rules)
	}
	if l.balancer != nil && l.deep {
		p.balancers.forgetPlace(l.key)
		p.nodes.forgetOpenPorts()
		p.limits.expire()
	}
	if l.firewall != "" || l.firewallMissing {
		p.nodes.addUser(l.key)
	}
	p.targetGroups.learn(l)
}

// Active reports whether a load balancer is active.
func (p *Provider) Active(ctx context.Context, seen *lb.Observed) (bool, error) {
	return p.balancers.awaitActive(providers.About(ctx, seen.Key), seen)
}

// forgetMissing forgets IDs and ARNs that AWS does not find, and reports whether one was known. The
// next try finds or creates what it needs.
func (p *Provider) forgetMissing(ids []string) bool {
	known := p.nodes.forgetShared(ids)
	known = p.firewalls.remove(ids) || known
	known = p.targetGroups.remove(ids) || known
	return p.balancers.removeSightings(ids) || known
}

// readInside reads the rules and certificates of listeners, and the members of target groups, in
// parallel.
func (p *Provider) readInside(ctx context.Context, l *look, _ map[string]map[string]string) error {
	rules := make([][]elb.Rule, len(l.listeners))
	served := make([][]elb.Certificate, len(l.listeners))
	health := make([][]lb.TargetHealth, len(l.groups))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(throttle.AtOnce)
	for i, listener := range l.listeners {
		reads.Go(providers.Safely(ctx, func() (err error) {
			rules[i], err = readRules(ctx, p.clients.ELB, aws.ToString(listener.ListenerArn))
			return err
		}))
		if listener.Protocol == elb.ProtocolEnumHttps {
			reads.Go(providers.Safely(ctx, func() (err error) {
				served[i], err = p.listeners.certificatesOf(ctx, aws.ToString(listener.ListenerArn))
				return err
			}))
		}
	}
	for i, g := range l.groups {
		reads.Go(providers.Safely(ctx, func() (err error) {
			health[i], err = p.targetGroups.healthOrLast(ctx, aws.ToString(g.TargetGroupArn))
			return err
		}))
	}
	if err := reads.Wait(); err != nil {
		return err
	}
	for i, listener := range l.listeners {
		l.rules[aws.ToString(listener.ListenerArn)], l.served[aws.ToString(listener.ListenerArn)] = rules[i], served[i]
	}
	for i, g := range l.groups {
		l.health[aws.ToString(g.TargetGroupArn)] = health[i]
	}
	return nil
}

// readCertificates reads the imported certificates of the load balancer.
func (p *Provider) readCertificates(ctx context.Context, l *look, indexed map[string]map[string]string) (err error) {
	l.imported, err = p.certificates.Observe(ctx, l.key, l.deep, l.servedARNs(), indexed)
	return err
}

// readTags reads the tags of the load balancer, its listeners and its target groups. The index of
// tags may be out of date, so its tags of a target group count only where this process has not
// written them.
func (p *Provider) readTags(ctx context.Context, l *look, indexed map[string]map[string]string) error {
	var arns []string
	if l.balancer != nil {
		arns = append(arns, aws.ToString(l.balancer.LoadBalancerArn))
	}
	for _, listener := range l.listeners {
		arns = append(arns, aws.ToString(listener.ListenerArn))
	}
	found := map[string]map[string]string{}
	for _, g := range l.groups {
		arn := aws.ToString(g.TargetGroupArn)
		if tags := indexed[arn]; l.deep || tags[resource.TagDigest] == "" || p.targetGroups.has(l.key, arn) {
			arns = append(arns, arn)
		} else {
			found[arn] = tags
		}
	}
	read, err := p.clients.TagsOf(ctx, arns)
	maps.Copy(found, read)
	l.tags = found
	if l.balancer != nil && !l.ours(l.balancer.LoadBalancerArn) {
		l.balancer, l.listeners, l.another = nil, nil, true
	}
	return err
}

// observed returns the look in canonical form.
func (p *Provider) observed(l *look) *lb.Observed {
	o := &lb.Observed{Key: l.key, Firewall: l.firewall, Unread: l.unread}
	if b := l.balancer; b != nil {
		arn := aws.ToString(b.LoadBalancerArn)
		o.Exists, o.Handle, o.Digest = true, arn, digestOf(l)
		o.Active, o.Protection, o.Protected = active(b), l.protection, l.protected
		o.Address = addressOf(b)
	}
	for _, g := range l.groups {
		if l.ours(g.TargetGroupArn) { // a rule of others may forward to target groups of others
			o.TargetGroups = append(o.TargetGroups, p.targetGroups.observed(l, g))
		}
	}
	slices.SortFunc(o.TargetGroups, func(a, b lb.ObservedTargetGroup) int { return cmp.Compare(a.ID, b.ID) })
	for _, listener := range l.listeners {
		o.Listeners = append(o.Listeners, p.listeners.observed(l, listener))
	}
	slices.SortFunc(o.Listeners, func(a, b lb.ObservedListener) int { return int(a.Port - b.Port) })
	for _, c := range l.imported {
		o.Certificates = append(o.Certificates, c)
	}
	slices.SortFunc(o.Certificates, func(a, b lb.ObservedCertificate) int { return cmp.Compare(a.ID, b.ID) })
	return o
}

// Targets returns the members of a target group. Members that an observation has just read are not
// read again.
func (p *Provider) Targets(ctx context.Context, key lb.Key, group lb.GroupID) ([]lb.TargetHealth, error) {
	return p.targetGroups.targets(providers.About(ctx, key), key, group)
}

// SetTargets makes targets the members of a group: it registers those that are missing, then
// deregisters the others.
func (p *Provider) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	return p.targetGroups.setTargets(providers.Urgently(providers.About(ctx, key), true), key, group, want)
}
