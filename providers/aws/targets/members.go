package targets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/attributes"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/convert"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/providers/aws/network"
	"fairlead.dev/fairlead/providers/aws/resource"
)

// This file keeps the members of target groups, and their health.

// A membership is what is known of the members of a target group.
type membership struct {
	members []lb.TargetHealth
	since   time.Time // when they were read, or the group was created; zero where they are not known
	unread  bool      // whether an observation has read them, and Targets has not returned them since
	writes  int       // how often this process has changed them: a reading across a change may be old
	refused map[lb.Target]refusal
}

// membershipLife is how long the members of a target group are known without reading them: only
// this process is expected to change them.
const membershipLife = 10 * time.Minute

// arnOf returns the ARN of a target group. One that is found by its name may belong to others.
func (gs *Store) arnOf(ctx context.Context, key lb.Key, id lb.GroupID) (string, error) {
	gs.mu.Lock()
	arn := gs.arns[groupName{key, id}]
	gs.mu.Unlock()
	if arn != "" {
		return arn, nil
	}
	name := gs.TargetGroupName(key, id)
	out, err := gs.ELB.DescribeTargetGroups(ctx, &elbapi.DescribeTargetGroupsInput{Names: []string{name}})
	if err != nil {
		return "", awserr.Explain("finding target group "+name, err)
	}
	found, err := awserr.Only(out.TargetGroups, "DescribeTargetGroups", "target group "+name)
	if err != nil {
		return "", err
	}
	if arn, err = awserr.Required(found.TargetGroupArn, "DescribeTargetGroups", "the ARN of "+name); err != nil {
		return "", err
	}
	tags, err := gs.TagsOf(ctx, []string{arn})
	if err != nil {
		return "", err
	}
	if !gs.Owns(key, tags[arn]) {
		err := resource.ExplainUntagged("target group "+name, arn, tags[arn], attributes.With(gs.Owned(key, nil), resource.TagGroup, string(id)))
		if gs.lostTags(arn) { // the answer may lack tags: that is no reason to refuse a member
			return "", errors.New(err.Error())
		}
		return "", err
	}
	gs.setARN(key, id, arn)
	return arn, nil
}

// Learn keeps what an observation found out about target groups, and forgets those that are gone:
// target groups of others that its rules named, and those that are not ours any more.
func (gs *Store) Learn(l *look.Look) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	there := map[string]bool{}
	for _, g := range l.Groups {
		there[aws.ToString(g.TargetGroupArn)] = true
	}
	maps.DeleteFunc(gs.untagged, func(arn string, of lb.Key) bool {
		return of == l.Key && (!there[arn] || l.IDOf(arn) != "")
	})
	for name, arn := range gs.arns {
		others := string(name.id) == arn
		// One that has lost its tags is searched by its name, and an error says so.
		if name.key == l.Key && (others && !there[arn] || !others && there[arn] && l.IDOf(arn) != name.id) {
			delete(gs.arns, name)
			delete(gs.members, arn)
			if !others {
				gs.untagged[arn] = l.Key
			}
		}
	}
	for _, g := range l.Groups {
		arn := aws.ToString(g.TargetGroupArn)
		gs.arns[groupName{l.Key, l.IDOf(arn)}] = arn
		m := gs.members[arn]
		m.unread = !m.since.IsZero()
		gs.members[arn] = m
	}
}

// Remove forgets target groups that do not exist any more, and reports whether one was known.
func (gs *Store) Remove(ids []string) bool {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	before := len(gs.arns)
	for name, arn := range gs.arns {
		if slices.Contains(ids, arn) {
			delete(gs.arns, name)
			delete(gs.members, arn)
		}
	}
	return len(gs.arns) < before
}

// setARN sets the ARN of a target group; "" for one that is gone.
func (gs *Store) setARN(key lb.Key, id lb.GroupID, arn string) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	delete(gs.members, gs.arns[groupName{key, id}])
	gs.arns[groupName{key, id}] = arn
	if arn == "" {
		delete(gs.arns, groupName{key, id})
	}
}

