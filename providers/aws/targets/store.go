// Package targets manages target groups and their members.
package targets

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/account"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/providers/aws/network"
)

// This file caches target groups and their members.

// A Store manages the target groups of load balancers, and their members.
type Store struct {
	client.API
	vpc          string
	limits       *account.Limits
	subnets      *network.Subnets
	nodes        *network.Nodes
	deleteUnused func(ctx context.Context, seen *lb.Observed, arn string, remove func() error) error

	mu        sync.Mutex
	arns      map[groupName][]string // if they are known; see findARNs
	members   map[string]membership  // by ARN
	untagged  map[string]lb.Key      // target groups that have lost our tags, by ARN
	unhealthy client.Backoff         // target groups that have no healthy target yet, by ARN
}

// New returns a Store without state. deleteUnused deletes a target group, unless AWS may still use
// it.
func New(
	api client.API, vpc string, limits *account.Limits, nets *network.Subnets, n *network.Nodes,
	deleteUnused func(ctx context.Context, seen *lb.Observed, arn string, remove func() error) error,
) *Store {
	return &Store{
		API: api, vpc: vpc, limits: limits, subnets: nets, nodes: n, deleteUnused: deleteUnused,
		arns: map[groupName][]string{}, members: map[string]membership{}, untagged: map[string]lb.Key{},
	}
}

// A groupName identifies a target group of a load balancer.
type groupName struct {
	key lb.Key
	id  lb.GroupID
}

// A membership holds the known members of a target group.
type membership struct {
	members []lb.TargetHealth
	since   time.Time // when they were read, or the group was created; zero if they are not known
	unread  bool      // an observation has read them, and Targets has not returned them since
	writes  int       // number of changes by this process: a read that overlaps one may be old
	refused map[lb.Target]refusal
}

// findARN returns the ARN of a target group: the one that new rules name.
func (gs *Store) findARN(ctx context.Context, key lb.Key, id lb.GroupID) (string, error) {
	arns, err := gs.findARNs(ctx, key, id)
	if err != nil {
		return "", err
	}
	return arns[0], nil
}

// findARNs returns the ARNs of a target group. There are several, its twins, if others made one for each Ingress and Fairlead
// took them over: all of them have the same members and settings. Those that a rule names are first. It checks the tags of a
// group that it finds by name. The ID of a group that others made is its ARN.
func (gs *Store) findARNs(ctx context.Context, key lb.Key, id lb.GroupID) ([]string, error) {
	if lb.OthersMade(id) {
		return []string{string(id)}, nil
	}
	if arns := gs.known(key, id); len(arns) > 0 {
		return arns, nil
	}
	name := gs.TargetGroupName(key, id)
	out, err := gs.ELB.DescribeTargetGroups(ctx, &elbapi.DescribeTargetGroupsInput{
		Names: []string{name},
	})
	if err != nil {
		return nil, client.Explain("finding target group "+name, err)
	}
	found, err := client.RequireOne(out.TargetGroups, "DescribeTargetGroups", "target group "+name)
	if err != nil {
		return nil, err
	}
	arn, err := client.RequireID(found.TargetGroupArn, "DescribeTargetGroups", "the ARN of "+name)
	if err != nil {
		return nil, err
	}
	tags, err := gs.TagsOf(ctx, []string{arn})
	if err != nil {
		return nil, err
	}
	if !gs.Owns(key, tags[arn]) {
		err := client.ExplainUntagged("target group "+name, arn, tags[arn],
			look.With(gs.Owned(key, nil), client.TagGroup, string(id)))
		if gs.lostTags(arn) { // the answer may lack tags, which is no reason to refuse a member
			return nil, errors.New(err.Error())
		}
		return nil, err
	}
	gs.setARN(key, id, arn)
	return []string{arn}, nil
}

// known returns the known ARNs of a target group.
func (gs *Store) known(key lb.Key, id lb.GroupID) []string {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	return gs.arns[groupName{key, id}]
}

