package alb

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/albsim"
)

// This file draws groups of Ingresses, and makes of them what the AWS Load Balancer Controller makes, in its order and by
// its calls: its pkg/ingress/model_build_*.go and rule_optimizer.go. It shares nothing with the compiler.

// A theirGroup is a group of Ingresses.
type theirGroup struct {
	ingresses []theirIngress
	secure    string // the ARN of a certificate, for a listener on port 443
	// settings of all target groups: those of one Service are one of Fairlead's
	healthPath, deregisterIn string
}

type theirIngress struct {
	name       string
	hosts      []string
	paths      map[string][]theirPath // by host
	defaultsTo *theirTarget
}

// A theirPath is a path with what answers it: a port of a Service, or an annotation.
type theirPath struct {
	path, kind string
	target     *theirTarget
	use        string // the name in annotations
}

// A theirTarget is a port of a Service, as it is written.
type theirTarget struct{ service, port string }

// theirAnnotations have actions and conditions by the name that a backend uses: as annotations, and as the calls have them.
var theirAnnotations = map[string]struct {
	action, conditions, transforms string
	targets                        []theirTarget
	weights                        []int32
	made                           elb.Action // for actions that forward to nothing
	when                           []elb.RuleCondition
	rewrite                        []elb.RuleTransform
}{
	"deny": {
		action: `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"403","contentType":"text/plain","messageBody":"no"}}`,
		made: elb.Action{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: sdk.String("403"),
			ContentType: sdk.String("text/plain"), MessageBody: sdk.String("no")}},
	},
	"away": {
		action: `{"type":"redirect","redirectConfig":{"host":"other.example.com","path":"/#{path}","statusCode":"HTTP_302"}}`,
		made: elb.Action{Type: elb.ActionTypeEnumRedirect, RedirectConfig: &elb.RedirectActionConfig{Host: sdk.String("other.example.com"),
			Path: sdk.String("/#{path}"), StatusCode: elb.RedirectActionStatusCodeEnumHttp302}},
	},
	"split": {
		action: `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"own","servicePort":"80","weight":3},` +
			`{"serviceName":"own","servicePort":"admin","weight":1}],"targetGroupStickinessConfig":{"enabled":true,"durationSeconds":100}}}`,
		targets: []theirTarget{{"own", "80"}, {"own", "admin"}}, weights: []int32{3, 1},
	},
	"beta": {
		action:     `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"own","servicePort":"80"}]}}`,
		conditions: `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-Beta","values":["yes","1*"]}}]`,
		targets:    []theirTarget{{"own", "80"}},
		when: []elb.RuleCondition{{Field: sdk.String("http-header"), HttpHeaderConfig: &elb.HttpHeaderConditionConfig{
			HttpHeaderName: sdk.String("X-Beta"), Values: []string{"yes", "1*"}}}},
	},
	"office": {
		action:     `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"own","servicePort":"admin"}]}}`,
		conditions: `[{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.0/8"]}},{"field":"http-request-method","httpRequestMethodConfig":{"values":["POST"]}}]`,
		targets:    []theirTarget{{"own", "admin"}},
		when: []elb.RuleCondition{
			{Field: sdk.String("source-ip"), SourceIpConfig: &elb.SourceIpConditionConfig{Values: []string{"10.0.0.0/8"}}},
			{Field: sdk.String("http-request-method"), HttpRequestMethodConfig: &elb.HttpRequestMethodConditionConfig{Values: []string{"POST"}}},
		},
	},
	"debug": {
		action:     `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"own","servicePort":"81"}]}}`,
		conditions: `[{"field":"query-string","queryStringConfig":{"values":[{"key":"debug","value":"1"}]}}]`,
		transforms: `[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"^/x/(.*)$","replace":"/$1"}]}}]`,
		targets:    []theirTarget{{"own", "81"}},
		when: []elb.RuleCondition{{Field: sdk.String("query-string"), QueryStringConfig: &elb.QueryStringConditionConfig{
			Values: []elb.QueryStringKeyValuePair{{Key: sdk.String("debug"), Value: sdk.String("1")}}}}},
		rewrite: []elb.RuleTransform{{Type: elb.TransformTypeEnumUrlRewrite, UrlRewriteConfig: &elb.UrlRewriteConfig{
			Rewrites: []elb.RewriteConfig{{Regex: sdk.String("^/x/(.*)$"), Replace: sdk.String("/$1")}}}}},
	},
}

