package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"golang.org/x/sync/singleflight"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file permits load balancers to connect to their targets: the security groups of the
// cluster's nodes admit, on the ports of targets, the security group that all load balancers share.

// TagCluster begins the tag of the security groups of a cluster's nodes; the name of the cluster
// follows.
const TagCluster = "kubernetes.io/cluster/"

// Nodes manages the security group that all load balancers share, and the ports on which the nodes
// admit it.
type Nodes struct {
	client.Owner
	security  *SecurityGroups
	elb       *elbapi.Client
	cluster   string // "": the security groups of nodes are not changed
	unmanaged bool   // security groups are neither created nor changed

	targets targetsOfAll

	mu       sync.Mutex
	shared   string          // the group that all load balancers share, once it is known
	users    map[lb.Key]bool // load balancers that need it
	deleting bool            // whether it is being deleted
	ports    nodePorts
	refused  []string // why some security groups of the cluster do not admit load balancers

	// groupsLock is full while the security groups of nodes are being changed.
	groupsLock chan struct{}
	calls      singleflight.Group
}

// targetsOfAll returns the targets of all target groups.
type targetsOfAll interface {
	// AllMembers yields the known members of all target groups.
	AllMembers(yield func(lb.TargetHealth) bool)
	// PortsInUse reads the ports of all targets and health checks of the installation, and of all
	// load balancers that have the shared group.
	PortsInUse(ctx context.Context, shared string) (map[int32]bool, error)
}

// NewNodes returns Nodes without state. Without a cluster it does not change the security groups of
// nodes. If unmanaged is true, it changes no security group.
func NewNodes(
	api *elbapi.Client, security *SecurityGroups, cluster string, unmanaged bool, targets targetsOfAll,
) *Nodes {
	return &Nodes{
		Owner: security.Owner, security: security, elb: api, cluster: cluster, unmanaged: unmanaged,
		targets: targets,
		users:   map[lb.Key]bool{}, ports: newNodePorts(), groupsLock: make(chan struct{}, 1),
	}
}

// sharedName returns the name of the shared group.
func (n *Nodes) sharedName() string {
	return client.ResourceName("shared", n.Installation, n.security.vpc)
}

// sharedGroup returns the shared group for a load balancer, and creates it for the first one. While
// the group is being deleted after the last one, new load balancers wait.
func (n *Nodes) sharedGroup(ctx context.Context, key lb.Key) (string, error) {
	n.mu.Lock()
	deleting := n.deleting
	if !deleting {
		n.users[key] = true
	}
	n.mu.Unlock()
	if deleting {
		return "", fmt.Errorf(
			"security group %s is being deleted: %w", n.sharedName(), providers.ErrPending,
		)
	}
	found, err, _ := n.calls.Do("shared", func() (any, error) {
		if known := n.knownGroup(); known != "" {
			return known, nil
		}
		id, err := n.security.readID(ctx, n.sharedName())
		if err == nil && id == "" {
			id, err = n.security.ensure(ctx, n.sharedName(),
				"Where the load balancers of Fairlead come from", "",
				map[string]string{client.TagInstallation: n.Installation})
		}
		if err == nil {
			n.mu.Lock()
			n.shared = id
			n.mu.Unlock()
		}
		return id, err
	})
	if err != nil {
		return "", err
	}
	return found.(string), nil
}

// AddUser adds a load balancer that needs the shared group.
func (n *Nodes) AddUser(key lb.Key) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.users[key] = true
}

// ForgetShared forgets the shared group if it is among IDs that do not exist, and reports whether
// it is.
func (n *Nodes) ForgetShared(ids []string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	gone := n.shared != "" && slices.Contains(ids, n.shared)
	if gone {
		n.shared = ""
		clear(n.ports.open)
	}
	return gone
}

// knownGroup returns the shared group, or "" if it is not known.
func (n *Nodes) knownGroup() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.shared
}

// ReadOfCluster reads the security groups of the cluster's nodes.
func (s *SecurityGroups) ReadOfCluster(
	ctx context.Context, cluster string,
) ([]ec2types.SecurityGroup, error) {
	found, err := s.readToChange(ctx, &ec2.DescribeSecurityGroupsInput{
		Filters: append(VPCFilter(s.vpc), ec2types.Filter{
			Name: aws.String("tag-key"), Values: []string{TagCluster + cluster},
		}),
	})
	return slices.DeleteFunc(found, func(g ec2types.SecurityGroup) bool {
		return hasTag(g.Tags, client.TagInstallation, s.Installation)
	}), err
}

