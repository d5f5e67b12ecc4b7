package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/resource"
)

// This file keeps the firewalls of load balancers. A firewall is the security group that one load
// balancer has for itself: it says which clients may connect to which port.
//
// The index of tags (the Resource Groups Tagging API) may be out of date: it may lack a group that
// was created a while ago, and list one that was deleted. AWS publishes no bound ("tagged or
// previously tagged resources",
// https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/API_GetResources.html;
// deleted resources of EC2 were listed for hours, aws/aws-cli#4173). So a group in the index is a
// hint: the load balancer has it, or EC2 finds it by its name and its tags.

// writtenGroups names the security groups of a class in the list of written settings.
const writtenGroups = "security-groups"

// firewalls keeps which load balancer has which firewall.
type firewalls struct {
	resource.Owner
	security     *securityGroups
	nodes        *nodes
	elb          *elbapi.Client
	unfenced     bool // whether all security groups are left alone
	deleteUnused func(ctx context.Context, seen *lb.Observed, id string, remove func() error) error

	mu       sync.Mutex
	known    map[lb.Key]string // firewalls that this process has created, or found by name
	replaced map[lb.Key]bool   // load balancers whose class brings security groups
}

// newFirewalls returns firewalls without state. deleteUnused deletes a security group, unless AWS may
// still use it.
func newFirewalls(
	api *elbapi.Client, security *securityGroups, n *nodes, unfenced bool,
	deleteUnused func(ctx context.Context, seen *lb.Observed, id string, remove func() error) error,
) *firewalls {
	return &firewalls{
		Owner: security.Owner, security: security, nodes: n, elb: api, unfenced: unfenced, deleteUnused: deleteUnused,
		known: map[lb.Key]string{}, replaced: map[lb.Key]bool{},
	}
}

// groupsIn returns the security groups that the index of tags lists.
func groupsIn(indexed map[string]map[string]string) []string {
	var out []string
	for _, arn := range slices.Sorted(maps.Keys(indexed)) {
		if _, id, found := strings.Cut(arn, ":security-group/"); found {
			out = append(out, id)
		}
	}
	return out
}

// find finds the firewall of a load balancer. One that the load balancer has, and that is in the
// index or was created by this process, costs no call.
func (f *firewalls) find(ctx context.Context, l *look, indexed map[string]map[string]string) error {
	hints, made := groupsIn(indexed), f.of(l.key)
	wanted := false
	if l.balancer != nil {
		written := resource.WrittenIn(l.tags[aws.ToString(l.balancer.LoadBalancerArn)])
		replaced := slices.Contains(written, writtenGroups)
		f.setReplaced(l.key, replaced)
		wanted = !f.unfenced && !replaced
		for _, id := range append(hints, made) {
			if slices.Contains(l.balancer.SecurityGroups, id) {
				l.firewall = id
				return nil
			}
		}
	}
	if made != "" && (l.balancer == nil || f.security.recent.knows("sg-", made)) {
		l.firewall = made
		return nil
	}
	if len(hints) == 0 && made == "" && !wanted {
		return nil
	}
	var err error
	if l.firewall, err = f.security.idOf(ctx, f.DerivedName(l.key)); err != nil {
		return err
	}
	f.set(l.key, l.firewall)
	l.firewallMissing = wanted && l.firewall == ""
	return nil
}

// of returns the firewall of a load balancer that this process has created or found by its name, or
// "".
func (f *firewalls) of(key lb.Key) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known[key]
}

// set sets the firewall of a load balancer; "" for none.
func (f *firewalls) set(key lb.Key, firewall string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[key] = firewall
	if firewall == "" {
		delete(f.known, key)
	}
}

// remove forgets firewalls that do not exist any more, and reports whether one was known.
func (f *firewalls) remove(ids []string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := len(f.known)
	maps.DeleteFunc(f.known, func(_ lb.Key, id string) bool { return slices.Contains(ids, id) })
	return len(f.known) < before
}

// setReplaced sets whether the class of a load balancer brings security groups.
func (f *firewalls) setReplaced(key lb.Key, replaced bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replaced[key] = true
	if !replaced {
		delete(f.replaced, key)
	}
}

// Forget forgets a load balancer that was deleted. Its firewall is deleted later.
func (f *firewalls) Forget(key lb.Key, _ string) { f.setReplaced(key, false) }

// explainMissing returns nil where a load balancer is to have no firewall, and otherwise
// ErrPending: its firewall is not known. Without it a port would be closed for all clients, or open
// for more clients than the Ingress allows, so the step has to wait.
func (f *firewalls) explainMissing(key lb.Key) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unfenced || f.replaced[key] {
		return nil
	}
	return fmt.Errorf("the security group %s, which says which clients may connect to the load balancer, is not found; "+
		"ports are changed once it is: %w", f.DerivedName(key), providers.ErrPending)
}

// ensure returns the security groups of a load balancer, and creates those that do not exist. The
// firewall is "" where the load balancer has none of its own.
func (f *firewalls) ensure(ctx context.Context, want lb.LoadBalancer) (groups []string, firewall string, err error) {
	f.setReplaced(want.Key, len(want.Settings.SecurityGroups) > 0)
	if f.unfenced || len(want.Settings.SecurityGroups) > 0 {
		return want.Settings.SecurityGroups, "", nil
	}
	tags := f.Owned(want.Key, want.Settings.Tags)
	resource.MarkTags(tags, want.Settings.Tags)
	name, about := f.DerivedName(want.Key), aboutFirewall(want.Key)
	if firewall, err = f.security.ensure(ctx, name, about, f.of(want.Key), tags); err != nil {
		return nil, "", err
	}
	f.set(want.Key, firewall)
	shared, err := f.nodes.sharedGroup(ctx, want.Key)
	return []string{firewall, shared}, firewall, err
}

