// Package targets keeps target groups, their members and the health of these.
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
	"fairlead.dev/fairlead/providers/aws/attributes"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/convert"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/providers/aws/network"
	"fairlead.dev/fairlead/providers/aws/resource"
	"fairlead.dev/fairlead/providers/aws/retry"
)

// This file keeps what is known of target groups and their members.

// Store keeps the target groups of load balancers, and their members.
type Store struct {
	resource.API
	vpc          string
	limits       *account.Limits
	subnets      *network.Subnets
	nodes        *network.Nodes
	deleteUnused func(ctx context.Context, seen *lb.Observed, arn string, remove func() error) error

	mu        sync.Mutex
	arns      map[groupName]string  // once they are known
	members   map[string]membership // by ARN
	untagged  map[string]lb.Key     // target groups that were ours, and lack their tags now, by ARN
	unhealthy retry.Backoff         // target groups that have no healthy target yet, by ARN
}

// New returns a Store without state. deleteUnused deletes a target group, unless AWS may still use
// it.
func New(
	api resource.API, vpc string, limits *account.Limits, nets *network.Subnets, n *network.Nodes,
	deleteUnused func(ctx context.Context, seen *lb.Observed, arn string, remove func() error) error,
) *Store {
	return &Store{
		API: api, vpc: vpc, limits: limits, subnets: nets, nodes: n, deleteUnused: deleteUnused,
		arns: map[groupName]string{}, members: map[string]membership{}, untagged: map[string]lb.Key{},
	}
}

// A groupName is a target group of a load balancer.
type groupName struct {
	key lb.Key
	id  lb.GroupID
}

// A membership is what is known of the members of a target group.
type membership struct {
	members []lb.TargetHealth
	since   time.Time // when they were read, or the group was created; zero where they are not known
	unread  bool      // whether an observation has read them, and Targets has not returned them since
	writes  int       // how often this process has changed them: a reading across a change may be old
	refused map[lb.Target]refusal
}

// arnOf returns the ARN of a target group. One that is found by its name may belong to others.
func (gs *Store) arnOf(ctx context.Context, key lb.Key, id lb.GroupID) (string, error) {
	gs.mu.Lock()
	arn := gs.arns[groupName{key, id}]
	gs.mu.Unlock()
	if arn != "" {
		return arn, nil
	}
	name := gs.TargetGroupName(key, id)
	out, err := gs.ELB.DescribeTargetGroups(ctx, &elbapi.DescribeTargetGroupsInput{
		Names: []string{name},
	})
	if err != nil {
		return "", awserr.Explain("finding target group "+name, err)
	}
	found, err := awserr.Only(out.TargetGroups, "DescribeTargetGroups", "target group "+name)
	if err != nil {
		return "", err
	}
	arn, err = awserr.Required(found.TargetGroupArn, "DescribeTargetGroups", "the ARN of "+name)
	if err != nil {
		return "", err
	}
	tags, err := gs.TagsOf(ctx, []string{arn})
	if err != nil {
		return "", err
	}
	if !gs.Owns(key, tags[arn]) {
		err := resource.ExplainUntagged("target group "+name, arn, tags[arn],
			attributes.With(gs.Owned(key, nil), resource.TagGroup, string(id)))
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
		return of == l.Key && (!there[arn] || l.IDOf(arn) != lb.GroupID(arn))
	})
	for name, arn := range gs.arns {
		others := string(name.id) == arn
		// One that has lost its tags is searched by its name, and an error says so.
		if name.key == l.Key && (others && !there[arn] || there[arn] && l.IDOf(arn) != name.id) {
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
		if name.key == key && slices.Contains(some, arn) && !slices.ContainsFunc(there,
			func(g elb.TargetGroup) bool { return aws.ToString(g.TargetGroupArn) == arn }) {
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
	m.members = slices.DeleteFunc(slices.Clone(m.members), func(h lb.TargetHealth) bool {
		return slices.Contains(targets, h.Target)
	})
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

// A refusal is why AWS does not accept a target.
type refusal struct {
	target lb.Target
	why    string
	until  time.Time // when it is tried again
}
