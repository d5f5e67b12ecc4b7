package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file finds the firewall of a load balancer: the security group of its own. The index of tags
// (the Resource Groups Tagging API) may be behind in both ways: it lacks a group that was made a
// while ago, and lists one that was deleted. AWS publishes no bound ("tagged or previously tagged
// resources",
// https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/API_GetResources.html;
// deleted resources of EC2 were met for hours, aws/aws-cli#4173). So a group that is listed is a
// hint: the load balancer has it, or EC2 knows it by its name and its tags.

// groupsIn are the security groups that the index of tags lists.
func groupsIn(strewn map[string]map[string]string) []string {
	var out []string
	for _, arn := range sorted(strewn) {
		if _, id, found := strings.Cut(arn, ":security-group/"); found {
			out = append(out, id)
		}
	}
	return out
}

// readFirewall finds the firewall of a load balancer. One that the load balancer has, and that is
// listed or was made by this process, costs no call.
func (p *Provider) readFirewall(ctx context.Context, l *look, strewn map[string]map[string]string) error {
	hints, made := groupsIn(strewn), p.firewallOf(l.key)
	wanted := false
	if l.balancer != nil {
		lent := slices.Contains(writtenIn(l.tags[aws.ToString(l.balancer.LoadBalancerArn)]), writtenGroups)
		p.lend(l.key, lent)
		wanted = !p.unfenced && !lent
		for _, id := range append(hints, made) {
			if slices.Contains(l.balancer.SecurityGroups, id) {
				l.firewall = id
				return nil
			}
		}
	}
	if made != "" && (l.balancer == nil || p.recent.knows("sg-", made)) {
		l.firewall = made
		return nil
	}
	if len(hints) == 0 && made == "" && !wanted {
		return nil
	}
	var err error
	if l.firewall, err = p.securityGroups.idOf(ctx, p.derivedName(l.key)); err != nil {
		return err
	}
	p.walled(l.key, l.firewall)
	l.bare = wanted && l.firewall == ""
	return nil
}

// firewallOf is the firewall of a load balancer that this process has made or found by its name, or
// "".
func (p *Provider) firewallOf(key lb.Key) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.firewalls[key]
}

// walled notes the firewall of a load balancer; "" for none.
func (p *Provider) walled(key lb.Key, firewall string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.firewalls[key] = firewall
	if firewall == "" {
		delete(p.firewalls, key)
	}
}

// lend notes whether the class of a load balancer brings security groups.
func (p *Provider) lend(key lb.Key, lent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lent[key] = true
	if !lent {
		delete(p.lent, key)
	}
}

// unwalled is nil where a load balancer is to have no firewall. Otherwise its firewall is not
// known: without it a port would be shut for all clients, or open for more of them than the Ingress
// says. So the step has to wait.
func (p *Provider) unwalled(key lb.Key) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unfenced || p.lent[key] {
		return nil
	}
	return fmt.Errorf("the security group %s, which says which clients may connect to the load balancer, is not found; ports are changed once it is: %w",
		p.derivedName(key), providers.ErrPending)
}

// fence makes sure of the security groups of a load balancer. The firewall is "" where it keeps
// none.
func (p *Provider) fence(ctx context.Context, want lb.LoadBalancer) (groups []string, firewall string, err error) {
	p.lend(want.Key, len(want.Settings.SecurityGroups) > 0)
	if p.unfenced || len(want.Settings.SecurityGroups) > 0 {
		return want.Settings.SecurityGroups, "", nil
	}
	tags := p.owned(want.Key, want.Settings.Tags)
	noteTags(tags, want.Settings.Tags)
	if firewall, err = p.securityGroups.ensure(ctx, p.derivedName(want.Key), aboutFirewall(want.Key), p.firewallOf(want.Key), tags); err != nil {
		return nil, "", err
	}
	p.walled(want.Key, firewall)
	shared, err := p.nodes.sharedGroup(ctx, want.Key)
	return []string{firewall, shared}, firewall, err
}

// aboutFirewall is the description of a firewall, in the 255 characters that EC2 takes
// (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html).
func aboutFirewall(key lb.Key) string {
	about := "Who may connect to " + string(key)
	return about[:min(len(about), 255)]
}

