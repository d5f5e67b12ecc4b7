package alb

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/foreign"
	"fairlead.dev/fairlead/model/settings"
)

// This file has the table of the controller's annotations: those of its pkg/annotations/constants.go.

// A row is an annotation, and what a value of it makes.
type row struct {
	name     string // "actions.*" is any name that begins so
	services bool   // it is read on Services, too, where it takes priority
	// paths: it is read with the paths that it is about. Of is what it names then: "" if it is about all.
	paths bool
	of    string
	make  func(value string) made
	named func(name, value string) made // in place of make, where the name matters
	// service is in place of make, for Services.
	service func(value string) made
}

func (r *row) read(name, value string) made {
	if r.named != nil {
		return r.named(name, value)
	}
	return r.make(value)
}

func (r *row) readOfService(name, value string) made {
	if r.service != nil {
		return r.service(value)
	}
	return r.read(name, value)
}

// made is what a value of an annotation makes.
type made struct {
	own     map[string]string // annotations of Fairlead
	backend *v1alpha1.BackendSpec
	rewrite *v1alpha1.Rewrite
	extra   conditions
	signIn  *v1alpha1.Authenticate
	result  dialect.Outcome // "" for the same
	message string
}

func (m made) outcome() dialect.Outcome {
	if m.result == "" {
		return dialect.Same
	}
	return m.result
}

func refused(format string, args ...any) made {
	return made{result: dialect.Refused, message: fmt.Sprintf(format, args...)}
}

func dropped(message string) made { return made{result: dialect.Dropped, message: message} }

var table = []row{
	{name: "group.name", make: as(settings.Group)},
	{name: "group.order", make: as(settings.Order)},
	{name: "load-balancer-name", make: as(settings.LoadBalancerName)},
	{name: "scheme", make: as(settings.Scheme)},
	{name: "ip-address-type", make: as(settings.Prefix + "ip-family")},
	{name: "subnets", make: asList(settings.Prefix + "subnets")},
	{name: "security-groups", make: asList(settings.Prefix + "security-groups")},
	{name: "load-balancer-attributes", make: asPairs(settings.Prefix + "load-balancer-attributes")},
	{name: "listener-attributes.*", named: listenerAttributes},
	{name: "tags", services: true, make: asPairs(settings.Tags), service: func(string) made {
		return dropped("target groups have the tags of the Ingress and of the class, and none of the Service")
	}},
	{name: "mutual-authentication", make: mutual},
	{name: "wafv2-acl-arn", make: as(settings.WAFv2ACL)},
	{name: "wafv2-acl-name", make: as(settings.WAFv2ACL)},
	{name: "waf-acl-id", make: wafClassic},
	{name: "web-acl-id", make: wafClassic},
	{name: "shield-advanced-protection", make: asBool(settings.ShieldAdvanced)},
	{name: "listen-ports", make: listenPorts},
	{name: "ssl-redirect", make: as(settings.SSLRedirect)},
	{name: "certificate-arn", make: asList(settings.CertificateARN)},
	{name: "ssl-policy", make: as(settings.TLSPolicy)},
	{name: "inbound-cidrs", make: ranges},
	{name: "security-group-prefix-lists", make: asList(settings.Inbound)},
	{name: "manage-backend-security-group-rules", make: backendRules},
	{name: "minimum-load-balancer-capacity", make: func(string) made {
		return dropped("no capacity is reserved: the load balancer grows with its traffic. What is reserved with `aws elbv2 " +
			"modify-capacity-reservation` stays")
	}},
	{name: "ipam-ipv4-pool-id", make: func(string) made {
		return dropped("public addresses come from AWS, and not from a pool of IPAM. What is set with `aws elbv2 modify-ip-pools` " +
			"stays")
	}},
	{name: "customer-owned-ipv4-pool", make: func(string) made {
		return refused("load balancers on Outposts are not supported: remove it, or leave the Ingress to the other controller")
	}},
	{name: "create-acm-cert", make: requestsCertificate},
	{name: "acm-pca-arn", make: func(string) made {
		return dropped("no certificate is requested: cert-manager makes Secrets from ACM PCA")
	}},
	{name: "enable-frontend-nlb", make: frontend},
	{name: "frontend-nlb-*", make: func(string) made { return frontend("true") }},
	{name: "dry-run-plan", make: func(string) made {
		return dropped("it is a note of the other controller; `fairlead plan` shows what will change")
	}},

	{name: "target-type", services: true, make: as(settings.TargetType)},
	{name: "backend-protocol", services: true, make: as(settings.BackendProtocol)},
	{name: "backend-protocol-version", services: true, make: as(settings.BackendVersion)},
	{name: "target-group-attributes", services: true, make: asPairs(settings.TargetGroupAttributes)},
	{name: "healthcheck-port", services: true, make: as(settings.HealthPort)},
	{name: "healthcheck-protocol", services: true, make: as(settings.HealthProtocol)},
	{name: "healthcheck-path", services: true, make: as(settings.HealthPath)},
	{name: "healthcheck-interval-seconds", services: true, make: as(settings.HealthInterval)},
	{name: "healthcheck-timeout-seconds", services: true, make: as(settings.HealthTimeout)},
	{name: "healthy-threshold-count", services: true, make: as(settings.HealthHealthy)},
	{name: "unhealthy-threshold-count", services: true, make: as(settings.HealthUnhealthy)},
	{name: "success-codes", services: true, make: as(settings.HealthCodes)},
	{name: "target-node-labels", services: true, make: as(settings.Prefix + "target-node-labels")},
	{name: "multi-cluster-target-group", services: true, make: multiCluster},
	{name: "target-control-port.*", services: true, make: func(string) made {
		return dropped("the target optimizer is not supported: requests are spread over all targets")
	}},

	{name: "actions.*", paths: true, of: "actions.", make: readAction},
	{name: "conditions.*", paths: true, of: "conditions.", make: readConditions},
	{name: "transforms.*", paths: true, of: "transforms.", make: readTransforms},
	{name: "use-regex-path-match", paths: true, make: readBool},
	{name: "auth-type", services: true, paths: true, make: readAuthType},
	{name: "auth-idp-cognito", services: true, paths: true, make: readCognito},
	{name: "auth-idp-oidc", services: true, paths: true, make: readOIDC},
	{name: "auth-on-unauthenticated-request", services: true, paths: true, make: oneOf("authenticate", "allow", "deny")},
	{name: "auth-scope", services: true, paths: true, make: anyText},
	{name: "auth-session-cookie", services: true, paths: true, make: anyText},
	{name: "auth-session-timeout", services: true, paths: true, make: readTimeout},
	{name: "jwt-validation", paths: true, make: readToken}, // of the Ingress alone: enhanced_backend_builder.go
}

