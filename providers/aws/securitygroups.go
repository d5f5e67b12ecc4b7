package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file keeps the security groups of load balancers. Each load balancer has one of its own, its
// firewall, which says who may connect to which port, and one that it shares with all others: what
// targets admit is what comes from there (nodegroups.go). Where a class brings groups of its own,
// or the operator is to leave groups alone, there are neither.

// everywhere is where everybody is.
var everywhere = []string{"0.0.0.0/0", "::/0"}

// A grant is one source of one port: what the rules of security groups come down to.
type grant struct {
	port   int32
	source string // a range of addresses, a prefix list or a security group
}

// grantsTo are the grants by which a listener's clients get through.
func grantsTo(port int32, inbound []string) []grant {
	if len(inbound) == 0 {
		inbound = everywhere
	}
	var out []grant
	for _, source := range inbound {
		out = append(out, grant{port, source})
	}
	return out
}

// permission is a grant as EC2 says it.
func (g grant) permission() ec2types.IpPermission {
	p := ec2types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(g.port), ToPort: aws.Int32(g.port)}
	switch {
	case strings.HasPrefix(g.source, "sg-"):
		p.UserIdGroupPairs = []ec2types.UserIdGroupPair{{GroupId: aws.String(g.source)}}
	case strings.HasPrefix(g.source, "pl-"):
		p.PrefixListIds = []ec2types.PrefixListId{{PrefixListId: aws.String(g.source)}}
	case strings.Contains(g.source, ":"):
		p.Ipv6Ranges = []ec2types.Ipv6Range{{CidrIpv6: aws.String(g.source)}}
	default:
		p.IpRanges = []ec2types.IpRange{{CidrIp: aws.String(g.source)}}
	}
	return p
}

// grantsIn are the grants of a security group, as far as they are of the kind that Fairlead makes:
// one TCP port at a time.
func grantsIn(g ec2types.SecurityGroup) []grant {
	var out []grant
	for _, p := range g.IpPermissions {
		if aws.ToString(p.IpProtocol) != "tcp" || aws.ToInt32(p.FromPort) != aws.ToInt32(p.ToPort) {
			continue
		}
		add := func(source *string) { out = append(out, grant{aws.ToInt32(p.FromPort), aws.ToString(source)}) }
		for _, r := range p.IpRanges {
			add(r.CidrIp)
		}
		for _, r := range p.Ipv6Ranges {
			add(r.CidrIpv6)
		}
		for _, r := range p.PrefixListIds {
			add(r.PrefixListId)
		}
		for _, r := range p.UserIdGroupPairs {
			add(r.GroupId)
		}
	}
	return out
}

// fence makes sure of the security groups of a load balancer. The firewall is "" where it keeps
// none.
func (p *Provider) fence(ctx context.Context, want lb.LoadBalancer) (groups []string, firewall string, err error) {
	p.lend(want.Key, len(want.Settings.SecurityGroups) > 0)
	if p.unfenced || len(want.Settings.SecurityGroups) > 0 {
		return want.Settings.SecurityGroups, "", nil
	}
	tags := p.owned(want.Key, want.Settings.Tags)
	noteTags(tags, want.Settings.Tags)
	if firewall, err = p.group(ctx, p.derivedName(want.Key), aboutFirewall(want.Key), p.firewallOf(want.Key), tags); err != nil {
		return nil, "", err
	}
	p.walled(want.Key, firewall)
	shared, err := p.sharedGroup(ctx, want.Key)
	return []string{firewall, shared}, firewall, err
}

// aboutFirewall is the description of a firewall, in the 255 characters that EC2 takes
// (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html).
func aboutFirewall(key lb.Key) string {
	about := "Who may connect to " + string(key)
	return about[:min(len(about), 255)]
}

// writeFence gives a load balancer its security groups, and its firewall the grants of its
// listeners.
func (p *Provider) writeFence(ctx context.Context, b *balancer, seen *lb.Observed, want lb.LoadBalancer) (firewall string, err error) {
	groups, firewall, err := p.fence(ctx, want)
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
		for _, l := range seen.Listeners { // those that are about to go say so themselves
			listens[l.Port] = true
		}
		if err := p.admit(ctx, firewall, grants, func(g grant) bool { return !listens[g.port] || contains(want.Listeners, g.port) }); err != nil {
			return firewall, err
		}
		if err := p.reach(ctx, want.Key, append(portsOf(want.TargetGroups), p.portsBehind(seen)...)); err != nil {
			return firewall, err
		}
	}
	if sameSet(groups, b.SecurityGroups) {
		return firewall, nil
	}
	_, err = p.elb.SetSecurityGroups(ctx, &elbapi.SetSecurityGroupsInput{LoadBalancerArn: b.LoadBalancerArn, SecurityGroups: groups})
	return firewall, explained("changing the security groups of "+b.arn(), err)
}

