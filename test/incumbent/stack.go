package incumbent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// This file is what a group of Ingresses is to be in AWS: names, tags and settings (pkg/ingress/model_build_*.go).

// A stack is what a group is to be. The stack of a group without members has nothing, and so all that is there is deleted.
type stack struct {
	id        groupID
	members   []member
	left      []*networkingv1.Ingress
	balancer  *balancer
	listeners []*wantedListener // by port
	groups    []*targetGroup

	front      *frontGroup // the managed security group; nil where Ingresses name theirs
	named      []string    // security groups that Ingresses name
	useBackend bool        // the shared security group is attached
	peer       string      // the security group from which targets are reached, once it is known; "" for none
	arns       map[string]string
}

type balancer struct {
	name, scheme, addresses string
	subnets                 []string
	attributes, tags        map[string]string

	arn, dns string // once it is there
}

type wantedListener struct {
	listener
	port       int32
	policy     string
	attributes map[string]string
	tags       map[string]string
	v4, v6     []string // ranges that may connect

	arn string
}

// A frontGroup is the managed security group of a load balancer (pkg/ingress/model_build_managed_sg.go).
type frontGroup struct {
	name string
	tags map[string]string
	id   string
}

// notAlphanumeric is left out of names.
var notAlphanumeric = regexp.MustCompile("[^[:alnum:]]")

func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "")))
	return hex.EncodeToString(sum[:])[:10]
}

// short returns a name of parts that are cut to eight characters.
func short(of, in, hash string) string {
	return fmt.Sprintf("k8s-%.8s-%.8s-%s", notAlphanumeric.ReplaceAllString(of, ""), notAlphanumeric.ReplaceAllString(in, ""), hash)
}

// named returns the name of what a group has one of.
func (id groupID) named(hash string) string {
	if id.namespace == "" {
		return fmt.Sprintf("k8s-%.17s-%s", notAlphanumeric.ReplaceAllString(id.name, ""), hash)
	}
	return short(id.namespace, id.name, hash)
}

// tags are the tags of a resource of the stack (pkg/deploy/tracking/provider.go): its own before those of Ingresses.
func (c *Controller) tags(id groupID, resource string, more map[string]string) map[string]string {
	out := maps.Clone(more)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, c.DefaultTags)
	maps.Copy(out, c.stackTags(id))
	out["ingress.k8s.aws/resource"] = resource
	return out
}

func (c *Controller) stackTags(id groupID) map[string]string {
	return map[string]string{"elbv2.k8s.aws/cluster": c.ClusterName, "ingress.k8s.aws/stack": id.String()}
}

// stackLabels are the labels of bindings.
func (id groupID) stackLabels() map[string]string {
	if id.namespace == "" {
		return map[string]string{"ingress.k8s.aws/stack": id.name}
	}
	return map[string]string{"ingress.k8s.aws/stack-namespace": id.namespace, "ingress.k8s.aws/stack-name": id.name}
}

