package network

import (
	"cmp"
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
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
)

// This file manages the firewalls of load balancers. A firewall is the security group of one load
// balancer: its rules permit clients to connect to ports.
//
// The index of tags (the Resource Groups Tagging API) may be out of date: it may lack a group that
// was created a while ago, and list one that was deleted. AWS publishes no bound ("tagged or
// previously tagged resources",
// https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/API_GetResources.html;
// deleted resources of EC2 were listed for hours, aws/aws-cli#4173). So a group in the index is
// confirmed: the load balancer has it, or EC2 finds it by its name and its tags.

// WrittenGroups names the security groups of a class in the list of written settings.
const WrittenGroups = "security-groups"

// Firewalls manages the firewalls of load balancers.
type Firewalls struct {
	client.Owner
	security     *SecurityGroups
	nodes        *Nodes
	elb          *elbapi.Client
	unmanaged    bool // security groups are neither created nor changed
	deleteUnused func(ctx context.Context, seen *lb.Observed, id string, remove func() error) error

	// spreading is full while rules are distributed over the parts of a firewall.
	spreading chan struct{}

	mu       sync.Mutex
	known    map[lb.Key]string // firewalls that this process has created, or found by name
	replaced map[lb.Key]bool   // load balancers whose class names security groups
	// parts has the further groups of firewalls that load balancers have.
	parts map[lb.Key]map[string]bool
	taken map[lb.Key]taken // what load balancers have of others
}

// taken has what a load balancer that was taken over has of others.
type taken struct {
	name string   // of its firewall; "" if it is ours
	kept []string // security groups that it keeps besides ours
	ipv4 bool     // it has IPv4 addresses only
}

// FirewallTags returns the tags that say that others gave a firewall its name.
func FirewallTags(name string) map[string]string {
	return map[string]string{client.TagFirewall: client.QuoteTag(name)}
}

// KeptTags returns the tag of a load balancer that keeps security groups of others.
func KeptTags(groups []string) map[string]string {
	if len(groups) == 0 {
		return nil
	}
	return map[string]string{client.TagKept: strings.Join(groups, " ")}
}

// KeptIn returns the security groups of others that a load balancer keeps, from its tags.
func KeptIn(tags map[string]string) []string { return strings.Fields(tags[client.TagKept]) }

// setTaken sets what a load balancer has of others, from its tags, or from those of its firewall if it was deleted.
func (f *Firewalls) setTaken(l *look.Look, indexed map[string]map[string]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := taken{name: f.taken[l.Key].name}
	if l.Balancer != nil {
		tags := l.Tags[aws.ToString(l.Balancer.LoadBalancerArn)]
		of = taken{client.UnquoteTag(tags[client.TagFirewall]), KeptIn(tags), l.Balancer.IpAddressType == elb.IpAddressTypeIpv4}
	} else {
		for _, tags := range indexed {
			if tags[client.TagFirewall] != "" {
				of.name = client.UnquoteTag(tags[client.TagFirewall])
			}
		}
	}
	if f.taken[l.Key] = of; of.name == "" && len(of.kept) == 0 {
		delete(f.taken, l.Key)
	}
}

// TagsFor returns the tags that a load balancer has for what it has of others.
func (f *Firewalls) TagsFor(key lb.Key) map[string]string {
	of := f.takenOf(key)
	out := map[string]string{}
	maps.Copy(out, KeptTags(of.kept))
	if of.name != "" {
		maps.Copy(out, FirewallTags(of.name))
	}
	return out
}

// takenOf returns what a load balancer has of others.
func (f *Firewalls) takenOf(key lb.Key) taken {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.taken[key]
}

// Unreachable returns those of the clients of a listener that a firewall of others does not admit: they have IPv6 addresses,
// and the load balancer has none. The AWS Load Balancer Controller leaves them out, too (its
// pkg/ingress/model_build_managed_sg.go), so that nothing is open after a takeover that was not open before.
func (f *Firewalls) Unreachable(key lb.Key, inbound []string) []string {
	of := f.takenOf(key)
	if of.name == "" || !of.ipv4 {
		return nil
	}
	return look.OnlyIPv6(inbound)
}

// grants returns the grants to a port for the clients of its listener.
func (f *Firewalls) grants(key lb.Key, l lb.Listener) []look.Grant {
	unreachable := f.Unreachable(key, l.Settings.Inbound)
	return slices.DeleteFunc(look.MakeGrants(l.Port, l.Settings.Inbound), func(g look.Grant) bool {
		return slices.Contains(unreachable, g.Source)
	})
}

// setFamily sets the IP family that a load balancer is about to have.
func (f *Firewalls) setFamily(key lb.Key, family string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if of, is := f.taken[key]; is && family != "" {
		of.ipv4 = family == string(elb.IpAddressTypeIpv4)
		f.taken[key] = of
	}
}

