package albsim

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// This file is target groups and the targets in them.

type targetGroup struct {
	serial     int
	about      elb.TargetGroup
	attributes map[string]string
	targets    map[string]*target // by ID and port
	usedSince  time.Time          // when a rule first named it; zero while none does
}

type target struct {
	about    elb.TargetDescription
	since    time.Time
	drained  time.Time // when draining ends; zero while it is registered
	draining bool
}

func (g *targetGroup) arn() string  { return aws.ToString(g.about.TargetGroupArn) }
func (g *targetGroup) name() string { return aws.ToString(g.about.TargetGroupName) }
func (s *Sim) noTargetGroup(arn string) error {
	return refuse("TargetGroupNotFound", "Target group '%s' not found", arn)
}

func (s *Sim) createTargetGroup(in *api.CreateTargetGroupInput) (*api.CreateTargetGroupOutput, error) {
	name := aws.ToString(in.Name)
	if err := checkName("Target group", name); err != nil {
		return nil, err
	}
	about := elb.TargetGroup{
		TargetGroupName: in.Name, Protocol: in.Protocol, Port: in.Port, VpcId: in.VpcId,
		TargetType:      orUsual(in.TargetType, elb.TargetTypeEnumInstance),
		ProtocolVersion: aws.String(cmp.Or(aws.ToString(in.ProtocolVersion), "HTTP1")),
		IpAddressType:   orUsual(in.IpAddressType, elb.TargetGroupIpAddressTypeEnumIpv4),
	}
	switch {
	case in.Protocol != elb.ProtocolEnumHttp && in.Protocol != elb.ProtocolEnumHttps:
		return nil, refuse("ValidationError", "Protocol '%s' is not supported for application load balancers", in.Protocol)
	case aws.ToInt32(in.Port) < 1 || aws.ToInt32(in.Port) > 65535:
		return nil, refuse("ValidationError", "Port '%d' is not valid", aws.ToInt32(in.Port))
	case !s.net.hasVPC(aws.ToString(in.VpcId)):
		return nil, refuse("ValidationError", "The VPC ID '%s' is not found", aws.ToString(in.VpcId))
	case !slices.Contains([]string{"HTTP1", "HTTP2", "GRPC"}, *about.ProtocolVersion):
		return nil, refuse("ValidationError", "Protocol version '%s' is not valid", *about.ProtocolVersion)
	}
	health := healthOf(in)
	if err := fillHealth(&about, health); err != nil {
		return nil, err
	}
	for _, old := range s.targetGroups {
		if old.name() != name {
			continue
		}
		same := old.about
		same.TargetGroupArn, same.LoadBalancerArns = nil, nil
		if !equalJSON(same, about) || !s.sameTags(old.arn(), in.Tags) {
			return nil, refuse("DuplicateTargetGroupName", "A target group with the same name '%s' exists, but with different settings", name)
		}
		return &api.CreateTargetGroupOutput{TargetGroups: []elb.TargetGroup{s.groupDescribed(old)}}, nil
	}
	if len(s.targetGroups) >= s.options.Limits.TargetGroups {
		return nil, refuse("TooManyTargetGroups", "The maximum number of target groups has been reached")
	}
	about.TargetGroupArn = aws.String(elbARN(fmt.Sprintf("targetgroup/%s/%s", name, s.nextID())))
	if err := s.setTags(*about.TargetGroupArn, in.Tags); err != nil {
		return nil, err
	}
	made := &targetGroup{serial: s.serial, about: about, attributes: maps.Clone(usualGroupAttributes), targets: map[string]*target{}}
	s.targetGroups[made.arn()] = made
	return &api.CreateTargetGroupOutput{TargetGroups: []elb.TargetGroup{s.groupDescribed(made)}}, nil
}