// stackOf builds the stack of a group.
func (c *Controller) stackOf(ctx context.Context, id groupID, members []member, left []*networkingv1.Ingress) (*stack, error) {
	s := &stack{id: id, members: members, left: left, arns: map[string]string{}}
	for _, ing := range left {
		// One that is deleted may say that the load balancer stays (model_builder.go:298-309). One that changed its class may not.
		attributes, err := pairs(ing.Annotations, "load-balancer-attributes")
		if protects := attributes["deletion_protection.enabled"]; ing.DeletionTimestamp != nil && protects != "" {
			on, wrong := strconv.ParseBool(protects)
			if err = errors.Join(err, wrong); err == nil && on {
				err = fmt.Errorf("%s is protected against deletion", ing.Name)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if len(members) == 0 {
		return s, nil
	}
	b, err := c.read(ctx, members)
	if err != nil {
		return nil, err
	}
	g, err := b.model()
	if err != nil {
		return nil, err
	}
	s.members, s.groups = b.members, b.made
	for _, port := range slices.Sorted(maps.Keys(g.listeners)) {
		l, err := s.listener(port, g.listeners[port])
		if err != nil {
			return nil, err
		}
		l.tags = c.tags(id, strconv.Itoa(int(port)), l.tags)
		s.listeners = append(s.listeners, l)
	}
	return s, c.balancerOf(ctx, s)
}

// read reads what rules are built of.
func (c *Controller) read(ctx context.Context, members []member) (*builder, error) {
	b := &builder{members: members, Cluster: Cluster{TargetGroups: map[string]string{}, issued: map[string][]string{}}}
	var services corev1.ServiceList
	var secrets corev1.SecretList
	if err := errors.Join(c.Client.List(ctx, &services), c.Client.List(ctx, &secrets)); err != nil {
		return nil, err
	}
	for i := range services.Items {
		b.Services = append(b.Services, &services.Items[i])
	}
	for i := range secrets.Items {
		b.Secrets = append(b.Secrets, &secrets.Items[i])
	}
	groups, err := c.targetGroups(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		b.TargetGroups[*g.TargetGroupName] = *g.TargetGroupArn
	}
	if c.ACM == nil {
		return b, nil
	}
	// Certificates that are issued, of all algorithms, by all names that they have (pkg/certs/cert_discovery.go).
	pages := acm.NewListCertificatesPaginator(c.ACM, &acm.ListCertificatesInput{
		CertificateStatuses: []acmtypes.CertificateStatus{acmtypes.CertificateStatusIssued},
		Includes:            &acmtypes.Filters{KeyTypes: acmtypes.KeyAlgorithm("").Values()},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, found := range page.CertificateSummaryList {
			one, err := c.ACM.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: found.CertificateArn})
			if err != nil {
				return nil, err
			}
			b.issued[*found.CertificateArn] = one.Certificate.SubjectAlternativeNames
		}
	}
	return b, nil
}

// listener merges what members say of a port (model_builder.go:388-500, model_build_listener.go).
func (s *stack) listener(port int32, l listener) (*wantedListener, error) {
	out := &wantedListener{listener: l, port: port}
	protocol := map[bool]string{false: "HTTP", true: "HTTPS"}[l.https]
	var on []member
	for _, m := range s.members {
		if _, listens := m.ports[port]; listens {
			on = append(on, m)
		}
	}
	ranges, err := agreed(on, func(p *params) string { return strings.Join(p.InboundCIDRs, ",") }, "inbound-cidrs")
	if err != nil {
		return nil, err
	}
	for _, one := range list(ranges) {
		if strings.Contains(one, ":") {
			out.v6 = append(out.v6, one)
		} else {
			out.v4 = append(out.v4, one)
		}
	}
	if ranges == "" {
		out.v4, out.v6 = []string{"0.0.0.0/0"}, []string{"::/0"}
	}
	if out.attributes, err = merged(on, "listener-attributes."+protocol+"-"+strconv.Itoa(int(port)), nil); err != nil {
		return nil, err
	}
	if out.tags, err = tagsOf(on); err != nil || !l.https {
		return out, err
	}
	if out.policy, err = agreed(on, func(p *params) string { return p.SSLPolicy }, "ssl-policy"); err != nil {
		return nil, err
	}
	if out.policy == "" {
		out.policy = "ELBSecurityPolicy-2016-08" // --default-ssl-policy
	}
	return out, nil
}

// balancerOf builds the load balancer (model_build_load_balancer.go).
func (c *Controller) balancerOf(ctx context.Context, s *stack) error {
	b := &balancer{}
	var errs [8]error
	b.scheme, errs[0] = agreed(s.members, func(p *params) string { return aws.ToString(p.Scheme) }, "scheme")
	b.addresses, errs[1] = agreed(s.members, func(p *params) string { return aws.ToString(p.IPAddressType) }, "ip-address-type")
	b.name, errs[2] = agreed(s.members, func(p *params) string { return p.LoadBalancerName }, "load-balancer-name")
	b.attributes, errs[3] = merged(s.members, "load-balancer-attributes", func(p *params) (out []struct{ Key, Value string }) {
		return p.LoadBalancerAttributes
	})
	var more map[string]string
	more, errs[4] = tagsOf(s.members)
	var subnets, groups string
	subnets, errs[5] = agreed(s.members, func(p *params) string {
		if p.Subnets == nil {
			return ""
		}
		return strings.Join(p.Subnets.IDs, ",")
	}, "subnets")
	groups, errs[6] = agreed(s.members, func(*params) string { return "" }, "security-groups")
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	if b.scheme == "" {
		b.scheme = string(elb.LoadBalancerSchemeEnumInternal) // --default-load-balancer-scheme
	}
	if b.addresses == "" {
		b.addresses = string(elb.IpAddressTypeIpv4)
	}
	if b.name == "" {
		b.name = s.id.named(hash(c.ClusterName, s.id.String(), b.scheme))
	}
	if len(b.name) > 32 {
		return fmt.Errorf("the name %s is too long", b.name)
	}
	b.tags = c.tags(s.id, "LoadBalancer", more)
	s.balancer = b
	if b.subnets = list(subnets); len(b.subnets) == 0 {
		var err error
		if b.subnets, err = c.subnets(ctx, s); err != nil {
			return err
		}
	}
	return c.groupsOf(ctx, s, list(groups), more)
}

// groupsOf says which security groups the load balancer has (model_build_load_balancer.go:285-339).
func (c *Controller) groupsOf(ctx context.Context, s *stack, named []string, more map[string]string) error {
	shared := true
	if s.named = named; len(named) > 0 {
		said, err := agreed(s.members, func(*params) string { return "" }, "manage-backend-security-group-rules")
		if err != nil {
			return err
		}
		if shared = said == "true"; shared && c.NoBackendGroup {
			return errors.New("rules of targets are not managed without the shared security group")
		}
	} else {
		s.front = &frontGroup{name: s.id.named(hash(c.ClusterName, s.id.String())), tags: c.tags(s.id, "ManagedLBSecurityGroup", more)}
	}
	if s.useBackend = shared && !c.NoBackendGroup; !s.useBackend {
		return nil
	}
	var err error
	s.peer, err = c.backendGroup(ctx, s.members)
	return err
}

// agreed returns what members say that say something, and fails if they differ. A field of the class goes first.
func agreed(of []member, field func(*params) string, annotation string) (string, error) {
	said := map[string]bool{}
	for _, m := range of {
		value, has := m.Annotations[prefix+annotation]
		if m.class.params != nil && field(m.class.params) != "" {
			value, has = field(m.class.params), true
		}
		if has {
			said[value] = true
		}
	}
	if len(said) > 1 {
		return "", fmt.Errorf("members differ in %s: %v", annotation, slices.Sorted(maps.Keys(said)))
	}
	for value := range said {
		return value, nil
	}
	return "", nil
}

// pairs reads an annotation of the form k=v,k=v.
func pairs(annotations map[string]string, name string) (map[string]string, error) {
	out := map[string]string{}
	for _, one := range list(annotations[prefix+name]) {
		k, v, ok := strings.Cut(one, "=")
		if !ok || k == "" {
			return nil, fmt.Errorf("%s: %q", name, one)
		}
		out[k] = v
	}
	return out, nil
}

// merged merges such an annotation of members, and fails if they differ in a key that the class does not have. The class is
// that of the first one.
func merged(of []member, annotation string, field func(*params) []struct{ Key, Value string }) (map[string]string, error) {
	out, class := map[string]string{}, map[string]string{}
	if len(of) > 0 && of[0].class.params != nil && field != nil {
		for _, one := range field(of[0].class.params) {
			class[one.Key] = one.Value
		}
	}
	for _, m := range of {
		said, err := pairs(m.Annotations, annotation)
		if err != nil {
			return nil, err
		}
		for k, v := range said {
			if was, has := out[k]; has && was != v && class[k] == "" {
				return nil, fmt.Errorf("members differ in %s: %s", annotation, k)
			}
			out[k] = v
		}
	}
	maps.Copy(out, class)
	return out, nil
}

// tagsOf merges the tags that members ask for (model_build_tags.go): those of a class go before its annotations.
func tagsOf(of []member) (map[string]string, error) {
	out := map[string]string{}
	for _, m := range of {
		said, err := m.tags()
		if err != nil {
			return nil, err
		}
		for k, v := range said {
			if was, has := out[k]; has && was != v {
				return nil, fmt.Errorf("members differ in the tag %s", k)
			}
			out[k] = v
		}
	}
	return out, nil
}

// tags are those that one Ingress asks for, with those of a Service before them.
func (m member) tags(services ...*corev1.Service) (map[string]string, error) {
	out, err := pairs(m.Annotations, "tags")
	if err != nil {
		return nil, err
	}
	for _, s := range services {
		more, err := pairs(s.Annotations, "tags")
		if err != nil {
			return nil, err
		}
		maps.Copy(out, more)
	}
	if m.class.params != nil {
		for _, tag := range m.class.params.Tags {
			out[tag.Key] = tag.Value
		}
	}
	return out, nil
}

// A groupSpec is what a target group is to be (model_build_target_group.go).
type groupSpec struct {
	name, kind, protocol, version, family string
	port                                  int32
	check                                 healthCheck
	attributes, tags                      map[string]string
}

type healthCheck struct {
	port, protocol, path, codes           string
	interval, timeout, healthy, unhealthy int32
}

// spec reads the annotations of a Service before those of its Ingress.
func (g *targetGroup) spec(c *Controller, s *stack) (groupSpec, error) {
	of := []map[string]string{g.service.Annotations, g.of.Annotations}
	out := groupSpec{kind: g.kind, protocol: g.protocol, version: g.version, family: "ipv4"}
	if slices.Contains(g.service.Spec.IPFamilies, corev1.IPv6Protocol) {
		if out.family = "ipv6"; !strings.HasPrefix(s.balancer.addresses, "dualstack") {
			return out, errors.New("an IPv6 Service of a load balancer without")
		}
	}
	out.port = 1
	if g.kind == "instance" {
		out.port = g.servicePort.NodePort
	} else if g.servicePort.TargetPort.Type == intstr.Int {
		out.port = g.servicePort.TargetPort.IntVal
	}
	out.name = short(g.service.Namespace, g.service.Name, hash(c.ClusterName, s.id.String(), g.of.Namespace, g.of.Name, string(g.service.UID),
		g.port.String(), strconv.Itoa(int(out.port)), g.kind, g.protocol, g.version))
	path, codes := "/", "200"
	if g.version == "GRPC" {
		path, codes = "/AWS.ALB/healthcheck", "12"
	}
	out.check = healthCheck{
		port: first(of, "healthcheck-port", "traffic-port"), protocol: first(of, "healthcheck-protocol", g.protocol),
		path: first(of, "healthcheck-path", path), codes: first(of, "success-codes", codes),
	}
	if named := intstr.Parse(out.check.port); named.Type == intstr.String && out.check.port != "traffic-port" {
		at := slices.IndexFunc(g.service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == out.check.port })
		if at < 0 {
			return out, fmt.Errorf("healthcheck-port: no port %s", out.check.port)
		}
		out.check.port = g.service.Spec.Ports[at].TargetPort.String()
		if g.kind == "instance" {
			out.check.port = strconv.Itoa(int(g.service.Spec.Ports[at].NodePort))
		}
	}
	for _, number := range []struct {
		into        *int32
		name, usual string
	}{
		{&out.check.interval, "healthcheck-interval-seconds", "15"}, {&out.check.timeout, "healthcheck-timeout-seconds", "5"},
		{&out.check.healthy, "healthy-threshold-count", "2"}, {&out.check.unhealthy, "unhealthy-threshold-count", "2"},
	} {
		n, err := strconv.ParseInt(first(of, number.name, number.usual), 10, 32)
		if err != nil {
			return out, fmt.Errorf("%s: %w", number.name, err)
		}
		*number.into = int32(n)
	}
	// The one annotation that is there is read whole: that of the Service, if it has one.
	var err error
	if out.attributes, err = pairs(map[string]string{prefix + "target-group-attributes": first(of, "target-group-attributes", "")}, "target-group-attributes"); err != nil {
		return out, err
	}
	more, err := g.of.tags(g.service)
	out.tags = c.tags(s.id, g.resource, more)
	return out, err
}
