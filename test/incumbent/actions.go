package incumbent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// An action is the annotation actions.${name}, or the forward to a Service that a backend names. An
// ARN or a name beside the type is the simplified schema.
type action struct {
	Type                            string
	TargetGroupARN, TargetGroupName *string
	FixedResponseConfig             *fixed
	RedirectConfig                  *redirect
	ForwardConfig                   *forward
}

type fixed struct {
	ContentType, MessageBody *string
	StatusCode               string
	bare                     bool // the controller's own, whose answer is its code alone
}

type redirect struct {
	Host, Path, Port, Protocol, Query *string
	StatusCode                        string
}

type forward struct {
	TargetGroups                []target
	TargetGroupStickinessConfig *struct {
		Enabled         *bool
		DurationSeconds *int32
	}
}

type target struct {
	TargetGroupARN, TargetGroupName, ServiceName *string
	ServicePort                                  *intstr.IntOrString
	Weight                                       *int32
	name                                         string // in answers
	group                                        *targetGroup
}

type transform struct {
	Type                                      string
	HostHeaderRewriteConfig, URLRewriteConfig *struct{ Rewrites []rewrite }
}

type rewrite struct{ Regex, Replace string }

func (t transform) rewrites() []rewrite {
	config := t.URLRewriteConfig
	if t.Type == "host-header-rewrite" {
		config = t.HostHeaderRewriteConfig
	}
	if config == nil {
		return nil
	}
	return config.Rewrites
}

// missing is the fixed response for a backend that is not there (enhanced_backend_builder.go:354), and
// for requests without a rule (model_build_actions.go:254).
func missing(code, body string) action {
	kind := "text/plain"
	f := &fixed{StatusCode: code, ContentType: &kind, bare: true}
	if body != "" {
		f.MessageBody = &body
	}
	return action{Type: "fixed-response", FixedResponseConfig: f}
}

// backend builds what an Ingress's backend adds to a rule (enhanced_backend_builder.go:107-168). Its
// conditions are the annotation's, as it names them.
func (b *builder) backend(m member, backend networkingv1.IngressBackend, https bool) (rule, error) {
	var r rule
	if backend.Service == nil {
		return r, errors.New("a backend that is not a Service")
	}
	name, err := backend.Service.Name, error(nil)
	if r.conditions, err = readConditions(m.Annotations, name); err != nil {
		return r, err
	}
	if err := readJSON(m.Annotations, "transforms."+name, &r.transforms); err != nil {
		return r, err
	}
	for _, t := range r.transforms {
		if t.Type != "url-rewrite" && t.Type != "host-header-rewrite" || len(t.rewrites()) == 0 {
			return r, fmt.Errorf("transforms.%s: a wrong %q", name, t.Type)
		}
	}
	if r.action, err = m.action(backend.Service); err != nil {
		return r, err
	}
	// Annotations of the Service go first, if the forward has one target group (:302-316).
	annotations := []map[string]string{m.Annotations}
	single, err := b.services(m, &r.action)
	if err != nil {
		return r, err
	}
	if single != nil {
		annotations = []map[string]string{single.Annotations, m.Annotations}
	}
	if r.auth, r.refused, r.signIn, err = b.authenticate(m, annotations, https); err != nil {
		return r, err
	}
	_, token := m.Annotations[prefix+"jwt-validation"]
	r.signs = token || first(annotations, "auth-type", "none") != "none"
	return r, b.targets(m, r.action)
}

// A targetGroup is one that the controller makes for a port of a Service, as an Ingress writes it.
type targetGroup struct {
	resource                string
	of                      member
	service                 *corev1.Service
	port                    intstr.IntOrString // as it is written
	servicePort             corev1.ServicePort
	kind, protocol, version string
}

// targetGroup returns the one of a port (model_build_target_group.go:28-52, 519).
func (b *builder) targetGroup(g targetGroup) *targetGroup {
	g.resource = fmt.Sprintf("%s/%s-%s:%s", g.of.Namespace, g.of.Name, g.service.Name, g.port.String())
	at := slices.IndexFunc(b.made, func(made *targetGroup) bool { return made.resource == g.resource })
	if at < 0 {
		at, b.made = len(b.made), append(b.made, &g)
	}
	return b.made[at]
}