func healthOf(in *api.CreateTargetGroupInput) *api.ModifyTargetGroupInput {
	return &api.ModifyTargetGroupInput{
		HealthCheckEnabled: in.HealthCheckEnabled, HealthCheckIntervalSeconds: in.HealthCheckIntervalSeconds,
		HealthCheckPath: in.HealthCheckPath, HealthCheckPort: in.HealthCheckPort, HealthCheckProtocol: in.HealthCheckProtocol,
		HealthCheckTimeoutSeconds: in.HealthCheckTimeoutSeconds, HealthyThresholdCount: in.HealthyThresholdCount,
		Matcher: in.Matcher, UnhealthyThresholdCount: in.UnhealthyThresholdCount,
	}
}

// fillHealth sets the health check of a target group: what is asked for, else what it has, else
// AWS's defaults.
func fillHealth(g *elb.TargetGroup, in *api.ModifyTargetGroupInput) error {
	grpc := aws.ToString(g.ProtocolVersion) == "GRPC"
	path, codes := "/", &elb.Matcher{HttpCode: aws.String("200")}
	if grpc {
		path, codes = "/AWS.ALB/healthcheck", &elb.Matcher{GrpcCode: aws.String("12")}
	}
	g.HealthCheckEnabled = either(in.HealthCheckEnabled, g.HealthCheckEnabled, true)
	g.HealthCheckIntervalSeconds = either(in.HealthCheckIntervalSeconds, g.HealthCheckIntervalSeconds, 30)
	g.HealthCheckTimeoutSeconds = either(in.HealthCheckTimeoutSeconds, g.HealthCheckTimeoutSeconds, 5)
	g.HealthyThresholdCount = either(in.HealthyThresholdCount, g.HealthyThresholdCount, 5)
	g.UnhealthyThresholdCount = either(in.UnhealthyThresholdCount, g.UnhealthyThresholdCount, 2)
	g.HealthCheckPath = either(in.HealthCheckPath, g.HealthCheckPath, path)
	g.HealthCheckPort = either(in.HealthCheckPort, g.HealthCheckPort, "traffic-port")
	g.HealthCheckProtocol = orUsual(in.HealthCheckProtocol, orUsual(g.HealthCheckProtocol, elb.ProtocolEnumHttp))
	switch {
	case in.Matcher != nil:
		g.Matcher = in.Matcher
	case g.Matcher == nil:
		g.Matcher = codes
	}
	within := func(name string, value *int32, least, most int32) error {
		if *value < least || *value > most {
			return refuse("ValidationError", "Health check %s '%d' must be between '%d' and '%d'", name, *value, least, most)
		}
		return nil
	}
	switch {
	case *g.HealthCheckTimeoutSeconds >= *g.HealthCheckIntervalSeconds:
		return refuse("ValidationError", "Health check timeout '%d' must be smaller than the interval '%d'", *g.HealthCheckTimeoutSeconds, *g.HealthCheckIntervalSeconds)
	case len(*g.HealthCheckPath) > 1024 || !strings.HasPrefix(*g.HealthCheckPath, "/"):
		return refuse("ValidationError", "Health check path '%s' is not valid", *g.HealthCheckPath)
	case *g.HealthCheckPort != "traffic-port" && !isPort(*g.HealthCheckPort):
		return refuse("ValidationError", "Health check port '%s' must be a port or 'traffic-port'", *g.HealthCheckPort)
	}
	return cmp.Or(
		within("interval", g.HealthCheckIntervalSeconds, 5, 300), within("timeout", g.HealthCheckTimeoutSeconds, 2, 120),
		within("healthy threshold", g.HealthyThresholdCount, 2, 10), within("unhealthy threshold", g.UnhealthyThresholdCount, 2, 10),
		checkMatcher(g.Matcher))
}

func checkMatcher(m *elb.Matcher) error {
	if m.HttpCode == nil {
		return nil
	}
	for _, part := range strings.Split(*m.HttpCode, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		low, errLow := strconv.Atoi(from)
		high, errHigh := strconv.Atoi(to)
		if errLow != nil || errHigh != nil || low < 200 || high > 499 || low > high {
			return refuse("ValidationError", "Health check matcher HTTP code '%s' must be within '200-499'", *m.HttpCode)
		}
	}
	return nil
}

