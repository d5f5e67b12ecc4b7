package albsim

import (
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2 "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file is security groups.

func noGroup(id string) error {
	return refuse("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
}

// groupDescription is what the description of a security group in a VPC looks like.
var groupDescription = regexp.MustCompile(`^[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{1,255}$`)

func (s *Sim) createSecurityGroup(in *api.CreateSecurityGroupInput) (*api.CreateSecurityGroupOutput, error) {
	if !s.net.hasVPC(aws.ToString(in.VpcId)) {
		return nil, refuse("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", aws.ToString(in.VpcId))
	}
	if len(aws.ToString(in.GroupName)) > 255 || strings.HasPrefix(aws.ToString(in.GroupName), "sg-") || aws.ToString(in.Description) == "" {
		return nil, refuse("InvalidParameterValue", "The name or the description of the security group is not valid")
	}
	// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html
	if !groupDescription.MatchString(aws.ToString(in.Description)) {
		return nil, refuse("InvalidParameterValue", "Value (%s) for parameter GroupDescription is invalid. Character sets beyond ASCII are not supported, and it has at most 255 characters.", aws.ToString(in.Description))
	}
	for _, g := range s.net.groups {
		if aws.ToString(g.GroupName) == aws.ToString(in.GroupName) && aws.ToString(g.VpcId) == aws.ToString(in.VpcId) {
			return nil, refuse("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", aws.ToString(in.GroupName), aws.ToString(in.VpcId))
		}
	}
	if len(s.net.groups) >= s.options.Limits.SecurityGroups {
		return nil, refuse("SecurityGroupLimitExceeded", "The maximum number of security groups has been reached.")
	}
	id := "sg-0" + s.nextID()
	s.tags[id] = map[string]string{}
	for _, spec := range in.TagSpecifications {
		if err := s.tagInEC2(id, spec.Tags); err != nil {
			delete(s.tags, id)
			return nil, err
		}
	}
	s.net.groups[id] = &ec2.SecurityGroup{GroupId: aws.String(id), GroupName: in.GroupName, Description: in.Description, VpcId: in.VpcId}
	return &api.CreateSecurityGroupOutput{GroupId: aws.String(id), Tags: s.ec2Tags(id)}, nil
}

func (s *Sim) describeSecurityGroups(in *api.DescribeSecurityGroupsInput) (*api.DescribeSecurityGroupsOutput, error) {
	for _, id := range in.GroupIds {
		if s.net.groups[id] == nil {
			return nil, noGroup(id)
		}
	}
	out := &api.DescribeSecurityGroupsOutput{SecurityGroups: []ec2.SecurityGroup{}}
	for _, id := range sortedKeys(s.net.groups) {
		g := *s.net.groups[id]
		g.Tags = s.ec2Tags(id)
		fits, err := s.fits(in.Filters, id, map[string][]string{"vpc-id": {aws.ToString(g.VpcId)}, "group-name": {aws.ToString(g.GroupName)}, "group-id": {id}})
		if err != nil {
			return nil, err
		}
		if fits && (in.GroupIds == nil || slices.Contains(in.GroupIds, id)) {
			out.SecurityGroups = append(out.SecurityGroups, g)
		}
	}
	return out, nil
}

// groupsForVPC lists the security groups that resources of a VPC can have.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetSecurityGroupsForVpc.html
func (s *Sim) groupsForVPC(in *api.GetSecurityGroupsForVpcInput) (*api.GetSecurityGroupsForVpcOutput, error) {
	out := &api.GetSecurityGroupsForVpcOutput{}
	for _, id := range sortedKeys(s.net.groups) {
		if g := s.net.groups[id]; aws.ToString(g.VpcId) == aws.ToString(in.VpcId) {
			out.SecurityGroupForVpcs = append(out.SecurityGroupForVpcs, ec2.SecurityGroupForVpc{
				GroupId: g.GroupId, GroupName: g.GroupName, Description: g.Description, PrimaryVpcId: g.VpcId, Tags: s.ec2Tags(id),
			})
		}
	}
	return out, nil
}

func (s *Sim) deleteSecurityGroup(in *api.DeleteSecurityGroupInput) (*api.DeleteSecurityGroupOutput, error) {
	id := aws.ToString(in.GroupId)
	if s.net.groups[id] == nil {
		return nil, noGroup(id)
	}
	used := s.lingers(id)
	for _, lb := range s.loadBalancers {
		used = used || slices.Contains(lb.about.SecurityGroups, id)
	}
	for other, g := range s.net.groups {
		used = used || other != id && slices.ContainsFunc(g.IpPermissions, func(p ec2.IpPermission) bool {
			return slices.ContainsFunc(p.UserIdGroupPairs, func(u ec2.UserIdGroupPair) bool { return aws.ToString(u.GroupId) == id })
		})
	}
	if used {
		return nil, refuse("DependencyViolation", "resource %s has a dependent object", id)
	}
	delete(s.net.groups, id)
	delete(s.tags, id)
	return &api.DeleteSecurityGroupOutput{}, nil
}

// A grant is one source of one range of ports: what rules of security groups are made of.
type grant struct {
	protocol, source string
	from, to         int32
}

// grantsOf takes a permission apart, each part with the permission that says just that.
func grantsOf(p ec2.IpPermission) map[grant]ec2.IpPermission {
	out := map[grant]ec2.IpPermission{}
	add := func(source string, only ec2.IpPermission) {
		only.IpProtocol, only.FromPort, only.ToPort = p.IpProtocol, p.FromPort, p.ToPort
		out[grant{aws.ToString(p.IpProtocol), source, aws.ToInt32(p.FromPort), aws.ToInt32(p.ToPort)}] = only
	}
	for _, r := range p.IpRanges {
		r.CidrIp = canonical(r.CidrIp)
		add(aws.ToString(r.CidrIp), ec2.IpPermission{IpRanges: []ec2.IpRange{r}})
	}
	for _, r := range p.Ipv6Ranges {
		r.CidrIpv6 = canonical(r.CidrIpv6)
		add(aws.ToString(r.CidrIpv6), ec2.IpPermission{Ipv6Ranges: []ec2.Ipv6Range{r}})
	}
	for _, r := range p.PrefixListIds {
		add(aws.ToString(r.PrefixListId), ec2.IpPermission{PrefixListIds: []ec2.PrefixListId{r}})
	}
	for _, r := range p.UserIdGroupPairs {
		add(aws.ToString(r.GroupId), ec2.IpPermission{UserIdGroupPairs: []ec2.UserIdGroupPair{r}})
	}
	return out
}

// canonical is a range as EC2 keeps it, whatever form it is given in: "Amazon Web Services
// canonicalizes IPv4 and IPv6 CIDRs"
// (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Ipv6Range.html).
func canonical(cidr *string) *string {
	p, err := netip.ParsePrefix(aws.ToString(cidr))
	if err != nil {
		return cidr
	}
	return aws.String(p.Masked().String())
}

// admits reports whether one of some security groups lets a client through to a port. Who is in the
// lists of ranges that AWS keeps is nobody's to know.
func (n network) admits(groups []string, r matching.Request) bool {
	source, err := netip.ParseAddr(r.Source)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(groups, func(id string) bool {
		return slices.ContainsFunc(n.groups[id].IpPermissions, func(p ec2.IpPermission) bool {
			return aws.ToInt32(p.FromPort) <= r.Port && r.Port <= aws.ToInt32(p.ToPort) && slices.ContainsFunc(p.IpRanges, func(from ec2.IpRange) bool {
				return netip.MustParsePrefix(aws.ToString(from.CidrIp)).Contains(source)
			})
		})
	})
}

func (s *Sim) authorizeIngress(in *api.AuthorizeSecurityGroupIngressInput) (*api.AuthorizeSecurityGroupIngressOutput, error) {
	g := s.net.groups[aws.ToString(in.GroupId)]
	if g == nil {
		return nil, noGroup(aws.ToString(in.GroupId))
	}
	have := map[grant]bool{}
	for _, p := range g.IpPermissions {
		for at := range grantsOf(p) {
			have[at] = true
		}
	}
	var fresh []ec2.IpPermission
	for _, p := range in.IpPermissions {
		for at, only := range grantsOf(p) {
			if have[at] {
				return nil, refuse("InvalidPermission.Duplicate", "the specified rule \"peer: %s, %s, from port: %d, to port: %d, ALLOW\" already exists", at.source, at.protocol, at.from, at.to)
			}
			if strings.HasPrefix(at.source, "sg-") && s.net.groups[at.source] == nil {
				return nil, noGroup(at.source)
			}
			if strings.HasPrefix(at.source, "pl-") && s.net.lists[at.source] == nil {
				return nil, refuse("InvalidPrefixListID.NotFound", "The prefix list ID '%s' does not exist", at.source)
			}
			have[at] = true
			fresh = append(fresh, only)
		}
	}
	weight := 0
	for at := range have {
		weight += s.net.weighs(at.source)
	}
	if len(fresh) > 0 && weight > s.options.Limits.RulesPerSecurityGroup {
		return nil, refuse("RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per security group has been reached.")
	}
	g.IpPermissions = append(g.IpPermissions, fresh...)
	return &api.AuthorizeSecurityGroupIngressOutput{Return: aws.Bool(true)}, nil
}

func (s *Sim) revokeIngress(in *api.RevokeSecurityGroupIngressInput) (*api.RevokeSecurityGroupIngressOutput, error) {
	g := s.net.groups[aws.ToString(in.GroupId)]
	if g == nil {
		return nil, noGroup(aws.ToString(in.GroupId))
	}
	gone := map[grant]ec2.IpPermission{}
	for _, p := range in.IpPermissions {
		maps.Copy(gone, grantsOf(p))
	}
	var kept []ec2.IpPermission
	for _, p := range g.IpPermissions {
		for at, only := range grantsOf(p) {
			if _, goes := gone[at]; goes {
				delete(gone, at)
				continue
			}
			kept = append(kept, only)
		}
	}
	out := &api.RevokeSecurityGroupIngressOutput{Return: aws.Bool(true)}
	for at, unknown := range gone {
		if s.options.DefaultVPC {
			out.UnknownIpPermissions = append(out.UnknownIpPermissions, unknown)
			continue
		}
		return nil, refuse("InvalidPermission.NotFound", "The specified rule does not exist in this security group: %s %d", at.source, at.from)
	}
	g.IpPermissions = kept
	return out, nil
}
