package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

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
	if l.firewall, err = p.groupNamed(ctx, p.derivedName(l.key)); err != nil {
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