// drawGroup draws a group. The first Ingress has a path for each of theirAnnotations, and nothing else answers as most of
// these do, so that a change of each field of a rule matters. Redirects to HTTPS are in no group, since the dialect changes
// them (docs/reference/alb.md).
func drawGroup(r *rand.Rand, certificate string) theirGroup {
	out := theirGroup{}
	if r.IntN(2) == 0 {
		out.secure = certificate
	}
	if r.IntN(2) == 0 {
		out.healthPath, out.deregisterIn = "/up", "60"
	}
	uses := []string{"deny", "away", "split", "beta", "office", "debug"}
	targets := []theirTarget{{"web", "80"}, {"web", "http"}, {"web", "81"}, {"web", "admin"}, {"api", "80"}, {"api", "http"}}
	for i, name := range []string{"a", "b", "c"}[:1+r.IntN(3)] {
		ing := theirIngress{name: name, paths: map[string][]theirPath{}}
		for _, host := range []string{"a.example.com", "b.example.com", ""} {
			if i > 0 && r.IntN(2) == 0 {
				continue
			}
			ing.hosts = append(ing.hosts, host)
			for n, p := range []theirPath{{"/", "Prefix", nil, ""}, {"/api", "Prefix", nil, ""}, {"/api", "Exact", nil, ""}, {"/x/*", "ImplementationSpecific", nil, ""}, {"/x/y", "Prefix", nil, ""}, {"/x", "Prefix", nil, ""}} {
				switch {
				case i == 0 && host == "a.example.com":
					if p.use = uses[n]; n == 0 {
						p.path = "/deny" // a prefix / comes before what is not one
					}
				case r.IntN(2) == 0 || host == "" && p.path == "/":
					continue
				case r.IntN(3) == 0:
					p.use = []string{"away", "split"}[r.IntN(2)]
				}
				if p.use == "" {
					p.target = &targets[r.IntN(len(targets))]
				}
				ing.paths[host] = append(ing.paths[host], p)
			}
		}
		if i == 0 && r.IntN(2) == 0 {
			ing.defaultsTo = &targets[0]
		}
		if len(ing.paths) > 0 {
			out.ingresses = append(out.ingresses, ing)
		}
	}
	return out
}