func isPort(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 1 && n <= 65535
}

func either[T any](asked, have *T, usual T) *T {
	switch {
	case asked != nil:
		return asked
	case have != nil:
		return have
	}
	return &usual
}

// groupDescribed is a target group with the load balancers that use it.
func (s *Sim) groupDescribed(g *targetGroup) elb.TargetGroup {
	out := g.about
	out.LoadBalancerArns = s.usersOf(g.arn())
	if out.LoadBalancerArns == nil {
		out.LoadBalancerArns = []string{}
	}
	return out
}

func (s *Sim) describeTargetGroups(in *api.DescribeTargetGroupsInput) (*api.DescribeTargetGroupsOutput, error) {
	if len(in.TargetGroupArns) > 20 {
		return nil, refuse("ValidationError", "You cannot describe more than '20' target groups at a time")
	}
	found, err := selected(s.targetGroups, in.TargetGroupArns, s.noTargetGroup, func(g *targetGroup) int { return g.serial })
	if err != nil {
		return nil, err
	}
	for _, name := range in.Names {
		if !slices.ContainsFunc(found, func(g *targetGroup) bool { return g.name() == name }) {
			return nil, refuse("TargetGroupNotFound", "One or more target groups not found")
		}
	}
	if in.LoadBalancerArn != nil && s.loadBalancers[*in.LoadBalancerArn] == nil {
		return nil, s.noLoadBalancer(*in.LoadBalancerArn)
	}
	var out []elb.TargetGroup
	for _, g := range found {
		about := s.groupDescribed(g)
		byName := in.Names == nil || slices.Contains(in.Names, g.name())
		if byName && (in.LoadBalancerArn == nil || slices.Contains(about.LoadBalancerArns, *in.LoadBalancerArn)) {
			out = append(out, about)
		}
	}
	part, next, err := page(out, in.Marker, in.PageSize, 400)
	if err != nil {
		return nil, err
	}
	return &api.DescribeTargetGroupsOutput{TargetGroups: part, NextMarker: next}, nil
}

func (s *Sim) modifyTargetGroup(in *api.ModifyTargetGroupInput) (*api.ModifyTargetGroupOutput, error) {
	g := s.targetGroups[aws.ToString(in.TargetGroupArn)]
	if g == nil {
		return nil, s.noTargetGroup(aws.ToString(in.TargetGroupArn))
	}
	about := g.about
	if err := fillHealth(&about, in); err != nil {
		return nil, err
	}
	g.about = about
	return &api.ModifyTargetGroupOutput{TargetGroups: []elb.TargetGroup{s.groupDescribed(g)}}, nil
}

func (s *Sim) deleteTargetGroup(in *api.DeleteTargetGroupInput) (*api.DeleteTargetGroupOutput, error) {
	arn := aws.ToString(in.TargetGroupArn)
	if s.targetGroups[arn] == nil {
		return &api.DeleteTargetGroupOutput{}, nil
	}
	if len(s.usersOf(arn)) > 0 || s.lingers(arn) {
		return nil, refuse("ResourceInUse", "Target group '%s' is currently in use by a listener or a rule", arn)
	}
	delete(s.targetGroups, arn)
	delete(s.tags, arn)
	return &api.DeleteTargetGroupOutput{}, nil
}

var usualGroupAttributes = map[string]string{
	"deregistration_delay.timeout_seconds": "300", "slow_start.duration_seconds": "0",
	"stickiness.enabled": "false", "stickiness.type": "lb_cookie", "stickiness.lb_cookie.duration_seconds": "86400",
	"stickiness.app_cookie.cookie_name": "", "stickiness.app_cookie.duration_seconds": "86400",
	"load_balancing.algorithm.type": "round_robin", "load_balancing.algorithm.anomaly_mitigation": "off",
	"load_balancing.cross_zone.enabled":                                              "use_load_balancer_configuration",
	"waf.http2.traffic_inspection_behavior":                                          "inspect_immediately",
	"routing.http2.rst_stream_error_forwarding.enabled":                              "false",
	"target_group_health.dns_failover.minimum_healthy_targets.count":                 "1",
	"target_group_health.dns_failover.minimum_healthy_targets.percentage":            "off",
	"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      "1",
	"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": "off",
}

