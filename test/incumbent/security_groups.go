package incumbent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file has the security groups of load balancers, and subnets (pkg/deploy/ec2, pkg/networking/backend_sg_provider.go,
// security_group_reconciler.go, security_group_info.go, subnet_resolver.go).

// securityGroups returns the security groups of the VPC with tags.
func (c *Controller) securityGroups(ctx context.Context, tags map[string]string) ([]ec2types.SecurityGroup, error) {
	filters := []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{c.VPC}}}
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		filters = append(filters, ec2types.Filter{Name: aws.String("tag:" + k), Values: strings.Split(tags[k], ",")})
	}
	return c.describeGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: filters})
}

func (c *Controller) describeGroups(ctx context.Context, in *ec2.DescribeSecurityGroupsInput) (out []ec2types.SecurityGroup, err error) {
	pages := ec2.NewDescribeSecurityGroupsPaginator(c.EC2, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, page.SecurityGroups...)
	}
	slices.SortFunc(out, func(a, b ec2types.SecurityGroup) int { return cmp.Compare(*a.GroupId, *b.GroupId) })
	return out, nil
}

func ec2Tags(tags map[string]string) (out []ec2types.Tag) {
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, ec2types.Tag{Key: &k, Value: aws.String(tags[k])})
	}
	return out
}

func tagsOfGroup(g ec2types.SecurityGroup) map[string]string {
	out := map[string]string{}
	for _, t := range g.Tags {
		out[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return out
}

func (c *Controller) createGroupIn(ctx context.Context, name, description string, tags map[string]string) (string, error) {
	made, err := c.EC2.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{VpcId: &c.VPC, GroupName: &name, Description: &description,
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: ec2Tags(tags)}}})
	if err != nil {
		return "", err
	}
	return *made.GroupId, nil
}

// retagGroup has a security group have the wanted tags and no others.
func (c *Controller) retagGroup(ctx context.Context, g ec2types.SecurityGroup, want map[string]string) error {
	add, remove := c.tagChange(want, tagsOfGroup(g))
	if len(add) > 0 {
		if _, err := c.EC2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{*g.GroupId}, Tags: ec2Tags(add)}); err != nil {
			return err
		}
	}
	if len(remove) == 0 {
		return nil
	}
	_, err := c.EC2.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{*g.GroupId}, Tags: ec2Tags(remove)})
	return err
}

// deployFront finds the managed security group by its tags, or makes it, with the rules that are wanted and no others. It
// returns those that are to be deleted in the end.
func (c *Controller) deployFront(ctx context.Context, s *stack) (unused []string, err error) {
	found, err := c.securityGroups(ctx, c.stackTags(s.id))
	if err != nil {
		return nil, err
	}
	for _, g := range found {
		resource, known := tagsOfGroup(g)["ingress.k8s.aws/resource"]
		switch {
		case !known:
			return nil, fmt.Errorf("the security group %s says not which resource it is", *g.GroupId)
		case s.front == nil || resource != "ManagedLBSecurityGroup" || s.front.id != "":
			unused = append(unused, *g.GroupId)
		default:
			s.front.id = *g.GroupId
			if err := c.retagGroup(ctx, g, s.front.tags); err != nil {
				return nil, err
			}
		}
	}
	if s.front == nil {
		return unused, nil
	}
	if s.front.id == "" {
		if s.front.id, err = c.createGroupIn(ctx, s.front.name, "[k8s] Managed SecurityGroup for LoadBalancer", s.front.tags); err != nil {
			return nil, err
		}
	}
	if c.NoBackendGroup {
		s.peer = s.front.id
	}
	var rules []permission
	for _, l := range s.listeners {
		for _, r := range l.v4 {
			rules = append(rules, permission{protocol: "tcp", from: l.port, to: l.port, v4: r})
		}
		for _, r := range l.v6 {
			if strings.HasPrefix(s.balancer.addresses, "dualstack") {
				rules = append(rules, permission{protocol: "tcp", from: l.port, to: l.port, v6: r})
			}
		}
	}
	return unused, c.admit(ctx, s.front.id, rules, false, true)
}

// deleteGroup deletes a security group. While something depends on it, rules of targets that nothing needs are revoked.
func (c *Controller) deleteGroup(ctx context.Context, id string) error {
	return retry(ctx, "DependencyViolation", func() error {
		_, err := c.EC2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &id})
		if answered(err, "DependencyViolation") {
			return errors.Join(c.collect(ctx), err)
		}
		return err
	})
}

// A permission is an inbound rule. Its description does not tell it from others.
type permission struct {
	protocol              string
	from, to              int32
	v4, v6, group, prefix string
}

// sharedRule is the description of rules of targets (pkg/networking/networking_manager.go).
const sharedRule = "elbv2.k8s.aws/targetGroupBinding=shared"