// each does something with each target group that is the one of an ID, and returns the errors.
func (gs *Store) each(ctx context.Context, key lb.Key, id lb.GroupID, do func(arn string) error) error {
	arns, err := gs.findARNs(ctx, key, id)
	if err != nil {
		return err
	}
	var errs []error
	for _, arn := range arns {
		errs = append(errs, do(arn))
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// keepARNs keeps the ARNs that are chosen. The caller holds the lock.
func (gs *Store) keepARNs(chosen func(name groupName, arn string) bool) {
	for name, arns := range gs.arns {
		kept := slices.DeleteFunc(slices.Clone(arns), func(arn string) bool {
			gone := !chosen(name, arn)
			if gone {
				delete(gs.members, arn)
			}
			return gone
		})
		if gs.arns[name] = kept; len(kept) == 0 {
			delete(gs.arns, name)
		}
	}
}

// Learn stores the target groups of an observation. It forgets deleted ones, those of others that
// its rules named, and those that are no longer ours.
func (gs *Store) Learn(l *look.Look) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	there := map[string]bool{}
	for _, g := range l.Groups {
		there[aws.ToString(g.TargetGroupArn)] = true
	}
	maps.DeleteFunc(gs.untagged, func(arn string, of lb.Key) bool {
		return of == l.Key && (!there[arn] || l.IDOf(arn) != lb.GroupID(arn))
	})
	gs.keepARNs(func(name groupName, arn string) bool {
		others := string(name.id) == arn
		// A group that has lost its tags is found by its name, and an error reports that.
		gone := name.key == l.Key && (others && !there[arn] || there[arn] && l.IDOf(arn) != name.id)
		if gone && !others {
			gs.untagged[arn] = l.Key
		}
		return !gone
	})
	found := map[groupName][]string{}
	for _, g := range l.Groups { // in their order
		arn := aws.ToString(g.TargetGroupArn)
		name := groupName{l.Key, l.IDOf(arn)}
		found[name] = append(found[name], arn)
		m := gs.members[arn]
		m.unread = !m.since.IsZero()
		gs.members[arn] = m
	}
	for name, arns := range found {
		for _, arn := range gs.arns[name] { // made a moment ago
			if !slices.Contains(arns, arn) {
				arns = append(arns, arn)
			}
		}
		gs.arns[name] = arns
	}
}

// Remove forgets target groups that no longer exist, and reports whether one was known.
func (gs *Store) Remove(ids []string) bool {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	was := false
	gs.keepARNs(func(_ groupName, arn string) bool {
		gone := slices.Contains(ids, arn)
		was = was || gone
		return !gone
	})
	return was
}

// setARN sets the ARN of a target group; "" if it no longer exists.
func (gs *Store) setARN(key lb.Key, id lb.GroupID, arn string) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for _, before := range gs.arns[groupName{key, id}] {
		delete(gs.members, before)
	}
	gs.arns[groupName{key, id}] = []string{arn}
	if arn == "" {
		delete(gs.arns, groupName{key, id})
	}
}

// knownARNs returns the target groups of a load balancer that this process has created or read.
func (gs *Store) knownARNs(key lb.Key) []string {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	var out []string
	for name, arns := range gs.arns {
		for _, arn := range arns {
			if name.key == key && string(name.id) != arn { // otherwise it belongs to others
				out = append(out, arn)
			}
		}
	}
	return out
}

// removeMissing forgets the target groups of a load balancer that no longer exist.
func (gs *Store) removeMissing(key lb.Key, some []string, there []elb.TargetGroup) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.keepARNs(func(name groupName, arn string) bool {
		return name.key != key || !slices.Contains(some, arn) || slices.ContainsFunc(there,
			func(g elb.TargetGroup) bool { return aws.ToString(g.TargetGroupArn) == arn })
	})
}

// Has reports whether this process has created or read a target group, and may have changed it
// since.
func (gs *Store) Has(key lb.Key, arn string) bool {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for name, known := range gs.arns {
		if name.key == key && slices.Contains(known, arn) {
			return true
		}
	}
	return false
}

// addEmpty adds a new target group without members.
func (gs *Store) addEmpty(arn string) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.members[arn] = membership{since: time.Now(), unread: true}
}

// membersOf returns the known members of a target group.
func (gs *Store) membersOf(arn string) membership {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	return gs.members[arn]
}

// AllMembers yields the known members of all target groups.
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

// recordChange records the new state of members of a group. After an error, the members of the
// group are unknown.
func (gs *Store) recordChange(group string, targets []lb.Target, state lb.HealthState, err error) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	m := gs.members[group]
	m.writes++
	if err != nil {
		m.since, m.unread = time.Time{}, false
	}
	m.members = slices.DeleteFunc(slices.Clone(m.members), func(h lb.TargetHealth) bool {
		return slices.Contains(targets, h.Target)
	})
	for _, t := range targets {
		m.members = append(m.members, lb.TargetHealth{Target: t, State: state})
	}
	gs.members[group] = m
}

// ARNFinder returns a function that finds the ARN of a target group of a load balancer.
func (gs *Store) ARNFinder(ctx context.Context, key lb.Key) client.ARNs {
	return func(id lb.GroupID) (string, error) { return gs.findARN(ctx, key, id) }
}

// IDOf returns the ID of a target group by its ARN.
func (gs *Store) IDOf(key lb.Key, arn string) lb.GroupID {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for name, known := range gs.arns {
		if name.key == key && slices.Contains(known, arn) {
			return name.id
		}
	}
	return lb.GroupID(arn)
}

// lostTags reports whether this process has read a target group with its tags, and later without.
func (gs *Store) lostTags(arn string) bool {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	return gs.untagged[arn] != ""
}

// A refusal is the reason why AWS does not accept a target.
type refusal struct {
	target lb.Target
	why    string
	until  time.Time // when the target is tried again
}
