// Package incumbent answers as the AWS Load Balancer Controller does: it reads the objects that the
// controller reads and says which answer its load balancer gives to a request. It is written from the
// controller's source at 225f44568848 (v3.5), which comments name by file and line below its
// directory pkg/ingress, and shares nothing with the front end that it judges. Where the documentation
// and the code of the controller differ, the code decides. Facts about AWS are those of its guide
// "Condition types for listener rules" and of the comments of its SDK.
//
// The answers leave out all that has no part in them: subnets, security groups, names, attributes, tags,
// health checks, WAF, mutual TLS and frontend NLBs, with the failures of a group that come from them.
//
// A Controller writes as the controller does: to the objects of Kubernetes, and to AWS. It leaves out WAF,
// Shield, mutual TLS, capacity reservations, address pools, frontend NLBs, Services and Gateways. Its files
// begin with what they have, and name the source below the directory of the repository.
package incumbent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/routing"
)

const prefix = "alb.ingress.kubernetes.io/"

// A Cluster has the objects that the controller reads.
type Cluster struct {
	Ingresses []*networkingv1.Ingress
	Services  []*corev1.Service
	Secrets   []*corev1.Secret
	Classes   []Class
	// Certificates are domain names of certificates that the account has. They serve HTTPS listeners
	// of Ingresses that name no certificate.
	Certificates []string
	// TargetGroups are ARNs of target groups that the account has, by name.
	TargetGroups map[string]string

	issued map[string][]string // names of certificates, by ARN: a Controller asks for them
}

// A Class is an IngressClass of the controller with the fields of its IngressClassParams that matter.
type Class struct {
	Name            string
	Default         bool
	Group           string
	TargetType      string
	SSLRedirectPort string
	CertificateARNs []string

	params *params // those that a Controller has read
}

// A Failure says why a group is not updated, which is then true of all its Ingresses. Event is the
// reason of the event that they get; a wrong group.order gets none (group_loader.go:274-296, and
// controllers/ingress/group_controller.go:151-153). FailedDeployModel stands for a rule that AWS refuses.
type Failure struct{ Event, Reason string }

func (f Failure) Error() string { return strings.TrimSpace(f.Event + " " + f.Reason) }

// A Group is the load balancer of a group of Ingresses.
type Group struct{ listeners map[int32]listener }

type listener struct {
	https    bool
	rules    []rule
	fallback rule // without conditions and transforms
	// certificates are ARNs: the first one is the default, and all are in the list of the others, too.
	certificates []string
}

// Certificates returns the certificates of a port, the default one first.
func (g Group) Certificates(port int32) []string { return g.listeners[port].certificates }

// An Answer is the end of a request, in one of these forms:
//
//	closed                               no listener on this port
//	404                                  no rule and no default backend, or a fixed 404 without a body
//	503                                  the backend's Service or action is missing
//	fixed 200 text/plain "body"          a fixed response; - stands for no content type
//	302 https://#{host}:443/new?#{query} a redirect; protocol and port are those of this listener, and
//	                                     the keywords of the other parts are AWS's
//	forward default/web:80               to a port of a Service, by its number. Another protocol than HTTP
//	                                     and another version than HTTP1 follow, as in web:80/HTTPS/GRPC
//	forward a*20 b*80 sticky 200s        by weights, sorted by name. A single one has no weight but 0
//	forward arn:… or forward name=…      to a target group that is not of the cluster
//
// These parts come first, for HTTPS, and end with "then":
//
//	oidc ISSUER AUTHORIZATION TOKEN USERINFO secret NAMESPACE/NAME SESSION then
//	cognito ARN CLIENT DOMAIN SESSION then
//	jwt JWKS ISSUER NAME(FORMAT)=VALUE|VALUE then
//
// with a SESSION of: params map[k:v] scope "openid" cookie NAME timeout 604800 unauthenticated authenticate.
// These come after a forward, in the order of the annotation:
//
//	, url "REGEX" to "REPLACEMENT"
//	, host "REGEX" to "REPLACEMENT"
type Answer string

// Answer returns the answer to a request. The protocol is that of the listener on the request's port.
func (g Group) Answer(r routing.Request) Answer {
	l, ok := g.listeners[r.Port]
	if !ok {
		return "closed"
	}
	_, kept := l.rulesOf(r)
	return kept.answer
}