// nameOf returns the name of the firewall of a load balancer.
func (f *Firewalls) nameOf(key lb.Key) string {
	return cmp.Or(f.takenOf(key).name, f.DerivedName(key))
}

// NewFirewalls returns Firewalls without state. deleteUnused deletes a security group, unless AWS
// may still use it.
func NewFirewalls(
	api *elbapi.Client, security *SecurityGroups, n *Nodes, unmanaged bool,
	deleteUnused func(ctx context.Context, seen *lb.Observed, id string, remove func() error) error,
) *Firewalls {
	return &Firewalls{
		Owner: security.Owner, security: security, nodes: n, elb: api, unmanaged: unmanaged,
		deleteUnused: deleteUnused,
		known:        map[lb.Key]string{}, replaced: map[lb.Key]bool{},
		parts: map[lb.Key]map[string]bool{}, taken: map[lb.Key]taken{}, spreading: make(chan struct{}, 1),
	}
}

// groupsIn returns the firewalls that the index of tags lists, and their parts.
func groupsIn(indexed map[string]map[string]string) (firewalls, parts []string) {
	for _, arn := range slices.Sorted(maps.Keys(indexed)) {
		_, id, found := strings.Cut(arn, ":security-group/")
		switch {
		case found && indexed[arn][client.TagPart] != "":
			parts = append(parts, id)
		case found:
			firewalls = append(firewalls, id)
		}
	}
	return firewalls, parts
}

// setParts adds parts of a firewall, which exist, and which the load balancer has.
func (f *Firewalls) setParts(key lb.Key, ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		if f.parts[key] == nil {
			f.parts[key] = map[string]bool{}
		}
		f.parts[key][id] = true
	}
}

// getParts returns the known parts of a firewall.
func (f *Firewalls) getParts(key lb.Key) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.parts[key]))
}

// hasParts reports whether the load balancer is known to have all of some parts.
func (f *Firewalls) hasParts(key lb.Key, ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		return !slices.Contains(f.getParts(key), id)
	})
}

// Find finds the firewall of a load balancer. It makes no call if the load balancer has the
// firewall, and the index or this process knows it.
func (f *Firewalls) Find(
	ctx context.Context, l *look.Look, indexed map[string]map[string]string,
) error {
	hints, parts := groupsIn(indexed)
	made := f.get(l.Key)
	f.setTaken(l, indexed)
	if l.NameTaken && f.takenOf(l.Key).name != "" {
		return nil // others have it until the load balancer is taken over, and again once it is given back
	}
	f.setParts(l.Key, slices.DeleteFunc(parts, func(id string) bool {
		return l.Balancer != nil && !slices.Contains(l.Balancer.SecurityGroups, id)
	}))
	wanted := false
	if l.Balancer != nil {
		written := client.WrittenIn(l.Tags[aws.ToString(l.Balancer.LoadBalancerArn)])
		replaced := slices.Contains(written, WrittenGroups)
		f.setReplaced(l.Key, replaced)
		wanted = !f.unmanaged && !replaced
		for _, id := range append(hints, made) {
			if slices.Contains(l.Balancer.SecurityGroups, id) {
				l.Firewall = id
				return nil
			}
		}
	}
	if made != "" && f.security.recent.Knows("sg-", made) {
		l.Firewall = made
		return nil
	}
	if len(hints)+len(parts) == 0 && made == "" && !wanted {
		return nil
	}
	var err error
	if l.Firewall, err = f.security.readID(ctx, f.nameOf(l.Key)); err != nil {
		return err
	}
	if l.Balancer == nil && l.Firewall == "" && len(parts) > 0 {
		l.Firewall = parts[0] // to be deleted
	}
	f.set(l.Key, l.Firewall)
	l.FirewallMissing = wanted && l.Firewall == ""
	return nil
}

// get returns the firewall that this process has created or found by its name, or "".
func (f *Firewalls) get(key lb.Key) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known[key]
}

// set sets the firewall of a load balancer; "" for none.
func (f *Firewalls) set(key lb.Key, firewall string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[key] = firewall
	if firewall == "" {
		delete(f.known, key)
	}
}

// Remove forgets firewalls that do not exist any more, and reports whether one was known.
func (f *Firewalls) Remove(ids []string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := len(f.known)
	maps.DeleteFunc(f.known, func(_ lb.Key, id string) bool { return slices.Contains(ids, id) })
	for _, parts := range f.parts {
		maps.DeleteFunc(parts, func(id string, _ bool) bool { return slices.Contains(ids, id) })
	}
	return len(f.known) < before
}

// setReplaced records whether the class of a load balancer names security groups.
func (f *Firewalls) setReplaced(key lb.Key, replaced bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replaced[key] = true
	if !replaced {
		delete(f.replaced, key)
	}
}