// action reads the backend's action. The port's name use-annotation asks for it; otherwise an
// annotation of that name has no effect (:129-139).
func (m member) action(backend *networkingv1.IngressServiceBackend) (action, error) {
	port := intstr.FromInt32(backend.Port.Number)
	if backend.Port.Name != "" {
		port = intstr.FromString(backend.Port.Name)
	}
	if backend.Port.Name != "use-annotation" {
		return action{Type: "forward", ForwardConfig: &forward{TargetGroups: []target{{ServiceName: &backend.Name, ServicePort: &port}}}}, nil
	}
	if _, has := m.Annotations[prefix+"actions."+backend.Name]; !has {
		return missing("503", "Backend action does not exist"), nil
	}
	var a action
	if err := readJSON(m.Annotations, "actions."+backend.Name, &a); err != nil {
		return a, err
	}
	if reason := a.wrong(); reason != "" {
		return a, fmt.Errorf("actions.%s: %s", backend.Name, reason)
	}
	if a.Type == "forward" && a.ForwardConfig == nil {
		a.ForwardConfig = &forward{TargetGroups: []target{{TargetGroupARN: a.TargetGroupARN, TargetGroupName: a.TargetGroupName}}}
	}
	if a.Type == "forward" {
		for _, t := range a.ForwardConfig.TargetGroups {
			if t.ServicePort != nil {
				*t.ServicePort = intstr.Parse(t.ServicePort.String()) // "80" is a number (:258-267)
			}
		}
	}
	return a, nil
}

// wrong follows config_types.go:171-204. A forward to no target group at all is left to AWS.
func (a action) wrong() string {
	switch a.Type {
	case "fixed-response":
		if a.FixedResponseConfig == nil || a.FixedResponseConfig.StatusCode == "" {
			return "no status code"
		}
	case "redirect":
		if a.RedirectConfig == nil || a.RedirectConfig.StatusCode == "" {
			return "no status code"
		}
	case "forward":
		outside := a.TargetGroupARN != nil || a.TargetGroupName != nil
		if outside == (a.ForwardConfig != nil) {
			return "needs either forwardConfig or a target group"
		}
		if outside {
			return ""
		}
		for _, t := range a.ForwardConfig.TargetGroups {
			outside := t.TargetGroupARN != nil || t.TargetGroupName != nil
			if outside == (t.ServiceName != nil) || t.ServiceName != nil && t.ServicePort == nil {
				return "a target group needs either a Service and its port, or an ARN or a name"
			}
			if len(a.ForwardConfig.TargetGroups) > 1 && t.Weight == nil {
				return "several target groups need weights"
			}
		}
	default:
		return "unknown type " + a.Type
	}
	return ""
}

// services turns a forward to a missing Service alone into 503, and returns the Service of a forward to
// one alone. A missing one among several fails the group (:271-300).
func (b *builder) services(m member, a *action) (*corev1.Service, error) {
	if a.Type != "forward" {
		return nil, nil
	}
	var found *corev1.Service
	for _, t := range a.ForwardConfig.TargetGroups {
		if t.ServiceName == nil {
			continue
		}
		found = b.service(m.Namespace, *t.ServiceName)
		if found == nil && len(a.ForwardConfig.TargetGroups) == 1 {
			*a = missing("503", "Backend service does not exist")
			return nil, nil
		}
		if found == nil {
			return nil, fmt.Errorf("no Service %s", *t.ServiceName)
		}
	}
	if len(a.ForwardConfig.TargetGroups) != 1 {
		return nil, nil
	}
	return found, nil
}

func (b *builder) service(namespace, name string) *corev1.Service {
	for _, s := range b.Services {
		if s.Namespace == namespace && s.Name == name {
			return s
		}
	}
	return nil
}