// Dropped returns the answers of rules that the controller has dropped: behind a redirect, and as redirects to
// themselves. It looks at hosts and paths as texts, and drops too many.
func (g Group) Dropped(r routing.Request) (behind, loops []Answer) {
	dropped, _ := g.listeners[r.Port].rulesOf(r)
	for _, one := range dropped {
		if one.loop {
			loops = append(loops, one.answer)
		} else {
			behind = append(behind, one.answer)
		}
	}
	return behind, loops
}

// SignsIn reports whether a rule of a request, or one that is dropped, asks for a sign-in over HTTPS.
func (g Group) SignsIn(r routing.Request) bool {
	dropped, kept := g.listeners[r.Port].rulesOf(r)
	return slices.ContainsFunc(append(dropped, kept), func(r rule) bool { return r.signs })
}

// rulesOf returns the rule of a request, and those in front of it that are dropped.
func (l listener) rulesOf(r routing.Request) (dropped []rule, kept rule) {
	for _, one := range l.rules {
		switch {
		case !one.matches(r):
		case one.loop || one.behind:
			dropped = append(dropped, one)
		default:
			return dropped, one
		}
	}
	return dropped, l.fallback
}

// A member is an Ingress of a group, and a builder builds the group of its members.
type member struct {
	*networkingv1.Ingress
	class Class
	order int64
	ports map[int32]bool // whether they are HTTPS
	// certified says that it has a certificate for its ports of HTTPS.
	certified    bool
	certificates []string // their ARNs, if they are known
}

type builder struct {
	Cluster
	members []member
	made    []*targetGroup // that rules forward to, each once
}

// Build returns the groups by name, and the failures of those that fail. A group of one Ingress that
// names none has the name NAMESPACE/NAME, and so has the failure of an Ingress whose group's name is
// wrong, which belongs to no group (group_loader.go:156-162).
func Build(c Cluster) (map[string]Group, map[string]error) {
	builders := map[string]*builder{}
	groups, failures := map[string]Group{}, map[string]error{}
	for _, ing := range c.Ingresses {
		class, ours := c.classOf(ing)
		if !ours || ing.DeletionTimestamp != nil {
			continue
		}
		name := ing.Namespace + "/" + ing.Name
		explicit, has := ing.Annotations[prefix+"group.name"]
		if class.Group != "" {
			explicit, has = class.Group, true
		}
		if has && (len(explicit) > 63 || !groupName.MatchString(explicit)) {
			failures[name] = Failure{"FailedLoadGroupID", "the group's name is wrong: " + explicit}
			continue
		}
		if has {
			name = explicit
		}
		if builders[name] == nil {
			builders[name] = &builder{Cluster: c}
		}
		builders[name].members = append(builders[name].members, member{Ingress: ing, class: class})
	}
	for name, b := range builders {
		g, err := b.build()
		var failure Failure
		if err != nil && !errors.As(err, &failure) {
			err = Failure{"FailedBuildModel", err.Error()}
		}
		if err != nil {
			failures[name] = err
			continue
		}
		groups[name] = g
	}
	return groups, failures
}

var groupName = regexp.MustCompile(`^([a-z0-9][-a-z0-9.]*)?[a-z0-9]$`) // group_loader.go:29

// classOf returns the class of an Ingress, and false if the controller leaves it alone. The old
// annotation goes first, and knows no parameters (group_loader.go:197-209).
func (c Cluster) classOf(ing *networkingv1.Ingress) (Class, bool) {
	if old, ok := ing.Annotations["kubernetes.io/ingress.class"]; ok {
		return Class{}, old == "alb"
	}
	at := slices.IndexFunc(c.Classes, func(class Class) bool {
		if ing.Spec.IngressClassName == nil {
			return class.Default
		}
		return class.Name == *ing.Spec.IngressClassName
	})
	if at < 0 {
		return Class{}, false
	}
	return c.Classes[at], true
}

