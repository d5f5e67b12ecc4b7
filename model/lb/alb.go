package lb

import (
	"time"

	"fairlead.dev/fairlead/model/routing"
)

// This file has the facts about AWS Application Load Balancers: limits, and attributes with their
// defaults.

// ALB returns the capabilities of an AWS Application Load Balancer, with the limits that AWS
// publishes. A live provider replaces those that an account can raise.
func ALB() Capabilities {
	return Capabilities{
		Name:    "alb",
		Dialect: Dialect{Doubt: Doubt{HostPort: true, HostCase: true, Decoding: true}},
		Regex:   true, HeaderRegex: true, QueryPairs: true, Rewrites: true, Undocumented: true, Auth: true,
		// At least one dot, and only letters behind the last.
		HostValue:      `^[A-Za-z0-9_*?-][A-Za-z0-9_.*?-]*\.[A-Za-z*?]+$`,
		PathCharacters: `ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.$/~"'@:+&*?`,

		// "You cannot specify the 255.255.255.255/32 CIDR block for the source IP rule condition."
		// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/rule-condition-types.html
		SourcesRefused: []string{"255.255.255.255/32"},
		ValueLength:    128, NameLength: 40, ValuesPerCondition: 5, ValuesPerRule: 5, WildcardsPerRule: 5,
		Rules: 100, TargetGroups: 100, TargetsPerForward: 5, MaxWeight: 999, BodyLength: 1024,
		OtherTargetGroups: true,
		NoFixed3xx:        true, StrictRedirects: true,
		ContentTypes: []string{"text/plain", "text/css", "text/html", "application/javascript",
			"application/json"},
		Certificates: 25, Listeners: 50, Verifying: 2, TargetsPerGroup: 1000,
		TargetsPerLoadBalancer: 1000,
		Quotas: Quotas{
			Rules: "L-7EED9B64", TargetGroups: "L-822D1B1B", Certificates: "L-9365A611",
			Listeners: "L-B6DF7632", TargetsPerGroup: "L-A0D0B863", TargetsPerLoadBalancer: "L-7E6692B2",
		},
		BalancerAttributes: attributesIn(albBalancerAttributes()),
		ListenerAttributes: attributesIn(albListenerAttributes()),
		GroupAttributes:    attributesIn(albGroupAttributes()),
		StickyAttribute:    stickiness, HTTP2NeedsTLS: true,
		// RegisterTargets: "If the target type is ip, specify an IP address".
		// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_TargetDescription.html
		AddressesOnly: true,
		// "You cannot associate an IPv6 target group with a load balancer that has an 'ipv4' IP address
		// type" (https://github.com/zalando-incubator/kube-ingress-aws-controller/issues/752).
		IPv6NeedsDualStack: true,

		Inbound: true, InstanceIDs: true, WebACLs: true, Shields: true,
		DeletionProtection: DeletionProtection,
		MinPriority:        1, MaxPriority: 50000,
		Settle: 60 * time.Second, Gather: 500 * time.Millisecond,
	}
}

// ALBGlob returns the capabilities of an ALB whose class has switched regular expressions off.
func ALBGlob() Capabilities {
	c := ALB()
	c.Name, c.Regex = "alb-glob", false
	return c
}

// stickiness is the attribute that makes a target group sticky; the others are those that it, and
// others, depend on.
const (
	stickiness = "stickiness.enabled"
	algorithm  = "load_balancing.algorithm.type"
	crossZone  = "load_balancing.cross_zone.enabled"
	cookieName = "stickiness.app_cookie.cookie_name"
)

const (
	// bucket is the name of a bucket:
	// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
	bucket = `^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`
	// prefix is that of logs in it: "can only contain combination of uppercase letters, lowercase
	// letters, numbers, periods (.), dashes (-), underscores (_) and slashes (/)"
	// (https://github.com/cloud-custodian/cloud-custodian/issues/4510), and it "cannot start or end
	// with '/'" (https://github.com/ansible/ansible/issues/55147).
	prefix = `^[A-Za-z0-9._-]([A-Za-z0-9._/-]*[A-Za-z0-9._-])?$`
)

// An attributeRow has the values that an attribute can have, and the one that AWS gives to it: ""
// for an attribute that depends on another one.
type attributeRow struct {
	Attribute
	usual string
}

var toggle = Attribute{Values: []string{"true", "false"}}