// Forget forgets a load balancer that was deleted. Its firewall is deleted later.
func (f *Firewalls) Forget(key lb.Key, _ string) { f.setReplaced(key, false) }

// ExplainMissing returns nil if a load balancer should have no firewall, else ErrPending: its
// firewall is not known. Without it a port would be closed for all clients, or open for more
// clients than the Ingress permits, so the step has to wait.
func (f *Firewalls) ExplainMissing(key lb.Key) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unmanaged || f.replaced[key] {
		return nil
	}
	return fmt.Errorf("the security group %s, which says which clients may connect to the load "+
		"balancer, is not found; "+
		"ports are changed once it is: %w", cmp.Or(f.taken[key].name, f.DerivedName(key)), providers.ErrPending)
}

// Ensure returns the security groups of a load balancer, and creates missing ones. The firewall is
// "" if the load balancer has none of its own.
func (f *Firewalls) Ensure(
	ctx context.Context, want lb.LoadBalancer,
) (groups []string, firewall string, err error) {
	f.setReplaced(want.Key, len(want.Settings.SecurityGroups) > 0)
	kept := f.takenOf(want.Key).kept
	switch {
	case len(want.Settings.SecurityGroups) > 0:
		return besides(want.Settings.SecurityGroups, kept), "", nil
	case f.unmanaged:
		return nil, "", nil
	}
	tags := f.Owned(want.Key, want.Settings.Tags)
	client.MarkTags(tags, want.Settings.Tags)
	name, about := f.nameOf(want.Key), describeFirewall(want.Key)
	if firewall, err = f.security.ensure(ctx, name, about, f.get(want.Key), tags); err != nil {
		return nil, "", err
	}
	f.set(want.Key, firewall)
	shared, err := f.nodes.sharedGroup(ctx, want.Key)
	groups = slices.Concat([]string{firewall}, f.getParts(want.Key), []string{shared})
	return besides(groups, kept), firewall, err
}

