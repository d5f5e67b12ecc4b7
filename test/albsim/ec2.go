package albsim

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2 "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/test/albsim/codec"
	"fairlead.dev/fairlead/test/albsim/matching"
	"fairlead.dev/fairlead/test/albsim/refusal"
)

// This file is the network that load balancers stand in: a VPC with its subnets, route tables,
// security groups, interfaces and instances.

func ec2Calls() map[string]handler {
	return map[string]handler{
		"DescribeSubnets":               on((*Sim).describeSubnets),
		"DescribeVpcs":                  on((*Sim).describeVPCs),
		"DescribeAvailabilityZones":     on((*Sim).describeZones),
		"DescribeRouteTables":           on((*Sim).describeRouteTables),
		"DescribeSecurityGroups":        on((*Sim).describeSecurityGroups),
		"CreateSecurityGroup":           on((*Sim).createSecurityGroup),
		"DeleteSecurityGroup":           on((*Sim).deleteSecurityGroup),
		"AuthorizeSecurityGroupIngress": on((*Sim).authorizeIngress),
		"RevokeSecurityGroupIngress":    on((*Sim).revokeIngress),
		"CreateTags":                    on((*Sim).createTags),
		"DeleteTags":                    on((*Sim).deleteTags),
		"DescribeInstances":             on((*Sim).describeInstances),
		"DescribeNetworkInterfaces":     on((*Sim).describeInterfaces),
		"DescribeAccountAttributes":     on((*Sim).describeAccountAttributes),
		"DescribeAddresses":             on((*Sim).describeAddresses),
		"DescribeInternetGateways":      on((*Sim).describeInternetGateways),
		"DescribeManagedPrefixLists":    on((*Sim).describePrefixLists),
		"GetSecurityGroupsForVpc":       on((*Sim).groupsForVPC),
	}
}

// A network is what EC2 knows. Its maps are by ID.
type network struct {
	vpc        string
	others     []string // VPCs in which there is nothing
	ranges     []netip.Prefix
	subnets    map[string]*ec2.Subnet
	tables     []ec2.RouteTable
	groups     map[string]*ec2.SecurityGroup
	instances  map[string]*ec2.Instance
	interfaces map[string]*ec2.NetworkInterface
	lists      map[string]*ec2.ManagedPrefixList
	barred     map[string]bool // zones without load balancers
}

// The VPC of every account: three zones with a public and a private subnet each, and the security
// group of its nodes. The cluster is called as in the policy of the documentation.
const (
	VPC       = "vpc-0a1b2c3d4e5f60718"
	Cluster   = "CLUSTER"
	NodeGroup = "sg-0de00000000000001"
)

func newNetwork(s *Sim) network {
	n := network{
		vpc: VPC, ranges: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")},
		subnets: map[string]*ec2.Subnet{}, groups: map[string]*ec2.SecurityGroup{},
		instances: map[string]*ec2.Instance{}, interfaces: map[string]*ec2.NetworkInterface{},
		lists: map[string]*ec2.ManagedPrefixList{CloudFrontList: {
			PrefixListId: aws.String(CloudFrontList), OwnerId: aws.String("AWS"), AddressFamily: aws.String("IPv4"),
			PrefixListName: aws.String("com.amazonaws.global.cloudfront.origin-facing"),
		}, "pl-0123456789abcdef0": {
			PrefixListId: aws.String("pl-0123456789abcdef0"), OwnerId: aws.String(Account), PrefixListName: aws.String("offices"), MaxEntries: aws.Int32(1),
		}},
	}
	var public []ec2.RouteTableAssociation
	for i, zone := range []string{"a", "b", "c"} {
		for kind, role := range map[string]string{"public": "kubernetes.io/role/elb", "private": "kubernetes.io/role/internal-elb"} {
			id := fmt.Sprintf("subnet-%s%d", kind, i)
			third := i
			if kind == "private" {
				third += 100
			}
			n.subnets[id] = &ec2.Subnet{
				SubnetId: aws.String(id), VpcId: aws.String(VPC), AvailabilityZone: aws.String(Region + zone),
				CidrBlock: aws.String(fmt.Sprintf("10.0.%d.0/24", third)), AvailableIpAddressCount: aws.Int32(251),
				State: ec2.SubnetStateAvailable,
			}
			s.tags[id] = map[string]string{role: "1", "Name": kind + "-" + zone}
			if kind == "public" {
				public = append(public, ec2.RouteTableAssociation{SubnetId: aws.String(id), Main: aws.Bool(false)})
			}
		}
	}
	n.tables = []ec2.RouteTable{
		{
			RouteTableId: aws.String("rtb-main"), VpcId: aws.String(VPC),
			Associations: []ec2.RouteTableAssociation{{Main: aws.Bool(true)}},
			Routes:       []ec2.Route{{DestinationCidrBlock: aws.String("10.0.0.0/16"), GatewayId: aws.String("local")}},
		},
		{
			RouteTableId: aws.String("rtb-public"), VpcId: aws.String(VPC), Associations: public,
			Routes: []ec2.Route{{DestinationCidrBlock: aws.String("0.0.0.0/0"), GatewayId: aws.String("igw-1")}},
		},
	}
	n.groups[NodeGroup] = &ec2.SecurityGroup{GroupId: aws.String(NodeGroup), GroupName: aws.String("nodes"), Description: aws.String("nodes"), VpcId: aws.String(VPC)}
	s.tags[NodeGroup] = map[string]string{"kubernetes.io/cluster/" + Cluster: "owned"}
	return n
}

