package lb

import "time"

// This file has the facts about AWS Application Load Balancers: limits, and attributes of target
// groups.

// ALB is an AWS Application Load Balancer with the limits that AWS publishes. A live provider
// replaces those that an account can have raised.
func ALB() Capabilities {
	return Capabilities{
		Name:    "alb",
		Dialect: Dialect{Doubt: Doubt{HostPort: true, HostCase: true, Decoding: true}},
		Regex:   true, Rewrites: true, Auth: true,
		// At least one dot, and only letters behind the last.
		HostValue:      `^[A-Za-z0-9_*?-][A-Za-z0-9_.*?-]*\.[A-Za-z*?]+$`,
		PathCharacters: `ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.$/~"'@:+&*?`,

		// "You cannot specify the 255.255.255.255/32 CIDR block for the source IP rule condition."
		// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/rule-condition-types.html
		SourcesRefused: []string{"255.255.255.255/32"},
		ValueLength:    128, NameLength: 40, ValuesPerCondition: 5, ValuesPerRule: 5, WildcardsPerRule: 5,
		Rules: 100, TargetGroups: 100, TargetsPerForward: 5, MaxWeight: 999, BodyLength: 1024, NoFixed3xx: true, StrictRedirects: true,
		ContentTypes: []string{"text/plain", "text/css", "text/html", "application/javascript",
			"application/json"},
		Certificates: 25, Listeners: 50, Verifying: 2, TargetsPerGroup: 1000, TargetsPerLoadBalancer: 1000,
		Quotas: Quotas{
			Rules: "L-7EED9B64", TargetGroups: "L-822D1B1B", Certificates: "L-9365A611", Listeners: "L-B6DF7632",
			TargetsPerGroup: "L-A0D0B863", TargetsPerLoadBalancer: "L-7E6692B2",
		},
		GroupAttributes: albGroupAttributes(), StickyAttribute: "stickiness.enabled", HTTP2NeedsTLS: true,
		// RegisterTargets: "If the target type is ip, specify an IP address".
		// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_TargetDescription.html
		AddressesOnly: true,
		Inbound:       true, InstanceIDs: true, WebACLs: true, Shields: true,
		DeletionProtection: deletionProtection,
		MinPriority:        1, MaxPriority: 50000,
		Settle: 60 * time.Second, Gather: 500 * time.Millisecond,
	}
}

// ALBGlob is an ALB whose class has switched regular expressions off.
func ALBGlob() Capabilities {
	c := ALB()
	c.Name, c.Regex = "alb-glob", false
	return c
}

// albGroupAttributes are the attributes that AWS documents for target groups of Application Load
// Balancers.
func albGroupAttributes() map[string]Attribute {
	toggle := Attribute{Values: []string{"true", "false"}}
	week := Attribute{Least: 1, Most: 7 * 24 * 60 * 60}
	count, percentage := Attribute{Values: []string{"off"}, Least: 1,
		Most: 1000}, Attribute{Values: []string{"off"}, Least: 1, Most: 100}
	return map[string]Attribute{
		"deregistration_delay.timeout_seconds": {Least: 0,
			Most: 3600},
		"load_balancing.algorithm.anomaly_mitigation": {Values: []string{"on",
			"off"}},
		"load_balancing.algorithm.type": {Values: []string{"round_robin", "least_outstanding_requests", "weighted_random"}},
		"load_balancing.cross_zone.enabled": {Values: []string{"true",
			"false", "use_load_balancer_configuration"}},
		"slow_start.duration_seconds": {Values: []string{"0"},
			Least: 30, Most: 900},
		"stickiness.app_cookie.cookie_name":                                   {Text: true},
		"stickiness.app_cookie.duration_seconds":                              week,
		"stickiness.enabled":                                                  toggle,
		"stickiness.lb_cookie.duration_seconds":                               week,
		"stickiness.type":                                                     {Values: []string{"lb_cookie", "app_cookie"}},
		"target_group_health.dns_failover.minimum_healthy_targets.count":      count,
		"target_group_health.dns_failover.minimum_healthy_targets.percentage": percentage,
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count": {Least: 1,
			Most: 1000},
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": percentage,
	}
}

// Named returns a capability set by its name, for tests and tools.
func Named(name string) (Capabilities, bool) {
	for _, c := range []Capabilities{Literal(), ALB(), ALBGlob()} {
		if c.Name == name {
			return c, true
		}
	}
	return Capabilities{}, false
}
