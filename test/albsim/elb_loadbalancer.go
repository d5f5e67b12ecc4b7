package albsim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// This file is load balancers.

type loadBalancer struct {
	serial     int
	about      elb.LoadBalancer
	attributes map[string]string
	activeAt   time.Time
	state      elb.LoadBalancerState // that a test has put it into; zero for none
	plane      plane
}

func (l *loadBalancer) arn() string { return aws.ToString(l.about.LoadBalancerArn) }

func (s *Sim) noLoadBalancer(arn string) error {
	return refuse("LoadBalancerNotFound", "Load balancer '%s' not found", arn)
}

// useRole refuses a load balancer while IAM does not know the service-linked role everywhere that
// the first one made. The words are those that ECS has for its own.
func (s *Sim) useRole() error {
	if !s.options.FirstUse {
		return nil
	}
	if s.roleMade.IsZero() {
		s.roleMade = s.now()
	}
	if !s.now().Before(s.roleMade.Add(s.options.Lag)) {
		return nil
	}
	if s.roleRefusals++; s.roleRefusals%2 == 0 {
		return refuse("AccessDenied", "Access denied.")
	}
	return refuse("InvalidConfigurationRequest", "Unable to assume the service linked role. Please verify that the ELB service linked role exists.")
}

func (s *Sim) createLoadBalancer(in *api.CreateLoadBalancerInput) (*api.CreateLoadBalancerOutput, error) {
	name := aws.ToString(in.Name)
	if err := checkName("Load balancer", name); err != nil {
		return nil, err
	}
	if in.Type != "" && in.Type != elb.LoadBalancerTypeEnumApplication {
		return nil, refuse("ValidationError", "only application load balancers are simulated")
	}
	subnets, err := subnetsIn(in.Subnets, in.SubnetMappings)
	if err != nil {
		return nil, err
	}
	zones, vpc, err := s.zones(subnets)
	if err != nil {
		return nil, err
	}
	groups, err := s.groupsOf(in.SecurityGroups, vpc)
	if err != nil {
		return nil, err
	}
	if err := s.checkFamily(orUsual(in.IpAddressType, elb.IpAddressTypeIpv4), orUsual(in.Scheme, elb.LoadBalancerSchemeEnumInternetFacing), zones); err != nil {
		return nil, err
	}
	about := elb.LoadBalancer{
		LoadBalancerName: in.Name, Type: elb.LoadBalancerTypeEnumApplication, VpcId: aws.String(vpc),
		Scheme: orUsual(in.Scheme, elb.LoadBalancerSchemeEnumInternetFacing), IpAddressType: orUsual(in.IpAddressType, elb.IpAddressTypeIpv4),
		AvailabilityZones: zones, SecurityGroups: groups, CustomerOwnedIpv4Pool: in.CustomerOwnedIpv4Pool, IpamPools: in.IpamPools,
	}
	if err := s.useRole(); err != nil {
		return nil, err
	}
	for _, old := range s.loadBalancers {
		if aws.ToString(old.about.LoadBalancerName) != name {
			continue
		}
		if !sameLoadBalancer(old.about, about) || !s.sameTags(old.arn(), in.Tags) {
			return nil, refuse("DuplicateLoadBalancerName", "A load balancer with the same name '%s' exists, but with different settings", name)
		}
		return &api.CreateLoadBalancerOutput{LoadBalancers: []elb.LoadBalancer{s.described(old)}}, nil
	}
	if len(s.loadBalancers) >= s.options.Limits.LoadBalancers {
		return nil, refuse("TooManyLoadBalancers", "The maximum number of load balancers has been reached")
	}
	id := s.nextID()
	about.LoadBalancerArn = aws.String(elbARN(fmt.Sprintf("loadbalancer/app/%s/%s", name, id)))
	about.CanonicalHostedZoneId = aws.String("Z32O12XQLNTSW2")
	about.CreatedTime = aws.Time(s.now())
	prefix := ""
	if about.Scheme == elb.LoadBalancerSchemeEnumInternal {
		prefix = "internal-"
	}
	about.DNSName = aws.String(fmt.Sprintf("%s%s-%s.%s.elb.amazonaws.com", prefix, name, id[:10], Region))
	if err := s.setTags(*about.LoadBalancerArn, in.Tags); err != nil {
		return nil, err
	}
	made := &loadBalancer{serial: s.serial, about: about, attributes: usualAttributesOf(about.Scheme), activeAt: s.now().Add(s.options.Provisioning)}
	s.loadBalancers[made.arn()] = made
	return &api.CreateLoadBalancerOutput{LoadBalancers: []elb.LoadBalancer{s.described(made)}}, nil
}

