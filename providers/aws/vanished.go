package aws

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/retry"
)

// This file forgets what is not there any more: another process, or a person, may have deleted what
// this one knew.

// deleted forgets a load balancer that is no more.
func (p *Provider) deleted(key lb.Key, arn string) {
	p.mu.Lock()
	delete(p.resisted, arn)
	delete(p.places, key)
	p.mu.Unlock()
	p.firewalls.setReplaced(key, false)
	for _, room := range []*retry.Backoff{&p.inactive, &p.releases.rerouted, &p.webACLs.unready} {
		room.Forget(arn)
	}
}

// shrink forgets what of a load balancer another hand deleted, as a look shows: the load balancer
// that would not be deleted, and target groups of others that its rules named, and those that are
// not ours any more. Provider.mu is held.
func (p *Provider) shrink(l *look) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.balancer == nil {
		named := ":loadbalancer/app/" + p.loadBalancerName(l.key) + "/"
		maps.DeleteFunc(p.resisted, func(arn string, _ bool) bool { return strings.Contains(arn, named) })
	}
}

// vanished forgets what AWS does not find among some IDs and ARNs, and reports whether that was
// known. What is needed of it is made, or looked for, at the next try.
func (p *Provider) vanished(ids []string) bool {
	known := p.nodes.forgetShared(ids)
	known = p.firewalls.remove(ids) || known
	known = p.targetGroups.remove(ids) || known
	p.mu.Lock()
	defer p.mu.Unlock()
	forget := func(id string) bool {
		gone := slices.Contains(ids, id)
		known = known || gone
		return gone
	}
	for key, last := range p.noticed {
		if last.balancer != nil && forget(aws.ToString(last.balancer.LoadBalancerArn)) {
			delete(p.noticed, key)
		}
	}
	return known
}