func contains(listeners []lb.Listener, port int32) bool {
	return slices.ContainsFunc(listeners, func(l lb.Listener) bool { return l.Port == port })
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// openPort lets the clients of a new listener through.
func (p *Provider) openPort(ctx context.Context, seen *lb.Observed, l lb.Listener) error {
	if seen.Firewall == "" {
		return p.unwalled(seen.Key)
	}
	return p.authorize(ctx, seen.Firewall, grantsTo(l.Port, l.Settings.Inbound))
}

// changePort makes those who get through to a port the clients of its listener; nobody, where there
// is none.
func (p *Provider) changePort(ctx context.Context, seen *lb.Observed, port int32, grants []grant) error {
	if seen.Firewall == "" {
		return p.unwalled(seen.Key)
	}
	return p.admit(ctx, seen.Firewall, grants, func(g grant) bool { return g.port == port })
}

// authorize adds grants to a security group. Where some are there already, it is looked which.
func (p *Provider) authorize(ctx context.Context, group string, grants []grant) error {
	err := p.grant(ctx, group, grants)
	if is(err, "InvalidPermission.Duplicate") {
		return p.admit(ctx, group, grants, func(grant) bool { return false })
	}
	return explained("admitting to security group "+group, err)
}

func (p *Provider) grant(ctx context.Context, group string, grants []grant) error {
	in := &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String(group)}
	for _, g := range grants {
		in.IpPermissions = append(in.IpPermissions, g.permission())
	}
	_, err := p.ec2.AuthorizeSecurityGroupIngress(ctx, in)
	return err
}

// admit makes the grants of a security group what is wanted, as far as they are ours: more before
// less.
func (p *Provider) admit(ctx context.Context, group string, want []grant, ours func(grant) bool) error {
	found, err := p.groupsWith(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{group}})
	if err != nil {
		return err
	}
	there, err := only(found, "DescribeSecurityGroups", "security group "+group)
	if err != nil {
		return err
	}
	have := grantsIn(*there)
	missing := slices.DeleteFunc(slices.Clone(want), func(g grant) bool { return slices.Contains(have, g) })
	surplus := slices.DeleteFunc(have, func(g grant) bool { return !ours(g) || slices.Contains(want, g) })
	if err := p.grantAll(ctx, group, missing); err != nil {
		return err
	}
	return p.revoke(ctx, group, surplus)
}

// grantAll adds grants to a security group. Where AWS says that some are there, though it does not
// list them yet, they are added one by one: what is to be taken away does not wait for that.
func (p *Provider) grantAll(ctx context.Context, group string, missing []grant) error {
	if len(missing) == 0 {
		return nil
	}
	err := p.grant(ctx, group, missing)
	if !is(err, "InvalidPermission.Duplicate") {
		return explained("admitting to security group "+group, err)
	}
	if len(missing) == 1 {
		return nil
	}
	for _, g := range missing {
		if err := p.grant(ctx, group, []grant{g}); err != nil && !is(err, "InvalidPermission.Duplicate") {
			return explained("admitting to security group "+group, err)
		}
	}
	return nil
}

// revoke takes grants from a security group.
func (p *Provider) revoke(ctx context.Context, group string, grants []grant) error {
	if len(grants) == 0 {
		return nil
	}
	in := &ec2.RevokeSecurityGroupIngressInput{GroupId: aws.String(group)}
	for _, g := range grants {
		in.IpPermissions = append(in.IpPermissions, g.permission())
	}
	_, err := p.ec2.RevokeSecurityGroupIngress(ctx, in)
	if is(err, "InvalidPermission.NotFound") {
		return nil
	}
	return explained("shutting out of security group "+group, err)
}

