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
	"fairlead.dev/fairlead/providers/aws/balancers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/listeners"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/providers/aws/targets"
)

// This file reads the load balancer of a key in few calls: by name, by load balancer and in
// batches. It does not list the account.

// Observe reads the load balancer of a key.
func (p *Provider) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	ctx = providers.WithKey(ctx, key)
	l := &look.Look{
		Key: key, Owns: func(tags map[string]string) bool { return p.clients.Owns(key, tags) },
		Deep:  deep,
		Rules: map[string][]elb.Rule{}, Served: map[string][]elb.Certificate{},
		Health:     map[string][]lb.TargetHealth{},
		Attributes: map[string]map[string]string{}, Assumed: map[string]bool{},
	}
	if p.balancers.Unlisted.TooEarly(string(key)) {
		return nil, fmt.Errorf("reading load balancer %s: a moment ago, AWS did not list a "+
			"new resource yet: %w",
			key, providers.ErrPending)
	}
	indexed, err := p.clients.Find(ctx, p.clients.Owned(key, nil),
		"elasticloadbalancing:targetgroup", "acm:certificate", "ec2:security-group")
	if err != nil {
		return nil, err
	}
	if l.Balancer, l.NameTaken, err = p.balancers.FindByKey(ctx, key); err != nil {
		return nil, err
	}
	for _, read := range []look.Reader{
		p.listeners.Read, p.targetGroups.Read, p.readInside, p.readTags, p.firewalls.Find,
		p.readCertificates,
	} {
		if err := read(ctx, l, indexed); err != nil {
			return nil, explainVanished(key, err)
		}
	}
	if l.NameTaken {
		if key.Name() != "" && p.balancers.ForgetPlace(key) { // the last lookup did not find the name taken
			return nil, fmt.Errorf("reading load balancer %s: its name was taken since it was looked up: %w", key, providers.ErrPending)
		}
		hideTaken(l)
	}
	if missing := p.recent.Unlisted(p.clients.LoadBalancerName(key), l.ARNs()); missing != "" &&
		!l.NameTaken {
		p.balancers.Unlisted.Wait(string(key), unlistedWait, unlistedWaitMax)
		return nil, fmt.Errorf("reading load balancer %s: AWS does not list %s yet, which was created a "+
			"moment ago: %w",
			key, missing, providers.ErrPending)
	}
	p.balancers.Unlisted.Forget(string(key))
	// No route waits for these. If settings cannot be read, they are assumed to be as they were
	// written.
	for _, read := range []look.Reader{
		p.readAttributes, p.firewalls.Observe, p.nodes.Observe, p.webACLs.Observe, p.protections.Observe,
		p.balancers.ObserveProtection,
	} {
		err := read(ctx, l, indexed)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			l.Unread = append(l.Unread, err.Error())
		}
	}
	p.learn(l)
	return p.toObserved(l), nil
}

// hideTaken removes target groups that are being taken over or given back: their load balancer is not ours yet, or any more,
// so that no step may change them.
func hideTaken(l *look.Look) {
	l.Groups = slices.DeleteFunc(l.Groups, func(g elb.TargetGroup) bool {
		return client.WasOthers(l.Tags[aws.ToString(g.TargetGroupArn)])
	})
}

// explainVanished returns ErrPending if AWS does not find a resource that it has just listed. It
// was deleted in between, or the list is of an earlier moment.
func explainVanished(key lb.Key, err error) error {
	if client.HasCode(err, "LoadBalancerNotFound", "ListenerNotFound", "RuleNotFound",
		"TargetGroupNotFound") {
		return fmt.Errorf("reading load balancer %s: AWS lists what it does not find: %w: %w",
			key, err, providers.ErrPending)
	}
	return err
}

// The first wait until AWS lists a new resource, and the longest.
const (
	unlistedWait    = time.Second
	unlistedWaitMax = 15 * time.Second
)