// manifests writes the Ingresses, with their Services.
func (g theirGroup) manifests() string {
	var b strings.Builder
	backend := func(p theirPath) string {
		if p.target == nil {
			return "{service: {name: " + p.use + ", port: {name: use-annotation}}}"
		}
		kind := "number"
		if p.target.port == "http" || p.target.port == "admin" {
			kind = "name"
		}
		return fmt.Sprintf("{service: {name: %s, port: {%s: %s}}}", p.target.service, kind, p.target.port)
	}
	for _, ing := range g.ingresses {
		fmt.Fprintf(&b, "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  namespace: shop\n  name: %s\n  annotations:\n", ing.name)
		annotate := func(name, value string) {
			if value != "" {
				fmt.Fprintf(&b, "    alb.ingress.kubernetes.io/%s: '%s'\n", name, value)
			}
		}
		annotate("group.name", "all")
		annotate("target-type", "ip")
		annotate("healthcheck-path", g.healthPath)
		if g.deregisterIn != "" {
			annotate("target-group-attributes", "deregistration_delay.timeout_seconds="+g.deregisterIn)
		}
		if g.secure != "" {
			annotate("listen-ports", `[{"HTTP": 80}, {"HTTPS": 443}]`)
			annotate("certificate-arn", g.secure)
		}
		for _, use := range ing.uses() {
			annotate("actions."+use, theirAnnotations[use].action)
			annotate("conditions."+use, theirAnnotations[use].conditions)
			annotate("transforms."+use, theirAnnotations[use].transforms)
		}
		b.WriteString("spec:\n  ingressClassName: alb\n")
		if ing.defaultsTo != nil {
			b.WriteString("  defaultBackend: " + backend(theirPath{target: ing.defaultsTo}) + "\n")
		}
		b.WriteString("  rules:\n")
		for _, host := range ing.hosts {
			if len(ing.paths[host]) == 0 {
				continue
			}
			fmt.Fprintf(&b, "  - host: %q\n    http:\n      paths:\n", host)
			for _, p := range ing.paths[host] {
				fmt.Fprintf(&b, "      - {path: %s, pathType: %s, backend: %s}\n", p.path, p.kind, backend(p))
			}
		}
		b.WriteString("---\n")
	}
	for _, service := range g.services() {
		fmt.Fprintf(&b, "apiVersion: v1\nkind: Service\nmetadata: {namespace: shop, name: %s}\nspec: {ports: [{name: http, port: 80, targetPort: 8080}, {name: admin, port: 81, targetPort: 8081}]}\n---\n", service)
	}
	return b.String()
}