// albBalancerAttributes returns the attributes that AWS documents for Application Load Balancers.
// That of cross-zone load balancing cannot be changed: it is always on.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/, there
// API_LoadBalancerAttribute.html
func albBalancerAttributes() map[string]attributeRow {
	out := map[string]attributeRow{
		DeletionProtection:             {toggle, "false"},
		"client_keep_alive.seconds":    {Attribute{Least: 60, Most: 604800}, "3600"},
		"idle_timeout.timeout_seconds": {Attribute{Least: 1, Most: 4000}, "60"},
		routing.AttributeDenyGateways:  {toggle, "false"},
		crossZone:                      {Attribute{Values: []string{"true"}}, "true"},
		"routing.http.desync_mitigation_mode": {
			Attribute{Values: []string{"monitor", "defensive", "strictest"}}, "defensive",
		},
		"routing.http.drop_invalid_header_fields.enabled":          {toggle, "false"},
		"routing.http.preserve_host_header.enabled":                {toggle, "false"},
		"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": {toggle, "false"},
		"routing.http.x_amzn_tls_kx.enabled":                       {toggle, "false"},
		"routing.http.xff_client_port.enabled":                     {toggle, "false"},
		"routing.http.xff_header_processing.mode": {
			Attribute{Values: []string{"append", "preserve", "remove"}}, "append",
		},
		"routing.http2.enabled":      {toggle, "true"},
		routing.AttributeFailOpen:    {toggle, "false"},
		"zonal_shift.config.enabled": {Attribute{Values: toggle.Values, Late: true}, "false"},
	}
	for _, logs := range []string{"access_logs", "connection_logs", "health_check_logs"} {
		// AWS refuses logs until the policy of the bucket lets it write, which a new one may not do yet.
		out[logs+".s3.enabled"] = attributeRow{Attribute{Values: toggle.Values, Late: true}, "false"}
		out[logs+".s3.bucket"] = attributeRow{Attribute: Attribute{Text: true, Late: true, Form: bucket}}
		out[logs+".s3.prefix"] = attributeRow{Attribute: Attribute{Text: true, Late: true, Form: prefix}}
	}
	return out
}

// albGroupAttributes returns the attributes that AWS documents for target groups of Application
// Load Balancers. https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/, there
// API_TargetGroupAttribute.html. Which ones exclude each other:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-target-group-attributes.html
func albGroupAttributes() map[string]attributeRow {
	week := Attribute{Least: 1, Most: 7 * 24 * 60 * 60}
	count := Attribute{Values: []string{"off"}, Least: 1, Most: 1000}
	percentage := Attribute{Values: []string{"off"}, Least: 1, Most: 100}
	return map[string]attributeRow{
		"deregistration_delay.timeout_seconds": {Attribute{Least: 0, Most: 3600}, "300"},
		"load_balancing.algorithm.anomaly_mitigation": {
			Attribute{Values: []string{"on", "off"}, Off: "off",
				Needs: map[string][]string{algorithm: {"weighted_random"}}}, "off",
		},
		algorithm: {
			Attribute{Values: []string{"round_robin", "least_outstanding_requests", "weighted_random"}},
			"round_robin",
		},
		crossZone: {
			Attribute{Values: []string{"true", "false", "use_load_balancer_configuration"}},
			"use_load_balancer_configuration",
		},
		"slow_start.duration_seconds": {
			Attribute{Values: []string{"0"}, Least: 30, Most: 900, Off: "0",
				Needs: map[string][]string{algorithm: {"", "round_robin"}}}, "0",
		},
		cookieName:                               {Attribute: Attribute{Text: true, Reserved: "AWSALB"}},
		"stickiness.app_cookie.duration_seconds": {week, "86400"},
		stickiness: {Attribute{Values: toggle.Values, Off: "false", Needs: map[string][]string{
			crossZone: {"", "true", "use_load_balancer_configuration"}}}, "false"},
		"stickiness.lb_cookie.duration_seconds": {week, "86400"},
		"stickiness.type": {
			Attribute{Values: []string{"lb_cookie", "app_cookie"}, Off: "lb_cookie",
				Needs: map[string][]string{cookieName: {}}}, "lb_cookie",
		},
		"routing.http2.rst_stream_error_forwarding.enabled": {
			Attribute{Values: toggle.Values, Off: "false", Versions: []string{"HTTP2", "GRPC"}}, "false",
		},
		"waf.http2.traffic_inspection_behavior": {
			Attribute{Values: []string{"inspect_immediately", "inspect_after_sufficient_data"},
				Off: "inspect_immediately", Versions: []string{"HTTP2"}}, "inspect_immediately",
		},
		"target_group_health.dns_failover.minimum_healthy_targets.count":      {count, "1"},
		"target_group_health.dns_failover.minimum_healthy_targets.percentage": {percentage, "off"},
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count": {
			Attribute{Least: 1, Most: 1000}, "1",
		},
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": {
			percentage, "off",
		},
	}
}