// aboutFirewall returns the description of a firewall, in the 255 characters that EC2 takes
// (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html).
func aboutFirewall(key lb.Key) string {
	about := "Who may connect to " + string(key)
	return about[:min(len(about), 255)]
}

// write gives a load balancer its security groups, and its firewall the grants of its listeners.
// The ports are those of targets that are registered already.
func (f *firewalls) write(ctx context.Context, b elb.LoadBalancer, seen *lb.Observed, want lb.LoadBalancer, ports []int32) (
	firewall string, err error,
) {
	groups, firewall, err := f.ensure(ctx, want)
	if err != nil || len(groups) == 0 {
		return firewall, err
	}
	if firewall != "" {
		var grants []grant
		listens := map[int32]bool{}
		for _, l := range want.Listeners {
			listens[l.Port] = true
			grants = append(grants, grantsTo(l.Port, l.Settings.Inbound)...)
		}
		for _, l := range seen.Listeners { // the step that deletes one closes its port
			listens[l.Port] = true
		}
		ours := func(g grant) bool { return !listens[g.port] || contains(want.Listeners, g.port) }
		if err := f.security.replace(ctx, firewall, grants, ours); err != nil {
			return firewall, err
		}
		if err := f.nodes.openPorts(ctx, want.Key, append(portsOf(want.TargetGroups), ports...)); err != nil {
			return firewall, err
		}
	}
	if sameSet(groups, b.SecurityGroups) {
		return firewall, nil
	}
	_, err = f.elb.SetSecurityGroups(ctx, &elbapi.SetSecurityGroupsInput{
		LoadBalancerArn: b.LoadBalancerArn, SecurityGroups: groups,
	})
	return firewall, awserr.Explain("changing the security groups of "+aws.ToString(b.LoadBalancerArn), err)
}

func contains(listeners []lb.Listener, port int32) bool {
	return slices.ContainsFunc(listeners, func(l lb.Listener) bool { return l.Port == port })
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// openPort lets the clients of a new listener connect to its port.
func (f *firewalls) openPort(ctx context.Context, seen *lb.Observed, l lb.Listener) error {
	if seen.Firewall == "" {
		return f.explainMissing(seen.Key)
	}
	return f.security.allow(ctx, seen.Firewall, grantsTo(l.Port, l.Settings.Inbound))
}

// changePort replaces the grants of a port by those of its listener; nil closes it.
func (f *firewalls) changePort(ctx context.Context, seen *lb.Observed, port int32, grants []grant) error {
	if seen.Firewall == "" {
		return f.explainMissing(seen.Key)
	}
	return f.security.replace(ctx, seen.Firewall, grants, func(g grant) bool { return g.port == port })
}

// delete deletes the firewall of a load balancer, once AWS does not use it any more, and with the
// last one the shared group. A firewall that is not known is searched by its name.
func (f *firewalls) delete(ctx context.Context, seen *lb.Observed) error {
	firewall := seen.Firewall
	if firewall == "" {
		var err error
		if firewall, err = f.security.idOf(ctx, f.DerivedName(seen.Key)); err != nil || firewall == "" {
			return err
		}
	}
	return f.deleteUnused(ctx, seen, firewall, func() error {
		// The shared group goes first: after the firewall, no step would try again.
		if err := f.nodes.removeFirewall(ctx, seen.Key, firewall); err != nil {
			return err
		}
		if err := f.security.delete(ctx, firewall); err != nil {
			return err
		}
		f.set(seen.Key, "")
		return nil
	})
}

// observe reads, with a deep look, which clients can connect to the load balancer.
func (f *firewalls) observe(ctx context.Context, l *look, _ map[string]map[string]string) error {
	if !l.deep || l.firewall == "" || l.balancer == nil {
		return nil
	}
	found, err := f.security.describe(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: l.balancer.SecurityGroups})
	if err != nil { // grants are settings of the load balancer and of each listener
		l.assumed[aws.ToString(l.balancer.LoadBalancerArn)] = true
		for _, listener := range l.listeners {
			l.assumed[aws.ToString(listener.ListenerArn)] = true
		}
		return err
	}
	for _, g := range found {
		switch {
		case aws.ToString(g.GroupId) == l.firewall:
			l.grants, l.firewallTags, l.groupsRight = grantsIn(g), tagsIn(g), true
		case aws.ToString(g.GroupName) != f.nodes.sharedName() || !tagged(g.Tags, resource.TagInstallation, f.Installation):
			l.groupsRight = false
			return nil
		default:
			l.shared = aws.ToString(g.GroupId)
		}
	}
	l.groupsRight = l.groupsRight && len(found) == 2
	return nil
}

// inboundOf returns the sources that can connect to a port, in the form of a class.
func inboundOf(l *look, port int32) []string {
	var out []string
	for _, g := range l.grants {
		if g.port == port {
			out = append(out, g.source)
		}
	}
	slices.Sort(out)
	if slices.Equal(out, everywhere) {
		return nil
	}
	if out == nil {
		return []string{"nobody"}
	}
	return out
}

// wrongGroups returns the security groups of a load balancer where they are not those that it
// should have, where ports without a listener are open, and where the nodes do not admit it.
func wrongGroups(l *look) []string {
	unused := func(g grant) bool {
		return !slices.ContainsFunc(l.listeners, func(l elb.Listener) bool { return aws.ToInt32(l.Port) == g.port })
	}
	if l.firewall != "" && (!l.groupsRight || l.nodesClosed || slices.ContainsFunc(l.grants, unused)) {
		return slices.Sorted(slices.Values(l.balancer.SecurityGroups))
	}
	return nil
}