// services returns the names of the Services.
func (g theirGroup) services() []string {
	out := []string{"web", "api", "own"}
	for _, ing := range g.ingresses {
		for _, paths := range ing.paths {
			for _, p := range paths {
				if p.target != nil && !slices.Contains(out, p.target.service) {
					out = append(out, p.target.service)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// uses returns the names in annotations, sorted.
func (ing theirIngress) uses() (out []string) {
	for _, paths := range ing.paths {
		for _, p := range paths {
			if p.use != "" && !slices.Contains(out, p.use) {
				out = append(out, p.use)
			}
		}
	}
	slices.Sort(out)
	return out
}

// A theirMade is what the controller made.
type theirMade struct {
	w         *world
	api       *elbapi.Client
	network   *ec2.Client
	group     theirGroup
	balancer  elb.LoadBalancer
	listeners []elb.Listener
	front     string
	groups    map[string]string // ARNs of target groups, by resource
}

func (m *theirMade) must(err error) {
	m.w.Helper()
	if err != nil {
		m.w.Fatal(err)
	}
}

// make makes a load balancer for a group.
func (w *world) makeTheirs(g theirGroup) *theirMade {
	m := &theirMade{w: w, api: elbapi.NewFromConfig(w.sim.OwnersConfig()), network: ec2.NewFromConfig(w.sim.OwnersConfig()), group: g, groups: map[string]string{}}
	ports := []int32{80}
	if g.secure != "" {
		ports = append(ports, 443)
	}
	m.front = m.securityGroup("k8s-all-0123456789", theirTags("ManagedLBSecurityGroup"))
	back := m.securityGroup("k8s-traffic-0123456789", map[string]string{"elbv2.k8s.aws/cluster": albsim.Cluster, "elbv2.k8s.aws/resource": "backend-sg"})
	for _, port := range ports {
		m.admit(port, port, "tcp", ec2types.IpPermission{IpRanges: []ec2types.IpRange{{CidrIp: sdk.String("0.0.0.0/0")}}})
	}
	subnets, err := m.network.DescribeSubnets(w.Context(), &ec2.DescribeSubnetsInput{})
	m.must(err)
	var zones []string
	known := map[string]bool{}
	for _, s := range subnets.Subnets {
		if !known[*s.AvailabilityZone] {
			known[*s.AvailabilityZone], zones = true, append(zones, *s.SubnetId)
		}
	}
	made, err := m.api.CreateLoadBalancer(w.Context(), &elbapi.CreateLoadBalancerInput{
		Name: sdk.String("k8s-all-0123456789"), Scheme: elb.LoadBalancerSchemeEnumInternal, Type: elb.LoadBalancerTypeEnumApplication,
		Subnets: zones, SecurityGroups: []string{m.front, back}, Tags: elbTags(theirTags("LoadBalancer")),
	})
	m.must(err)
	m.balancer = made.LoadBalancers[0]
	for _, port := range ports {
		m.listener(port)
	}
	return m
}

func (m *theirMade) securityGroup(name string, theirs map[string]string) string {
	var tags []ec2types.Tag
	for k, v := range theirs {
		tags = append(tags, ec2types.Tag{Key: sdk.String(k), Value: sdk.String(v)})
	}
	made, err := m.network.CreateSecurityGroup(m.w.Context(), &ec2.CreateSecurityGroupInput{
		GroupName: &name, Description: sdk.String("[k8s] Managed SecurityGroup for LoadBalancer"), VpcId: sdk.String(albsim.VPC),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: tags}},
	})
	m.must(err)
	return *made.GroupId
}

// admit adds a rule to the security group of the load balancer.
func (m *theirMade) admit(from, to int32, protocol string, p ec2types.IpPermission) {
	p.IpProtocol, p.FromPort, p.ToPort = &protocol, &from, &to
	_, err := m.network.AuthorizeSecurityGroupIngress(m.w.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &m.front, IpPermissions: []ec2types.IpPermission{p}})
	m.must(err)
}

// listener makes a listener with its rules.
func (m *theirMade) listener(port int32) {
	in := &elbapi.CreateListenerInput{
		LoadBalancerArn: m.balancer.LoadBalancerArn, Port: &port, Protocol: elb.ProtocolEnumHttp, Tags: elbTags(theirTags(fmt.Sprint(port))),
		DefaultActions: []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: sdk.String("404"), ContentType: sdk.String("text/plain")}}},
	}
	if port == 443 {
		in.Protocol, in.SslPolicy, in.Certificates = elb.ProtocolEnumHttps, sdk.String("ELBSecurityPolicy-2016-08"), []elb.Certificate{{CertificateArn: &m.group.secure}}
	}
	for _, ing := range m.group.ingresses {
		if ing.defaultsTo != nil {
			in.DefaultActions = []elb.Action{m.forward(ing, nil, *ing.defaultsTo)}
		}
	}
	made, err := m.api.CreateListener(m.w.Context(), in)
	m.must(err)
	m.listeners = append(m.listeners, made.Listeners[0])
	priority := int32(0)
	for _, ing := range m.group.ingresses {
		for _, host := range ing.hosts {
			for _, p := range inTheirOrder(ing.paths[host]) {
				priority++
				rule := m.rule(ing, host, p)
				rule.ListenerArn, rule.Priority, rule.Tags = made.Listeners[0].ListenerArn, &[]int32{priority}[0], elbTags(theirTags(fmt.Sprintf("%d:%d", port, priority)))
				_, err := m.api.CreateRule(m.w.Context(), rule)
				for client.HasCode(err, "ListenerNotFound") { // it is new
					time.Sleep(2 * time.Second)
					_, err = m.api.CreateRule(m.w.Context(), rule)
				}
				m.must(err)
			}
		}
	}
}

// inTheirOrder has exact paths first, then prefixes by length, then the others.
func inTheirOrder(paths []theirPath) []theirPath {
	kinds := []string{"Exact", "Prefix", "ImplementationSpecific"}
	return slices.SortedStableFunc(slices.Values(paths), func(a, b theirPath) int {
		if a.kind == "Prefix" && b.kind == "Prefix" {
			return len(b.path) - len(a.path)
		}
		return cmp.Compare(slices.Index(kinds, a.kind), slices.Index(kinds, b.kind))
	})
}

