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
		BalancerAttributes: albBalancerAttributes(),
		GroupAttributes:    albGroupAttributes(),
		StickyAttribute:    "stickiness.enabled", HTTP2NeedsTLS: true,
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

// albBalancerAttributes are the attributes that AWS documents for Application Load Balancers. That
// of cross-zone load balancing cannot be changed: it is always on.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/, there
// API_LoadBalancerAttribute.html
func albBalancerAttributes() map[string]Attribute {
	toggle := Attribute{Values: []string{"true", "false"}}
	out := map[string]Attribute{
		deletionProtection:                  toggle,
		"client_keep_alive.seconds":         {Least: 60, Most: 604800},
		"idle_timeout.timeout_seconds":      {Least: 1, Most: 4000},
		"ipv6.deny_all_igw_traffic":         toggle,
		"load_balancing.cross_zone.enabled": {Values: []string{"true"}},
		"routing.http.desync_mitigation_mode": {
			Values: []string{"monitor", "defensive", "strictest"}},
		"routing.http.drop_invalid_header_fields.enabled":          toggle,
		"routing.http.preserve_host_header.enabled":                toggle,
		"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": toggle,
		"routing.http.xff_client_port.enabled":                     toggle,
		"routing.http.xff_header_processing.mode": {
			Values: []string{"append", "preserve", "remove"}},
		"routing.http2.enabled":      toggle,
		"waf.fail_open.enabled":      toggle,
		"zonal_shift.config.enabled": toggle,
	}
	for _, logs := range []string{"access_logs", "connection_logs", "health_check_logs"} {
		out[logs+".s3.enabled"] = toggle
		out[logs+".s3.bucket"] = Attribute{Text: true}
		out[logs+".s3.prefix"] = Attribute{Text: true}
	}
	return out
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
		"load_balancing.algorithm.type": {Values: []string{"round_robin", "least_outstanding_requests",
			"weighted_random"}},
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
