package alb

import (
	"errors"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads actions, transforms and sign-ins: enhanced_backend_builder.go, config_types.go and
// auth_config_builder.go. Fields may have any case.

type action struct {
	Type                string
	TargetGroupARN      *string
	TargetGroupName     *string
	FixedResponseConfig *struct {
		ContentType, MessageBody string
		StatusCode               string
	}
	RedirectConfig *redirectConfig
	ForwardConfig  *struct {
		TargetGroups                []targetGroup
		TargetGroupStickinessConfig *struct {
			Enabled         *bool
			DurationSeconds *int32
		}
	}
}

type redirectConfig struct {
	Host, Path, Port, Protocol, Query *string
	StatusCode                        string
}

type targetGroup struct {
	TargetGroupARN, TargetGroupName *string
	ServiceName                     *string
	ServicePort                     *intstr.IntOrString
	Weight                          *int32
}

// readAction reads an action without target groups that it names.
func readAction(value string) made { return readActionWith(value, allowed(nil).arnOf) }

// readActionWith reads an action. arnOf returns the ARN of the target group of a name.
func readActionWith(value string, arnOf func(name string) (string, error)) made {
	var a action
	if err := readJSON(value, &a); err != nil {
		return refused("%s is no action: %s", diag.Quote(value), err)
	}
	switch a.Type {
	case "fixed-response":
		return a.fixed()
	case "redirect":
		return a.redirect()
	case "forward":
		return a.forward(arnOf)
	}
	return refused("%s is none of fixed-response, redirect, forward", diag.Quote(a.Type))
}

func (a action) fixed() made {
	if a.FixedResponseConfig == nil {
		return refused("it has no fixedResponseConfig")
	}
	f := a.FixedResponseConfig
	status, err := strconv.Atoi(f.StatusCode)
	if err != nil {
		return refused("%s is not a status", diag.Quote(f.StatusCode))
	}
	return made{backend: &v1alpha1.BackendSpec{FixedResponse: &v1alpha1.FixedResponse{StatusCode: status,
		ContentType: f.ContentType, Body: f.MessageBody}}}
}

// redirect reads a redirect. A part that is not set stays as it is, the port too.
func (a action) redirect() made {
	if a.RedirectConfig == nil {
		return refused("it has no redirectConfig")
	}
	from := a.RedirectConfig
	status, known := map[string]int{"HTTP_301": 301, "HTTP_302": 302}[from.StatusCode]
	if !known {
		return refused("%s is neither HTTP_301 nor HTTP_302", diag.Quote(from.StatusCode))
	}
	to := &v1alpha1.Redirect{StatusCode: status, Host: value(from.Host), Path: value(from.Path),
		Port: value(from.Port), Query: value(from.Query)}
	if p := value(from.Protocol); p != "#{protocol}" {
		to.Scheme = strings.ToLower(p)
	}
	if to.Scheme != "" && from.Port == nil {
		to.Port = "#{port}"
	}
	out := made{backend: &v1alpha1.BackendSpec{Redirect: to}}
	if from.Query != nil && *from.Query == "" {
		out.result, out.message = dialect.Changed, "the query of the request is kept: no redirect of Fairlead's removes it"
	}
	return out
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (a action) forward(arnOf func(name string) (string, error)) made {
	outside := targetGroup{TargetGroupARN: a.TargetGroupARN, TargetGroupName: a.TargetGroupName}
	groups := []targetGroup{outside}
	switch alone := a.TargetGroupARN != nil || a.TargetGroupName != nil; {
	case alone == (a.ForwardConfig != nil):
		return refused("it needs either forwardConfig or a target group")
	case !alone:
		groups = a.ForwardConfig.TargetGroups
	}
	spec := &v1alpha1.BackendSpec{}
	total := int32(0)
	for _, g := range groups {
		s, err := g.service(arnOf)
		if err != nil {
			return refused("%s", err)
		}
		if len(groups) > 1 && g.Weight == nil {
			return refused("several target groups need weights")
		}
		if g.Weight != nil {
			total += *g.Weight
		} else {
			total++
		}
		spec.Services = append(spec.Services, s)
	}
	if len(groups) == 0 {
		return refused("it has no target group")
	}
	if total == 0 { // a load balancer answers 503 where no target group has a weight
		return made{backend: status(503), message: "no target group has a weight, so requests are answered 503"}
	}
	if c := a.ForwardConfig; c != nil && len(groups) > 1 && c.TargetGroupStickinessConfig != nil &&
		c.TargetGroupStickinessConfig.Enabled != nil && *c.TargetGroupStickinessConfig.Enabled {
		if c.TargetGroupStickinessConfig.DurationSeconds == nil {
			return refused("stickiness needs durationSeconds")
		}
		spec.Stickiness = &v1alpha1.Stickiness{DurationSeconds: *c.TargetGroupStickinessConfig.DurationSeconds}
	}
	return made{backend: spec}
}

func (g targetGroup) service(arnOf func(name string) (string, error)) (v1alpha1.WeightedService, error) {
	out := v1alpha1.WeightedService{Weight: g.Weight}
	outside := g.TargetGroupARN != nil || g.TargetGroupName != nil
	switch {
	case outside == (g.ServiceName != nil):
		return out, errors.New("a target group needs either a Service or an ARN or a name")
	case g.TargetGroupARN != nil: // it goes before a name (model_build_actions.go)
		out.TargetGroupARN = *g.TargetGroupARN
		return out, nil
	case outside:
		var err error
		out.TargetGroupARN, err = arnOf(*g.TargetGroupName)
		return out, err
	case g.ServicePort == nil:
		return out, errors.New("a Service needs its port")
	}
	out.Name = *g.ServiceName
	switch port := intstr.Parse(g.ServicePort.String()); port.Type {
	case intstr.Int:
		out.Port.Number = port.IntVal
	default:
		out.Port.Name = port.StrVal
	}
	return out, nil
}

func status(code int) *v1alpha1.BackendSpec {
	return &v1alpha1.BackendSpec{FixedResponse: &v1alpha1.FixedResponse{StatusCode: code}}
}

// readTransforms reads the rewrites of a backend.
func readTransforms(value string) made {
	type rewrites struct {
		Rewrites []struct{ Regex, Replace string }
	}
	var all []struct {
		Type                                      string
		HostHeaderRewriteConfig, URLRewriteConfig *rewrites
	}
	if err := readJSON(value, &all); err != nil {
		return refused("%s is no list of transforms: %s", diag.Quote(value), err)
	}
	out := &v1alpha1.Rewrite{}
	for _, t := range all {
		config, to := t.URLRewriteConfig, &out.URL
		switch t.Type {
		case "url-rewrite":
		case "host-header-rewrite":
			config, to = t.HostHeaderRewriteConfig, &out.Host
		default:
			return refused("%s is neither url-rewrite nor host-header-rewrite", diag.Quote(t.Type))
		}
		if config == nil || len(config.Rewrites) != 1 || *to != nil {
			return refused("%s needs one rewrite", t.Type)
		}
		if !strings.HasPrefix(config.Rewrites[0].Regex, "^") {
			return refused("AWS does not document where %s begins to match: begin it with ^",
				diag.Quote(config.Rewrites[0].Regex))
		}
		if err := routing.CheckReplacement(config.Rewrites[0].Regex, config.Rewrites[0].Replace); err != nil {
			return refused("%s", err)
		}
		*to = &v1alpha1.Replacement{Pattern: config.Rewrites[0].Regex,
			Replacement: config.Rewrites[0].Replace}
	}
	if len(all) == 0 {
		return made{}
	}
	return made{rewrite: out}
}

func readAuthType(value string) made { return oneOf("none", "cognito", "oidc")(value) }

func readTimeout(value string) made {
	if n, err := strconv.ParseInt(value, 10, 64); err != nil || n < 1 || n > 604800 {
		return refused("%s is not a number of seconds from 1 to 604800", diag.Quote(value))
	}
	return made{}
}

type extraParams struct{ AuthenticationRequestExtraParams map[string]string }

func readCognito(value string) made {
	var c struct {
		UserPoolARN, UserPoolClientID, UserPoolDomain string
		extraParams
	}
	if err := readJSON(value, &c); err != nil {
		return refused("%s is no user pool: %s", diag.Quote(value), err)
	}
	return made{signIn: &v1alpha1.Authenticate{Cognito: &v1alpha1.Cognito{UserPoolARN: c.UserPoolARN,
		UserPoolClientID: c.UserPoolClientID, UserPoolDomain: c.UserPoolDomain,
		Session: v1alpha1.Session{Parameters: c.AuthenticationRequestExtraParams}}}}
}

func readOIDC(value string) made {
	var o struct {
		Issuer, AuthorizationEndpoint, TokenEndpoint, UserInfoEndpoint, SecretName string
		extraParams
	}
	if err := readJSON(value, &o); err != nil {
		return refused("%s is no identity provider: %s", diag.Quote(value), err)
	}
	return made{signIn: &v1alpha1.Authenticate{OIDC: &v1alpha1.OIDC{Issuer: o.Issuer,
		AuthorizationEndpoint: o.AuthorizationEndpoint, TokenEndpoint: o.TokenEndpoint,
		UserInfoEndpoint: o.UserInfoEndpoint, SecretName: o.SecretName,
		Session: v1alpha1.Session{Parameters: o.AuthenticationRequestExtraParams}}}}
}

func readToken(value string) made {
	var t struct {
		JwksEndpoint, Issuer string
		AdditionalClaims     []struct {
			Format, Name string
			Values       []string
		}
	}
	if err := readJSON(value, &t); err != nil {
		return refused("%s is no validation of tokens: %s", diag.Quote(value), err)
	}
	if t.JwksEndpoint == "" || t.Issuer == "" {
		return refused("it needs jwksEndpoint and issuer")
	}
	out := &v1alpha1.JWT{Issuer: t.Issuer, KeysEndpoint: t.JwksEndpoint}
	for _, c := range t.AdditionalClaims {
		if c.Format == "" || c.Name == "" || len(c.Values) == 0 {
			return refused("a claim needs format, name and values")
		}
		out.Claims = append(out.Claims, v1alpha1.Claim{Name: c.Name, Format: c.Format, Values: c.Values})
	}
	return made{signIn: &v1alpha1.Authenticate{JWT: out}}
}

// errJudged is the error of an annotation that has its verdict.
var errJudged = errors.New("an annotation is wrong")

// signIn returns the sign-in of a backend. Annotations of its Service go first, but for tokens.
func (r *reader) signIn(service string) (*v1alpha1.Authenticate, error) {
	of := []source{{"", r.Annotations}}
	if s := r.Service(service); service != "" && s != nil {
		of = []source{{s.Name, s.Annotations}, of[0]}
	}
	get := func(name, otherwise string) (string, error) {
		for _, from := range of {
			text, is := from.annotations[Prefix+name]
			if !is {
				continue
			}
			m := rowOf(name).read(name, text)
			r.judgeRead(from.service, Prefix+name, m)
			if m.outcome() == dialect.Refused {
				return "", errJudged
			}
			return text, nil
		}
		return otherwise, nil
	}
	kind, err := get("auth-type", "none")
	scope, err1 := get("auth-scope", "")
	cookie, err2 := get("auth-session-cookie", "")
	timeout, err3 := get("auth-session-timeout", "0")
	on, err4 := get("auth-on-unauthenticated-request", "")
	oidc, err5 := get("auth-idp-oidc", "")
	cognito, err6 := get("auth-idp-cognito", "")
	of = of[len(of)-1:]
	token, err7 := get("jwt-validation", "")
	if err := errors.Join(err, err1, err2, err3, err4, err5, err6, err7); err != nil {
		return nil, err
	}
	seconds, _ := strconv.ParseInt(timeout, 10, 64)
	session := func(s *v1alpha1.Session) {
		s.OnUnauthenticatedRequest, s.Scope, s.CookieName, s.TimeoutSeconds = on, scope, cookie, seconds
	}
	switch {
	case kind != "none" && token != "":
		return nil, errors.New(Prefix + "auth-type and " + Prefix + "jwt-validation exclude each other")
	case token != "":
		return readToken(token).signIn, nil
	case kind == "oidc" && oidc != "":
		a := readOIDC(oidc).signIn
		session(&a.OIDC.Session)
		return a, nil
	case kind == "cognito" && cognito != "":
		a := readCognito(cognito).signIn
		session(&a.Cognito.Session)
		return a, nil
	case kind != "none":
		return nil, errors.New(Prefix + "auth-type " + kind + " needs " + Prefix + "auth-idp-" + kind)
	}
	return nil, nil
}

// A source is an object with annotations.
type source struct {
	service     string // its name; "" for the Ingress
	annotations map[string]string
}

// judgeRead says what becomes of an annotation that was read with a backend, once.
func (r *reader) judgeRead(service, key string, m made) {
	id := service + " " + key
	if service == "" {
		id = key
	}
	if r.read[id] {
		return
	}
	r.read[id] = true
	r.say(dialect.Verdict{Service: service, Key: key, Outcome: m.outcome(), Message: m.message})
}