// targets names the target groups of a forward, and fails if the controller cannot make one
// (model_build_target_group.go:29-52 and 162-210). Annotations of the Service go before those of the
// Ingress, and the class before both for the type of targets (:164, :255-260). An ARN goes before a
// name (model_build_actions.go:120-122).
func (b *builder) targets(m member, a action) error {
	if a.Type != "forward" {
		return nil
	}
	for i := range a.ForwardConfig.TargetGroups {
		t := &a.ForwardConfig.TargetGroups[i]
		if t.TargetGroupARN != nil {
			t.name = *t.TargetGroupARN
			continue
		}
		if t.TargetGroupName != nil {
			t.name = cmp.Or(b.TargetGroups[*t.TargetGroupName], "name="+*t.TargetGroupName)
			continue
		}
		service := b.service(m.Namespace, *t.ServiceName)
		at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool {
			if t.ServicePort.Type == intstr.String {
				return p.Name == t.ServicePort.StrVal
			}
			return p.Port == t.ServicePort.IntVal
		})
		if at < 0 {
			return fmt.Errorf("service %s has no port %s", service.Name, t.ServicePort)
		}
		port, of := service.Spec.Ports[at], []map[string]string{service.Annotations, m.Annotations}
		kind := first(of, "target-type", "instance")
		if m.class.TargetType != "" {
			kind = m.class.TargetType
		}
		protocol, version := first(of, "backend-protocol", "HTTP"), first(of, "backend-protocol-version", "HTTP1")
		switch {
		case kind != "ip" && kind != "instance", protocol != "HTTP" && protocol != "HTTPS",
			!slices.Contains([]string{"HTTP1", "HTTP2", "GRPC"}, version):
			return fmt.Errorf("service %s: unknown target type, protocol or version", service.Name)
		case kind == "instance" && port.NodePort == 0, kind == "ip" && port.TargetPort == intstr.IntOrString{}:
			return fmt.Errorf("service %s: port %d cannot be reached by type %s", service.Name, port.Port, kind)
		}
		t.group = b.targetGroup(targetGroup{of: m, service: service, port: *t.ServicePort, servicePort: port,
			kind: kind, protocol: protocol, version: version})
		t.name = fmt.Sprintf("%s/%s:%d", service.Namespace, service.Name, port.Port)
		if protocol != "HTTP" || version != "HTTP1" {
			t.name += "/" + protocol
		}
		if version != "HTTP1" {
			t.name += "/" + version
		}
	}
	return nil
}

// first returns the value of the first object that has the annotation.
func first(of []map[string]string, name, otherwise string) string {
	for _, annotations := range of {
		if v, has := annotations[prefix+name]; has {
			return v
		}
	}
	return otherwise
}

// readOne reads the JSON of the first object that has the annotation, and returns nil if none has it.
func readOne[T any](of []map[string]string, name string) (*T, error) {
	for _, annotations := range of {
		if _, has := annotations[prefix+name]; has {
			read := new(T)
			return read, readJSON(annotations, name, read)
		}
	}
	return nil, nil
}

type session struct {
	Issuer, AuthorizationEndpoint, TokenEndpoint, UserInfoEndpoint, SecretName string
	UserPoolARN, UserPoolClientID, UserPoolDomain                              string
	AuthenticationRequestExtraParams                                           map[string]string
}

// A signIn is what is asked of requests before they pass: one of OIDC, Cognito and a token.
type signIn struct {
	oidc, cognito          *session
	token                  *token
	scope, cookie, on      string
	timeout                int64
	clientID, clientSecret string
}

type token struct {
	JwksEndpoint, Issuer string
	AdditionalClaims     []struct {
		Format, Name string
		Values       []string
	}
}

