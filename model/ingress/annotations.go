package ingress

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file is the table of annotations. Reading, checking, permission and the reference page
// docs/reference/annotations.md all follow from it.

const (
	prefix = v1alpha1.Group + "/"

	classAnnotation      = "kubernetes.io/ingress.class"
	groupAnnotation      = prefix + "group"
	orderAnnotation      = prefix + "order"
	schemeAnnotation     = prefix + "scheme"
	nameAnnotation       = prefix + "load-balancer-name"
	targetTypeAnnotation = prefix + "target-type"
	protocolAnnotation   = prefix + "backend-protocol"
	versionAnnotation    = prefix + "backend-protocol-version"
	attributesAnnotation = prefix + "target-group-attributes"
	portsAnnotation      = prefix + "listen-ports"
	policyAnnotation     = prefix + "tls-policy"
	arnAnnotation        = prefix + "certificate-arn"
	inboundAnnotation    = prefix + "inbound"
	webACLAnnotation     = prefix + "wafv2-acl"
	shieldAnnotation     = prefix + "shield-advanced"
)

// An annotation is one row of the table.
type annotation struct {
	name     string
	kind     string // what values look like
	fallback string // what holds without it
	on       string // the kind of object that carries it
	about    subject
	merge    string // what holds where members of a load balancer differ
	needs    string // the capability that a cloud needs for it
	example  string
	doc      string

	// read checks a value and notes it. Nil for the settings of health checks, which health.go
	// reads, and for the class, which class.go does.
	read func(*settings, string) error
	// exposes reports whether to go without an annotation that the class forbids could open more than its author
	// asked for. Such an Ingress is not served rather than served too widely. The value has not been checked: it
	// is compared with what is given instead, and counts as exposing where it is not understood.
	exposes func(value string, given settings) bool
}

// A subject is what a setting is about.
type subject string

const (
	aboutIngress  subject = "the Ingress"
	aboutServices subject = "the ports of its Services"
	aboutChoice   subject = "which load balancer the Ingress is on"
	aboutPort     subject = "the whole port"
	aboutBalancer subject = "the whole load balancer"
)

// whole reports whether a setting is about more than the Ingress that has it and its Services. In a group across
// namespaces such a setting counts only from the class and from the Ingresses of the group's owner (owner.go).
func (s subject) whole() bool { return s == aboutPort || s == aboutBalancer }

const (
	onIngress   = "Ingress"
	mergeOwn    = "each Ingress has its own"
	mergeOldest = "per Service port; the oldest Ingress decides, the others are told"
	needsNone   = "none"
)