// subnetsIn are the subnets of a call, which names them or has a mapping for each:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateLoadBalancer.html, SubnetMappings.
func subnetsIn(ids []string, mappings []elb.SubnetMapping) ([]string, error) {
	if len(ids) > 0 && len(mappings) > 0 {
		return nil, refuse("ValidationError", "You must specify either subnets or subnet mappings, but not both")
	}
	for _, m := range mappings {
		if m.AllocationId != nil || m.PrivateIPv4Address != nil || m.IPv6Address != nil {
			return nil, refuse("InvalidConfigurationRequest", "Addresses of subnets cannot be specified for load balancers of type 'application'")
		}
		ids = append(ids, aws.ToString(m.SubnetId))
	}
	return ids, nil
}

// sameLoadBalancer reports whether a load balancer is what is asked for again.
func sameLoadBalancer(have, want elb.LoadBalancer) bool {
	return have.Scheme == want.Scheme && have.IpAddressType == want.IpAddressType && aws.ToString(have.VpcId) == aws.ToString(want.VpcId) &&
		slices.Equal(subnetsOf(have), subnetsOf(want)) && slices.Equal(have.SecurityGroups, want.SecurityGroups)
}

func subnetsOf(l elb.LoadBalancer) []string {
	var out []string
	for _, z := range l.AvailabilityZones {
		out = append(out, aws.ToString(z.SubnetId))
	}
	slices.Sort(out)
	return out
}

// described is a load balancer as it is at the moment.
func (s *Sim) described(l *loadBalancer) elb.LoadBalancer {
	out := l.about
	out.State = &elb.LoadBalancerState{Code: elb.LoadBalancerStateEnumActive}
	switch {
	case l.state.Code == elb.LoadBalancerStateEnumFailed:
		out.State = &l.state
	case s.now().Before(l.activeAt):
		out.State.Code = elb.LoadBalancerStateEnumProvisioning
	case l.state.Code != "":
		out.State = &l.state
	}
	return out
}

// SetState has load balancers impaired, or their set-up fail, for a reason; no code makes them as
// they were.
func (s *Sim) SetState(code elb.LoadBalancerStateEnum, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.loadBalancers {
		l.state = elb.LoadBalancerState{Code: code, Reason: aws.String(reason)}
	}
}

func (s *Sim) describeLoadBalancers(in *api.DescribeLoadBalancersInput) (*api.DescribeLoadBalancersOutput, error) {
	if len(in.LoadBalancerArns) > 20 || len(in.Names) > 20 {
		return nil, refuse("ValidationError", "You cannot describe more than '20' load balancers at a time")
	}
	found, err := selected(s.loadBalancers, in.LoadBalancerArns, s.noLoadBalancer, func(l *loadBalancer) int { return l.serial })
	if err != nil {
		return nil, err
	}
	for _, name := range in.Names {
		if !slices.ContainsFunc(found, func(l *loadBalancer) bool { return aws.ToString(l.about.LoadBalancerName) == name }) {
			return nil, refuse("LoadBalancerNotFound", "Load balancers '[%s]' not found", name)
		}
	}
	var out []elb.LoadBalancer
	for _, l := range found {
		if in.Names == nil || slices.Contains(in.Names, aws.ToString(l.about.LoadBalancerName)) {
			out = append(out, s.described(l))
		}
	}
	part, next, err := page(out, in.Marker, in.PageSize, 400)
	if err != nil {
		return nil, err
	}
	return &api.DescribeLoadBalancersOutput{LoadBalancers: part, NextMarker: next}, nil
}