// group makes a security group with tags, or gives them to the one of ours that has the name
// already. The one that this process made a moment ago may not be found by its name yet.
func (p *Provider) group(ctx context.Context, name, about, made string, tags map[string]string) (string, error) {
	if made != "" && p.recent.unfound(made) {
		return made, nil
	}
	in := &ec2.CreateSecurityGroupInput{GroupName: aws.String(name), Description: aws.String(about), VpcId: aws.String(p.vpc)}
	in.TagSpecifications = []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: ec2Tags(tags)}}
	out, err := p.ec2.CreateSecurityGroup(ctx, in)
	if is(err, "InvalidGroup.Duplicate") { // made before
		found, err := p.ownGroup(ctx, name)
		if err != nil {
			return "", err
		}
		if found == nil && made != "" && p.recent.knows("sg-", made) {
			return made, nil
		}
		if found == nil {
			return "", p.whoseGroup(ctx, name)
		}
		return aws.ToString(found.GroupId), p.retagGroup(ctx, *found, tags)
	}
	if err != nil {
		return "", explained("creating security group "+name, err)
	}
	return said(out.GroupId, "CreateSecurityGroup", "an ID")
}

// whoseGroup says why a security group is not ours that AWS says is there: another owner has it, or
// it was made a moment ago and is not found yet.
func (p *Provider) whoseGroup(ctx context.Context, name string) error {
	found, err := p.groupsWith(ctx, &ec2.DescribeSecurityGroupsInput{Filters: append(inVPC(p.vpc), ec2types.Filter{Name: aws.String("group-name"), Values: []string{name}})})
	switch {
	case err != nil:
		return err
	case len(found) == 0 || tagged(found[0].Tags, tagInstallation, p.installation):
		return fmt.Errorf("AWS has security group %s, and does not list it yet: %w", name, providers.ErrPending)
	}
	return fmt.Errorf("security group %s is somebody else's: %w", name, providers.ErrRejected)
}

// ec2Tags are tags as EC2 takes them.
func ec2Tags(tags map[string]string) []ec2types.Tag {
	var out []ec2types.Tag
	for _, key := range sorted(tags) {
		out = append(out, ec2types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return out
}

// tagsIn are the tags of a security group.
func tagsIn(g ec2types.SecurityGroup) map[string]string {
	out := map[string]string{}
	for _, t := range g.Tags {
		out[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return out
}

// retagGroup gives a security group the tags that it lacks, and takes away those that it was given
// before.
func (p *Provider) retagGroup(ctx context.Context, g ec2types.SecurityGroup, after map[string]string) error {
	before, id := tagsIn(g), aws.ToString(g.GroupId)
	var gone []ec2types.Tag
	for _, name := range surplus(before, after) {
		gone = append(gone, ec2types.Tag{Key: aws.String(name)})
	}
	if len(gone) > 0 {
		if _, err := p.ec2.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{id}, Tags: gone}); err != nil {
			return explained("removing tags of security group "+id, err)
		}
	}
	missing := maps.Clone(after)
	maps.DeleteFunc(missing, func(name, value string) bool {
		there, has := before[name]
		return has && there == value
	})
	if len(missing) == 0 {
		return nil
	}
	_, err := p.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: ec2Tags(missing)})
	return explained("tagging security group "+id, err)
}

// groupNamed is the ID of the security group of ours that has a name, or "".
func (p *Provider) groupNamed(ctx context.Context, name string) (string, error) {
	found, err := p.ownGroup(ctx, name)
	if err != nil || found == nil {
		return "", err
	}
	return aws.ToString(found.GroupId), nil
}

// ownGroup is the security group of ours that has a name, or nil.
func (p *Provider) ownGroup(ctx context.Context, name string) (*ec2types.SecurityGroup, error) {
	found, err := p.groupsWith(ctx, &ec2.DescribeSecurityGroupsInput{Filters: append(inVPC(p.vpc),
		ec2types.Filter{Name: aws.String("group-name"), Values: []string{name}},
		ec2types.Filter{Name: aws.String("tag:" + tagInstallation), Values: []string{p.installation}},
	)})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

func (p *Provider) groupsWith(ctx context.Context, in *ec2.DescribeSecurityGroupsInput) ([]ec2types.SecurityGroup, error) {
	var out []ec2types.SecurityGroup
	if in.GroupIds != nil {
		found, err := p.ec2.DescribeSecurityGroups(ctx, in)
		if err != nil {
			return nil, explained("reading security groups", err)
		}
		return found.SecurityGroups, nil
	}
	pages := ec2.NewDescribeSecurityGroupsPaginator(p.ec2, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, explained("reading security groups", err)
		}
		out = append(out, page.SecurityGroups...)
	}
	return out, nil
}

