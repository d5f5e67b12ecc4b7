package targets

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/network"
)

// This file registers targets. AWS registers all targets of a call or none. If it refuses a call,
// each half of the targets is registered by itself, until the refused target is alone.

const (
	// targetBatch is the number of targets in one call. AWS documents no limit, and sometimes refuses
	// large batches.
	targetBatch = 100
	// refusalLife is the time after which a refused target is registered again.
	refusalLife = 10 * time.Minute
	// mostRefused limits the refused targets that one reconciliation finds. Each may take a dozen
	// calls, at a rate that all target groups share. The next reconciliation continues.
	mostRefused = 10
	// mostNamed limits the refused targets in a message.
	mostNamed = 5
)

// A registration holds the results of registering targets in a group.
type registration struct {
	group   string
	taken   []lb.Target
	crowded []lb.Target // targets for which the group has no room
	full    error       // the error of AWS for them
	refused []refusal
	found   int  // the number of new refusals
	reread  bool // whether subnets have been read again
}

// err returns the error for targets that could not be registered.
func (i *registration) err() error {
	var errs []error
	if i.full != nil {
		errs = append(errs, i.full)
	}
	if len(i.refused) > 0 {
		var names []string
		for _, r := range i.refused[:min(mostNamed, len(i.refused))] {
			names = append(names, fmt.Sprintf("%s (%s)", addressOfTarget(r.target), r.why))
		}
		if more := len(i.refused) - mostNamed; more > 0 {
			names = append(names, fmt.Sprintf("and %d more", more))
		}
		errs = append(errs, fmt.Errorf("%d targets cannot be registered in %s: %s: %w",
			len(i.refused), i.group, strings.Join(names, ", "), errUnacceptable))
	}
	return errors.Join(errs...)
}

// isSettled reports whether a target was registered or refused.
func (i *registration) isSettled(t lb.Target) bool {
	return slices.Contains(i.taken, t) || slices.ContainsFunc(i.refused, func(r refusal) bool {
		return r.target == t
	})
}

// addressOfTarget returns the address and the port of a target as text.
func addressOfTarget(t lb.Target) string {
	if strings.Contains(t.Address, ":") {
		return fmt.Sprintf("[%s]:%d", t.Address, t.Port)
	}
	return fmt.Sprintf("%s:%d", t.Address, t.Port)
}

// errUnacceptable is the error for targets that AWS does not accept.
var errUnacceptable = fmt.Errorf("they are left out: %w", providers.ErrRejected)

// errUnfinished is the error for targets that the next call registers.
var errUnfinished = fmt.Errorf("the others are registered a moment later: %w", providers.ErrPending)

// RegisterSome registers targets of a group. It returns nil if any are registered: the targets
// reconciler adds the others.
func (gs *Store) RegisterSome(
	ctx context.Context, key lb.Key, id lb.GroupID, targets []lb.Target,
) error {
	return gs.each(ctx, key, id, func(arn string) error {
		in, err := gs.register(ctx, key, arn, targets)
		if err != nil || len(in.taken) > 0 {
			return err
		}
		return in.err()
	})
}

// register opens the ports of targets, and registers the targets in a group. The results of single
// targets are in the registration; an error is about all of them.
func (gs *Store) register(
	ctx context.Context, key lb.Key, group string, targets []lb.Target,
) (*registration, error) {
	in := &registration{group: group}
	var fresh, suspect []lb.Target
	for _, t := range targets {
		known, before := gs.refusalOf(group, t)
		switch {
		case !registrable(t.Address):
			in.refused = append(in.refused, refusal{
				target: t, why: "it is neither an IP address nor an instance",
			})
		case time.Now().Before(known.until):
			in.refused = append(in.refused, known)
		case before:
			suspect = append(suspect, t)
		default:
			fresh = append(fresh, t)
		}
	}
	if _, _, bound := key.Binding(); !bound { // otherwise others open firewalls for their load balancer
		ports := network.PortsIn(slices.Concat(fresh, suspect))
		defer gs.nodes.AnnouncePorts(ports)()
		if err := gs.nodes.OpenPorts(ctx, key, ports); err != nil {
			return in, err
		}
	}
	for size := targetBatch; len(fresh) > 0 && in.full == nil; {
		part := fresh[:min(size, len(fresh))]
		err := gs.registerPart(ctx, in, part)
		fresh = slices.DeleteFunc(fresh, in.isSettled)
		switch {
		case err == nil:
		case !client.HasCode(err, "TooManyTargets"):
			return in, err
		case len(part) > 1:
			size = len(part) / 2
		default:
			in.full, in.crowded = client.Explain("registering a target in "+group, err), fresh
		}
	}
	for _, t := range suspect {
		if err := gs.registerPart(ctx, in, []lb.Target{t}); client.HasCode(err, "TooManyTargets") {
			in.full = client.Explain("registering a target in "+group, err)
			in.crowded = append(slices.Clip(in.crowded), t)
		} else if err != nil {
			return in, err
		}
	}
	return in, nil
}