// rule returns the rule of a path.
func (m *theirMade) rule(ing theirIngress, host string, p theirPath) *elbapi.CreateRuleInput {
	of := theirAnnotations[p.use]
	in := &elbapi.CreateRuleInput{Conditions: slices.Clone(of.when), Transforms: of.rewrite}
	if host != "" {
		in.Conditions = append(in.Conditions, elb.RuleCondition{Field: sdk.String("host-header"), HostHeaderConfig: &elb.HostHeaderConditionConfig{Values: []string{host}}})
	}
	paths := []string{p.path}
	switch {
	case p.kind == "Prefix" && p.path == "/":
		paths = []string{"/*"}
	case p.kind == "Prefix":
		paths = []string{p.path, p.path + "/*"}
	}
	in.Conditions = append(in.Conditions, elb.RuleCondition{Field: sdk.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{Values: paths}})
	switch {
	case p.target != nil:
		in.Actions = []elb.Action{m.forward(ing, nil, *p.target)}
	case of.targets != nil:
		in.Actions = []elb.Action{m.forward(ing, of.weights, of.targets...)}
	default:
		in.Actions = []elb.Action{of.made}
	}
	return in
}

// forward returns an action that forwards to Services.
func (m *theirMade) forward(ing theirIngress, weights []int32, targets ...theirTarget) elb.Action {
	c := &elb.ForwardActionConfig{}
	for i, t := range targets {
		tuple := elb.TargetGroupTuple{TargetGroupArn: sdk.String(m.targetGroup(ing, t))}
		if weights != nil {
			tuple.Weight = &weights[i]
			c.TargetGroupStickinessConfig = &elb.TargetGroupStickinessConfig{Enabled: sdk.Bool(true), DurationSeconds: sdk.Int32(100)}
		}
		c.TargetGroups = append(c.TargetGroups, tuple)
	}
	return elb.Action{Type: elb.ActionTypeEnumForward, ForwardConfig: c}
}

// targetGroup makes a target group, once for each Ingress, Service and port as it is written.
func (m *theirMade) targetGroup(ing theirIngress, t theirTarget) string {
	resource := fmt.Sprintf("shop/%s-%s:%s", ing.name, t.service, t.port)
	if m.groups[resource] != "" {
		return m.groups[resource]
	}
	path := cmp.Or(m.group.healthPath, "/")
	made, err := m.api.CreateTargetGroup(m.w.Context(), &elbapi.CreateTargetGroupInput{
		Name: sdk.String(fmt.Sprintf("k8s-%s-%s-%s", ing.name, t.service, t.port)), Protocol: elb.ProtocolEnumHttp, ProtocolVersion: sdk.String("HTTP1"), Port: sdk.Int32(8080),
		VpcId: sdk.String(albsim.VPC), TargetType: elb.TargetTypeEnumIp, Tags: elbTags(theirTags(resource)), IpAddressType: elb.TargetGroupIpAddressTypeEnumIpv4,
		HealthCheckPath: &path, HealthCheckIntervalSeconds: sdk.Int32(15), HealthCheckTimeoutSeconds: sdk.Int32(5), HealthyThresholdCount: sdk.Int32(2), UnhealthyThresholdCount: sdk.Int32(2),
		Matcher: &elb.Matcher{HttpCode: sdk.String("200")},
	})
	m.must(err)
	m.groups[resource] = *made.TargetGroups[0].TargetGroupArn
	if m.group.deregisterIn != "" {
		_, err := m.api.ModifyTargetGroupAttributes(m.w.Context(), &elbapi.ModifyTargetGroupAttributesInput{TargetGroupArn: made.TargetGroups[0].TargetGroupArn,
			Attributes: []elb.TargetGroupAttribute{{Key: sdk.String("deregistration_delay.timeout_seconds"), Value: &m.group.deregisterIn}}})
		m.must(err)
	}
	return m.groups[resource]
}