func (s *Sim) describeTargetGroupAttributes(in *api.DescribeTargetGroupAttributesInput) (*api.DescribeTargetGroupAttributesOutput, error) {
	g := s.targetGroups[aws.ToString(in.TargetGroupArn)]
	if g == nil {
		return nil, s.noTargetGroup(aws.ToString(in.TargetGroupArn))
	}
	return &api.DescribeTargetGroupAttributesOutput{Attributes: listAttributes[elb.TargetGroupAttribute](g.attributes)}, nil
}

func (s *Sim) modifyTargetGroupAttributes(in *api.ModifyTargetGroupAttributesInput) (*api.ModifyTargetGroupAttributesOutput, error) {
	g := s.targetGroups[aws.ToString(in.TargetGroupArn)]
	if g == nil {
		return nil, s.noTargetGroup(aws.ToString(in.TargetGroupArn))
	}
	if clings(in.Attributes) && s.shared(g.arn()) {
		return nil, refuse("InvalidConfigurationRequest", "This target group appears behind a rule with group stickiness disabled (%s). You must enable group stickiness before enabling target stickiness", g.arn())
	}
	after := maps.Clone(g.attributes)
	if err := changeAttributes(after, in.Attributes, usualGroupAttributes, "Target group"); err != nil {
		return nil, err
	}
	if err := checkCombination(after, aws.ToString(g.about.ProtocolVersion)); err != nil {
		return nil, err
	}
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/disable-cross-zone.html: an error "if any
	// targets have parameter AvailabilityZone set to all". Its words are not documented.
	if after[crossZone] == "false" && g.crossesZones() {
		for _, t := range g.targets {
			if !t.draining && aws.ToString(t.about.AvailabilityZone) == "all" {
				return nil, refuse("InvalidConfigurationRequest", "Cross-zone load balancing cannot be turned off: the Availability Zone of target '%s' is 'all'", aws.ToString(t.about.Id))
			}
		}
	}
	g.attributes = after
	return &api.ModifyTargetGroupAttributesOutput{Attributes: listAttributes[elb.TargetGroupAttribute](g.attributes)}, nil
}

// clings reports whether attributes have a target group keep clients with a target.
func clings(attributes []elb.TargetGroupAttribute) bool {
	return slices.ContainsFunc(attributes, func(a elb.TargetGroupAttribute) bool {
		return aws.ToString(a.Key) == "stickiness.enabled" && aws.ToString(a.Value) == "true"
	})
}

// shared reports whether an action shares requests between a target group and others, and keeps no
// clients with a group.
func (s *Sim) shared(group string) bool {
	shares := func(a elb.Action) bool {
		c := a.ForwardConfig
		return c != nil && len(c.TargetGroups) > 1 && !aws.ToBool(c.TargetGroupStickinessConfig.Enabled) &&
			slices.ContainsFunc(c.TargetGroups, func(g elb.TargetGroupTuple) bool { return aws.ToString(g.TargetGroupArn) == group })
	}
	for _, l := range s.listeners {
		if slices.ContainsFunc(l.about.DefaultActions, shares) {
			return true
		}
	}
	for _, r := range s.rules {
		if slices.ContainsFunc(r.about.Actions, shares) {
			return true
		}
	}
	return false
}

// key names a target in its group; a target without a port has the group's.
func (g *targetGroup) key(t elb.TargetDescription) string {
	return fmt.Sprintf("%s:%d", aws.ToString(t.Id), *either(t.Port, g.about.Port, 0))
}