func (p permission) call(description string) ec2types.IpPermission {
	out := ec2types.IpPermission{IpProtocol: &p.protocol, FromPort: &p.from, ToPort: &p.to}
	switch {
	case p.v4 != "":
		out.IpRanges = []ec2types.IpRange{{CidrIp: &p.v4, Description: &description}}
	case p.v6 != "":
		out.Ipv6Ranges = []ec2types.Ipv6Range{{CidrIpv6: &p.v6, Description: &description}}
	case p.prefix != "":
		out.PrefixListIds = []ec2types.PrefixListId{{PrefixListId: &p.prefix, Description: &description}}
	default:
		out.UserIdGroupPairs = []ec2types.UserIdGroupPair{{GroupId: &p.group, Description: &description}}
	}
	return out
}

// permissions returns the rules of a security group, each source for itself, with their descriptions.
func permissions(g ec2types.SecurityGroup) map[permission]string {
	out := map[permission]string{}
	for _, p := range g.IpPermissions {
		one := permission{protocol: aws.ToString(p.IpProtocol), from: aws.ToInt32(p.FromPort), to: aws.ToInt32(p.ToPort)}
		for _, r := range p.IpRanges {
			of := one
			of.v4 = *r.CidrIp
			out[of] = aws.ToString(r.Description)
		}
		for _, r := range p.Ipv6Ranges {
			of := one
			of.v6 = *r.CidrIpv6
			out[of] = aws.ToString(r.Description)
		}
		for _, r := range p.PrefixListIds {
			of := one
			of.prefix = *r.PrefixListId
			out[of] = aws.ToString(r.Description)
		}
		for _, r := range p.UserIdGroupPairs {
			of := one
			of.group = *r.GroupId
			out[of] = aws.ToString(r.Description)
		}
	}
	return out
}

// admit has a security group have the wanted rules: it adds those that are missing, and then revokes others. Of targets'
// security groups it revokes those alone that have the description; of its own, all.
func (c *Controller) admit(ctx context.Context, id string, want []permission, ofTargets, revoke bool) error {
	groups, err := c.describeGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
	if err != nil {
		return err
	}
	have := permissions(groups[0])
	description := ""
	if ofTargets {
		description = sharedRule
	}
	in := &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &id}
	for _, p := range want {
		if _, has := have[p]; !has {
			in.IpPermissions = append(in.IpPermissions, p.call(description))
		}
	}
	if in.IpPermissions != nil {
		if _, err := c.EC2.AuthorizeSecurityGroupIngress(ctx, in); err != nil {
			return err
		}
	}
	out := &ec2.RevokeSecurityGroupIngressInput{GroupId: &id}
	for p, said := range have {
		if !slices.Contains(want, p) && (!ofTargets || slices.Contains(strings.Split(said, ","), sharedRule)) {
			out.IpPermissions = append(out.IpPermissions, p.call(said))
		}
	}
	if out.IpPermissions == nil || !revoke {
		return nil
	}
	_, err = c.EC2.RevokeSecurityGroupIngress(ctx, out)
	return err
}

// A backendGroup is the security group that all load balancers share, by which targets know them.
type backendGroup struct {
	id   string                        // once it is found or made
	uses map[types.NamespacedName]bool // whether an Ingress that was seen needs it
}

// backendGroup finds the shared security group by its tags, or makes it.
func (c *Controller) backendGroup(ctx context.Context, of []member) (string, error) {
	if c.backend.uses == nil {
		c.backend.uses = map[types.NamespacedName]bool{}
	}
	for _, m := range of {
		c.backend.uses[client.ObjectKeyFromObject(m.Ingress)] = true
	}
	if c.backend.id != "" {
		return c.backend.id, nil
	}
	own := map[string]string{"elbv2.k8s.aws/cluster": c.ClusterName, "elbv2.k8s.aws/resource": "backend-sg"}
	found, err := c.securityGroups(ctx, own)
	if err != nil {
		return "", err
	}
	want := maps.Clone(c.DefaultTags)
	if want == nil {
		want = map[string]string{}
	}
	maps.Copy(want, own)
	if len(found) > 0 {
		c.backend.id = *found[0].GroupId
		return c.backend.id, c.retagGroup(ctx, found[0], want)
	}
	name := fmt.Sprintf("k8s-traffic-%.232s-%s", notAlphanumeric.ReplaceAllString(c.ClusterName, ""), hash(c.ClusterName))
	c.backend.id, err = c.createGroupIn(ctx, name, "[k8s] Shared Backend SecurityGroup for LoadBalancer", want)
	return c.backend.id, err
}