func (s *Sim) deleteLoadBalancer(in *api.DeleteLoadBalancerInput) (*api.DeleteLoadBalancerOutput, error) {
	arn := aws.ToString(in.LoadBalancerArn)
	l := s.loadBalancers[arn]
	if l == nil {
		return &api.DeleteLoadBalancerOutput{}, nil
	}
	if l.attributes["deletion_protection.enabled"] == "true" {
		return nil, refuse("OperationNotPermitted", "Load balancer '%s' cannot be deleted because deletion protection is enabled", arn)
	}
	if s.webACLs[arn] != "" {
		delete(s.webACLs, arn)
	}
	for _, listener := range s.listenersOf(arn) {
		s.dropListener(listener)
	}
	for _, group := range l.about.SecurityGroups {
		s.linger(group)
	}
	s.touch(arn)
	delete(s.loadBalancers, arn)
	delete(s.tags, arn)
	return &api.DeleteLoadBalancerOutput{}, nil
}

func (s *Sim) setSecurityGroups(in *api.SetSecurityGroupsInput) (*api.SetSecurityGroupsOutput, error) {
	l := s.loadBalancers[aws.ToString(in.LoadBalancerArn)]
	if l == nil {
		return nil, s.noLoadBalancer(aws.ToString(in.LoadBalancerArn))
	}
	groups, err := s.groupsOf(in.SecurityGroups, aws.ToString(l.about.VpcId))
	if err != nil {
		return nil, err
	}
	for _, old := range l.about.SecurityGroups {
		if !slices.Contains(groups, old) {
			s.linger(old)
		}
	}
	l.about.SecurityGroups = groups
	return &api.SetSecurityGroupsOutput{SecurityGroupIds: groups}, nil
}

func (s *Sim) setSubnets(in *api.SetSubnetsInput) (*api.SetSubnetsOutput, error) {
	l := s.loadBalancers[aws.ToString(in.LoadBalancerArn)]
	if l == nil {
		return nil, s.noLoadBalancer(aws.ToString(in.LoadBalancerArn))
	}
	subnets, err := subnetsIn(in.Subnets, in.SubnetMappings)
	if err != nil {
		return nil, err
	}
	zones, vpc, err := s.zones(subnets)
	if err != nil {
		return nil, err
	}
	if vpc != aws.ToString(l.about.VpcId) {
		return nil, refuse("InvalidSubnet", "The subnets are not in the VPC of the load balancer")
	}
	family := orUsual(in.IpAddressType, l.about.IpAddressType)
	if err := s.checkGroups(l, family); err != nil {
		return nil, err
	}
	if err := s.checkFamily(family, l.about.Scheme, zones); err != nil {
		return nil, err
	}
	l.about.AvailabilityZones, l.about.IpAddressType = zones, family
	return &api.SetSubnetsOutput{AvailabilityZones: zones, IpAddressType: l.about.IpAddressType}, nil
}

func (s *Sim) setIPAddressType(in *api.SetIpAddressTypeInput) (*api.SetIpAddressTypeOutput, error) {
	l := s.loadBalancers[aws.ToString(in.LoadBalancerArn)]
	if l == nil {
		return nil, s.noLoadBalancer(aws.ToString(in.LoadBalancerArn))
	}
	if err := s.checkFamily(in.IpAddressType, l.about.Scheme, l.about.AvailabilityZones); err != nil {
		return nil, err
	}
	if err := s.checkGroups(l, in.IpAddressType); err != nil {
		return nil, err
	}
	l.about.IpAddressType = in.IpAddressType
	return &api.SetIpAddressTypeOutput{IpAddressType: in.IpAddressType}, nil
}

// checkGroups refuses to take the IPv6 addresses from a load balancer that has IPv6 target groups.
func (s *Sim) checkGroups(l *loadBalancer, family elb.IpAddressType) error {
	if family != elb.IpAddressTypeIpv4 {
		return nil
	}
	for arn, g := range s.targetGroups {
		if g.about.IpAddressType == elb.TargetGroupIpAddressTypeEnumIpv6 && slices.Contains(s.usersOf(arn), l.arn()) {
			return refuse("InvalidConfigurationRequest", "The load balancer has IPv6 target groups, which one with an 'ipv4' IP address type cannot have")
		}
	}
	return nil
}