// OpenPorts makes sure that a load balancer can connect to targets on ports. It makes no call for
// ports that are known to be open, and simultaneous callers with the same ports share one call.
func (n *Nodes) OpenPorts(ctx context.Context, key lb.Key, ports []int32) error {
	if n.unmanaged || n.cluster == "" || len(ports) == 0 {
		return nil
	}
	shared, err := n.sharedGroup(ctx, key)
	if err != nil {
		return err
	}
	closed, err := n.closedPorts(ports)
	if err != nil {
		return err
	}
	_, err, _ = n.calls.Do(fmt.Sprint("ports", closed), func() (any, error) {
		if still, err := n.closedPorts(closed); len(still) == 0 { // another call opened them
			return nil, err
		}
		if err := n.admitShared(ctx, shared, closed); err != nil {
			return nil, err
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, port := range closed {
			n.ports.open[port] = true
		}
		return nil, nil
	})
	return err
}

// closedPorts returns the ports that are not known to be open, and ErrPending while one of them is
// being closed.
func (n *Nodes) closedPorts(ports []int32) ([]int32, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if at := slices.IndexFunc(ports, func(port int32) bool { return n.ports.closing[port] }); at >= 0 {
		return nil, fmt.Errorf("port %d of the nodes is being shut: %w", ports[at], providers.ErrPending)
	}
	sorted := slices.Sorted(slices.Values(ports))
	return slices.Compact(slices.DeleteFunc(sorted, func(port int32) bool {
		return n.ports.open[port]
	})), nil
}

// admitShared makes the security groups of the nodes admit the shared group on ports.
func (n *Nodes) admitShared(ctx context.Context, shared string, ports []int32) error {
	if soon := n.security.recent.Early("AuthorizeSecurityGroupIngress", shared); soon != nil {
		return client.Explain("admitting security group "+shared+" to the nodes", soon)
	}
	unlock, err := n.lockGroups(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	groups, err := n.security.ReadOfCluster(ctx, n.cluster)
	if err != nil {
		return err
	}
	var failed []error
	var refused []string
	for _, g := range groups {
		err := n.security.openPorts(ctx, g, shared, ports)
		if err != nil {
			failed = append(failed, err)
		}
		if err != nil && !errors.Is(err, providers.ErrPending) {
			refused = append(refused, err.Error())
		}
	}
	n.setRefused(refused)
	if len(failed) == len(groups) || len(failed) > len(refused) {
		return errors.Join(failed...)
	}
	// cloud-provider-aws gives the cluster's tag to the groups of its load balancers, too. One group
	// that is full or forbidden keeps no targets away: Refused tells of it.
	return nil
}

// setRefused sets why some security groups of the cluster do not admit load balancers.
func (n *Nodes) setRefused(why []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refused = why
}

// Refused returns why some security groups of the cluster do not admit load balancers, while others
// do.
func (n *Nodes) Refused() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.refused
}

// ForgetOpenPorts forgets which ports are open, so that they are checked before the next targets
// are registered.
func (n *Nodes) ForgetOpenPorts() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.ports.open)
	n.security.written.forget(func(id ruleID) bool { return id.source == n.shared })
}

// removeFirewall removes the rules of the nodes and deletes the shared group after the last load
// balancer that has it. Load balancers that are being created are known here; the others are read
// from Elastic Load Balancing itself.
func (n *Nodes) removeFirewall(ctx context.Context, key lb.Key, firewall string) error {
	n.mu.Lock()
	delete(n.users, key)
	stay := n.deleting || len(n.users) > 0
	shared := n.shared
	if !stay {
		n.deleting, n.shared = true, ""
		clear(n.ports.open)
	}
	n.mu.Unlock()
	if stay {
		return nil
	}
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.deleting = false
	}()
	if shared == "" {
		var err error
		if shared, err = n.security.readID(ctx, n.sharedName()); shared == "" {
			return err
		}
	}
	if used, err := n.sharedByOthers(ctx, shared, firewall); err != nil || used {
		return err
	}
	groups := []ec2types.SecurityGroup{}
	if n.cluster != "" {
		var err error
		if groups, err = n.security.ReadOfCluster(ctx, n.cluster); err != nil {
			return err
		}
	}
	for _, g := range groups {
		if err := n.security.changeSpans(ctx, aws.ToString(g.GroupId), shared, nil,
			spansFrom(g, shared)); err != nil {
			return err
		}
	}
	return n.security.Delete(ctx, shared)
}

// sharedByOthers reports whether another load balancer than the one with a firewall has the shared
// group. It does not use the index of tags, which may lack an existing load balancer: that could no
// longer connect to its targets.
func (n *Nodes) sharedByOthers(ctx context.Context, shared, firewall string) (bool, error) {
	pages := elbapi.NewDescribeLoadBalancersPaginator(n.elb, &elbapi.DescribeLoadBalancersInput{
		PageSize: aws.Int32(400),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return false, client.Explain("reading which load balancers have security group "+shared, err)
		}
		for _, b := range page.LoadBalancers {
			if has := b.SecurityGroups; slices.Contains(has, shared) && !slices.Contains(has, firewall) {
				return true, nil
			}
		}
	}
	return false, nil
}

// portsOf returns the ports of target groups: of their targets and their health checks.
func portsOf(groups []lb.TargetGroup) []int32 {
	var out []int32
	for _, g := range groups {
		out = append(out, CheckPort(g.Health)...)
		for _, t := range g.Targets {
			out = append(out, t.Port)
		}
	}
	return out
}

// CheckPort returns the port of health checks, if it is not that of the target.
func CheckPort(h routing.HealthCheck) []int32 {
	var port int32
	if _, err := fmt.Sscanf(h.Port, "%d", &port); err != nil {
		return nil
	}
	return []int32{port}
}