// release deletes the shared security group once it is known that no Ingress needs it: none that was seen, and none else that
// has a finalizer. A process that has not asked for it deletes nothing.
func (c *Controller) release(ctx context.Context, s *stack) error {
	if c.backend.uses == nil {
		c.backend.uses = map[types.NamespacedName]bool{}
	}
	var gone []types.NamespacedName
	for _, ing := range s.left {
		gone = append(gone, client.ObjectKeyFromObject(ing))
	}
	if !s.useBackend {
		for _, m := range s.members {
			gone = append(gone, client.ObjectKeyFromObject(m.Ingress))
		}
	}
	for _, name := range gone {
		c.backend.uses[name] = false
	}
	defer func() {
		for _, name := range gone {
			delete(c.backend.uses, name)
		}
	}()
	var all networkingv1.IngressList
	if err := c.Client.List(ctx, &all); err != nil {
		return err
	}
	for _, used := range c.backend.uses {
		if used {
			return nil
		}
	}
	for i := range all.Items {
		_, seen := c.backend.uses[client.ObjectKeyFromObject(&all.Items[i])]
		if !seen && slices.ContainsFunc(all.Items[i].Finalizers, func(f string) bool { return f == Finalizer || strings.HasPrefix(f, GroupFinalizer) }) {
			return nil
		}
	}
	if c.backend.id == "" {
		return nil
	}
	id := c.backend.id
	if err := retry(ctx, "DependencyViolation", func() error {
		_, err := c.EC2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &id})
		return err
	}); err != nil {
		return err
	}
	c.backend.id = ""
	return nil
}

// subnets returns those that the load balancer has, or discovers them: by the tag of their role, else by their routes, one
// for each zone.
func (c *Controller) subnets(ctx context.Context, s *stack) ([]string, error) {
	found, _, err := c.balancers(ctx, s.id)
	if err != nil {
		return nil, err
	}
	if len(found) > 0 && string(found[0].Scheme) == s.balancer.scheme {
		var out []string
		for _, zone := range found[0].AvailabilityZones {
			out = append(out, aws.ToString(zone.SubnetId))
		}
		return out, nil
	}
	public := s.balancer.scheme == "internet-facing"
	role := "kubernetes.io/role/internal-elb"
	if public {
		role = "kubernetes.io/role/elb"
	}
	vpc := ec2types.Filter{Name: aws.String("vpc-id"), Values: []string{c.VPC}}
	tagged, err := c.EC2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: []ec2types.Filter{vpc, {Name: aws.String("tag:" + role), Values: []string{"", "1"}}}})
	if err != nil {
		return nil, err
	}
	all := tagged.Subnets
	if len(all) == 0 {
		if all, err = c.reachable(ctx, vpc, public); err != nil {
			return nil, err
		}
	}
	tag := "kubernetes.io/cluster/" + c.ClusterName
	has := func(s ec2types.Subnet, key string) bool {
		return slices.ContainsFunc(s.Tags, func(t ec2types.Tag) bool { return strings.HasPrefix(*t.Key, key) })
	}
	slices.SortFunc(all, func(a, b ec2types.Subnet) int {
		if has(a, tag) != has(b, tag) {
			return map[bool]int{true: -1, false: 1}[has(a, tag)]
		}
		return cmp.Compare(*a.SubnetId, *b.SubnetId)
	})
	zones := map[string]string{}
	for _, subnet := range all {
		foreign := has(subnet, "kubernetes.io/cluster/") && !has(subnet, tag)
		if zones[*subnet.AvailabilityZone] == "" && !foreign && aws.ToInt32(subnet.AvailableIpAddressCount) >= 8 {
			zones[*subnet.AvailabilityZone] = *subnet.SubnetId
		}
	}
	if len(zones) < 2 {
		return nil, fmt.Errorf("subnets of %d zones are found, and two are needed", len(zones))
	}
	return slices.Sorted(maps.Values(zones)), nil
}

// reachable returns the subnets that have a route to an internet gateway, or those that have none.
func (c *Controller) reachable(ctx context.Context, vpc ec2types.Filter, public bool) (out []ec2types.Subnet, err error) {
	all, err := c.EC2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: []ec2types.Filter{vpc}})
	if err != nil {
		return nil, err
	}
	tables, err := c.EC2.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: []ec2types.Filter{vpc}})
	if err != nil {
		return nil, err
	}
	for _, subnet := range all.Subnets {
		var of ec2types.RouteTable
		for _, t := range tables.RouteTables {
			for _, a := range t.Associations {
				if aws.ToBool(a.Main) && of.RouteTableId == nil || aws.ToString(a.SubnetId) == *subnet.SubnetId {
					of = t
				}
			}
		}
		if public == slices.ContainsFunc(of.Routes, func(r ec2types.Route) bool { return strings.HasPrefix(aws.ToString(r.GatewayId), "igw") }) {
			out = append(out, subnet)
		}
	}
	return out, nil
}
