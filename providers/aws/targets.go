package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file is the members of target groups and their health.

// remember keeps what an observation found out about target groups, for those who ask next.
func (p *Provider) remember(l *look) {
	if l.firewall != "" || l.bare {
		p.nodes.addUser(l.key)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shrink(l)
	for _, g := range l.groups {
		arn := aws.ToString(g.TargetGroupArn)
		p.groups[groupName{l.key, l.idOf(arn)}] = arn
		m := p.members[arn]
		m.fresh = !m.since.IsZero()
		p.members[arn] = m
	}
}

// A membership is what is known of the members of a target group.
type membership struct {
	members []lb.TargetHealth
	since   time.Time // when they were read, or the group was made; zero where they are not known
	fresh   bool      // whether they were read for somebody who has not asked for their health yet
	writes  int       // how often they have been changed here: who read meanwhile may have read either
	refused map[lb.Target]refusal
}

// membershipLife is how long nobody but this process is taken to change the members of a target
// group.
const membershipLife = 10 * time.Minute

// groupARN is what AWS calls a target group. One that is found by its name may be somebody else's.
func (p *Provider) groupARN(ctx context.Context, key lb.Key, id lb.GroupID) (string, error) {
	p.mu.Lock()
	arn := p.groups[groupName{key, id}]
	p.mu.Unlock()
	if arn != "" {
		return arn, nil
	}
	name := p.targetGroupName(key, id)
	out, err := p.elb.DescribeTargetGroups(ctx, &elbapi.DescribeTargetGroupsInput{Names: []string{name}})
	if err != nil {
		return "", explained("finding target group "+name, err)
	}
	found, err := only(out.TargetGroups, "DescribeTargetGroups", "target group "+name)
	if err != nil {
		return "", err
	}
	if arn, err = said(found.TargetGroupArn, "DescribeTargetGroups", "the ARN of "+name); err != nil {
		return "", err
	}
	tags, err := p.tagsOf(ctx, []string{arn})
	if err != nil {
		return "", err
	}
	if !p.owns(key, tags[arn]) {
		err := untagged("target group "+name, arn, tags[arn], with(p.owned(key, nil), tagGroup, string(id)))
		if p.wasOurs(arn) { // an answer may lack tags, too: no member is to be refused for it
			return "", errors.New(err.Error())
		}
		return "", err
	}
	p.know(key, id, arn)
	return arn, nil
}

// know notes what AWS calls a target group; "" for one that is gone.
func (p *Provider) know(key lb.Key, id lb.GroupID, arn string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.members, p.groups[groupName{key, id}])
	p.groups[groupName{key, id}] = arn
	if arn == "" {
		delete(p.groups, groupName{key, id})
	}
}

// groupsKnown are the target groups of a load balancer that this process has made or seen.
func (p *Provider) groupsKnown(key lb.Key) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for name, arn := range p.groups {
		if name.key == key && string(name.id) != arn { // one that goes by its ARN is not ours
			out = append(out, arn)
		}
	}
	return out
}

// forgetGroups forgets those of some target groups of a load balancer that are not there any more.
func (p *Provider) forgetGroups(key lb.Key, some []string, there []elb.TargetGroup) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, arn := range p.groups {
		if name.key == key && slices.Contains(some, arn) && !slices.ContainsFunc(there, func(g elb.TargetGroup) bool { return aws.ToString(g.TargetGroupArn) == arn }) {
			delete(p.groups, name)
			delete(p.members, arn)
		}
	}
}

// knows reports whether a target group was made or seen before, and may have been written since.
func (p *Provider) knows(key lb.Key, arn string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, known := range p.groups {
		if name.key == key && known == arn {
			return true
		}
	}
	return false
}

// made notes that a target group was made, and has no members.
func (p *Provider) made(arn string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members[arn] = membership{since: time.Now(), fresh: true}
}

// membersOf are the members of a target group, as far as they are known.
func (p *Provider) membersOf(arn string) membership {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.members[arn]
}

// allMembers yields the members of all target groups, as far as they are known.
func (p *Provider) allMembers(yield func(lb.TargetHealth) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.members {
		for _, h := range m.members {
			if !yield(h) {
				return
			}
		}
	}
}

// Targets are the members of a target group. What an observation has just read is not read again.
func (p *Provider) Targets(ctx context.Context, key lb.Key, group lb.GroupID) ([]lb.TargetHealth, error) {
	ctx = providers.About(ctx, key)
	arn, err := p.groupARN(ctx, key, group)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	known := p.members[arn]
	if known.fresh {
		asked := known
		asked.fresh = false
		p.members[arn] = asked
	}
	p.mu.Unlock()
	if known.fresh {
		return known.members, nil
	}
	return p.healthOf(ctx, arn)
}

// healthOf reads the members of a target group and their health, and notes who they are.
func (p *Provider) healthOf(ctx context.Context, group string) ([]lb.TargetHealth, error) {
	found, err := p.readHealth(ctx, group)
	return found, explained("reading the health of "+group, err)
}