// known returns the target groups of a load balancer that this process has created or seen.
func (gs *Store) known(key lb.Key) []string {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	var out []string
	for name, arn := range gs.arns {
		if name.key == key && string(name.id) != arn { // otherwise it belongs to others
			out = append(out, arn)
		}
	}
	return out
}

// removeMissing forgets those of some target groups of a load balancer that do not exist any more.
func (gs *Store) removeMissing(key lb.Key, some []string, there []elb.TargetGroup) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for name, arn := range gs.arns {
		if name.key == key && slices.Contains(some, arn) && !slices.ContainsFunc(there, func(g elb.TargetGroup) bool { return aws.ToString(g.TargetGroupArn) == arn }) {
			delete(gs.arns, name)
			delete(gs.members, arn)
		}
	}
}

// Has reports whether a target group was created or seen before, and may have been written since.
func (gs *Store) Has(key lb.Key, arn string) bool {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for name, known := range gs.arns {
		if name.key == key && known == arn {
			return true
		}
	}
	return false
}

// addEmpty adds a target group that was created, and has no members.
func (gs *Store) addEmpty(arn string) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.members[arn] = membership{since: time.Now(), unread: true}
}

// membersOf returns the members of a target group, as far as they are known.
func (gs *Store) membersOf(arn string) membership {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	return gs.members[arn]
}

// AllMembers yields the members of all target groups, as far as they are known.
func (gs *Store) AllMembers(yield func(lb.TargetHealth) bool) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for _, m := range gs.members {
		for _, h := range m.members {
			if !yield(h) {
				return
			}
		}
	}
}

// Targets returns the members of a target group. Members that an observation has just read are not
// read again.
func (gs *Store) Targets(ctx context.Context, key lb.Key, group lb.GroupID) ([]lb.TargetHealth, error) {
	arn, err := gs.arnOf(ctx, key, group)
	if err != nil {
		return nil, err
	}
	gs.mu.Lock()
	known := gs.members[arn]
	if known.unread {
		asked := known
		asked.unread = false
		gs.members[arn] = asked
	}
	gs.mu.Unlock()
	if known.unread {
		return known.members, nil
	}
	return gs.healthOf(ctx, arn)
}

// healthOf reads the members of a target group with their health, and keeps them.
func (gs *Store) healthOf(ctx context.Context, group string) ([]lb.TargetHealth, error) {
	found, err := gs.readHealth(ctx, group)
	return found, awserr.Explain("reading the health of "+group, err)
}

// HealthOrLast does the same, and returns the known members where AWS cannot read their health at
// the moment: the observation of the load balancer goes on.
func (gs *Store) HealthOrLast(ctx context.Context, group string) ([]lb.TargetHealth, error) {
	found, err := gs.readHealth(ctx, group)
	if awserr.Is(err, "HealthUnavailable") {
		return gs.membersOf(group).members, nil
	}
	return found, awserr.Explain("reading the health of "+group, err)
}

func (gs *Store) readHealth(ctx context.Context, group string) ([]lb.TargetHealth, error) {
	before := gs.membersOf(group)
	out, err := gs.ELB.DescribeTargetHealth(ctx, &elbapi.DescribeTargetHealthInput{TargetGroupArn: aws.String(group)})
	if err != nil {
		return nil, err
	}
	var found []lb.TargetHealth
	for _, d := range out.TargetHealthDescriptions {
		if d.Target == nil {
			return nil, awserr.Missing("DescribeTargetHealth", "a target of "+group)
		}
		t := lb.TargetHealth{Target: lb.Target{Address: aws.ToString(d.Target.Id), Port: aws.ToInt32(d.Target.Port)}}
		if d.TargetHealth != nil { // otherwise it is a member, and its health is not known
			t.State = lb.HealthState(d.TargetHealth.State)
		}
		found = append(found, t)
	}
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if m := gs.members[group]; m.writes == before.writes {
		m.members, m.since = found, time.Now()
		gs.members[group] = m
	}
	return found, nil
}

