package aws

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// This file forgets what is not there any more: another process, or a person, may have deleted what this one knew.

// vanished forgets what AWS does not find among some IDs and ARNs, and reports whether that was known. What is needed of it
// is made, or looked for, at the next try.
func (p *Provider) vanished(ids []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := false
	if p.shared != "" && slices.Contains(ids, p.shared) {
		known, p.shared = true, ""
		clear(p.ports.open)
	}
	forget := func(id string) bool {
		gone := slices.Contains(ids, id)
		known = known || gone
		return gone
	}
	for name, arn := range p.groups {
		if forget(arn) {
			delete(p.groups, name)
			delete(p.members, arn)
		}
	}
	for key, firewall := range p.firewalls {
		if forget(firewall) {
			delete(p.firewalls, key)
		}
	}
	for key, last := range p.noticed {
		if last.balancer != nil && forget(aws.ToString(last.balancer.LoadBalancerArn)) {
			delete(p.noticed, key)
		}
	}
	return known
}