// besides returns security groups, and others that are not among them.
func besides(groups, others []string) []string {
	out := slices.Clip(groups)
	for _, id := range others {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// attachTo returns what sets the security groups of a load balancer.
func (f *Firewalls) attachTo(arn string) func(context.Context, []string) error {
	return func(ctx context.Context, groups []string) error {
		_, err := f.elb.SetSecurityGroups(ctx, &elbapi.SetSecurityGroupsInput{
			LoadBalancerArn: aws.String(arn), SecurityGroups: groups,
		})
		return client.Explain("changing the security groups of "+arn, err)
	}
}

// describeFirewall returns the description of a firewall, in the 255 characters that EC2 permits
// (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html).
func describeFirewall(key lb.Key) string {
	about := "Who may connect to " + string(key)
	return about[:min(len(about), 255)]
}

// Write sets the security groups of a load balancer, and the grants of its firewall. ports has the
// ports of registered targets.
func (f *Firewalls) Write(
	ctx context.Context, b elb.LoadBalancer, seen *lb.Observed, want lb.LoadBalancer, ports []int32,
) (firewall string, err error) {
	groups, firewall, err := f.Ensure(ctx, want)
	if err != nil || len(groups) == 0 {
		return firewall, err
	}
	if firewall != "" {
		f.setFamily(want.Key, want.Settings.IPFamily)
		var admitted []look.Grant
		listens := map[int32]bool{}
		for _, l := range want.Listeners {
			admitted = append(admitted, f.grants(want.Key, l)...)
		}
		for _, l := range seen.Listeners { // the step that deletes one closes its port
			listens[l.Port] = true
		}
		ours := func(g look.Grant) bool { return !listens[g.Port] || contains(want.Listeners, g.Port) }
		w := wall{want.Key, firewall, func(ctx context.Context, all []string) error {
			groups, b.SecurityGroups = all, all
			return f.attachTo(aws.ToString(b.LoadBalancerArn))(ctx, all)
		}}
		if err := f.replace(ctx, w, admitted, ours); err != nil {
			return firewall, err
		}
		if err := f.nodes.OpenPorts(ctx, want.Key,
			append(portsOf(want.TargetGroups), ports...)); err != nil {
			return firewall, err
		}
	}
	if sameSet(groups, b.SecurityGroups) {
		return firewall, nil
	}
	return firewall, f.attachTo(aws.ToString(b.LoadBalancerArn))(ctx, groups)
}

func contains(listeners []lb.Listener, port int32) bool {
	return slices.ContainsFunc(listeners, func(l lb.Listener) bool { return l.Port == port })
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// OpenPort permits the clients of a new listener to connect to its port.
func (f *Firewalls) OpenPort(ctx context.Context, seen *lb.Observed, l lb.Listener) error {
	if seen.Firewall == "" {
		return f.ExplainMissing(seen.Key)
	}
	w := wall{seen.Key, seen.Firewall, f.attachTo(seen.Handle)}
	return f.open(ctx, w, f.grants(seen.Key, l))
}

// ChangePort replaces the grants to a port with those of its listener; nil closes the port.
func (f *Firewalls) ChangePort(ctx context.Context, seen *lb.Observed, port int32, of *lb.Listener) error {
	if seen.Firewall == "" {
		return f.ExplainMissing(seen.Key)
	}
	var admitted []look.Grant
	if of != nil {
		admitted = f.grants(seen.Key, *of)
	}
	w := wall{seen.Key, seen.Firewall, f.attachTo(seen.Handle)}
	return f.replace(ctx, w, admitted, func(g look.Grant) bool { return g.Port == port })
}

// Delete deletes the firewall of a load balancer, unless AWS still uses it, and with the last one
// the shared group. It looks for an unknown firewall by its name.
func (f *Firewalls) Delete(ctx context.Context, seen *lb.Observed) error {
	firewall := seen.Firewall
	if firewall == "" {
		var err error
		if firewall, err = f.security.readID(ctx, f.nameOf(seen.Key)); firewall == "" {
			return err
		}
	}
	return f.deleteUnused(ctx, seen, firewall, func() error {
		// The shared group goes first: after the firewall, no step would try again.
		if err := f.nodes.removeFirewall(ctx, seen.Key, firewall); err != nil {
			return err
		}
		for _, part := range f.getParts(seen.Key) {
			if err := f.security.Delete(ctx, part); err != nil {
				return err
			}
		}
		if err := f.security.Delete(ctx, firewall); err != nil {
			return err
		}
		f.forgetGroups(seen.Key)
		return nil
	})
}

// forgetGroups forgets the firewall of a load balancer with its parts.
func (f *Firewalls) forgetGroups(key lb.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.known, key)
	delete(f.parts, key)
	delete(f.taken, key)
}

// Observe reads, with a deep look, the clients that can connect to the load balancer.
func (f *Firewalls) Observe(
	ctx context.Context, l *look.Look, _ map[string]map[string]string,
) error {
	if !l.Deep || l.Firewall == "" || l.Balancer == nil {
		return nil
	}
	found, err := f.security.Describe(ctx, &ec2.DescribeSecurityGroupsInput{
		GroupIds: l.Balancer.SecurityGroups,
	})
	if err != nil { // grants are settings of the load balancer and of each listener
		l.Assumed[aws.ToString(l.Balancer.LoadBalancerArn)] = true
		for _, listener := range l.Listeners {
			l.Assumed[aws.ToString(listener.ListenerArn)] = true
		}
		return err
	}
	f.security.written.forget(func(id ruleID) bool {
		return slices.Contains(l.Balancer.SecurityGroups, id.group)
	})
	parts, kept := 0, f.takenOf(l.Key).kept
	for _, g := range found {
		switch {
		case aws.ToString(g.GroupId) == l.Firewall:
			l.Grants, l.FirewallTags = append(l.Grants, look.ReadGrants(g)...), TagsIn(g)
		case f.partOf(l.Key, aws.ToString(g.GroupName)) > 1:
			parts++
			l.Grants = append(l.Grants, look.ReadGrants(g)...)
			f.setParts(l.Key, []string{aws.ToString(g.GroupId)})
		case slices.Contains(kept, aws.ToString(g.GroupId)):
		case aws.ToString(g.GroupName) != f.nodes.sharedName() ||
			!hasTag(g.Tags, client.TagInstallation, f.Installation):
			return nil // it has a group of others
		default:
			l.Shared = aws.ToString(g.GroupId)
		}
	}
	l.GroupsRight = len(found) == 2+parts+len(kept)
	return nil
}

// InboundOf returns the sources that can connect to a port, as a class lists them. They count as admitted although they
// are not if they are unreachable.
func InboundOf(l *look.Look, port int32, unreachable []string) []string {
	out := slices.Clone(unreachable)
	for _, g := range l.Grants {
		if g.Port == port {
			out = append(out, g.Source)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if slices.Equal(out, look.Everywhere) {
		return nil
	}
	if out == nil {
		return []string{"nobody"}
	}
	return out
}

// WrongGroups returns the security groups of a load balancer if they are wrong, if ports without a
// listener are open, or if the nodes do not admit it.
func WrongGroups(l *look.Look) []string {
	unused := func(g look.Grant) bool {
		return !slices.ContainsFunc(l.Listeners, func(l elb.Listener) bool {
			return aws.ToInt32(l.Port) == g.Port
		})
	}
	if l.Firewall != "" && (!l.GroupsRight || l.NodesClosed || slices.ContainsFunc(l.Grants, unused)) {
		return slices.Sorted(slices.Values(l.Balancer.SecurityGroups))
	}
	return nil
}