// authenticate returns the parts of an answer that come first. All annotations are read for HTTP too,
// where they fail the group if they are wrong, and have no effect if they are right: requests pass
// without authentication (auth_config_builder.go, model_build_actions.go:17-47).
func (b *builder) authenticate(m member, of []map[string]string, https bool) (said, refused string, in *signIn, err error) {
	kind := first(of, "auth-type", "none")
	if kind != "none" && kind != "oidc" && kind != "cognito" {
		return "", "", nil, fmt.Errorf("unknown auth-type %s", kind)
	}
	timeout, err := strconv.ParseInt(first(of, "auth-session-timeout", "604800"), 10, 64)
	if err != nil {
		return "", "", nil, err
	}
	oidc, wrongOIDC := readOne[session](of, "auth-idp-oidc")
	cognito, wrongCognito := readOne[session](of, "auth-idp-cognito")
	jwt, wrongToken := readOne[token](of[len(of)-1:], "jwt-validation") // of the Ingress alone (enhanced_backend_builder.go:319)
	claims, wrongClaims := jwt.claims()
	if err := errors.Join(wrongOIDC, wrongCognito, wrongToken, wrongClaims); err != nil || !https {
		return "", "", nil, err
	}
	on := first(of, "auth-on-unauthenticated-request", "authenticate")
	tail := func(params map[string]string) string {
		return fmt.Sprintf("params %v scope %q cookie %s timeout %d unauthenticated %s then ", params,
			first(of, "auth-scope", "openid"), first(of, "auth-session-cookie", "AWSELBAuthSessionCookie"), timeout, on)
	}
	in = &signIn{scope: first(of, "auth-scope", "openid"), cookie: first(of, "auth-session-cookie", "AWSELBAuthSessionCookie"),
		on: on, timeout: timeout}
	switch {
	case kind == "oidc" && oidc == nil, kind == "cognito" && cognito == nil:
		return "", "", nil, fmt.Errorf("auth-type %s without its identity provider", kind)
	case kind == "none" && jwt == nil:
		return "", "", nil, nil
	case kind != "none" && jwt != nil:
		return "", "", nil, errors.New("auth-type and jwt-validation exclude each other")
	case kind == "none":
		return fmt.Sprintf("jwt %s %s%s then ", jwt.JwksEndpoint, jwt.Issuer, claims), "", &signIn{token: jwt}, nil
	case kind == "oidc":
		in.oidc = oidc
		var has bool
		if in.clientID, in.clientSecret, has = b.client(m.Namespace, oidc.SecretName); !has {
			return "", "", nil, fmt.Errorf("no Secret %s with clientID and clientSecret", oidc.SecretName)
		}
		said = fmt.Sprintf("oidc %s %s %s %s secret %s/%s %s", oidc.Issuer, oidc.AuthorizationEndpoint, oidc.TokenEndpoint,
			oidc.UserInfoEndpoint, m.Namespace, oidc.SecretName, tail(oidc.AuthenticationRequestExtraParams))
	case kind == "cognito":
		in.cognito = cognito
		said = fmt.Sprintf("cognito %s %s %s %s", cognito.UserPoolARN, cognito.UserPoolClientID, cognito.UserPoolDomain,
			tail(cognito.AuthenticationRequestExtraParams))
	}
	if !slices.Contains([]string{"authenticate", "allow", "deny"}, on) || timeout < 1 || timeout > 604800 {
		refused = "auth-on-unauthenticated-request or auth-session-timeout"
	}
	return said, refused, in, nil
}

// claims follows enhanced_backend_builder.go:329-348. There is no annotation if it is nil.
func (t *token) claims() (string, error) {
	if t == nil {
		return "", nil
	}
	if t.JwksEndpoint == "" || t.Issuer == "" {
		return "", errors.New("jwt-validation needs jwksEndpoint and issuer")
	}
	said := ""
	for _, c := range t.AdditionalClaims {
		if c.Format == "" || c.Name == "" || len(c.Values) == 0 {
			return "", errors.New("jwt-validation: a claim needs format, name and values")
		}
		said += fmt.Sprintf(" %s(%s)=%s", c.Name, c.Format, strings.Join(c.Values, "|"))
	}
	return said, nil
}

// client returns the name and the secret of a client that a Secret has (model_build_actions.go:187-209).
func (b *builder) client(namespace, name string) (id, secret string, has bool) {
	for _, s := range b.Secrets {
		known := s.Data["clientID"]
		if known == nil {
			known = s.Data["clientId"]
		}
		if s.Namespace == namespace && s.Name == name && known != nil && s.Data["clientSecret"] != nil {
			return strings.TrimRightFunc(string(known), unicode.IsSpace), strings.TrimRightFunc(string(s.Data["clientSecret"]), unicode.IsControl), true
		}
	}
	return "", "", false
}
