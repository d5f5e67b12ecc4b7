package aws

import (
	"context"
	"errors"
	"reflect"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file keeps where load balancers are placed: in which subnets and security groups. They are
// chosen once, and again after a deep observation.

// A place is what was asked for, and the subnets that were chosen.
type place struct {
	asked   lb.Network
	subnets []string
	groups  []string // security groups, where the class names some
}

// stand notes where a load balancer is to stand: where it does, and what is missing, if nothing
// fits, or if it cannot have its name.
func (p *Provider) stand(ctx context.Context, n lb.Network, facts *lb.Facts) error {
	if n.Key == "" {
		return nil
	}
	p.mu.Lock()
	known, ok := p.places[n.Key]
	p.mu.Unlock()
	if ok && reflect.DeepEqual(known.asked, n) {
		facts.Subnets, facts.SecurityGroups = known.subnets, known.groups
		return nil
	}
	there, taken, err := p.balancerOf(ctx, n.Key)
	if err != nil {
		return err
	}
	p.notice(n.Key, there, taken != "")
	if facts.NameTaken = taken; taken != "" {
		return nil
	}
	var standing []string
	if there != nil {
		standing = subnetsIn(*there)
	}
	subnets, err := p.subnets.choose(ctx, n, standing)
	if errors.Is(err, providers.ErrRejected) {
		facts.Subnets, facts.Unmet = standing, append(facts.Unmet, err.Error())
		return nil
	}
	if err != nil && there != nil && len(n.SecurityGroups) == 0 {
		facts.Subnets, facts.Stale = standing, append(facts.Stale, err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	groups, err := p.securityGroups.byName(ctx, n.SecurityGroups)
	if errors.Is(err, providers.ErrRejected) {
		facts.Unmet = append(facts.Unmet, err.Error())
	} else if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	facts.Subnets, facts.SecurityGroups = subnets, groups
	if len(facts.Unmet) == 0 {
		p.places[n.Key] = place{n, subnets, groups}
	}
	return nil
}

// leave forgets where a load balancer is to stand.
func (p *Provider) leave(key lb.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.places, key)
}