// readAttributes reads the attributes that this operator wrote.
func (p *Provider) readAttributes(
	ctx context.Context, l *look.Look, _ map[string]map[string]string,
) error {
	return look.ReadAttributes(ctx, p.clients.ELB, l)
}

// learn passes the results of an observation to the collaborators that cache them.
func (p *Provider) learn(l *look.Look) {
	if l.Balancer == nil {
		p.balancers.ForgetRefusedDeletion(l.Key)
	} else {
		p.conditions.Learn(l.Tags[aws.ToString(l.Balancer.LoadBalancerArn)], l.Rules)
	}
	if l.Balancer != nil && l.Deep {
		p.balancers.ForgetPlace(l.Key)
		p.nodes.ForgetOpenPorts()
		p.limits.Expire()
	}
	if l.Firewall != "" || l.FirewallMissing {
		p.nodes.AddUser(l.Key)
	}
	p.targetGroups.Learn(l)
}

// Active reports whether a load balancer is active.
func (p *Provider) Active(ctx context.Context, seen *lb.Observed) (bool, error) {
	return p.balancers.AwaitActive(providers.WithKey(ctx, seen.Key), seen)
}

// forgetMissing forgets IDs and ARNs that AWS does not find, and reports whether one was known. The
// next try finds or creates what it needs.
func (p *Provider) forgetMissing(ids []string) bool {
	known := p.nodes.ForgetShared(ids)
	known = p.firewalls.Remove(ids) || known
	known = p.targetGroups.Remove(ids) || known
	return p.balancers.RemoveRecentReads(ids) || known
}

// readInside reads the rules and certificates of listeners, and the members of target groups, in
// parallel.
func (p *Provider) readInside(
	ctx context.Context, l *look.Look, _ map[string]map[string]string,
) error {
	rules := make([][]elb.Rule, len(l.Listeners))
	served := make([][]elb.Certificate, len(l.Listeners))
	health := make([][]lb.TargetHealth, len(l.Groups))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(client.ParallelReads)
	for i, listener := range l.Listeners {
		reads.Go(providers.CatchPanics(ctx, func() (err error) {
			rules[i], err = listeners.ReadRules(ctx, p.clients.ELB, aws.ToString(listener.ListenerArn))
			return err
		}))
		if listener.Protocol == elb.ProtocolEnumHttps {
			reads.Go(providers.CatchPanics(ctx, func() (err error) {
				served[i], err = p.listeners.CertificatesOf(ctx, aws.ToString(listener.ListenerArn))
				return err
			}))
		}
	}
	for i, g := range l.Groups {
		reads.Go(providers.CatchPanics(ctx, func() (err error) {
			health[i], err = p.targetGroups.HealthOrLast(ctx, aws.ToString(g.TargetGroupArn))
			return err
		}))
	}
	if err := reads.Wait(); err != nil {
		return err
	}
	for i, listener := range l.Listeners {
		l.Rules[aws.ToString(listener.ListenerArn)],
			l.Served[aws.ToString(listener.ListenerArn)] = rules[i], served[i]
	}
	for i, g := range l.Groups {
		l.Health[aws.ToString(g.TargetGroupArn)] = health[i]
	}
	return nil
}

// readCertificates reads the imported certificates of the load balancer.
func (p *Provider) readCertificates(
	ctx context.Context, l *look.Look, indexed map[string]map[string]string,
) (err error) {
	l.Imported, err = p.certificates.Observe(ctx, l.Key, l.Deep, l.ServedARNs(), indexed)
	return err
}