// albListenerAttributes returns the attributes that AWS documents for listeners of Application Load
// Balancers: the names of headers of requests, and values of headers of responses. A header without
// a value is not added. https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/,
// there API_ListenerAttribute.html. Headers about TLS are those of HTTPS listeners:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/header-modification.html
func albListenerAttributes() map[string]attributeRow {
	text, secure := Attribute{Text: true}, Attribute{Text: true, Secure: true}
	out := map[string]attributeRow{
		"routing.http.response.server.enabled": {toggle, "true"},
		"routing.http.request.x_amzn_mtls_clientcert_serial_number.header_name": {
			secure, "X-Amzn-Mtls-Clientcert-Serial-Number",
		},
		"routing.http.request.x_amzn_mtls_clientcert_issuer.header_name": {
			secure, "X-Amzn-Mtls-Clientcert-Issuer",
		},
		"routing.http.request.x_amzn_mtls_clientcert_subject.header_name": {
			secure, "X-Amzn-Mtls-Clientcert-Subject",
		},
		"routing.http.request.x_amzn_mtls_clientcert_validity.header_name": {
			secure, "X-Amzn-Mtls-Clientcert-Validity",
		},
		"routing.http.request.x_amzn_mtls_clientcert_leaf.header_name": {
			secure, "X-Amzn-Mtls-Clientcert-Leaf",
		},
		"routing.http.request.x_amzn_mtls_clientcert.header_name": {secure, "X-Amzn-Mtls-Clientcert"},
		"routing.http.request.x_amzn_tls_version.header_name":     {secure, "X-Amzn-Tls-Version"},
		"routing.http.request.x_amzn_tls_cipher_suite.header_name": {
			secure, "X-Amzn-Tls-Cipher-Suite",
		},
	}
	for _, header := range []string{
		"strict_transport_security", "access_control_allow_origin", "access_control_allow_methods",
		"access_control_allow_headers", "access_control_allow_credentials",
		"access_control_expose_headers", "access_control_max_age", "content_security_policy",
		"x_content_type_options", "x_frame_options",
	} {
		out["routing.http.response."+header+".header_value"] = attributeRow{Attribute: text}
	}
	return out
}

// attributesIn returns the values that attributes can have.
func attributesIn(rows map[string]attributeRow) map[string]Attribute {
	out := map[string]Attribute{}
	for name, row := range rows {
		out[name] = row.Attribute
	}
	return out
}

// ALBDefaults returns the values that AWS gives to the attributes of Application Load Balancers of
// a scheme. ipv6.deny_all_igw_traffic is "false for internet-facing load balancers and true for
// internal load balancers" (API_LoadBalancerAttribute.html).
func ALBDefaults(internal bool) map[string]string {
	out := defaultsIn(albBalancerAttributes())
	if internal {
		out[routing.AttributeDenyGateways] = "true"
	}
	return out
}

// ALBListenerDefaults returns the values that AWS gives to the attributes of their listeners. All
// others are the empty string.
func ALBListenerDefaults() map[string]string { return defaultsIn(albListenerAttributes()) }

// ALBGroupDefaults returns the values that AWS gives to the attributes of their target groups.
func ALBGroupDefaults() map[string]string { return defaultsIn(albGroupAttributes()) }

// defaultsIn returns the defaults of attributes that have one.
func defaultsIn(rows map[string]attributeRow) map[string]string {
	out := map[string]string{}
	for name, row := range rows {
		if row.usual != "" {
			out[name] = row.usual
		}
	}
	return out
}

// Named returns capabilities by their name, for tests and tools.
func Named(name string) (Capabilities, bool) {
	for _, c := range []Capabilities{Literal(), ALB(), ALBGlob()} {
		if c.Name == name {
			return c, true
		}
	}
	return Capabilities{}, false
}