// checkFamily refuses an IP family that the scheme or the subnets have no addresses for.
func (s *Sim) checkFamily(family elb.IpAddressType, scheme elb.LoadBalancerSchemeEnum, zones []elb.AvailabilityZone) error {
	switch {
	case family == elb.IpAddressTypeIpv4:
		return nil
	case family == elb.IpAddressTypeDualstackWithoutPublicIpv4 && scheme != elb.LoadBalancerSchemeEnumInternetFacing:
		return refuse("ValidationError", "'dualstack-without-public-ipv4' is only possible for internet-facing load balancers")
	}
	for _, z := range zones {
		if len(s.net.subnets[aws.ToString(z.SubnetId)].Ipv6CidrBlockAssociationSet) == 0 {
			return refuse("InvalidConfigurationRequest", "The subnet '%s' must have an associated IPv6 CIDR block", aws.ToString(z.SubnetId))
		}
	}
	return nil
}

var usualLoadBalancerAttributes = map[string]string{
	"access_logs.s3.enabled": "false", "access_logs.s3.bucket": "", "access_logs.s3.prefix": "",
	"health_check_logs.s3.enabled": "false", "health_check_logs.s3.bucket": "", "health_check_logs.s3.prefix": "",
	"connection_logs.s3.enabled": "false", "connection_logs.s3.bucket": "", "connection_logs.s3.prefix": "",
	"client_keep_alive.seconds": "3600", "deletion_protection.enabled": "false", "idle_timeout.timeout_seconds": "60",
	"load_balancing.cross_zone.enabled": "true", "routing.http.desync_mitigation_mode": "defensive",
	"routing.http.drop_invalid_header_fields.enabled": "false", "routing.http.preserve_host_header.enabled": "false",
	"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": "false", "routing.http.x_amzn_tls_kx.enabled": "false", "routing.http.xff_client_port.enabled": "false",
	"routing.http.xff_header_processing.mode": "append", "routing.http2.enabled": "true", "waf.fail_open.enabled": "false",
	"zonal_shift.config.enabled": "false", "ipv6.deny_all_igw_traffic": "false",
}

// usualAttributesOf are the attributes of a new load balancer: ipv6.deny_all_igw_traffic is "false for
// internet-facing load balancers and true for internal load balancers"
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_LoadBalancerAttribute.html).
func usualAttributesOf(scheme elb.LoadBalancerSchemeEnum) map[string]string {
	out := maps.Clone(usualLoadBalancerAttributes)
	if scheme == elb.LoadBalancerSchemeEnumInternal {
		out["ipv6.deny_all_igw_traffic"] = "true"
	}
	return out
}

func (s *Sim) describeLoadBalancerAttributes(in *api.DescribeLoadBalancerAttributesInput) (*api.DescribeLoadBalancerAttributesOutput, error) {
	l := s.loadBalancers[aws.ToString(in.LoadBalancerArn)]
	if l == nil {
		return nil, s.noLoadBalancer(aws.ToString(in.LoadBalancerArn))
	}
	return &api.DescribeLoadBalancerAttributesOutput{Attributes: listAttributes[elb.LoadBalancerAttribute](l.attributes)}, nil
}

func (s *Sim) modifyLoadBalancerAttributes(in *api.ModifyLoadBalancerAttributesInput) (*api.ModifyLoadBalancerAttributesOutput, error) {
	l := s.loadBalancers[aws.ToString(in.LoadBalancerArn)]
	if l == nil {
		return nil, s.noLoadBalancer(aws.ToString(in.LoadBalancerArn))
	}
	after := maps.Clone(l.attributes)
	if err := changeAttributes(after, in.Attributes, usualLoadBalancerAttributes, "Load balancer"); err != nil {
		return nil, err
	}
	if err := s.checkLogs(after); err != nil {
		return nil, err
	}
	l.attributes = after
	return &api.ModifyLoadBalancerAttributesOutput{Attributes: listAttributes[elb.LoadBalancerAttribute](l.attributes)}, nil
}

// sameTags reports whether something has the tags that are asked for again, if that counts.
func (s *Sim) sameTags(arn string, tags []elb.Tag) bool {
	return s.options.TagsAside || maps.Equal(s.tags[arn], tagMap(tags))
}

func tagMap(tags []elb.Tag) map[string]string {
	out := map[string]string{}
	for _, t := range tags {
		out[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return out
}

func orUsual[T ~string](value, usual T) T {
	if value == "" {
		return usual
	}
	return value
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), strings.Compare)
}
