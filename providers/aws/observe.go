package aws

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"golang.org/x/sync/errgroup"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/convert"
	"fairlead.dev/fairlead/providers/aws/resource"
	"fairlead.dev/fairlead/providers/aws/throttle"
)

// This file reads the load balancer of a key in few calls: by name, by load balancer and in
// batches, never by listing the account.

// Observe reads the load balancer of a key.
func (p *Provider) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	ctx = providers.About(ctx, key)
	l := &look{
		key: key, owns: func(tags map[string]string) bool { return p.tags.Owns(key, tags) }, deep: deep,
		rules: map[string][]elb.Rule{}, served: map[string][]elb.Certificate{}, health: map[string][]lb.TargetHealth{},
		attributes: map[string]map[string]string{}, assumed: map[string]bool{},
	}
	if p.balancers.unlisted.Early(string(key)) {
		return nil, fmt.Errorf("reading load balancer %s: AWS did not list a moment ago what had been made: %w",
			key, providers.ErrPending)
	}
	indexed, err := p.tags.Find(ctx, p.tags.Owned(key, nil),
		"elasticloadbalancing:targetgroup", "acm:certificate", "ec2:security-group")
	if err != nil {
		return nil, err
	}
	if l.balancer, l.another, err = p.balancers.findByKey(ctx, key); err != nil {
		return nil, err
	}
	for _, read := range []reader{
		p.readListeners, p.targetGroups.read, p.readInside, p.readTags, p.firewalls.find, p.readCertificates,
	} {
		if err := read(ctx, l, indexed); err != nil {
			return nil, err
		}
	}
	if missing := p.recent.unlisted(p.tags.LoadBalancerName(key), l.arns()); missing != "" && !l.another {
		p.balancers.unlisted.Wait(string(key), tooSoonWait, tooSoonWaitMax)
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
	return l.observed(), nil
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

// readListeners reads the listeners of the load balancer.
func (p *Provider) readListeners(ctx context.Context, l *look, _ map[string]map[string]string) error {
	if l.balancer == nil {
		return nil
	}
	pages := elbapi.NewDescribeListenersPaginator(p.elb, &elbapi.DescribeListenersInput{LoadBalancerArn: l.balancer.LoadBalancerArn})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return awserr.Explain("reading listeners", err)
		}
		l.listeners = append(l.listeners, page.Listeners...)
	}
	return nil
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
			rules[i], err = p.rulesOf(ctx, aws.ToString(listener.ListenerArn))
			return err
		}))
		if listener.Protocol == elb.ProtocolEnumHttps {
			reads.Go(providers.Safely(ctx, func() (err error) {
				served[i], err = p.certificatesOf(ctx, aws.ToString(listener.ListenerArn))
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

// rulesOf reads the rules of a listener.
func (p *Provider) rulesOf(ctx context.Context, listener string) ([]elb.Rule, error) {
	var out []elb.Rule
	pages := elbapi.NewDescribeRulesPaginator(p.elb, &elbapi.DescribeRulesInput{ListenerArn: aws.String(listener), PageSize: aws.Int32(400)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Explain("reading rules", err)
		}
		out = append(out, page.Rules...)
	}
	return out, nil
}

// certificatesOf reads the certificates that a listener serves.
func (p *Provider) certificatesOf(ctx context.Context, listener string) ([]elb.Certificate, error) {
	var out []elb.Certificate
	pages := elbapi.NewDescribeListenerCertificatesPaginator(p.elb, &elbapi.DescribeListenerCertificatesInput{ListenerArn: aws.String(listener)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Explain("reading a listener's certificates", err)
		}
		out = append(out, page.Certificates...)
	}
	return out, nil
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
	read, err := p.tags.TagsOf(ctx, arns)
	maps.Copy(found, read)
	l.tags = found
	if l.balancer != nil && !l.ours(l.balancer.LoadBalancerArn) {
		l.balancer, l.listeners, l.another = nil, nil, true
	}
	return err
}

// observed returns the look in canonical form.
func (l *look) observed() *lb.Observed {
	o := &lb.Observed{Key: l.key, Firewall: l.firewall, Unread: l.unread}
	if b := l.balancer; b != nil {
		arn := aws.ToString(b.LoadBalancerArn)
		o.Exists, o.Handle, o.Digest = true, arn, l.digest()
		o.Active, o.Protection, o.Protected = active(b), l.protection, l.protected
		o.Address = addressOf(b)
	}
	for _, g := range l.groups {
		if l.ours(g.TargetGroupArn) { // a rule of others may forward to target groups of others
			o.TargetGroups = append(o.TargetGroups, l.group(g))
		}
	}
	slices.SortFunc(o.TargetGroups, func(a, b lb.ObservedTargetGroup) int { return cmp.Compare(a.ID, b.ID) })
	for _, listener := range l.listeners {
		o.Listeners = append(o.Listeners, l.listener(listener))
	}
	slices.SortFunc(o.Listeners, func(a, b lb.ObservedListener) int { return int(a.Port - b.Port) })
	for _, c := range l.imported {
		o.Certificates = append(o.Certificates, c)
	}
	slices.SortFunc(o.Certificates, func(a, b lb.ObservedCertificate) int { return cmp.Compare(a.ID, b.ID) })
	return o
}

// group returns a target group in canonical form.
func (l *look) group(g elb.TargetGroup) lb.ObservedTargetGroup {
	arn := aws.ToString(g.TargetGroupArn)
	tags := l.tags[arn]
	out := lb.ObservedTargetGroup{Handle: arn, TargetGroup: lb.TargetGroup{
		ID: l.idOf(arn), Service: tags[resource.TagService], Port: routing.ServicePort(tags[resource.TagPort]), TargetType: string(g.TargetType),
		Protocol: routing.Protocol(g.Protocol), Version: routing.Version(aws.ToString(g.ProtocolVersion)), Family: string(g.IpAddressType), Digest: lb.Digest(tags[resource.TagDigest]),
	}}
	if l.deep && out.Digest != "" && !l.assumed[arn] { // without one they were not written to the end
		out.Digest = lb.DigestOf(lb.GroupSettings{HealthCheck: convert.FromHealth(g), Attributes: l.attributes[arn], Tags: resource.WrittenTags(tags)})
	}
	for _, t := range l.health[arn] {
		if t.State != lb.HealthDraining {
			out.Registered = true
		}
		if t.State == lb.HealthHealthy {
			out.Ready = true
		}
	}
	return out
}

// listener returns a listener in canonical form.
func (l *look) listener(of elb.Listener) lb.ObservedListener {
	arn := aws.ToString(of.ListenerArn)
	out := lb.ObservedListener{
		Port: aws.ToInt32(of.Port), Protocol: routing.Protocol(of.Protocol), Handle: arn, Digest: l.listenerDigest(of),
		Default: convert.FromActions(of.DefaultActions, l.idOf), Verifies: fromMutual(of.MutualAuthentication, false).Verifies(),
		ClientSecrets: writtenSecretsIn(l.tags[arn]),
	}
	var rest []lb.CertificateID
	for _, c := range l.served[arn] {
		id := l.certificateID(aws.ToString(c.CertificateArn))
		if aws.ToBool(c.IsDefault) {
			out.Certificates = []lb.CertificateID{id}
		} else {
			rest = append(rest, id)
		}
	}
	slices.Sort(rest)
	for _, id := range slices.Compact(rest) {
		if !slices.Contains(out.Certificates, id) { // AWS may list the default one among the others, too
			out.Certificates = append(out.Certificates, id)
		}
	}
	for _, r := range l.rules[arn] {
		priority, err := strconv.Atoi(aws.ToString(r.Priority))
		if err != nil {
			continue // the default rule, which is the listener's default action
		}
		out.Rules = append(out.Rules, lb.ObservedRule{Priority: priority, Handle: aws.ToString(r.RuleArn), Rule: convert.FromRule(r, l.idOf)})
	}
	slices.SortFunc(out.Rules, func(a, b lb.ObservedRule) int { return a.Priority - b.Priority })
	return out
}