// registrable reports whether an address is that of an IP target or the ID of an instance.
func registrable(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && ip.Zone() == "" || strings.HasPrefix(address, "i-")
}

// registerPart registers the targets that AWS accepts, with few calls.
func (gs *Store) registerPart(ctx context.Context, in *registration, targets []lb.Target) error {
	err := gs.sendRegistration(ctx, in.group, targets, false)
	switch {
	case err == nil:
		in.taken = append(in.taken, targets...)
		return nil
	case client.HasCode(err, "TooManyTargets"):
		return err
	case !refusesTargets(err):
		return client.Explain(fmt.Sprintf("registering %d targets in %s", len(targets), in.group), err)
	case !in.reread && !client.HasCode(err, crowdedTarget): // subnets may have been created or deleted
		in.reread = true
		if changed, err := gs.subnets.Reread(ctx); err != nil {
			return err
		} else if changed {
			return gs.registerPart(ctx, in, targets)
		}
	}
	if len(targets) > 1 {
		for _, half := range [][]lb.Target{targets[:len(targets)/2], targets[len(targets)/2:]} {
			if err := gs.registerPart(ctx, in, half); err != nil {
				return err
			}
		}
		return nil
	}
	return gs.registerOne(ctx, in, targets[0], err)
}

// registerOne registers a refused target with the other zone. If AWS refuses that, too, it stores
// the refusal.
func (gs *Store) registerOne(
	ctx context.Context, in *registration, target lb.Target, refused error,
) error {
	if _, err := netip.ParseAddr(target.Address); err == nil && !client.HasCode(refused, crowdedTarget) {
		switch err := gs.sendRegistration(ctx, in.group, []lb.Target{target}, true); {
		case err == nil:
			gs.subnets.RecordMisplaced(target.Address)
			in.taken = append(in.taken, target)
			return nil
		case client.HasCode(err, "TooManyTargets"):
			return err
		case !refusesTargets(err):
			return client.Explain("registering a target in "+in.group, err)
		}
	}
	known := refusal{target, describeRefusal(refused), time.Now().Add(refusalLife)}
	gs.addRefusal(in.group, known)
	in.refused = append(in.refused, known)
	if in.found++; in.found == mostRefused {
		return fmt.Errorf("%w; %w", in.err(), errUnfinished)
	}
	return nil
}

// describeRefusal returns why AWS refuses a target, with advice. With cross-zone load balancing off,
// an address outside the VPC needs a zone, which is not known of it
// (https://github.com/kubernetes-sigs/aws-load-balancer-controller/pull/4496 has the words of AWS).
func describeRefusal(err error) string {
	why := client.Describe(err)
	if strings.Contains(strings.ToLower(why), "cross-zone load balancing is disabled") {
		why += ": do not set load_balancing.cross_zone.enabled=false for Services outside the VPC"
	}
	return why
}

// sendRegistration registers targets with one call. If otherZones is true, each has the zone that the
// known subnets do not indicate.
func (gs *Store) sendRegistration(
	ctx context.Context, group string, targets []lb.Target, otherZones bool,
) error {
	_, err := gs.ELB.RegisterTargets(ctx, &elbapi.RegisterTargetsInput{
		TargetGroupArn: aws.String(group), Targets: gs.subnets.DescribeTargets(targets, otherZones),
	})
	if !refusesTargets(err) { // no error, or one for all targets
		gs.recordChange(group, targets, "initial", err)
	}
	return err
}

// refusalOf returns the refusal of a target, if AWS has refused it before.
func (gs *Store) refusalOf(group string, t lb.Target) (refusal, bool) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	known, refused := gs.members[group].refused[t]
	return known, refused
}

// addRefusal stores the refusal of a target.
func (gs *Store) addRefusal(group string, known refusal) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	m := gs.members[group]
	if m.refused == nil {
		m.refused = map[lb.Target]refusal{}
	}
	m.refused[known.target] = known
	gs.members[group] = m
}

// removeRefusals forgets refusals of targets that are no longer wanted.
func (gs *Store) removeRefusals(group string, want []lb.Target) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for t := range gs.members[group].refused {
		if !slices.Contains(want, t) {
			delete(gs.members[group].refused, t)
		}
	}
}

// targetErrors has the error codes of a call if AWS does not accept some of its targets. Then it
// registers none of them.
var targetErrors = []string{
	"ValidationError", "InvalidTarget", crowdedTarget,
}

// crowdedTarget is the code for "the limit on the number of times a target can be registered with a
// load balancer". Other targets can still be registered.
const crowdedTarget = "TooManyRegistrationsForTargetId"

// refusesTargets reports whether an error is about single targets of a call.
func refusesTargets(err error) bool { return client.HasCode(err, targetErrors...) }