// build builds the group, and renders its answers.
func (b *builder) build() (Group, error) {
	g, err := b.model()
	if err != nil {
		return Group{}, err
	}
	// AWS gets rules when the whole model is built, so that its refusals come last.
	for port, l := range g.listeners {
		if l.https && !slices.ContainsFunc(b.members, func(m member) bool { return m.ports[port] && m.certified }) {
			return Group{}, Failure{"FailedDeployModel", fmt.Sprintf("port %d has no certificate", port)}
		}
		for _, r := range append(slices.Clone(l.rules), l.fallback) {
			if reason := r.refusal(port, l.https); reason != "" && !r.loop && !r.behind {
				return Group{}, Failure{"FailedDeployModel", fmt.Sprintf("port %d: %s", port, reason)}
			}
		}
		for i, r := range l.rules {
			l.rules[i].answer = r.render(port, l.https)
		}
		l.fallback.answer = l.fallback.render(port, l.https)
		g.listeners[port] = l
	}
	return g, nil
}

// model builds the listeners and their rules, before AWS is asked.
func (b *builder) model() (Group, error) {
	if err := b.sortMembers(); err != nil {
		return Group{}, err
	}
	g := Group{listeners: map[int32]listener{}}
	for i := range b.members {
		m := &b.members[i]
		if err := b.readPorts(m); err != nil {
			return Group{}, fmt.Errorf("%s/%s: %w", m.Namespace, m.Name, err)
		}
		for port, https := range m.ports {
			if l, ok := g.listeners[port]; ok && l.https != https {
				return Group{}, fmt.Errorf("port %d is HTTP and HTTPS", port) // model_builder.go:423
			}
			g.listeners[port] = listener{https: https}
		}
	}
	redirect, err := b.sslRedirect(g)
	if err != nil {
		return Group{}, err
	}
	for port, l := range g.listeners {
		if g.listeners[port], err = b.buildListener(port, l.https, redirect); err != nil {
			return Group{}, err
		}
	}
	return g, nil
}

// sortMembers orders members by group.order and then by namespace/name as one text, in which
// "a-b/x" is before "a/x" (group_loader.go:298-308).
func (b *builder) sortMembers() error {
	for i := range b.members {
		m := &b.members[i]
		raw, has := m.Annotations[prefix+"group.order"]
		order, err := strconv.ParseInt(raw, 10, 32)
		if has && (err != nil || order < -1000 || order > 1000) {
			return Failure{"", "wrong group.order: " + raw}
		}
		m.order = order
	}
	slices.SortFunc(b.members, func(x, y member) int {
		if x.order != y.order {
			return int(x.order - y.order)
		}
		return strings.Compare(x.Namespace+"/"+x.Name, y.Namespace+"/"+y.Name)
	})
	return nil
}

// readPorts reads the ports of a member. spec.tls has no part in them (model_build_listener.go:237).
// A port that is named twice is the last one, without a failure, although the documentation forbids
// it; within one object of the list that depends on the order of a map (model_build_listener.go:254-270).
func (b *builder) readPorts(m *member) error {
	m.certificates = m.class.CertificateARNs
	if len(m.certificates) == 0 {
		m.certificates = list(m.Annotations[prefix+"certificate-arn"])
	}
	named := len(m.certificates) > 0
	m.ports = map[int32]bool{}
	raw, has := m.Annotations[prefix+"listen-ports"]
	if !has {
		m.ports[map[bool]int32{false: 80, true: 443}[named]] = named
	}
	var entries []map[string]int32
	if err := json.Unmarshal([]byte(raw), &entries); has && err != nil {
		return fmt.Errorf("listen-ports: %w", err)
	}
	if has && len(entries) == 0 {
		return errors.New("listen-ports is empty")
	}
	for _, entry := range entries {
		for protocol, port := range entry {
			if port < 1 || port > 65535 || protocol != "HTTP" && protocol != "HTTPS" {
				return fmt.Errorf("listen-ports: no such port: %s %d", protocol, port)
			}
			m.ports[port] = protocol == "HTTPS"
		}
	}
	m.certified = named
	if named || !slices.Contains(slices.Collect(maps.Values(m.ports)), true) {
		return nil
	}
	return b.discover(m)
}