// rowOf returns the row of an annotation without its prefix; nil if the controller has none.
func rowOf(name string) *row {
	for i := range table {
		stem, open := strings.CutSuffix(table[i].name, "*")
		if name == table[i].name || open && strings.HasPrefix(name, stem) && len(name) > len(stem) {
			return &table[i]
		}
	}
	return nil
}

// unknown returns the verdict about an annotation that the controller does not have. If it reads like
// a restriction, the Ingress is not served.
func unknown(v dialect.Verdict, all map[string]string) dialect.Verdict {
	v.Outcome, v.Message = dialect.Dropped, "the AWS Load Balancer Controller has no such annotation"
	if foreign.Restricting(v.Key, all) {
		v.Outcome = dialect.Refused
		v.Message += ", and it reads like a restriction: correct its name, or remove it"
	}
	return v
}

// as returns a function for an annotation whose value Fairlead has under another name.
func as(own string) func(string) made {
	return func(value string) made { return made{own: map[string]string{own: value}} }
}

// asList is as, for a list whose empty items do not count.
func asList(own string) func(string) made {
	return func(value string) made {
		var items []string
		for item := range strings.SplitSeq(value, ",") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
		if len(items) == 0 {
			return dropped("it names nothing")
		}
		return made{own: map[string]string{own: strings.Join(items, ",")}}
	}
}

// asPairs is as, for a list of name=value in which a backslash goes before any character, and not only before
// commas (pkg/annotations/parser.go).
func asPairs(own string) func(string) made {
	return func(value string) made {
		list, err := unescaped(value)
		if err != nil {
			return refused("%s", err)
		}
		return made{own: map[string]string{own: list}}
	}
}

// unescaped returns a list of name=value with backslashes in front of commas alone.
func unescaped(list string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(list); i++ {
		if list[i] == '\\' && i+1 < len(list) {
			switch i++; list[i] {
			case '\\':
				return "", fmt.Errorf("%s: a backslash as a part of a value is not read", diag.Quote(list))
			case ',':
				b.WriteByte('\\')
			}
		}
		b.WriteByte(list[i])
	}
	return b.String(), nil
}

func asBool(own string) func(string) made {
	return func(value string) made {
		on, err := strconv.ParseBool(value)
		if err != nil {
			return refused("%s is neither true nor false", diag.Quote(value))
		}
		return made{own: map[string]string{own: strconv.FormatBool(on)}}
	}
}

func anyText(string) made { return made{} }

func oneOf(values ...string) func(string) made {
	return func(value string) made {
		if !slices.Contains(values, value) {
			return refused("%s is none of %s", diag.Quote(value), strings.Join(values, ", "))
		}
		return made{}
	}
}

func readBool(value string) made {
	if _, err := strconv.ParseBool(value); err != nil {
		return refused("%s is neither true nor false", diag.Quote(value))
	}
	return made{}
}

func wafClassic(string) made {
	return refused("AWS has ended WAF Classic: move its rules to a web ACL of WAFv2, and name it in %swafv2-acl-arn", Prefix)
}

func frontend(value string) made {
	if on, err := strconv.ParseBool(value); err == nil && !on {
		return made{}
	}
	return refused("no Network Load Balancer is made in front: make one yourself, or leave the Ingress to the other controller")
}

func multiCluster(value string) made {
	if on, err := strconv.ParseBool(value); err == nil && !on {
		return made{}
	}
	return refused("a target group belongs to one cluster: leave the Ingress to the other controller")
}

func backendRules(value string) made {
	if on, err := strconv.ParseBool(value); err == nil && !on {
		return made{}
	}
	return dropped("the firewalls of targets are opened for Fairlead's own security groups: with security groups of your " +
		"own, allow them yourself")
}

func requestsCertificate(value string) made {
	if on, err := strconv.ParseBool(value); err == nil && !on {
		return made{}
	}
	return dropped("no certificate is requested: certificates that are there are found by host; cert-manager makes new ones")
}

// ranges keeps the bits of addresses in front of the length, as AWS does.
func ranges(value string) made {
	var out []string
	for item := range strings.SplitSeq(value, ",") {
		item = strings.TrimSpace(item)
		if p, err := netip.ParsePrefix(item); err == nil {
			item = p.Masked().String()
		}
		if item != "" {
			out = append(out, item)
		}
	}
	return made{own: map[string]string{settings.Inbound: strings.Join(out, ",")}}
}

// listenPorts writes the ports as a list. Of a port that is named twice, the last one counts:
// model_build_listener.go.
func listenPorts(value string) made {
	found, err := readPorts(value)
	if err != nil {
		return refused("%s", err)
	}
	return made{own: map[string]string{settings.ListenPorts: found.String()}}
}