// SetTargets makes targets the members of a group: it registers those that are missing, then
// deregisters the others. It does not read the members where they are known. If AWS then refuses the change, it
// reads them and tries once more: a target may have been deregistered by others.
func (gs *Store) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	arn, err := gs.arnOf(ctx, key, group)
	if err != nil {
		return err
	}
	gs.removeRefusals(arn, want)
	if known := gs.membersOf(arn); time.Since(known.since) < membershipLife {
		if err := gs.changeMembers(ctx, key, arn, known.members, want); !errors.Is(err, providers.ErrRejected) || errors.Is(err, errUnacceptable) {
			return err
		}
	}
	have, err := gs.healthOf(ctx, arn)
	if err != nil {
		return err
	}
	return gs.changeMembers(ctx, key, arn, have, want)
}

// changeMembers makes targets the members of a group that has some.
func (gs *Store) changeMembers(ctx context.Context, key lb.Key, group string, have []lb.TargetHealth, want []lb.Target) error {
	var missing, surplus []lb.Target
	for _, t := range want {
		if !slices.ContainsFunc(have, func(h lb.TargetHealth) bool { return h.Target == t && h.State != lb.HealthDraining }) {
			missing = append(missing, t)
		}
	}
	for _, h := range have {
		if h.State != lb.HealthDraining && !slices.Contains(want, h.Target) {
			surplus = append(surplus, h.Target)
		}
	}
	in, err := gs.register(ctx, key, group, missing)
	if err != nil {
		return err
	}
	if err := gs.deregister(ctx, group, surplus); err != nil {
		return errors.Join(in.err(), err)
	}
	// A full group has room once the targets that are not wanted any more have left.
	added := len(in.taken)
	if len(surplus) > 0 && len(in.crowded) > 0 {
		more, err := gs.register(ctx, key, group, in.crowded)
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

// deregister deregisters targets of a group, and releases their ports.
func (gs *Store) deregister(ctx context.Context, group string, targets []lb.Target) error {
	for part := range slices.Chunk(targets, targetBatch) {
		in := &elbapi.DeregisterTargetsInput{TargetGroupArn: aws.String(group), Targets: gs.subnets.DescribeTargets(part, false)}
		_, err := gs.ELB.DeregisterTargets(ctx, in)
		if awserr.Is(err, "ValidationError") { // subnets have come or gone since they were registered
			for i := range in.Targets {
				in.Targets[i].AvailabilityZone = nil
			}
			_, err = gs.ELB.DeregisterTargets(ctx, in)
		}
		gs.recordChange(group, part, lb.HealthDraining, err)
		if err != nil {
			return awserr.Explain(fmt.Sprintf("deregistering %d targets from %s", len(part), group), err)
		}
	}
	return gs.nodes.ReleasePorts(ctx, network.PortsIn(targets))
}

// recordChange records the state of some members of a group from now on. After an error, the
// members of the group are not known any more.
func (gs *Store) recordChange(group string, targets []lb.Target, state lb.HealthState, err error) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	m := gs.members[group]
	m.writes++
	if err != nil {
		m.since, m.unread = time.Time{}, false
	}
	m.members = slices.DeleteFunc(slices.Clone(m.members), func(h lb.TargetHealth) bool { return slices.Contains(targets, h.Target) })
	for _, t := range targets {
		m.members = append(m.members, lb.TargetHealth{Target: t, State: state})
	}
	gs.members[group] = m
}

// LookUp returns a function that finds the target groups of a load balancer.
func (gs *Store) LookUp(ctx context.Context, key lb.Key) convert.ARNs {
	return func(id lb.GroupID) (string, error) { return gs.arnOf(ctx, key, id) }
}

// IDOf returns the ID of a target group by its ARN.
func (gs *Store) IDOf(key lb.Key, arn string) lb.GroupID {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for name, known := range gs.arns {
		if name.key == key && known == arn {
			return name.id
		}
	}
	return lb.GroupID(arn)
}

// lostTags reports whether this process has seen a target group with its tags, and later without.
func (gs *Store) lostTags(arn string) bool {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	return gs.untagged[arn] != ""
}
