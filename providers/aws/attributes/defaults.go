package attributes

// This file has the defaults that AWS gives to attributes.

// DeletionProtection is the attribute that keeps a load balancer from being deleted.
const DeletionProtection = "deletion_protection.enabled"

// LoadBalancerDefaults are AWS's defaults. Attributes that depend on another one have none.
var LoadBalancerDefaults = map[string]string{
	"access_logs.s3.enabled":                                   "false",
	"client_keep_alive.seconds":                                "3600",
	"connection_logs.s3.enabled":                               "false",
	DeletionProtection:                                         "false",
	"health_check_logs.s3.enabled":                             "false",
	"idle_timeout.timeout_seconds":                             "60",
	"ipv6.deny_all_igw_traffic":                                "false",
	"load_balancing.cross_zone.enabled":                        "true",
	"routing.http.desync_mitigation_mode":                      "defensive",
	"routing.http.drop_invalid_header_fields.enabled":          "false",
	"routing.http.preserve_host_header.enabled":                "false",
	"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": "false",
	"routing.http.xff_client_port.enabled":                     "false",
	"routing.http.xff_header_processing.mode":                  "append",
	"routing.http2.enabled":                                    "true",
	"waf.fail_open.enabled":                                    "false",
	"zonal_shift.config.enabled":                               "false",
}

// ListenerDefaults are AWS's defaults of listener attributes: the names of request headers, and whether
// responses have a Server header. The default of all other listener attributes is the empty string.
var ListenerDefaults = map[string]string{
	"routing.http.request.x_amzn_mtls_clientcert_serial_number.header_name": "X-Amzn-Mtls-Clientcert-Serial-Number",
	"routing.http.request.x_amzn_mtls_clientcert_issuer.header_name":        "X-Amzn-Mtls-Clientcert-Issuer",
	"routing.http.request.x_amzn_mtls_clientcert_subject.header_name":       "X-Amzn-Mtls-Clientcert-Subject",
	"routing.http.request.x_amzn_mtls_clientcert_validity.header_name":      "X-Amzn-Mtls-Clientcert-Validity",
	"routing.http.request.x_amzn_mtls_clientcert_leaf.header_name":          "X-Amzn-Mtls-Clientcert-Leaf",
	"routing.http.request.x_amzn_mtls_clientcert.header_name":               "X-Amzn-Mtls-Clientcert",
	"routing.http.request.x_amzn_tls_version.header_name":                   "X-Amzn-Tls-Version",
	"routing.http.request.x_amzn_tls_cipher_suite.header_name":              "X-Amzn-Tls-Cipher-Suite",
	"routing.http.response.server.enabled":                                  "true",
}

// TargetGroupDefaults are AWS's defaults. Attributes that depend on another one have none.
var TargetGroupDefaults = map[string]string{
	"deregistration_delay.timeout_seconds":                                           "300",
	"load_balancing.algorithm.anomaly_mitigation":                                    "off",
	"load_balancing.algorithm.type":                                                  "round_robin",
	"load_balancing.cross_zone.enabled":                                              "use_load_balancer_configuration",
	"slow_start.duration_seconds":                                                    "0",
	"stickiness.app_cookie.duration_seconds":                                         "86400",
	"stickiness.enabled":                                                             "false",
	"stickiness.lb_cookie.duration_seconds":                                          "86400",
	"stickiness.type":                                                                "lb_cookie",
	"target_group_health.dns_failover.minimum_healthy_targets.count":                 "1",
	"target_group_health.dns_failover.minimum_healthy_targets.percentage":            "off",
	"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      "1",
	"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": "off",
}