// namedGroups are the security groups of some IDs or names.
func (p *Provider) namedGroups(ctx context.Context, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	found, err := p.groupsWith(ctx, &ec2.DescribeSecurityGroupsInput{Filters: inVPC(p.vpc)})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range names {
		at := slices.IndexFunc(found, func(g ec2types.SecurityGroup) bool {
			return aws.ToString(g.GroupId) == name || aws.ToString(g.GroupName) == name || tagged(g.Tags, "Name", name)
		})
		if at < 0 {
			return nil, fmt.Errorf("choosing security groups of %s: none has the ID or the name %s: %w", p.vpc, name, providers.ErrRejected)
		}
		out = append(out, aws.ToString(found[at].GroupId))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// deleteFirewall removes the security group of a load balancer, once AWS is done with it. The last
// one takes along the group that all of them share. One that is not known is looked for by its
// name.
func (p *Provider) deleteFirewall(ctx context.Context, seen *lb.Observed) error {
	firewall := seen.Firewall
	if firewall == "" {
		var err error
		if firewall, err = p.groupNamed(ctx, p.derivedName(seen.Key)); err != nil || firewall == "" {
			return err
		}
	}
	return p.releases.deleteUnused(ctx, seen, firewall, func() error {
		// What is shared goes first: once the firewall is gone, nobody comes back for it.
		if err := p.leaveNodes(ctx, seen.Key, firewall); err != nil {
			return err
		}
		if err := p.deleteGroup(ctx, firewall); err != nil {
			return err
		}
		p.walled(seen.Key, "")
		return nil
	})
}

func (p *Provider) deleteGroup(ctx context.Context, id string) error {
	_, err := p.ec2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: aws.String(id)})
	if is(err, "InvalidGroup.NotFound") {
		return nil
	}
	return explained("deleting security group "+id, err)
}

// readFence reads, looked at deeply, who gets through to the load balancer.
func (p *Provider) readFence(ctx context.Context, l *look, _ map[string]map[string]string) error {
	if !l.deep || l.firewall == "" || l.balancer == nil {
		return nil
	}
	found, err := p.groupsWith(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: l.balancer.SecurityGroups})
	if err != nil { // it is a setting of the load balancer and of each listener
		l.assumed[aws.ToString(l.balancer.LoadBalancerArn)] = true
		for _, listener := range l.listeners {
			l.assumed[aws.ToString(listener.ListenerArn)] = true
		}
		return err
	}
	for _, g := range found {
		switch {
		case aws.ToString(g.GroupId) == l.firewall:
			l.grants, l.fenceTags, l.fenced = grantsIn(g), tagsIn(g), true
		case aws.ToString(g.GroupName) != p.sharedName() || !tagged(g.Tags, tagInstallation, p.installation):
			l.fenced = false
			return nil
		default:
			l.shared = aws.ToString(g.GroupId)
		}
	}
	l.fenced = l.fenced && len(found) == 2
	return nil
}

// inboundOf are those who get through to a port, in the form in which classes say it.
func (l *look) inboundOf(port int32) []string {
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

// strange are the security groups of a load balancer where they are not those that it should have,
// where ports are open on which there is no listener, and where the nodes do not admit it.
func (l *look) strange() []string {
	if l.firewall == "" {
		return nil
	}
	if !l.fenced || l.cutOff {
		return slices.Sorted(slices.Values(l.balancer.SecurityGroups))
	}
	for _, g := range l.grants {
		if !slices.ContainsFunc(l.listeners, func(l elb.Listener) bool { return aws.ToInt32(l.Port) == g.port }) {
			return slices.Sorted(slices.Values(l.balancer.SecurityGroups))
		}
	}
	return nil
}

// portsOf are the ports of target groups that load balancers have to reach.
func portsOf(groups []lb.TargetGroup) []int32 {
	var out []int32
	for _, g := range groups {
		out = append(out, checkPort(g.Health)...)
		for _, t := range g.Targets {
			out = append(out, t.Port)
		}
	}
	return out
}

// checkPort is the port that health checks go to, where it is not the one of the target.
func checkPort(h routing.HealthCheck) []int32 {
	var port int32
	if _, err := fmt.Sscanf(h.Port, "%d", &port); err != nil {
		return nil
	}
	return []int32{port}
}