// writeFence gives a load balancer its security groups, and its firewall the grants of its
// listeners.
func (p *Provider) writeFence(ctx context.Context, b *balancer, seen *lb.Observed, want lb.LoadBalancer) (firewall string, err error) {
	groups, firewall, err := p.fence(ctx, want)
	if err != nil || len(groups) == 0 {
		return firewall, err
	}
	if firewall != "" {
		var grants []grant
		listens := map[int32]bool{}
		for _, l := range want.Listeners {
			listens[l.Port] = true
			grants = append(grants, grantsTo(l.Port, l.Settings.Inbound)...)
		}
		for _, l := range seen.Listeners { // those that are about to go say so themselves
			listens[l.Port] = true
		}
		if err := p.securityGroups.replace(ctx, firewall, grants, func(g grant) bool { return !listens[g.port] || contains(want.Listeners, g.port) }); err != nil {
			return firewall, err
		}
		if err := p.nodes.openPorts(ctx, want.Key, append(portsOf(want.TargetGroups), p.portsBehind(seen)...)); err != nil {
			return firewall, err
		}
	}
	if sameSet(groups, b.SecurityGroups) {
		return firewall, nil
	}
	_, err = p.elb.SetSecurityGroups(ctx, &elbapi.SetSecurityGroupsInput{LoadBalancerArn: b.LoadBalancerArn, SecurityGroups: groups})
	return firewall, explained("changing the security groups of "+b.arn(), err)
}

func contains(listeners []lb.Listener, port int32) bool {
	return slices.ContainsFunc(listeners, func(l lb.Listener) bool { return l.Port == port })
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// openPort lets the clients of a new listener through.
func (p *Provider) openPort(ctx context.Context, seen *lb.Observed, l lb.Listener) error {
	if seen.Firewall == "" {
		return p.unwalled(seen.Key)
	}
	return p.securityGroups.allow(ctx, seen.Firewall, grantsTo(l.Port, l.Settings.Inbound))
}

// changePort makes those who get through to a port the clients of its listener; nobody, where there
// is none.
func (p *Provider) changePort(ctx context.Context, seen *lb.Observed, port int32, grants []grant) error {
	if seen.Firewall == "" {
		return p.unwalled(seen.Key)
	}
	return p.securityGroups.replace(ctx, seen.Firewall, grants, func(g grant) bool { return g.port == port })
}

// deleteFirewall removes the security group of a load balancer, once AWS is done with it. The last
// one takes along the group that all of them share. One that is not known is looked for by its
// name.
func (p *Provider) deleteFirewall(ctx context.Context, seen *lb.Observed) error {
	firewall := seen.Firewall
	if firewall == "" {
		var err error
		if firewall, err = p.securityGroups.idOf(ctx, p.derivedName(seen.Key)); err != nil || firewall == "" {
			return err
		}
	}
	return p.releases.deleteUnused(ctx, seen, firewall, func() error {
		// What is shared goes first: once the firewall is gone, nobody comes back for it.
		if err := p.nodes.removeFirewall(ctx, seen.Key, firewall); err != nil {
			return err
		}
		if err := p.securityGroups.delete(ctx, firewall); err != nil {
			return err
		}
		p.walled(seen.Key, "")
		return nil
	})
}

// readFence reads, looked at deeply, who gets through to the load balancer.
func (p *Provider) readFence(ctx context.Context, l *look, _ map[string]map[string]string) error {
	if !l.deep || l.firewall == "" || l.balancer == nil {
		return nil
	}
	found, err := p.securityGroups.describe(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: l.balancer.SecurityGroups})
	if err != nil { // it is a setting of the load balancer and of each listener
		l.assumed[aws.ToString(l.balancer.LoadBalancerArn)] = true
		for _, listener := range l.listeners {
			l.assumed[aws.ToString(listener.ListenerArn)] = true
		}
		return err
	}
	for _, g := range found {
		switch {
		case aws.ToString(g.GroupId) == l.firewall:
			l.grants, l.fenceTags, l.fenced = grantsIn(g), tagsIn(g), true
		case aws.ToString(g.GroupName) != p.nodes.sharedName() || !tagged(g.Tags, tagInstallation, p.installation):
			l.fenced = false
			return nil
		default:
			l.shared = aws.ToString(g.GroupId)
		}
	}
	l.fenced = l.fenced && len(found) == 2
	return nil
}

// inboundOf are those who get through to a port, in the form in which classes say it.
func (l *look) inboundOf(port int32) []string {
	var out []string
	for _, g := range l.grants {
		if g.port == port {
			out = append(out, g.source)
		}
	}
	slices.Sort(out)
	if slices.Equal(out, everywhere) {
		return nil
	}
	if out == nil {
		return []string{"nobody"}
	}
	return out
}

// strange are the security groups of a load balancer where they are not those that it should have,
// where ports are open on which there is no listener, and where the nodes do not admit it.
func (l *look) strange() []string {
	if l.firewall == "" {
		return nil
	}
	if !l.fenced || l.cutOff {
		return slices.Sorted(slices.Values(l.balancer.SecurityGroups))
	}
	for _, g := range l.grants {
		if !slices.ContainsFunc(l.listeners, func(l elb.Listener) bool { return aws.ToInt32(l.Port) == g.port }) {
			return slices.Sorted(slices.Values(l.balancer.SecurityGroups))
		}
	}
	return nil
}