func (s *Sim) registerTargets(in *api.RegisterTargetsInput) (*api.RegisterTargetsOutput, error) {
	g := s.targetGroups[aws.ToString(in.TargetGroupArn)]
	if g == nil {
		return nil, s.noTargetGroup(aws.ToString(in.TargetGroupArn))
	}
	if len(in.Targets) > 200 {
		return nil, refuse("ValidationError", "Too many targets in one call")
	}
	fresh := map[string]elb.TargetDescription{}
	for _, t := range in.Targets {
		if err := s.checkTarget(g, t); err != nil {
			return nil, err
		}
		if known := g.targets[g.key(t)]; known == nil || known.draining {
			fresh[g.key(t)] = t
		}
	}
	registered := 0
	for _, t := range g.targets {
		if !t.draining {
			registered++
		}
	}
	if registered+len(fresh) > s.options.Limits.TargetsPerGroup {
		return nil, refuse("TooManyTargets", "The maximum number of targets has been reached in target group '%s'", g.arn())
	}
	for _, user := range s.usersOf(g.arn()) {
		if s.targetCount(user)+len(fresh) > s.options.Limits.TargetsPerLoadBalancer {
			return nil, refuse("TooManyTargets", "The maximum number of targets has been reached on load balancer '%s'", user)
		}
	}
	for key, t := range fresh {
		t.Port = either(t.Port, g.about.Port, 0)
		g.targets[key] = &target{about: t, since: s.now()}
	}
	return &api.RegisterTargetsOutput{}, nil
}

// targetCount is the number of targets over all groups of a load balancer.
func (s *Sim) targetCount(lb string) int {
	n := 0
	for _, g := range s.targetGroups {
		if slices.Contains(s.usersOf(g.arn()), lb) {
			n += len(g.targets)
		}
	}
	return n
}

func (s *Sim) checkTarget(g *targetGroup, t elb.TargetDescription) error {
	id := aws.ToString(t.Id)
	if g.about.TargetType == elb.TargetTypeEnumInstance {
		if !s.net.hasInstance(id) {
			return refuse("InvalidTarget", "The following targets are not in a running state and cannot be registered: '%s'", id)
		}
		if t.AvailabilityZone != nil {
			return refuse("ValidationError", "You cannot specify an Availability Zone for the target '%s'", id)
		}
		return nil
	}
	ip, err := netip.ParseAddr(id)
	if err != nil {
		return refuse("ValidationError", "The IP address '%s' is not a valid IP address", id)
	}
	if ip.Is6() != (g.about.IpAddressType == elb.TargetGroupIpAddressTypeEnumIpv6) {
		return refuse("ValidationError", "The IP address '%s' is not of the target group's type", id)
	}
	// The words are those that
	// https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/3084 and 561 quote.
	zone, inside := s.net.zoneOf(ip)
	switch asked := aws.ToString(t.AvailabilityZone); {
	case inside && asked != "" && asked != zone:
		return refuse("ValidationError", "The IP address '%s' is within the VPC, and cannot have its Availability Zone overridden to '%s' from '%s'", id, asked, zone)
	case !inside && asked == "":
		return refuse("ValidationError", "You must specify a valid Availability Zone or select 'all' for all enabled Availability zones, since the IP address '%s' is outside the VPC", id)
	}
	// The words are those of https://github.com/kubernetes-sigs/aws-load-balancer-controller/pull/4496.
	if asked := aws.ToString(t.AvailabilityZone); !inside && asked == "all" && !g.crossesZones() {
		return refuse("ValidationError", "When cross-zone load balancing is disabled on this target group, you must specify an Availability Zone for IP target '%s' since it is outside of the VPC", id)
	}
	private := ip.IsPrivate() || netip.MustParsePrefix("100.64.0.0/10").Contains(ip) || ip.Is6()
	if !private && !s.net.contains(ip) {
		return refuse("ValidationError", "The IP address '%s' is not within any of the VPC's ranges or a private one", id)
	}
	return nil
}