// discover looks for a certificate of each host of rules and TLS (model_build_listener.go:213-235).
func (b *builder) discover(m *member) error {
	var hosts []string
	for _, rule := range m.Spec.Rules {
		hosts = append(hosts, rule.Host)
	}
	for _, tls := range m.Spec.TLS {
		hosts = append(hosts, tls.Hosts...)
	}
	hosts = slices.DeleteFunc(hosts, func(host string) bool { return host == "" })
	for _, host := range hosts {
		serves := func(domain string) bool {
			_, below, _ := strings.Cut(host, ".")
			return domain == host || domain == "*."+below
		}
		found := false
		for _, domain := range b.Certificates {
			if serves(domain) {
				m.certificates, found = append(m.certificates, "cert:"+domain), true
			}
		}
		for arn, domains := range b.issued {
			if slices.ContainsFunc(domains, serves) {
				m.certificates, found = append(m.certificates, arn), true
			}
		}
		if !found {
			return fmt.Errorf("no certificate for host %s", host)
		}
	}
	slices.Sort(m.certificates) // pkg/certs/cert_discovery.go:73-96, which has each once
	m.certificates = slices.Compact(m.certificates)
	m.certified = len(hosts) > 0
	return nil
}

// list reads an annotation that has a list (pkg/annotations/parser.go).
func list(raw string) (out []string) {
	for _, part := range strings.Split(raw, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// sslRedirect returns the port that HTTP listeners redirect to, or 0. One member that names it does so
// for all; a port of a class that does not parse switches it off for all (model_builder.go:514-553).
func (b *builder) sslRedirect(g Group) (int32, error) {
	ports := map[int32]bool{}
	for _, m := range b.members {
		raw, has := m.Annotations[prefix+"ssl-redirect"]
		if m.class.SSLRedirectPort != "" {
			raw, has = m.class.SSLRedirectPort, true
		}
		if !has {
			continue
		}
		port, err := strconv.ParseInt(raw, 10, 32)
		if err != nil && m.class.SSLRedirectPort != "" {
			return 0, nil
		}
		if err != nil {
			return 0, fmt.Errorf("ssl-redirect: %w", err)
		}
		ports[int32(port)] = true
	}
	if len(ports) > 1 {
		return 0, errors.New("members differ in ssl-redirect")
	}
	for port := range ports {
		if !g.listeners[port].https {
			return 0, fmt.Errorf("ssl-redirect: port %d is not HTTPS", port)
		}
		return port, nil
	}
	return 0, nil
}

// buildListener builds the rules of a port, in the order of members, of their rules, and of paths by
// type. A listener that redirects builds none, so that their faults do not fail the group
// (model_build_listener_rules.go:19-86, model_build_listener.go:71-101).
func (b *builder) buildListener(port int32, https bool, redirectTo int32) (listener, error) {
	l := listener{https: https, fallback: rule{action: missing("404", "")}, certificates: b.certificatesOf(port)}
	if redirectTo != 0 && !https {
		to, protocol := strconv.Itoa(int(redirectTo)), "HTTPS"
		l.fallback.action = action{Type: "redirect", RedirectConfig: &redirect{Port: &to, Protocol: &protocol, StatusCode: "HTTP_301"}}
		return l, nil
	}
	defaults := 0
	for _, m := range b.members {
		if _, listens := m.ports[port]; !listens {
			continue
		}
		if m.Spec.DefaultBackend != nil {
			var err error
			// Its conditions and transforms are read and dropped (model_build_listener.go:94-100).
			if l.fallback, err = b.backend(m, *m.Spec.DefaultBackend, https); err != nil {
				return l, fmt.Errorf("%s/%s: %w", m.Namespace, m.Name, err)
			}
			l.fallback.conditions, l.fallback.transforms = nil, nil
			defaults++
		}
		for _, r := range m.Spec.Rules {
			if r.HTTP == nil {
				continue
			}
			for _, path := range sorted(r.HTTP.Paths) {
				built, err := b.backend(m, path.Backend, https)
				if err == nil {
					built.conditions, err = m.conditions(r.Host, path, built.conditions)
				}
				if err != nil {
					return l, fmt.Errorf("%s/%s: %w", m.Namespace, m.Name, err)
				}
				built.of = m
				l.rules = append(l.rules, built)
			}
		}
	}
	if defaults > 1 {
		return l, errors.New("several default backends")
	}
	optimise(port, https, l.rules)
	return l, nil
}

// certificatesOf merges the certificates of the members of a port, each once (mergeListenPortConfigs, model_builder.go:387).
func (b *builder) certificatesOf(port int32) (out []string) {
	for _, m := range b.members {
		for _, arn := range m.certificates {
			if m.ports[port] && !slices.Contains(out, arn) {
				out = append(out, arn)
			}
		}
	}
	return out
}