func (n network) hasVPC(id string) bool { return id == n.vpc }

func (n network) hasInstance(id string) bool {
	i := n.instances[id]
	return i != nil && i.State != nil && i.State.Name == ec2.InstanceStateNameRunning
}

func (n network) contains(ip netip.Addr) bool {
	return slices.ContainsFunc(n.ranges, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// zoneOf is the zone of the subnet that an address is in, if it is in one.
func (n network) zoneOf(ip netip.Addr) (zone string, inside bool) {
	for _, id := range sortedKeys(n.subnets) {
		subnet := n.subnets[id]
		ranges := []string{aws.ToString(subnet.CidrBlock)}
		for _, a := range subnet.Ipv6CidrBlockAssociationSet {
			ranges = append(ranges, aws.ToString(a.Ipv6CidrBlock))
		}
		if slices.ContainsFunc(ranges, func(text string) bool {
			r, err := netip.ParsePrefix(text)
			return err == nil && r.Contains(ip)
		}) {
			return aws.ToString(subnet.AvailabilityZone), true
		}
	}
	return "", false
}

// zoneOfTarget is the zone that an instance or an address is in; "" for one outside.
func (n network) zoneOfTarget(id string) string {
	address := id
	if i := n.instances[id]; i != nil {
		address = aws.ToString(i.PrivateIpAddress)
	}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	zone, _ := n.zoneOf(ip)
	return zone
}

// AddSubnet adds a subnet in a zone.
func (s *Sim) AddSubnet(id, zone, cidr string, tags map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.net.subnets[id] = &ec2.Subnet{
		SubnetId: aws.String(id), VpcId: aws.String(VPC), AvailabilityZone: aws.String(zone), CidrBlock: aws.String(cidr),
		AvailableIpAddressCount: aws.Int32(251), State: ec2.SubnetStateAvailable,
	}
	s.tags[id] = tags
}

// BarZone has AWS offer no load balancers in a zone, as in a few old ones
// (https://github.com/widdix/mastodon-on-aws/issues/13).
func (s *Sim) BarZone(zone string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.net.barred = map[string]bool{zone: true}
}

// OpenToTheInternet has all subnets route there.
func (s *Sim) OpenToTheInternet() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.net.tables[0].Routes = append(s.net.tables[0].Routes, ec2.Route{DestinationCidrBlock: aws.String("0.0.0.0/0"), GatewayId: aws.String("igw-1")})
}

// AddVPC makes one in which there is nothing.
func (s *Sim) AddVPC(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.net.others = append(s.net.others, id)
}

func (s *Sim) describeVPCs(in *api.DescribeVpcsInput) (*api.DescribeVpcsOutput, error) {
	out := &api.DescribeVpcsOutput{}
	all := append([]string{s.net.vpc}, s.net.others...)
	for _, id := range in.VpcIds {
		if !slices.Contains(all, id) {
			return nil, refuse("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", id)
		}
	}
	for _, id := range all {
		if in.VpcIds != nil && !slices.Contains(in.VpcIds, id) {
			continue
		}
		vpc := ec2.Vpc{VpcId: aws.String(id), State: ec2.VpcStateAvailable}
		if id == s.net.vpc {
			for _, r := range s.net.ranges {
				vpc.CidrBlockAssociationSet = append(vpc.CidrBlockAssociationSet, ec2.VpcCidrBlockAssociation{
					CidrBlock: aws.String(r.String()), CidrBlockState: &ec2.VpcCidrBlockState{State: ec2.VpcCidrBlockStateCodeAssociated}})
			}
		}
		out.Vpcs = append(out.Vpcs, vpc)
	}
	return out, nil
}

// idOfZone is the ID of a zone, which is the same in all accounts.
func idOfZone(name string) string { return "euw1-az" + strings.TrimPrefix(name, Region) }

// describeZones answers for zones of the region that are named, or for those that have subnets:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AvailabilityZone.html.
func (s *Sim) describeZones(in *api.DescribeAvailabilityZonesInput) (*api.DescribeAvailabilityZonesOutput, error) {
	kinds := map[string]string{}
	for _, subnet := range s.net.subnets {
		kinds[aws.ToString(subnet.AvailabilityZone)] = kindOfZone(*subnet)
	}
	out := &api.DescribeAvailabilityZonesOutput{}
	for _, name := range sortedKeys(kinds) {
		id := idOfZone(name)
		if in.ZoneNames != nil && !slices.Contains(in.ZoneNames, name) || in.ZoneIds != nil && !slices.Contains(in.ZoneIds, id) {
			continue
		}
		out.AvailabilityZones = append(out.AvailabilityZones, ec2.AvailabilityZone{
			ZoneName: aws.String(name), ZoneId: aws.String(id), ZoneType: aws.String(strings.Replace(kinds[name], "outpost", "availability-zone", 1)),
			RegionName: aws.String(Region), State: ec2.AvailabilityZoneStateAvailable})
	}
	return out, nil
}

// AddInstance starts an instance in a subnet, with the security group of nodes.
func (s *Sim) AddInstance(id, subnet, address string) {
	s.AddInstanceOf(NodeGroup, id, subnet, address)
}

// AddInstanceOf starts an instance with a security group.
func (s *Sim) AddInstanceOf(groupID, id, subnet, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	group := ec2.GroupIdentifier{GroupId: aws.String(groupID), GroupName: s.net.groups[groupID].GroupName}
	eni := "eni-" + strings.TrimPrefix(id, "i-")
	s.net.interfaces[eni] = &ec2.NetworkInterface{
		NetworkInterfaceId: aws.String(eni), SubnetId: aws.String(subnet), VpcId: aws.String(VPC), Groups: []ec2.GroupIdentifier{group},
		PrivateIpAddress:   aws.String(address),
		PrivateIpAddresses: []ec2.NetworkInterfacePrivateIpAddress{{PrivateIpAddress: aws.String(address), Primary: aws.Bool(true)}},
		Attachment:         &ec2.NetworkInterfaceAttachment{InstanceId: aws.String(id)},
	}
	s.net.instances[id] = &ec2.Instance{
		InstanceId: aws.String(id), SubnetId: aws.String(subnet), VpcId: aws.String(VPC), PrivateIpAddress: aws.String(address),
		SecurityGroups: []ec2.GroupIdentifier{group}, State: &ec2.InstanceState{Name: ec2.InstanceStateNameRunning},
		NetworkInterfaces: []ec2.InstanceNetworkInterface{{
			NetworkInterfaceId: aws.String(eni), Groups: []ec2.GroupIdentifier{group}, Attachment: &ec2.InstanceNetworkInterfaceAttachment{DeviceIndex: aws.Int32(0)},
			PrivateIpAddresses: []ec2.InstancePrivateIpAddress{{PrivateIpAddress: aws.String(address), Primary: aws.Bool(true)}},
		}},
	}
}

// AddNodeGroup adds a security group with the tag of the cluster.
func (s *Sim) AddNodeGroup(id string, change func(*ec2.SecurityGroup)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &ec2.SecurityGroup{GroupId: aws.String(id), GroupName: aws.String(id), Description: aws.String("more"), VpcId: aws.String(VPC)}
	change(g)
	s.net.groups[id] = g
	s.tags[id] = map[string]string{"kubernetes.io/cluster/" + Cluster: "owned"}
}

// ChangeSubnet changes a subnet and its tags; a nil tag map leaves these.
func (s *Sim) ChangeSubnet(id string, change func(*ec2.Subnet), tags map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if change != nil {
		change(s.net.subnets[id])
	}
	if tags != nil {
		s.tags[id] = tags
	}
}

// zones are the zones of subnets in which a load balancer can stand.
func (s *Sim) zones(subnets []string) ([]elb.AvailabilityZone, string, error) {
	if len(subnets) < 2 {
		return nil, "", refuse("InvalidConfigurationRequest", "At least two subnets in two different Availability Zones must be specified")
	}
	var out []elb.AvailabilityZone
	vpc := ""
	seen, kinds := map[string]bool{}, map[string]bool{}
	for _, id := range subnets {
		subnet := s.net.subnets[id]
		if subnet == nil {
			return nil, "", refuse("SubnetNotFound", "The subnet ID '%s' does not exist", id)
		}
		zone := aws.ToString(subnet.AvailabilityZone)
		if s.net.barred[zone] {
			return nil, "", refuse("AvailabilityZoneNotSupported", "The specified Availability Zone is not supported: the subnet '%s' in %s cannot be associated with a load balancer", id, zone)
		}
		kinds[kindOfZone(*subnet)] = true
		switch {
		case len(kinds) > 1: // https://docs.aws.amazon.com/elasticloadbalancing/latest/application/application-load-balancers.html
			return nil, "", refuse("InvalidConfigurationRequest", "The zones of a load balancer must be of the same type")
		case seen[zone]:
			return nil, "", refuse("InvalidConfigurationRequest", "A load balancer cannot be attached to multiple subnets in the same Availability Zone")
		case vpc != "" && vpc != aws.ToString(subnet.VpcId):
			return nil, "", refuse("InvalidSubnet", "The subnets must be in one VPC")
		case aws.ToInt32(subnet.AvailableIpAddressCount) < 8:
			return nil, "", refuse("InvalidSubnet", "Not enough IP space available in %s. ELB requires at least 8 free IP addresses in each subnet.", id)
		}
		seen[zone], vpc = true, aws.ToString(subnet.VpcId)
		out = append(out, elb.AvailabilityZone{SubnetId: aws.String(id), ZoneName: aws.String(zone)})
	}
	return out, vpc, nil
}

// kindOfZone is the type of the zone that a subnet is in.
func kindOfZone(s ec2.Subnet) string {
	switch zone := aws.ToString(s.AvailabilityZone); {
	case s.OutpostArn != nil:
		return "outpost"
	case strings.Contains(zone, "-wlz-"):
		return "wavelength-zone"
	case len(zone) > len(Region)+1:
		return "local-zone"
	}
	return "availability-zone"
}

// groupsOf are the security groups of a load balancer: those named, else the VPC's default one.
func (s *Sim) groupsOf(ids []string, vpc string) ([]string, error) {
	if len(ids) == 0 {
		return []string{"sg-default"}, nil
	}
	for _, id := range ids {
		g := s.net.groups[id]
		if g == nil {
			return nil, refuse("InvalidSecurityGroup", "The security group '%s' does not exist", id)
		}
		if aws.ToString(g.VpcId) != vpc {
			return nil, refuse("InvalidConfigurationRequest", "One or more security groups are invalid")
		}
	}
	if most := s.options.Limits.GroupsPerInterface; len(ids) > most {
		return nil, refuse("InvalidConfigurationRequest", "No more than %d security groups are possible", most)
	}
	return ids, nil
}

func (s *Sim) describeSubnets(in *api.DescribeSubnetsInput) (*api.DescribeSubnetsOutput, error) {
	for _, id := range in.SubnetIds {
		if s.net.subnets[id] == nil {
			return nil, refuse("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
		}
	}
	out := &api.DescribeSubnetsOutput{Subnets: []ec2.Subnet{}}
	for _, id := range sortedKeys(s.net.subnets) {
		subnet := *s.net.subnets[id]
		subnet.Tags, subnet.AvailabilityZoneId = s.ec2Tags(id), aws.String(idOfZone(aws.ToString(subnet.AvailabilityZone)))
		fits, err := s.fits(in.Filters, id, map[string][]string{
			"vpc-id": {aws.ToString(subnet.VpcId)}, "subnet-id": {id}, "availability-zone": {aws.ToString(subnet.AvailabilityZone)},
		})
		if err != nil {
			return nil, err
		}
		if fits && (in.SubnetIds == nil || slices.Contains(in.SubnetIds, id)) {
			out.Subnets = append(out.Subnets, subnet)
		}
	}
	return out, nil
}

// fits reports whether a resource passes filters.
func (s *Sim) fits(filters []ec2.Filter, id string, fields map[string][]string) (bool, error) {
	for _, f := range filters {
		name := aws.ToString(f.Name)
		values, known := fields[name]
		if key, isTag := strings.CutPrefix(name, "tag:"); isTag {
			values, known = nil, true
			if v, has := s.tags[id][key]; has {
				values = []string{v}
			}
		}
		if name == "tag-key" {
			values, known = sortedKeys(s.tags[id]), true
		}
		if !known {
			return false, refuse("InvalidParameterValue", "The filter '%s' is invalid", name)
		}
		if !slices.ContainsFunc(values, func(v string) bool {
			return slices.ContainsFunc(f.Values, func(wanted string) bool { return matching.Glob(wanted).MatchString(v) })
		}) {
			return false, nil
		}
	}
	return true, nil
}

func (s *Sim) ec2Tags(id string) []ec2.Tag {
	var out []ec2.Tag
	for _, key := range sortedKeys(s.tags[id]) {
		out = append(out, ec2.Tag{Key: aws.String(key), Value: aws.String(s.tags[id][key])})
	}
	return out
}

func (s *Sim) describeRouteTables(in *api.DescribeRouteTablesInput) (*api.DescribeRouteTablesOutput, error) {
	out := &api.DescribeRouteTablesOutput{}
	for _, t := range s.net.tables {
		fits, err := s.fits(in.Filters, aws.ToString(t.RouteTableId), map[string][]string{"vpc-id": {aws.ToString(t.VpcId)}})
		if err != nil {
			return nil, err
		}
		if fits {
			out.RouteTables = append(out.RouteTables, t)
		}
	}
	return out, nil
}

func (s *Sim) describeInstances(in *api.DescribeInstancesInput) (*api.DescribeInstancesOutput, error) {
	out := &api.DescribeInstancesOutput{}
	for _, id := range sortedKeys(s.net.instances) {
		i := *s.net.instances[id]
		i.Tags = s.ec2Tags(id)
		fits, err := s.fits(in.Filters, id, map[string][]string{"vpc-id": {aws.ToString(i.VpcId)}, "private-ip-address": {aws.ToString(i.PrivateIpAddress)}})
		if err != nil {
			return nil, err
		}
		if fits && (in.InstanceIds == nil || slices.Contains(in.InstanceIds, id)) {
			out.Reservations = append(out.Reservations, ec2.Reservation{Instances: []ec2.Instance{i}})
		}
	}
	for _, id := range in.InstanceIds {
		if s.net.instances[id] == nil {
			return nil, refuse("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", id)
		}
	}
	return out, nil
}

func (s *Sim) describeInterfaces(in *api.DescribeNetworkInterfacesInput) (*api.DescribeNetworkInterfacesOutput, error) {
	out := &api.DescribeNetworkInterfacesOutput{}
	for _, f := range in.Filters {
		if len(f.Values) > 200 {
			return nil, refuse("FilterLimitExceeded", "The maximum number of filter values specified on a single call is 200")
		}
	}
	for _, id := range sortedKeys(s.net.interfaces) {
		i := *s.net.interfaces[id]
		var addresses []string
		for _, a := range i.PrivateIpAddresses {
			addresses = append(addresses, aws.ToString(a.PrivateIpAddress))
		}
		fits, err := s.fits(in.Filters, id, map[string][]string{
			"vpc-id": {aws.ToString(i.VpcId)}, "addresses.private-ip-address": addresses, "attachment.instance-id": {aws.ToString(i.Attachment.InstanceId)},
		})
		if err != nil {
			return nil, err
		}
		if fits {
			out.NetworkInterfaces = append(out.NetworkInterfaces, i)
		}
	}
	return out, nil
}

// tagInEC2 adds tags to a resource of EC2.
func (s *Sim) tagInEC2(id string, tags []ec2.Tag) error {
	after := maps.Clone(s.tags[id])
	for _, t := range tags {
		key, value := aws.ToString(t.Key), aws.ToString(t.Value)
		if !validTag(key, value) {
			return refuse("InvalidParameterValue", "Tag '%s' with value '%s' is not valid", key, value)
		}
		after[key] = value
	}
	if len(after) > 50 {
		return refuse("TagLimitExceeded", "You have reached the maximum number of tags of '%s': 50", id)
	}
	s.tags[id] = after
	return nil
}

func (s *Sim) createTags(in *api.CreateTagsInput) (*api.CreateTagsOutput, error) {
	for _, id := range in.Resources {
		if s.net.groups[id] == nil && s.net.subnets[id] == nil {
			return nil, refuse("InvalidID", "The ID '%s' is not valid", id)
		}
		if s.tags[id] == nil {
			s.tags[id] = map[string]string{}
		}
		if err := s.tagInEC2(id, in.Tags); err != nil {
			return nil, err
		}
	}
	return &api.CreateTagsOutput{}, nil
}

func (s *Sim) deleteTags(in *api.DeleteTagsInput) (*api.DeleteTagsOutput, error) {
	for _, id := range in.Resources {
		for _, t := range in.Tags {
			delete(s.tags[id], aws.ToString(t.Key))
		}
	}
	return &api.DeleteTagsOutput{}, nil
}

// ec2Query is the protocol of EC2: like query, with other names.
func ec2Query() protocol {
	const namespace = "http://ec2.amazonaws.com/doc/2016-11-15/"
	return protocol{
		action: formAction(ec2Names),
		answer: func(w http.ResponseWriter, action, id string, out any) {
			w.Header().Set("Content-Type", "text/xml")
			fmt.Fprintf(w, "<%sResponse xmlns=%q><requestId>%s</requestId>", action, namespace, id)
			ec2Names.Encode(w, out)
			fmt.Fprintf(w, "</%sResponse>", action)
		},
		refuse: func(w http.ResponseWriter, id string, e *refusal.Error) {
			w.Header().Set("Content-Type", "text/xml")
			w.WriteHeader(e.Status)
			fmt.Fprintf(w, "<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>%s</RequestID></Response>",
				codec.Escaped(e.Code), codec.Escaped(e.Message), id)
		},
	}
}

// ec2Names is how EC2 names things: by rules of its own, with exceptions.
var ec2Names = codec.Dialect{
	Asked: func(in reflect.Type, field string) string {
		if name, ok := ec2Asked[in.Name()+"."+field]; ok {
			return name
		}
		if name, ok := ec2Asked[field]; ok {
			return name
		}
		return field
	},
	Answered: func(in reflect.Type, field string) string {
		if name, ok := ec2Answered[in.Name()+"."+field]; ok {
			return name
		}
		if name, ok := ec2Answered[field]; ok {
			return name
		}
		return strings.ToLower(field[:1]) + field[1:]
	},
	Item: "item",
}

var ec2Asked = map[string]string{
	"Filters": "Filter", "Values": "Value", "Tags": "Tag", "TagSpecifications": "TagSpecification",
	"SubnetIds": "SubnetId", "GroupIds": "GroupId", "GroupNames": "GroupName", "InstanceIds": "InstanceId", "Resources": "ResourceId",
	"ZoneNames": "ZoneName", "ZoneIds": "ZoneId", "VpcIds": "VpcId",
	"DescribeManagedPrefixListsInput.PrefixListIds": "PrefixListId", "AttributeNames": "AttributeName",
	"NetworkInterfaceIds": "NetworkInterfaceId", "RouteTableIds": "RouteTableId", "SecurityGroupRuleIds": "SecurityGroupRuleId",
	"UserIdGroupPairs": "Groups", "CreateSecurityGroupInput.Description": "GroupDescription",
}

var ec2Answered = map[string]string{
	"Subnets": "subnetSet", "Vpcs": "vpcSet", "SecurityGroups": "securityGroupInfo", "RouteTables": "routeTableSet", "Associations": "associationSet",
	"Routes": "routeSet", "NetworkInterfaces": "networkInterfaceSet", "Reservations": "reservationSet", "Instances": "instancesSet",
	"Groups": "groupSet", "PrivateIpAddresses": "privateIpAddressesSet", "UserIdGroupPairs": "groups", "Tags": "tagSet",
	"PrefixLists": "prefixListSet", "AccountAttributes": "accountAttributeSet", "AttributeValues": "attributeValueSet",
	"SecurityGroupForVpcs": "securityGroupForVpcSet", "UnknownIpPermissions": "unknownIpPermissionSet",
	"AvailabilityZones": "availabilityZoneInfo", "AvailabilityZone.State": "zoneState",
	"SecurityGroup.Description": "groupDescription", "Instance.SecurityGroups": "groupSet", "Instance.State": "instanceState",
}