// readTags reads the tags of the load balancer, its listeners and its target groups. The index of
// tags may be out of date, so its tags of a target group count only where this process has not
// written them, and no other one gives it back.
func (p *Provider) readTags(
	ctx context.Context, l *look.Look, indexed map[string]map[string]string,
) error {
	var arns []string
	if l.Balancer != nil {
		arns = append(arns, aws.ToString(l.Balancer.LoadBalancerArn))
	}
	for _, listener := range l.Listeners {
		arns = append(arns, aws.ToString(listener.ListenerArn))
	}
	found := map[string]map[string]string{}
	for _, g := range l.Groups {
		arn := aws.ToString(g.TargetGroupArn)
		if tags := indexed[arn]; l.Deep || tags[client.TagDigest] == "" ||
			p.targetGroups.Has(l.Key, arn) || client.WasOthers(tags) {
			arns = append(arns, arn)
		} else {
			found[arn] = tags
		}
	}
	read, err := p.clients.TagsOf(ctx, arns)
	maps.Copy(found, read)
	l.Tags = found
	if l.Balancer != nil && !l.IsOurs(l.Balancer.LoadBalancerArn) {
		l.Balancer, l.Listeners, l.NameTaken = nil, nil, true
	}
	return err
}

// toObserved converts the look to an observation in canonical form.
func (p *Provider) toObserved(l *look.Look) *lb.Observed {
	o := &lb.Observed{Key: l.Key, Firewall: l.Firewall, Unread: l.Unread}
	if b := l.Balancer; b != nil {
		arn := aws.ToString(b.LoadBalancerArn)
		o.Exists, o.Handle, o.Digest = true, arn, balancers.DigestOf(l)
		o.Active, o.Protection, o.Protected = balancers.Active(b), l.Protection, l.Protected
		o.Address, o.Impaired = balancers.AddressOf(b), balancers.Impairment(b)
	}
	o.TargetGroups = p.targetGroups.AllObserved(l)
	for _, listener := range l.Listeners {
		o.Listeners = append(o.Listeners, p.listeners.ToObserved(l, listener))
	}
	slices.SortFunc(o.Listeners, func(a, b lb.ObservedListener) int { return int(a.Port - b.Port) })
	for _, c := range l.Imported {
		c.Tags = nil
		o.Certificates = append(o.Certificates, c)
	}
	slices.SortFunc(o.Certificates, func(a, b lb.ObservedCertificate) int {
		return cmp.Compare(a.ID, b.ID)
	})
	if l.Deep {
		o.Read = settingsOf(l)
	}
	return o
}

// settingsOf returns the settings that a deep look read. Readers compare them with the digests. It
// leaves out settings that were not read, or not written completely.
func settingsOf(l *look.Look) *lb.ReadSettings {
	out := &lb.ReadSettings{
		Listeners:    map[int32]lb.ListenerSettings{},
		TargetGroups: map[lb.GroupID]lb.GroupSettings{},
		Certificates: map[lb.CertificateID]lb.CertificateSettings{},
	}
	if l.Balancer != nil {
		s := balancers.SettingsOf(l)
		out.LoadBalancer = &s
	}
	for _, listener := range l.Listeners {
		out.Listeners[aws.ToInt32(listener.Port)] = listeners.SettingsOf(l, listener)
	}
	for _, g := range slices.Backward(l.Groups) { // the first of several that are one counts
		out.TargetGroups[l.IDOf(aws.ToString(g.TargetGroupArn))] = targets.SettingsOf(l, g)
	}
	for _, c := range l.Imported {
		out.Certificates[c.ID] = lb.CertificateSettings{Tags: c.Tags}
	}
	return out
}

// Targets returns the members of a target group. Members that an observation has just read are not
// read again.
func (p *Provider) Targets(
	ctx context.Context, key lb.Key, group lb.GroupID,
) ([]lb.TargetHealth, error) {
	return p.targetGroups.Targets(providers.WithKey(ctx, key), key, group)
}

// SetTargets makes targets the members of a group: it registers those that are missing, then
// deregisters the others.
func (p *Provider) SetTargets(
	ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target,
) error {
	return p.targetGroups.SetTargets(
		providers.WithUrgency(providers.WithKey(ctx, key), true), key, group, want,
	)
}