// healthOrLast is the same; what is known from before where AWS cannot tell the health of the group
// at the moment. Its load balancer is looked at all the same.
func (p *Provider) healthOrLast(ctx context.Context, group string) ([]lb.TargetHealth, error) {
	found, err := p.readHealth(ctx, group)
	if is(err, "HealthUnavailable") {
		return p.membersOf(group).members, nil
	}
	return found, explained("reading the health of "+group, err)
}

func (p *Provider) readHealth(ctx context.Context, group string) ([]lb.TargetHealth, error) {
	before := p.membersOf(group)
	out, err := p.elb.DescribeTargetHealth(ctx, &elbapi.DescribeTargetHealthInput{TargetGroupArn: aws.String(group)})
	if err != nil {
		return nil, err
	}
	var found []lb.TargetHealth
	for _, d := range out.TargetHealthDescriptions {
		if d.Target == nil {
			return nil, unsaid("DescribeTargetHealth", "a target of "+group)
		}
		t := lb.TargetHealth{Target: lb.Target{Address: aws.ToString(d.Target.Id), Port: aws.ToInt32(d.Target.Port)}}
		if d.TargetHealth != nil { // else it is there, and its health is not known
			t.State = string(d.TargetHealth.State)
		}
		found = append(found, t)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.members[group]; m.writes == before.writes {
		m.members, m.since = found, time.Now()
		p.members[group] = m
	}
	return found, nil
}

// SetTargets makes targets the members of a group: it adds what is missing, then removes the
// others. Who is there is not read where it is known. What AWS refuses then may be for somebody who
// has left by himself.
func (p *Provider) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	ctx = providers.Urgently(providers.About(ctx, key), true)
	arn, err := p.groupARN(ctx, key, group)
	if err != nil {
		return err
	}
	p.pardon(arn, want)
	if known := p.membersOf(arn); time.Since(known.since) < membershipLife {
		if err := p.changeMembers(ctx, key, arn, known.members, want); !errors.Is(err, providers.ErrRejected) || errors.Is(err, errUnacceptable) {
			return err
		}
	}
	have, err := p.healthOf(ctx, arn)
	if err != nil {
		return err
	}
	return p.changeMembers(ctx, key, arn, have, want)
}

// changeMembers makes targets the members of a group that has some.
func (p *Provider) changeMembers(ctx context.Context, key lb.Key, group string, have []lb.TargetHealth, want []lb.Target) error {
	var missing, surplus []lb.Target
	for _, t := range want {
		if !slices.ContainsFunc(have, func(h lb.TargetHealth) bool { return h.Target == t && h.State != "draining" }) {
			missing = append(missing, t)
		}
	}
	for _, h := range have {
		if h.State != "draining" && !slices.Contains(want, h.Target) {
			surplus = append(surplus, h.Target)
		}
	}
	in, err := p.register(ctx, key, group, missing)
	if err != nil {
		return err
	}
	if err := p.deregister(ctx, group, surplus); err != nil {
		return errors.Join(in.err(), err)
	}
	// A group that is full has no room before those have left it that nobody wants any more.
	added := len(in.taken)
	if len(surplus) > 0 && len(in.crowded) > 0 {
		more, err := p.register(ctx, key, group, in.crowded)
		if err != nil {
			return err
		}
		added += len(more.taken)
		more.refused = append(in.refused, more.refused...)
		in = more
	}
	if refused := in.err(); refused != nil {
		return fmt.Errorf("%d targets are wanted, and %d are there: %w", len(want), len(want)-len(missing)+added, refused)
	}
	return nil
}

func (p *Provider) deregister(ctx context.Context, group string, targets []lb.Target) error {
	for part := range slices.Chunk(targets, targetBatch) {
		in := &elbapi.DeregisterTargetsInput{TargetGroupArn: aws.String(group), Targets: p.subnets.describeTargets(part, false)}
		_, err := p.elb.DeregisterTargets(ctx, in)
		if is(err, "ValidationError") { // subnets have come or gone since they were registered
			for i := range in.Targets {
				in.Targets[i].AvailabilityZone = nil
			}
			_, err = p.elb.DeregisterTargets(ctx, in)
		}
		p.changed(group, part, "draining", err)
		if err != nil {
			return explained(fmt.Sprintf("deregistering %d targets from %s", len(part), group), err)
		}
	}
	return p.nodes.releasePorts(ctx, portsIn(targets))
}

// changed notes the state that some members of a group are in from now on, or, after an error, that
// it is not known who they are.
func (p *Provider) changed(group string, targets []lb.Target, state string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.members[group]
	m.writes++
	if err != nil {
		m.since, m.fresh = time.Time{}, false
	}
	m.members = slices.DeleteFunc(slices.Clone(m.members), func(h lb.TargetHealth) bool { return slices.Contains(targets, h.Target) })
	for _, t := range targets {
		m.members = append(m.members, lb.TargetHealth{Target: t, State: state})
	}
	p.members[group] = m
}