var annotations = []annotation{
	{
		name: classAnnotation, kind: "name of a class", fallback: "`spec.ingressClassName`", on: onIngress, about: aboutChoice,
		merge: mergeOwn, needs: needsNone, example: "fairlead",
		doc: "The class, as it was written before `spec.ingressClassName`. It takes priority over the field. " +
			"It means the IngressClass of that name, with its parameters. Where there is none the Ingress is told `ClassMissing` if the value is `fairlead`, a name that a setting of the operator has, or what Fairlead served it under, and what is served stays as it was last accepted; any other value is left to other controllers. " +
			"Only with [`--ingress-class-literal`](run.md) does a value stand for a class without parameters where no IngressClass has that name. " +
			"A class cannot forbid the annotation: it leads to no more than the field does.",
	},
	{
		name: groupAnnotation, kind: "name: lower-case letters, digits and dashes, at most 63", fallback: "a load balancer of its own", on: onIngress, about: aboutChoice,
		merge: mergeOwn, needs: needsNone, example: "shop",
		doc: "Ingresses of one namespace and class that name the same group share a load balancer. " +
			"Across namespaces they do so where the class lists the group and its selector selects the namespace.",
		read: func(s *settings, v string) error {
			s.group = v
			return joined(validation.IsDNS1123Label(v))
		},
	},
	{
		name: orderAnnotation, kind: "integer from -1000 to 1000", fallback: "0", on: onIngress, about: aboutIngress,
		merge: mergeOwn, needs: needsNone, example: "-10",
		doc: "Who wins between Ingresses that claim the same requests, and whose setting counts: the lower order, before age is looked at. " +
			"It never changes which path is more specific. The class has to permit it with `order: true`.",
		read: func(s *settings, v string) (err error) {
			s.order, err = integer(v, -1000, 1000)
			return err
		},
	},
	{
		name: schemeAnnotation, kind: "`internal` or `internet-facing`", fallback: "`scheme` of the class, else `internal`", on: onIngress, about: aboutChoice,
		merge: "members of a group that differ are on two load balancers, and are told", needs: needsNone, example: v1alpha1.SchemeInternetFacing,
		doc: "Where the load balancer can be reached from. Where the class sets a scheme, no other can be asked for. " +
			"A change is a move to another load balancer.",
		read: func(s *settings, v string) error {
			s.scheme = v
			return oneOf(v, v1alpha1.SchemeInternal, v1alpha1.SchemeInternetFacing)
		},
		exposes: func(value string, given settings) bool {
			return value != v1alpha1.SchemeInternetFacing && given.scheme != v1alpha1.SchemeInternal
		},
	},
	{
		name: nameAnnotation, kind: "name: letters, digits and dashes, at most 32", fallback: "`loadBalancerName` of the class, else one that is made of its key", on: onIngress, about: aboutChoice,
		merge: "members of a group that differ are on several load balancers, and are told", needs: needsNone, example: "shop-edge",
		doc: "What the load balancer is called in the cloud. Where the class sets a name, no other can be asked for. It has no dash at either end, and begins with neither `fl-`, as the others do, nor `internal-`. " +
			"Nothing else in the account may have it: an Ingress that asks for a name that is taken is told so, and is served once it is free. " +
			"A change is a move to another load balancer, and so is a change of the group or the scheme, with which the name has to change.",
		read: func(s *settings, v string) error {
			s.ownName = v
			return checkOwnName(v)
		},
	},
	{
		name: targetTypeAnnotation, kind: "`ip` or `instance`", fallback: "`targetType` of the class, else `ip`", on: onIngress, about: aboutServices,
		merge: "per Service port; each type has targets of its own", needs: "targets of that type", example: v1alpha1.TargetTypeIP,
		doc: "What requests are sent to: the addresses of pods, or the node port of a Service of type NodePort or LoadBalancer, on every node that is ready; " +
			"with `externalTrafficPolicy: Local`, on those that run a ready pod of the Service. " +
			"Nodes that are being removed or shut down, or carry the label `node.kubernetes.io/exclude-from-external-load-balancers`, are left out; cordoned ones are not.",
		read: func(s *settings, v string) error {
			s.targetType = v
			return oneOf(v, v1alpha1.TargetTypeIP, v1alpha1.TargetTypeInstance)
		},
	},
	{
		name: protocolAnnotation, kind: "`HTTP` or `HTTPS`", fallback: "what `appProtocol` of the Service's port says, else `HTTP`", on: onIngress, about: aboutServices,
		merge: "per Service port; each protocol has targets of its own", needs: needsNone, example: v1alpha1.ProtocolHTTPS,
		doc: "Whether targets are spoken to in the clear or over TLS. Their certificates are not verified. " +
			"Of `appProtocol`, `https` and `kubernetes.io/wss` say HTTPS.",
		read: func(s *settings, v string) error {
			s.speech.protocol = v
			return oneOf(v, v1alpha1.ProtocolHTTP, v1alpha1.ProtocolHTTPS)
		},
	},
	{
		name: versionAnnotation, kind: "`HTTP1`, `HTTP2` or `GRPC`", fallback: "what `appProtocol` of the Service's port says, else `HTTP1`", on: onIngress, about: aboutServices,
		merge: "per Service port; each version has targets of its own", needs: "`HTTP2` and `GRPC`: on AWS, an HTTPS port", example: "GRPC",
		doc: "The version of HTTP that targets speak. Of `appProtocol`, `kubernetes.io/h2c` says HTTP2 and `grpc` says GRPC. " +
			"Where the cloud cannot serve them on a port, they are refused there, by name.",
		read: func(s *settings, v string) error {
			s.speech.version = v
			return oneOf(v, versionHTTP1, versionHTTP2, versionGRPC)
		},
	},
	{
		name: attributesAnnotation, kind: "list of `name=value`", fallback: "the cloud's defaults", on: onIngress, about: aboutServices,
		merge: mergeOldest, needs: "attributes of target groups of these names, which AWS has",
		example: "deregistration_delay.timeout_seconds=30,stickiness.enabled=true",
		doc: "Attributes of target groups, in the cloud's own terms. They change in place, and one that is removed goes back to the cloud's default. " +
			"One that the cloud does not have, or not with that value, is left out, and its author is told.",
		read: func(s *settings, v string) (err error) {
			s.attributes, err = parseAttributes(v)
			return err
		},
	},
	{
		name: portsAnnotation, kind: "list of `HTTP:port` and `HTTPS:port`, or the same as JSON", fallback: "`listenPorts` of the class, else `HTTP:80`", on: onIngress, about: aboutIngress,
		merge: "each Ingress is served on its own; where two want different protocols on a port, the oldest decides, and the other is not served there", needs: needsNone, example: "HTTP:80,HTTPS:443",
		doc: "The ports that serve the Ingress, at most 50. Hosts that `spec.tls` covers are served on the HTTPS ports besides, on 443 if none is listed. " +
			"`[{\"HTTP\":80},{\"HTTPS\":443}]` says the same as the example. " +
			"In a group across namespaces there are HTTP on 80 and HTTPS on 443, the `listenPorts` of the class, and what Ingresses of the group's owner ask for; an Ingress chooses among them, and is not served on any other port.",
		read: func(s *settings, v string) (err error) {
			s.ports, err = parsePorts(v)
			return err
		},
		exposes: func(value string, given settings) bool {
			listed := itemsOf(brackets.Replace(value))
			return slices.ContainsFunc(given.ports, func(p v1alpha1.ListenPort) bool {
				return !slices.Contains(listed, p.Protocol+":"+strconv.Itoa(int(p.Port)))
			})
		},
	},
	{
		name: conditionsAnnotation, kind: "list of entries, in YAML or JSON", fallback: "host and path decide alone", on: onIngress, about: aboutIngress,
		merge: mergeOwn, needs: needsNone, example: `[{"backend": "canary", "header": {"X-Canary": ["always"]}}]`,
		doc: "What requests have to fulfil besides host and path. An entry is about the paths of a `backend`, which is the name of a Service or Backend, " +
			"about a `path` as it is spelt in the spec, about both, or about all paths of the Ingress. " +
			"It has `header` and `query`, each a name with its values, `method` and `source`, each a list. " +
			"A request fulfils all of them, each by one of its values, and those of every entry that is about the path. " +
			"In the values of headers and of query parameters `*` stands for any text and `?` for one character, and case makes no difference. Sources are ranges of addresses. " +
			"Of two routes with one host and path the one with more conditions goes first; what fulfils none goes on as if the path were not there. " +
			"A default backend has no conditions, so an entry that would be about it too is refused.",
		read: func(s *settings, v string) (err error) {
			s.narrowings, err = readConditions(v)
			return err
		},
		exposes: func(string, settings) bool { return true },
	},
	{
		name: arnAnnotation, kind: "list of ARNs of certificates", fallback: "certificates are found by host", on: onIngress, about: aboutIngress,
		merge: "each Ingress has its own", needs: "certificates of ACM or IAM", example: "arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012",
		doc: "The certificates for those entries of `spec.tls` that name no Secret, and where there is no entry, for all of the Ingress. " +
			"The first counts as the certificate of each of its hosts; clients are shown the one that fits. Nothing is searched for. In a group across namespaces, and where the class has `allowedHosts`, every name in them has to be one that the namespace may serve; else none of them is served.",
		read: func(s *settings, v string) (err error) {
			s.arns, err = parseARNs(v)
			return err
		},
	},
	{
		name: policyAnnotation, kind: "the cloud's name of a TLS policy", fallback: "the cloud's default", on: onIngress, about: aboutPort,
		merge: "per port; the oldest Ingress decides, the others are told", needs: needsNone, example: "ELBSecurityPolicy-TLS13-1-2-2021-06",
		doc: "The protocols and ciphers that are accepted on the HTTPS ports of the Ingress. Where the class sets a policy, for all ports or for one, that holds instead: an Ingress cannot weaken it. Where the class allows no policy and sets none, or sets one that accepts older versions of TLS than the one that is asked for, the Ingress is not served over HTTPS with less. " +
			"An Ingress whose policy does not count in a group across namespaces is not served on HTTPS ports that have another one.",
		read: func(s *settings, v string) error {
			s.tlsPolicy = v
			if !policyName.MatchString(v) {
				return errors.New("it is not the name of a policy: letters, digits and dashes")
			}
			return nil
		},
		exposes: func(value string, given settings) bool {
			return given.fixedPolicy == "" || stricterPolicy(value, given.fixedPolicy)
		},
	},
	{
		name: inboundAnnotation, kind: "list of ranges of addresses, and of lists of them that the cloud keeps", fallback: "`inbound` of the class, else all clients", on: onIngress, about: aboutPort,
		merge: "per port, the oldest Ingress first: one that asks for a part of the ranges narrows them for all, one that asks for more is told, and any other is not served on the port", needs: "a firewall for each port", example: "10.0.0.0/8, pl-0123456789abcdef0",
		doc: "Which clients may connect to the ports of the Ingress, at most 50 ranges and lists. An Ingress is never served on a port to which more clients may connect. " +
			"Where the class says which may, or brings security groups of its own, nothing else can be asked for. A cloud that cannot keep clients out does not serve the port.",
		read: func(s *settings, v string) (err error) {
			s.inbound, err = parseInbound(v)
			return err
		},
		exposes: func(value string, given settings) bool {
			sources := itemsOf(value)
			return len(sources) > mostSources || !within(given.inbound, sources)
		},
	},
	{
		name: webACLAnnotation, kind: "name or ARN of a web ACL of the load balancer's region, or `none`", fallback: "`wafv2ACL` of the class, else what another Ingress of the load balancer says", on: onIngress, about: aboutBalancer,
		merge: "one for all, that of the oldest Ingress that names one and is served; an Ingress that names another one is not served, and `none` gives way", needs: "web ACLs, which AWS WAF has", example: "shop-edge",
		doc: "The web ACL that stands before the load balancer. The Ingress is not served without it, or behind another one: where there is no such web ACL it is refused, and where it is being put there its routes wait. " +
			"Where the class names one, no other can be asked for. `none` takes away what stands there. A load balancer of which nobody says anything is left as it is, " +
			"and where nobody says anything any more, what was put there is taken away.",
		read: func(s *settings, v string) error {
			s.webACL = v
			return checkWebACL(v)
		},
		exposes: func(value string, given settings) bool { return guards(value) && !guards(given.webACL) },
	},
	{
		name: shieldAnnotation, kind: "`true` or `false`", fallback: "`shieldAdvanced` of the class, else whoever else there is decides", on: onIngress, about: aboutBalancer,
		merge: "one for all: `true` if any Ingress says so; who says `false` is told", needs: "AWS Shield Advanced, and a subscription to it", example: "true",
		doc: "Whether the load balancer has the protection of AWS Shield Advanced. Where there is none to be had, requests are served without it, and the author is told. " +
			"`false` takes away a protection that Fairlead made, and no other.",
		read: func(s *settings, v string) error {
			s.shield = v
			return oneOf(v, "true", "false")
		},
	},
	{
		name: healthPath, kind: "path", fallback: "/", on: onIngress, about: aboutServices, merge: mergeOldest, needs: needsNone, example: "/healthz",
		doc: "The path that is requested to find out whether a target can serve. For targets that speak gRPC it is `/AWS.ALB/healthcheck` unless it is set.",
	},
	{
		name: healthPort, kind: "port, or `traffic-port`", fallback: trafficPort, on: onIngress, about: aboutServices, merge: mergeOldest, needs: needsNone, example: "8081",
		doc: "The port that is asked: the one that serves requests, or another one of the target, which `targetPorts` of the class have to allow.",
	},
	{
		name: healthProtocol, kind: "`HTTP` or `HTTPS`", fallback: v1alpha1.ProtocolHTTP, on: onIngress, about: aboutServices, merge: mergeOldest, needs: needsNone, example: v1alpha1.ProtocolHTTPS,
		doc: "What is spoken to ask. Unless it is set, it is what requests are sent with.",
	},
	{
		name: healthInterval, kind: "seconds from 5 to 300", fallback: "15", on: onIngress, about: aboutServices, merge: mergeOldest, needs: needsNone, example: "30",
		doc: "How often each target is asked. It has to be longer than the timeout.",
	},
	{
		name: healthTimeout, kind: "seconds from 2 to 120", fallback: "5", on: onIngress, about: aboutServices, merge: mergeOldest, needs: needsNone, example: "10",
		doc: "How long an answer may take.",
	},
	{
		name: healthHealthy, kind: "integer from 2 to 10", fallback: "2", on: onIngress, about: aboutServices, merge: mergeOldest, needs: needsNone, example: "3",
		doc: "How many good answers in a row make a target healthy.",
	},
	{
		name: healthUnhealthy, kind: "integer from 2 to 10", fallback: "2", on: onIngress, about: aboutServices, merge: mergeOldest, needs: needsNone, example: "3",
		doc: "How many bad answers in a row make a target unhealthy.",
	},
	{
		name: healthCodes, kind: "list of statuses and ranges from 200 to 499; for gRPC, from 0 to 99", fallback: "200", on: onIngress, about: aboutServices, merge: mergeOldest, needs: needsNone, example: "200,204,300-399",
		doc: "The statuses that count as a good answer; for gRPC, 12 unless it is set.",
	},
}