// crossesZones reports whether each node of a load balancer sends requests to the targets of all zones.
func (g *targetGroup) crossesZones() bool { return g.attributes[crossZone] != "false" }

const crossZone = "load_balancing.cross_zone.enabled"

func (s *Sim) deregisterTargets(in *api.DeregisterTargetsInput) (*api.DeregisterTargetsOutput, error) {
	g := s.targetGroups[aws.ToString(in.TargetGroupArn)]
	if g == nil {
		return nil, s.noTargetGroup(aws.ToString(in.TargetGroupArn))
	}
	seconds, err := strconv.Atoi(g.attributes["deregistration_delay.timeout_seconds"])
	if err != nil {
		return nil, err
	}
	for _, t := range in.Targets {
		if known := g.targets[g.key(t)]; known != nil && !known.draining {
			known.draining, known.drained = true, s.now().Add(time.Duration(seconds)*time.Second)
			s.drainsAt(known.drained)
		}
	}
	return &api.DeregisterTargetsOutput{}, nil
}

func (s *Sim) describeTargetHealth(in *api.DescribeTargetHealthInput) (*api.DescribeTargetHealthOutput, error) {
	g := s.targetGroups[aws.ToString(in.TargetGroupArn)]
	if g == nil {
		return nil, s.noTargetGroup(aws.ToString(in.TargetGroupArn))
	}
	asked := map[string]bool{}
	for _, t := range in.Targets {
		if g.targets[g.key(t)] == nil {
			return nil, refuse("InvalidTarget", "The following targets are not registered: '%s'", g.key(t))
		}
		asked[g.key(t)] = true
	}
	out := &api.DescribeTargetHealthOutput{TargetHealthDescriptions: []elb.TargetHealthDescription{}}
	for _, key := range sortedKeys(g.targets) {
		if len(asked) > 0 && !asked[key] {
			continue
		}
		t := g.targets[key]
		state, reason := s.health(g, t)
		out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, elb.TargetHealthDescription{
			Target: &t.about, TargetHealth: &elb.TargetHealth{State: state, Reason: reason}, HealthCheckPort: aws.String(strconv.Itoa(int(aws.ToInt32(t.about.Port)))),
		})
	}
	return out, nil
}

// health is the state of a target at the moment.
func (s *Sim) health(g *targetGroup, t *target) (elb.TargetHealthStateEnum, elb.TargetHealthReasonEnum) {
	checked := t.since
	if g.usedSince.After(checked) {
		checked = g.usedSince
	}
	switch {
	case t.draining:
		return elb.TargetHealthStateEnumDraining, elb.TargetHealthReasonEnumDeregistrationInProgress
	case g.usedSince.IsZero(), s.apart(g, t):
		return elb.TargetHealthStateEnumUnused, elb.TargetHealthReasonEnumNotInUse
	case s.now().Before(checked.Add(s.options.Health)):
		return elb.TargetHealthStateEnumInitial, elb.TargetHealthReasonEnumRegistrationInProgress
	case s.options.Sick != nil && s.options.Sick(g.name(), t.about):
		return elb.TargetHealthStateEnumUnhealthy, elb.TargetHealthReasonEnumFailedHealthChecks
	}
	return elb.TargetHealthStateEnumHealthy, ""
}

// apart reports whether a target is in a zone in which no load balancer of its group has a subnet:
// "these registered targets do not receive traffic from the load balancer"
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/application-load-balancers.html).
func (s *Sim) apart(g *targetGroup, t *target) bool {
	zone := s.net.zoneOfTarget(aws.ToString(t.about.Id))
	users := s.usersOf(g.arn())
	return zone != "" && len(users) > 0 && !slices.ContainsFunc(users, func(user string) bool {
		l := s.loadBalancers[user]
		return l != nil && slices.ContainsFunc(l.about.AvailabilityZones, func(z elb.AvailabilityZone) bool { return aws.ToString(z.ZoneName) == zone })
	})
}
