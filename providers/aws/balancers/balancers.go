// Package balancers creates, changes, protects and deletes load balancers, and keeps what is known of them.
//
// A web ACL and a protection of Shield Advanced are attached through other services and outlive a refusal: a load
// balancer that asks for one is not served without it.
package balancers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/account"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/network"
)

// This file keeps, for each key: the load balancer that was read last, and the subnets and security
// groups that were chosen. These are chosen once, and again after a deep observation.

// A Store creates, changes and deletes load balancers, and caches their state.
type Store struct {
	client.API
	subnets     *network.Subnets
	security    *network.SecurityGroups
	nodes       *network.Nodes
	firewalls   *network.Firewalls
	targets     portsOfTargets
	protections *Shields
	limits      *account.Limits
	role        account.LinkedRole // of Elastic Load Balancing

	mu          sync.Mutex
	places      map[lb.Key]place
	recentReads map[lb.Key]recentRead
	undeletable map[string]bool // load balancers that AWS refused to delete, by ARN

	inactive client.Backoff // load balancers that are not active yet, by ARN
	Unlisted client.Backoff // load balancers whose last observation lacked parts, by key
}

// portsOfTargets returns the known ports of the members of a load balancer's target groups.
type portsOfTargets interface {
	PortsOf(seen *lb.Observed) []int32
}

// Network has the collaborators that load balancers need in the network.
type Network struct {
	Subnets        *network.Subnets
	SecurityGroups *network.SecurityGroups
	Nodes          *network.Nodes
	Firewalls      *network.Firewalls
}

// New returns a Store without state.
func New(
	api client.API, n Network, targets portsOfTargets, protections *Shields,
	limits *account.Limits,
) *Store {
	return &Store{
		API: api, subnets: n.Subnets, security: n.SecurityGroups, nodes: n.Nodes, firewalls: n.Firewalls,
		targets: targets, protections: protections, limits: limits,
		places: map[lb.Key]place{}, recentReads: map[lb.Key]recentRead{}, undeletable: map[string]bool{},
	}
}

// A place holds the subnets and security groups that were chosen for a network.
type place struct {
	network lb.Network
	subnets []string
	groups  []string // security groups, where the class names some
}