// policyName is what the names of TLS policies look like.
var policyName = regexp.MustCompile(`^[A-Za-z0-9-]{1,128}$`)

// annotationOf is the row of a name, or nil.
func annotationOf(name string) *annotation {
	i := slices.IndexFunc(annotations, func(a annotation) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return &annotations[i]
}

// withPrefix is the full name of an annotation that may be written without its prefix.
func withPrefix(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return prefix + name
}

// settings are what the annotations of an Ingress say. What they do not say is empty.
type settings struct {
	group       string
	order       int
	scheme      string
	ownName     string // of the load balancer
	targetType  string
	speech      speech
	attributes  map[string]string // of target groups
	ports       []v1alpha1.ListenPort
	tlsPolicy   string
	fixedPolicy string // TLS policy of the class for all ports
	arns        []routing.CertificateID
	inbound     []string // nil: everybody
	webACL      string
	shield      string // true or false
	narrowings  []narrowing
	health      map[string]string // by annotation
	// unheeded are those that do not count: they are about a whole port or load balancer that others decide about.
	unheeded *settings
}

// under completes settings with what the class says, and with what holds if nobody says anything.
func (s settings) under(c *Class) settings {
	s.scheme = first(c.Scheme, s.scheme, v1alpha1.SchemeInternal)
	s.ownName = first(c.LoadBalancerName, s.ownName)
	s.targetType = first(s.targetType, c.TargetType, v1alpha1.TargetTypeIP)
	s.webACL = first(c.WAFv2ACL, s.webACL)
	s.fixedPolicy = c.TLSPolicy
	if c.ShieldAdvanced != nil {
		s.shield = strconv.FormatBool(*c.ShieldAdvanced)
	}
	if c.Inbound != nil {
		s.inbound = c.Inbound
	}
	s.inbound = inboundOf(s.inbound)
	if s.ports == nil {
		s.ports = c.ListenPorts
	}
	if s.ports == nil {
		s.ports = []v1alpha1.ListenPort{{Protocol: v1alpha1.ProtocolHTTP, Port: 80}}
	}
	return s
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// longestAnnotation is the bytes of the longest annotation that is looked into.
const longestAnnotation = 16 << 10

// readAnnotations reads the annotations of an Ingress under its class. An error among the
// diagnostics means that it must not be served as it is.
func readAnnotations(ing *networkingv1.Ingress, c *Class) (settings, []diag.Diagnostic) {
	return c.read(ing, c.joins(ing))
}

// read reads the annotations of an Ingress on a load balancer of a group across namespaces, or of no such group.
// What the class forbids is not read.
func (c *Class) read(ing *networkingv1.Ingress, group string) (settings, []diag.Diagnostic) {
	var granted, unheeded settings
	var found []diag.Diagnostic
	var without []*annotation // those that the class does not allow
	for _, key := range slices.Sorted(maps.Keys(ing.Annotations)) {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		a, value := annotationOf(key), ing.Annotations[key]
		if a == nil {
			continue
		}
		to := &granted
		switch {
		case !c.allows(a, value):
			without = append(without, a)
			continue
		case len(value) > longestAnnotation:
			found = append(found, about(ing, key, diag.Error, diag.AnnotationInvalid,
				fmt.Sprintf("it has %d bytes, and an annotation has at most %d", len(value), longestAnnotation)))
			continue
		case a.about.whole() && !c.heeds(ing.Namespace, group):
			to, granted.unheeded = &unheeded, &unheeded
		}
		if err := a.note(to, value); err != nil {
			found = append(found, about(ing, key, diag.Error, diag.AnnotationInvalid, fmt.Sprintf("%s: %s", diag.Quote(value), err)))
		}
	}
	given := granted.under(c)
	for _, a := range without {
		found = append(found, a.refusal(ing, given))
	}
	found = append(found, unknownOf(ing, given)...)
	found = append(found, c.foreignOf(ing, given)...)
	if failed(found) {
		return given, found
	}
	if err := given.checkConditions(&ing.Spec); err != nil {
		found = append(found, about(ing, conditionsAnnotation, diag.Error, diag.AnnotationInvalid, err.Error()))
	}
	if port := given.health[healthPort]; port != "" && !c.allowsCheck(port) {
		found = append(found, about(ing, healthPort, diag.Error, diag.TargetPortNotAllowed,
			fmt.Sprintf("health checks cannot go to port %s: %s", port, c.notAllowed())))
	}
	if given.health != nil {
		if err := c.checkHealth(given.health); err != nil {
			found = append(found, about(ing, healthTimeout, diag.Error, diag.AnnotationInvalid, err.Error()))
		}
	}
	return given, found
}

// note checks a value and puts it where it belongs.
func (a *annotation) note(to *settings, value string) error {
	if a.read != nil {
		return a.read(to, value)
	}
	if to.health == nil {
		to.health = map[string]string{}
	}
	to.health[a.name] = value
	return setHealth(nil, a.name, value)
}

// allows reports whether authors of Ingresses of the class may use an annotation with a value.
func (c *Class) allows(a *annotation, value string) bool {
	switch {
	case a.name == orderAnnotation && !c.Order:
		return false
	case a.name == policyAnnotation && c.TLSPolicy != "" && c.TLSPolicy != value:
		return false
	case a.name == schemeAnnotation && c.Scheme != "" && c.Scheme != value:
		return false
	case a.name == nameAnnotation && c.LoadBalancerName != "" && c.LoadBalancerName != value:
		return false
	case a.name == inboundAnnotation && (len(c.Inbound) > 0 || len(c.SecurityGroups) > 0):
		return false
	case a.name == webACLAnnotation && c.WAFv2ACL != "" && c.WAFv2ACL != value:
		return false
	case a.name == shieldAnnotation && c.ShieldAdvanced != nil && strconv.FormatBool(*c.ShieldAdvanced) != value:
		return false
	case c.Annotations == nil:
		return true
	}
	return slices.ContainsFunc(*c.Annotations, func(n string) bool { return withPrefix(n) == a.name })
}

// refusal tells the author of an annotation that the class does not allow.
func (a *annotation) refusal(ing *networkingv1.Ingress, given settings) diag.Diagnostic {
	value := ing.Annotations[a.name]
	if a.exposes != nil && (len(value) > longestAnnotation || a.exposes(value, given)) {
		return about(ing, a.name, diag.Error, diag.AnnotationNotAllowed,
			"the class does not allow it, and without it more could be exposed than it asks for, so the Ingress is not served as it is")
	}
	return about(ing, a.name, diag.Warning, diag.AnnotationNotAllowed, "the class does not allow it, so it is ignored")
}

// itemsOf splits a list at its commas.
func itemsOf(list string) []string {
	items := strings.Split(list, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

func annotationSource(ing *networkingv1.Ingress, name string) diag.Source {
	return sourceOf(ing).At("metadata.annotations[" + name + "]")
}

func about(ing *networkingv1.Ingress, name string, severity diag.Severity, reason diag.Reason, message string) diag.Diagnostic {
	return diag.Diagnostic{Severity: severity, Reason: reason, Source: annotationSource(ing, name), Message: message}
}

func integer(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("it is not an integer from %d to %d", least, most)
	}
	return n, nil
}

func oneOf(value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("it is neither %s", strings.Join(known, " nor "))
}

func joined(messages []string) error {
	if len(messages) == 0 {
		return nil
	}
	return errors.New(strings.Join(messages, "; "))
}
