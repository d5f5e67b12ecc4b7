package targets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/network"
)

// This file reads and changes the members of target groups.

// membershipLife is the time after which the members of a target group are read again before they
// are changed: only this process is expected to change them, and each observation of the load
// balancer reads them, too. With a shorter time a slow cloud would be asked again for what it got a
// moment ago in its terms.
const membershipLife = time.Hour

// Targets returns the members of a target group. Members that an observation has just read are not
// read again.
func (gs *Store) Targets(
	ctx context.Context, key lb.Key, group lb.GroupID,
) ([]lb.TargetHealth, error) {
	var all [][]lb.TargetHealth
	err := gs.each(ctx, key, group, func(arn string) error {
		members, err := gs.membersOrRead(ctx, arn)
		all = append(all, members)
		return err
	})
	if err != nil || len(all) == 1 {
		return slices.Concat(all...), err
	}
	return ofTwins(all), nil
}

// membersOrRead returns the members that an observation has just read, or reads them.
func (gs *Store) membersOrRead(ctx context.Context, arn string) ([]lb.TargetHealth, error) {
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
	return gs.refreshHealth(ctx, arn)
}

// ofTwins returns the members of several target groups that are one. One that a group lacks counts as draining, so that
// it is registered again if it is wanted. Of the states in the groups that rules name, the least healthy counts.
func ofTwins(all [][]lb.TargetHealth) []lb.TargetHealth {
	least := []lb.HealthState{lb.HealthDraining, lb.HealthUnhealthy, lb.HealthInitial, lb.HealthHealthy, lb.HealthUnused}
	rank := func(s lb.HealthState) int { return slices.Index(least, s) } // -1 for others
	var out []lb.TargetHealth
	count := map[lb.Target]int{}
	for _, members := range all {
		for _, m := range members {
			at := slices.IndexFunc(out, func(o lb.TargetHealth) bool { return o.Target == m.Target })
			if count[m.Target]++; at < 0 {
				out = append(out, m)
			} else if rank(m.State) < rank(out[at].State) {
				out[at].State = m.State
			}
		}
	}
	for i := range out {
		if count[out[i].Target] < len(all) {
			out[i].State = lb.HealthDraining
		}
	}
	return out
}

// refreshHealth reads the members of a target group with their health, and caches them.
func (gs *Store) refreshHealth(ctx context.Context, group string) ([]lb.TargetHealth, error) {
	found, err := gs.readHealth(ctx, group)
	return found, client.Explain("reading the health of "+group, err)
}

// HealthOrLast does the same. If AWS cannot read the health at the moment, it returns the known
// members, so that the observation of the load balancer continues.
func (gs *Store) HealthOrLast(ctx context.Context, group string) ([]lb.TargetHealth, error) {
	found, err := gs.readHealth(ctx, group)
	if client.HasCode(err, "HealthUnavailable") {
		return gs.membersOf(group).members, nil
	}
	return found, client.Explain("reading the health of "+group, err)
}

func (gs *Store) readHealth(ctx context.Context, group string) ([]lb.TargetHealth, error) {
	before := gs.membersOf(group)
	out, err := gs.ELB.DescribeTargetHealth(ctx, &elbapi.DescribeTargetHealthInput{
		TargetGroupArn: aws.String(group),
	})
	if err != nil {
		return nil, err
	}
	var found []lb.TargetHealth
	for _, d := range out.TargetHealthDescriptions {
		if d.Target == nil {
			return nil, client.MissingError("DescribeTargetHealth", "a target of "+group)
		}
		t := lb.TargetHealth{
			Target: lb.Target{Address: aws.ToString(d.Target.Id), Port: aws.ToInt32(d.Target.Port)},
		}
		if d.TargetHealth != nil { // otherwise the health is not known
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

// SetTargets sets the members of a group: it registers missing targets, then deregisters the
// others. It does not read known members. If AWS then refuses the change, it reads them and tries
// once more: another program may have deregistered a target.
func (gs *Store) SetTargets(
	ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target,
) error {
	return gs.each(ctx, key, group, func(arn string) error { return gs.setMembers(ctx, key, arn, want) })
}

// setMembers sets the members of one of the target groups of an ID.
func (gs *Store) setMembers(ctx context.Context, key lb.Key, arn string, want []lb.Target) error {
	gs.removeRefusals(arn, want)
	if known := gs.membersOf(arn); time.Since(known.since) < membershipLife {
		if err := gs.changeMembers(ctx, key, arn, known.members,
			want); !errors.Is(err, providers.ErrRejected) || errors.Is(err, errUnacceptable) {
			return err
		}
	}
	have, err := gs.refreshHealth(ctx, arn)
	if err != nil {
		return err
	}
	return gs.changeMembers(ctx, key, arn, have, want)
}

// changeMembers sets the members of a group that has members.
func (gs *Store) changeMembers(
	ctx context.Context, key lb.Key, group string, have []lb.TargetHealth, want []lb.Target,
) error {
	var missing, surplus []lb.Target
	for _, t := range want {
		if !slices.ContainsFunc(have, func(h lb.TargetHealth) bool {
			return h.Target == t && h.State != lb.HealthDraining
		}) {
			missing = append(missing, t)
		}
	}
	for _, h := range have {
		if h.State != lb.HealthDraining && !slices.Contains(want, h.Target) && providers.MayRemove(ctx, h.Target) {
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
	// A full group has room after the deregistration of targets that are no longer wanted.
	added := len(in.taken)
	if len(surplus) > 0 {
		more, err := gs.register(ctx, key, group, in.crowded)
		if err != nil {
			return err
		}
		added += len(more.taken)
		more.refused = append(in.refused, more.refused...)
		in = more
	}
	if refused := in.err(); refused != nil {
		return fmt.Errorf(
			"%d targets are wanted, and %d are registered: %w",
			len(want), len(want)-len(missing)+added, refused,
		)
	}
	return nil
}

// deregister deregisters targets of a group, and releases their ports.
func (gs *Store) deregister(ctx context.Context, group string, targets []lb.Target) error {
	for part := range slices.Chunk(targets, targetBatch) {
		in := &elbapi.DeregisterTargetsInput{
			TargetGroupArn: aws.String(group), Targets: gs.subnets.DescribeTargets(part, false),
		}
		_, err := gs.ELB.DeregisterTargets(ctx, in)
		if client.HasCode(err, "ValidationError") { // subnets were created or deleted since
			for i := range in.Targets {
				in.Targets[i].AvailabilityZone = nil
			}
			_, err = gs.ELB.DeregisterTargets(ctx, in)
		}
		gs.recordChange(group, part, lb.HealthDraining, err)
		if err != nil {
			return client.Explain(fmt.Sprintf("deregistering %d targets from %s", len(part), group), err)
		}
	}
	return gs.nodes.ReleasePorts(ctx, network.PortsIn(targets))
}