// Place chooses the subnets and security groups of a load balancer. Facts say why a choice is
// impossible, or that the name is taken.
func (bs *Store) Place(ctx context.Context, n lb.Network, facts *lb.Facts) error {
	if n.Key == "" {
		return nil
	}
	bs.mu.Lock()
	known := bs.places[n.Key]
	bs.mu.Unlock()
	if reflect.DeepEqual(known.network, n) {
		facts.Subnets, facts.SecurityGroups = known.subnets, known.groups
		return nil
	}
	there, taken, err := bs.ReadByKey(ctx, n.Key)
	if err != nil {
		return err
	}
	bs.addRecentRead(n.Key, there, taken != "")
	if facts.NameTaken = taken; taken != "" {
		return nil
	}
	var current []string
	if there != nil {
		current = SubnetsIn(*there)
	}
	subnets, err := bs.subnets.Choose(ctx, n, current)
	if errors.Is(err, providers.ErrRejected) {
		facts.Subnets, facts.Unmet = current, append(facts.Unmet, err.Error())
		return nil
	}
	if err != nil && there != nil && len(n.SecurityGroups) == 0 {
		facts.Subnets, facts.Stale = current, append(facts.Stale, err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	groups, err := bs.security.FindIDs(ctx, n.SecurityGroups)
	if errors.Is(err, providers.ErrRejected) {
		facts.Unmet = append(facts.Unmet, err.Error())
	} else if err != nil {
		return err
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	facts.Subnets, facts.SecurityGroups = subnets, groups
	if len(facts.Unmet) == 0 {
		bs.places[n.Key] = place{n, subnets, groups}
	}
	return nil
}

// ForgetPlace forgets the subnets and security groups of a load balancer, so that they are chosen
// again. It reports whether they were known.
func (bs *Store) ForgetPlace(key lb.Key) bool {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	_, known := bs.places[key]
	delete(bs.places, key)
	return known
}

// A recentRead holds the load balancer that was read for a key, or nil, and whether another one has
// its name.
type recentRead struct {
	balancer  *elb.LoadBalancer
	nameTaken bool
	at        time.Time
}

// recentReadLife is the time for which Observe may use the load balancer that Lookup read.
const recentReadLife = 5 * time.Second

// addRecentRead stores a load balancer for the next observation of its key.
func (bs *Store) addRecentRead(key lb.Key, b *elb.LoadBalancer, another bool) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	bs.recentReads[key] = recentRead{b, another, time.Now()}
}

// popRecentRead removes and returns the load balancer that was read for a key.
func (bs *Store) popRecentRead(key lb.Key) recentRead {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	last := bs.recentReads[key]
	delete(bs.recentReads, key)
	return last
}

// ForgetRecentRead forgets the load balancer that was read for a key, because a step changes it.
func (bs *Store) ForgetRecentRead(key lb.Key) { bs.popRecentRead(key) }

// FindByKey returns the load balancer of a key, or nil, and whether another one has its name. It
// uses a recent read if there is one.
func (bs *Store) FindByKey(
	ctx context.Context, key lb.Key,
) (there *elb.LoadBalancer, another bool, err error) {
	if last := bs.popRecentRead(key); time.Since(last.at) < recentReadLife {
		return last.balancer, last.nameTaken, nil
	}
	there, taken, err := bs.ReadByKey(ctx, key)
	return there, taken != "", err
}

// ReadByKey reads the load balancer of a key. It returns nil if there is none, and describes
// another load balancer that has its name; "" for none. Others hardly ever use a name with our
// hash, and an observation reads the tags anyway, so ReadByKey reads them only for names that
// Ingresses ask for.
func (bs *Store) ReadByKey(
	ctx context.Context, key lb.Key,
) (there *elb.LoadBalancer, taken string, err error) {
	name := bs.LoadBalancerName(key)
	there, err = bs.readByName(ctx, name)
	if there == nil || key.Name() == "" {
		return there, "", err
	}
	arn := aws.ToString(there.LoadBalancerArn)
	tags, err := bs.TagsOf(ctx, []string{arn})
	switch {
	case err != nil:
		return nil, "", err
	case bs.Owns(key, tags[arn]):
		return there, "", nil
	case tags[arn][client.TagInstallation] == bs.Installation:
		return nil, fmt.Sprintf("%s has the name %s", client.KeyIn(tags[arn]), name), nil
	}
	return nil, "a load balancer without this installation's tags has the name " + name, nil
}

// readByName reads the load balancer with a name. It returns nil if there is none.
func (bs *Store) readByName(ctx context.Context, name string) (*elb.LoadBalancer, error) {
	out, err := bs.ELB.DescribeLoadBalancers(ctx, &elbapi.DescribeLoadBalancersInput{
		Names: []string{name},
	})
	if client.HasCode(err, "LoadBalancerNotFound") {
		return nil, nil
	}
	if err != nil {
		return nil, client.Explain("reading load balancer "+name, err)
	}
	return client.RequireOne(out.LoadBalancers, "DescribeLoadBalancers", "load balancer "+name)
}

// ReadOwned reads the load balancer of a key that must exist, and checks its tags.
func (bs *Store) ReadOwned(ctx context.Context, key lb.Key) (*elb.LoadBalancer, error) {
	there, err := bs.readOwned(ctx, key)
	if err != nil {
		return nil, err
	}
	return &there.LoadBalancer, nil
}

// readOwned reads the load balancer of a key that must exist, and checks its tags.
func (bs *Store) readOwned(ctx context.Context, key lb.Key) (*balancer, error) {
	name := bs.LoadBalancerName(key)
	there, err := bs.readByName(ctx, name)
	if err != nil {
		return nil, err
	}
	if there == nil {
		return nil, fmt.Errorf("load balancer %s is not found right after it was created or listed: %w",
			name, providers.ErrPending)
	}
	arn := aws.ToString(there.LoadBalancerArn)
	tags, err := bs.TagsOf(ctx, []string{arn})
	if err != nil {
		return nil, err
	}
	switch {
	case bs.Owns(key, tags[arn]):
		return &balancer{*there, tags[arn]}, nil
	case key.Name() != "": // the next lookup finds the name taken, and a diagnostic says so
		bs.ForgetPlace(key)
		return nil, fmt.Errorf("the name %s was taken a moment ago", name)
	}
	return nil, client.ExplainUntagged("load balancer "+name, arn, tags[arn], bs.Owned(key, nil))
}

// The first wait for a load balancer to become active, and the longest.
const (
	activeWait    = 5 * time.Second
	activeWaitMax = 45 * time.Second
)

// AwaitActive reports whether a load balancer is active. The time between its reads grows.
func (bs *Store) AwaitActive(ctx context.Context, seen *lb.Observed) (bool, error) {
	if seen.Active || bs.inactive.TooEarly(seen.Handle) {
		return seen.Active, nil
	}
	out, err := bs.ELB.DescribeLoadBalancers(ctx, &elbapi.DescribeLoadBalancersInput{
		LoadBalancerArns: []string{seen.Handle},
	})
	if err != nil {
		return false, client.Explain("reading load balancer "+seen.Handle, err)
	}
	there, err := client.RequireOne(
		out.LoadBalancers, "DescribeLoadBalancers", "load balancer "+seen.Handle,
	)
	if err != nil {
		return false, err
	}
	if Active(there) {
		bs.inactive.Forget(seen.Handle)
		return true, nil
	}
	if there.State != nil && there.State.Code == elb.LoadBalancerStateEnumFailed {
		return false, fmt.Errorf("AWS could not set up load balancer %s: %s: delete it, and it is made "+
			"again", seen.Handle, reasonOf(there))
	}
	bs.inactive.Wait(seen.Handle, activeWait, activeWaitMax)
	return false, nil
}

// Active reports whether a load balancer is active. One that is impaired is "routing traffic but
// does not have the resources it needs to scale"
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_LoadBalancerState.html).
func Active(b *elb.LoadBalancer) bool {
	return b.State != nil && (b.State.Code == elb.LoadBalancerStateEnumActive || impaired(b))
}

func impaired(b *elb.LoadBalancer) bool {
	return b.State != nil && b.State.Code == elb.LoadBalancerStateEnumActiveImpaired
}

// Impairment returns why a load balancer is impaired; "" if it is not.
func Impairment(b *elb.LoadBalancer) string {
	if !impaired(b) {
		return ""
	}
	return reasonOf(b)
}

// reasonOf returns AWS's reason for the state of a load balancer.
func reasonOf(b *elb.LoadBalancer) string {
	return cmp.Or(aws.ToString(b.State.Reason), "AWS says no reason")
}

// AddressOf returns the host name of a load balancer, in lower case as Kubernetes requires: AWS
// keeps the case of the name.
func AddressOf(b *elb.LoadBalancer) lb.Address {
	return lb.Address{Hostname: strings.ToLower(aws.ToString(b.DNSName))}
}

// refuseDeletion records that AWS refused to delete a load balancer.
func (bs *Store) refuseDeletion(arn string) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	bs.undeletable[arn] = true
}

// Forget forgets a load balancer that was deleted.
func (bs *Store) Forget(key lb.Key, arn string) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	delete(bs.undeletable, arn)
	delete(bs.places, key)
	bs.inactive.Forget(arn)
}

// ForgetRefusedDeletion forgets that AWS refused to delete the load balancer of a key. The load
// balancer no longer exists.
func (bs *Store) ForgetRefusedDeletion(key lb.Key) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	ofName := ":loadbalancer/app/" + bs.LoadBalancerName(key) + "/"
	maps.DeleteFunc(bs.undeletable, func(arn string, _ bool) bool {
		return strings.Contains(arn, ofName)
	})
}

// RemoveRecentReads forgets recent reads of load balancers that do not exist, and reports whether
// there was one.
func (bs *Store) RemoveRecentReads(arns []string) bool {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	before := len(bs.recentReads)
	maps.DeleteFunc(bs.recentReads, func(_ lb.Key, s recentRead) bool {
		return s.balancer != nil && slices.Contains(arns, aws.ToString(s.balancer.LoadBalancerArn))
	})
	return len(bs.recentReads) < before
}

// A balancer is a load balancer of this installation with its tags.
type balancer struct {
	elb.LoadBalancer
	tags map[string]string
}

func (b *balancer) arn() string { return aws.ToString(b.LoadBalancerArn) }

// SubnetsIn returns the subnets of a load balancer, sorted.
func SubnetsIn(b elb.LoadBalancer) []string {
	var out []string
	for _, z := range b.AvailabilityZones {
		out = append(out, aws.ToString(z.SubnetId))
	}
	slices.Sort(out)
	return out
}
