package incumbent

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"fairlead.dev/fairlead/model/routing"
)

// The alphabets that random clusters are made of. They are small, so that hosts and paths collide.
var (
	hosts    = []string{"", "a.example.com", "x.a.example.com", "*.example.com", "*.a.example.com", "b.example.org"}
	exacts   = []string{"/", "/a", "/a/", "/a/b", "/A", "/ab"}
	prefixes = []string{"/", "/", "/a", "/a/", "/a/b", "/ab", "/a/b/"}
	globs    = []string{"", "/*", "/a", "/a*", "/a/*/c", "/?", "*b", "/a/?"}
	regexes  = []string{`/^/a/[0-9]+$`, `/^/(a|b)(/.*)?$`, `/^/.*b$`}
	services = []string{"web", "api", "shop", "signed", "inside", "gone"}
	ports    = []string{"", "", "", `[{"HTTP":80}]`, `[{"HTTPS":443}]`, `[{"HTTP":80},{"HTTPS":443}]`, `[{"HTTP":80},{"HTTPS":443}]`, `[{"HTTP":8080}]`, `[{"HTTPS":8443}, {"HTTPS":443}]`}

	actions = []string{
		`{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"200","messageBody":"ok"}}`,
		`{"Type":"fixed-response","FixedResponseConfig":{"ContentType":"application/json","StatusCode":"404","MessageBody":"{}"}}`,
		`{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"404"}}`,
		`{"type":"fixed-response","fixedResponseConfig":{"statusCode":"503"}}`,
		`{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/html","statusCode":"204","messageBody":""}}`,
		`{"type":"redirect","redirectConfig":{"protocol":"HTTPS","port":"443","statusCode":"HTTP_301"}}`,
		`{"type":"redirect","redirectConfig":{"protocol":"HTTPS","port":"443","statusCode":"HTTP_301"}}`,
		`{"type":"redirect","redirectConfig":{"host":"new.example.com","path":"/moved/#{path}","query":"#{query}&was=#{host}","statusCode":"HTTP_302"}}`,
		`{"type":"redirect","redirectConfig":{"path":"/a","statusCode":"HTTP_302"}}`,
		`{"type":"redirect","redirectConfig":{"host":"a.example.com","port":"#{port}","statusCode":"HTTP_301"}}`,
		`{"type":"redirect","redirectConfig":{"host":"a.example.com","query":"seen=1","statusCode":"HTTP_301"}}`,
		`{"type":"redirect","redirectConfig":{"path":"/b","query":"","statusCode":"HTTP_301"}}`,
		`{"type":"redirect","redirectConfig":{"host":"#{host}","path":"/#{path}","port":"8443","protocol":"#{protocol}","query":"#{query}","statusCode":"HTTP_302"}}`,
		`{"type":"redirect","redirectConfig":{"protocol":"#{protocol}","port":"#{port}","query":"#{query}","statusCode":"HTTP_301"}}`,
		`{"type":"forward","targetGroupARN":"arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/old/0123456789abcdef"}`,
		`{"type":"forward","targetGroupName":"old"}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"signed","servicePort":"80"}]}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":"http","weight":20},{"serviceName":"api","servicePort":8080,"weight":80}]}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":80,"weight":1},{"serviceName":"signed","servicePort":80,"weight":1}]}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":80,"weight":1},{"targetGroupName":"old","weight":0}],"targetGroupStickinessConfig":{"enabled":true,"durationSeconds":200}}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":80,"weight":0}],"targetGroupStickinessConfig":{"enabled":false}}}`,
	}
	conditions = []string{
		`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-Team","values":["blue*","r?d"]}}]`,
		`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"x-team","regexValues":["^green[0-9]$"]}}]`,
		`[{"field":"http-request-method","httpRequestMethodConfig":{"Values":["GET","HEAD"]}}]`,
		`[{"field":"query-string","queryStringConfig":{"values":[{"key":"v","value":"1"},{"value":"beta*"}]}}]`,
		`[{"field":"query-string","queryStringConfig":{"values":[{"key":"v","value":"\\*"}]}},{"field":"query-string","queryStringConfig":{"values":[{"key":"W","value":"x"}]}}]`,
		`[{"field":"query-string","queryStringConfig":{"values":[{"value":"v=1"}]}}]`,
		`[{"field":"query-string","queryStringConfig":{"values":[{"key":"*","value":"1"},{"key":"w?","value":"X*"}]}},{"field":"query-string","queryStringConfig":{"values":[{"key":"V","value":"b?ta*"},{"key":"v","value":"1"}]}}]`,
		`[{"field":"source-ip","sourceIpConfig":{"values":["10.1.0.0/16","192.0.2.7/32"]}}]`,
		`[{"field":"source-ip","sourceIpConfig":{"values":["10.2.0.9/15","2001:db8::/32"]}},{"field":"http-request-method","httpRequestMethodConfig":{"Values":["POST"]}}]`,
		`[{"field":"host-header","hostHeaderConfig":{"values":["C.Example.com"]}},{"field":"host-header","hostHeaderConfig":{"values":["?.example.org"]}},{"field":"path-pattern","pathPatternConfig":{"values":["/A"]}}]`,
		`[{"field":"host-header","hostHeaderConfig":{"values":["c.example.com"]}}]`,
		`[{"field":"host-header","hostHeaderConfig":{"regexValues":["^[^.]+\\.example\\.com$"]}}]`,
		`[{"field":"path-pattern","pathPatternConfig":{"values":["/more/*"]}}]`,
		`[{"field":"path-pattern","pathPatternConfig":{"values":["*/b","*.png","?x*"]}}]`,
		`[{"field":"path-pattern","pathPatternConfig":{"values":["*?b*"]}}]`,
		`[{"field":"host-header","hostHeaderConfig":{"values":["my_shop.example.com","*.my_shop.example.com"]}}]`,
		`[{"field":"path-pattern","pathPatternConfig":{"regexValues":["^/re/[a-z]+$"]}}]`,
		`[{"field":"source-addr","sourceIPConfig":{"values":["10.0.0.0/8"]}}]`,
		`[]`,
	}
	transforms = []string{
		`[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"^/a/(.*)$","replace":"/$1"}]}}]`,
		`[{"type":"host-header-rewrite","hostHeaderRewriteConfig":{"rewrites":[{"regex":"^(.+)$","replace":"in.$1"}]}}]`,
	}
	signIns = []map[string]string{
		{"auth-type": "oidc", "auth-idp-oidc": `{"issuer":"https://id","authorizationEndpoint":"https://id/a","tokenEndpoint":"https://id/t","userInfoEndpoint":"https://id/u","secretName":"client"}`},
		{"auth-type": "oidc", "auth-idp-oidc": `{"issuer":"https://id","authorizationEndpoint":"https://id/a","tokenEndpoint":"https://id/t","userInfoEndpoint":"https://id/u","secretName":"client","authenticationRequestExtraParams":{"b":"2","a":"1"}}`, "auth-scope": "openid email", "auth-session-cookie": "mine", "auth-session-timeout": "60", "auth-on-unauthenticated-request": "deny"}, //nolint:gosec // no credentials
		{"auth-type": "cognito", "auth-idp-cognito": `{"userPoolARN":"arn:aws:cognito-idp:eu-west-1:1:userpool/p","userPoolClientID":"c","userPoolDomain":"d"}`, "auth-on-unauthenticated-request": "allow"},
		{"jwt-validation": `{"jwksEndpoint":"https://id/keys","issuer":"https://id","additionalClaims":[{"name":"scope","format":"space-separated-values","values":["read","write"]}]}`},
	}
	// mistakes fail a group, by the controller or by AWS.
	mistakes = []map[string]string{
		{"group.order": "1001"}, {"group.order": "-1001"}, {"group.order": "first"}, {"group.name": "Not_a_name"}, {"group.name": ""}, {"group.name": "x-"},
		{"listen-ports": `[{"TCP":80}]`}, {"listen-ports": `[]`}, {"listen-ports": `80`},
		{"listen-ports": `[{"HTTP":443}]`}, {"listen-ports": `[{"HTTPS":80}]`, "certificate-arn": "arn:cert"}, {"ssl-redirect": "yes"}, {"ssl-redirect": "8081"},
		{"auth-type": "basic"}, {"auth-type": "oidc", "certificate-arn": "arn:cert"}, {"auth-session-timeout": "1h"}, {"auth-idp-oidc": `{`},
		{"jwt-validation": `{"issuer":"https://id"}`}, {"jwt-validation": `{"jwksEndpoint":"k","issuer":"i","additionalClaims":[{}]}`},
		{"use-regex-path-match": "sometimes"}, {"target-type": "pod"}, {"backend-protocol": "TCP"},
		{"actions.one": `{"type":"forward"}`}, {"actions.one": `{"type":"teapot"}`}, {"actions.one": `{`}, {"actions.one": `{"type":"redirect"}`}, {"actions.one": `{"type":"fixed-response"}`},
		{"actions.one": `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web"}]}}`},
		{"actions.one": `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":80},{"serviceName":"api","servicePort":8080}]}}`},
		{"actions.one": `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":80,"weight":1},{"serviceName":"gone","servicePort":80,"weight":1}]}}`},
		{"actions.one": `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":81}]}}`},
		{"actions.one": `{"type":"forward","forwardConfig":{"targetGroups":[]}}`},
		{"actions.one": `{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupName":"old","weight":1000}]}}`},
		{"actions.one": `{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupName":"old"}],"targetGroupStickinessConfig":{"enabled":true}}}`},
		{"actions.one": `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"302"}}`},
		{"actions.one": `{"type":"redirect","redirectConfig":{"port":"0","statusCode":"HTTP_301"}}`},
		{"conditions.web": `{`}, {"conditions.web": `[{"field":"source-ip"}]`}, {"conditions.web": `[{"field":"http-header","httpHeaderConfig":{"values":["a"],"regexValues":["a"]}}]`},
		{"conditions.web": `[{"field":"query-string"}]`}, {"conditions.web": `[{"field":"query-string","queryStringConfig":{"values":[{"key":"a"}]}}]`},
		{"conditions.web": `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"Host","values":["a"]}}]`},
		{"conditions.web": `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X","regexValues":["(?=a)"]}}]`},
		{"conditions.web": `[{"field":"host-header","hostHeaderConfig":{"values":["nodot"]}}]`},
		{"conditions.web": `[{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.1"]}}]`},
		{"conditions.web": `[{"field":"http-request-method","httpRequestMethodConfig":{"values":["get"]}}]`},
		{"conditions.web": `[{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.0/8"]}},{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.0/8"]}}]`},
		{"conditions.web": `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X","values":["1","2","3","4","5","6"]}}]`},
		{"transforms.web": `{`}, {"transforms.web": `[{"type":"url-rewrite"}]`},
		{"transforms.web": `[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"(","replace":""}]}}]`},
		{"auth-type": "cognito", "auth-idp-cognito": `{}`, "auth-on-unauthenticated-request": "maybe", "certificate-arn": "arn:cert"},
		{"auth-type": "oidc", "auth-idp-oidc": `{"secretName":"gone"}`, "certificate-arn": "arn:cert"},
	}
)

func one[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

// Random returns a cluster of one to five Ingresses in two namespaces, most of them in two groups. In
// one of four clusters, an Ingress has a mistake.
func Random(seed uint64) Cluster {
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // reproducible on purpose
	c := Cluster{
		Classes: []Class{
			{Name: "alb"}, {Name: "ip", TargetType: "ip"},
			{Name: "shared", Group: "g1", Default: chance(r, 50)},
			{Name: "secure", CertificateARNs: []string{"arn:cert"}, SSLRedirectPort: one(r, []string{"", "", "443", "no"})},
		},
		Certificates: []string{"a.example.com", "*.example.com", "*.a.example.com"},
		TargetGroups: map[string]string{"old": "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/old/0123456789abcdef"},
	}
	if chance(r, 95) {
		c.Certificates = append(c.Certificates, "b.example.org")
	}
	for _, namespace := range []string{"default", "default-2"} {
		c.Services = append(c.Services, randomServices(r, namespace)...)
		c.Secrets = append(c.Secrets, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "client"},
			Data:       map[string][]byte{"clientID": []byte("id"), "clientSecret": []byte("secret")},
		})
	}
	for i := range 1 + r.IntN(5) {
		c.Ingresses = append(c.Ingresses, randomIngress(r, fmt.Sprintf("i%d", i)))
	}
	if chance(r, 25) {
		ing := one(r, c.Ingresses)
		for name, value := range one(r, mistakes) {
			ing.Annotations[prefix+name] = value
		}
		if rule := one(r, ing.Spec.Rules); rule.HTTP != nil && chance(r, 15) {
			spoil(r, &rule.HTTP.Paths[0])
		}
	}
	return c
}

// spoil gives a path a mistake that no annotation has.
func spoil(r *rand.Rand, path *networkingv1.HTTPIngressPath) {
	exact, unknown := networkingv1.PathTypeExact, networkingv1.PathType("Regex")
	switch r.IntN(3) {
	case 0:
		path.PathType, path.Path = &exact, "/a*"
	case 1:
		path.PathType = &unknown
	default:
		path.Backend = networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{Kind: "Bucket"}}
	}
}

func randomServices(r *rand.Rand, namespace string) []*corev1.Service {
	service := func(name, portName string, port, nodePort int32, annotations ...string) *corev1.Service {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{}}}
		s.Spec.Ports = []corev1.ServicePort{{Name: portName, Port: port, NodePort: nodePort, TargetPort: intstr.FromInt32(9000)}}
		for i := 0; i < len(annotations); i += 2 {
			s.Annotations[prefix+annotations[i]] = annotations[i+1]
		}
		return s
	}
	signed := service("signed", "http", 80, 30003, "auth-type", "none")
	if chance(r, 50) {
		for name, value := range one(r, signIns[:3]) {
			signed.Annotations[prefix+name] = value
		}
	}
	if chance(r, 10) {
		signed.Annotations[prefix+"jwt-validation"] = signIns[3]["jwt-validation"] // it is not read there
	}
	inside := service("inside", "http", 80, 0)
	if chance(r, 97) {
		inside.Annotations[prefix+"target-type"] = "ip"
	}
	return []*corev1.Service{
		service("web", "http", 80, 30000), service("api", "http", 8080, 30001), signed, inside,
		service("shop", "https", 443, 30002, "backend-protocol", "HTTPS", "backend-protocol-version", one(r, []string{"HTTP1", "HTTP2", "GRPC"})),
	}
}

func randomIngress(r *rand.Rand, name string) *networkingv1.Ingress {
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{
		Namespace: one(r, []string{"default", "default-2"}), Name: name, Annotations: map[string]string{},
	}}
	class := one(r, []string{"alb", "alb", "alb", "alb", "alb", "ip", "shared", "secure", "nginx", ""})
	if class != "" {
		ing.Spec.IngressClassName = &class
	} else if chance(r, 60) {
		ing.Annotations["kubernetes.io/ingress.class"] = one(r, []string{"alb", "nginx"})
	}
	set := func(percent int, name string, values ...string) {
		if chance(r, percent) {
			ing.Annotations[prefix+name] = one(r, values)
		}
	}
	set(85, "group.name", "g1", "g1", "g2")
	set(40, "group.order", "-1", "0", "1", "2")
	if p := one(r, ports); p != "" {
		set(100, "listen-ports", p)
	}
	set(40, "certificate-arn", "arn:cert", "arn:cert, arn:other", "")
	set(4, "ssl-redirect", "443", "443", "443", "8443")
	set(20, "unknown-annotation", "{")
	byExpression := chance(r, 25) // hosts and paths are, which excludes others
	set(20, "use-regex-path-match", "true", "true", "false")
	if byExpression {
		set(80, "use-regex-path-match", "true")
	}
	set(10, "backend-protocol", "HTTPS")
	set(10, "target-type", "ip", "instance")
	for _, name := range []string{"one", "two", "web"} {
		set(80, "actions."+name, actions...)
	}
	for _, name := range []string{"one", "web", "api", "shop"} {
		set(25, "conditions."+name, conditions...)
		set(15, "transforms."+name, transforms...)
		set(3, "transforms."+name, randomTransforms(r))
		if byExpression {
			set(60, "conditions."+name, randomConditions(r))
		}
	}
	if chance(r, 15) {
		for name, value := range one(r, signIns) {
			set(100, name, value)
		}
	}
	if chance(r, 12) {
		backend := randomBackend(r)
		ing.Spec.DefaultBackend = &backend
	}
	if chance(r, 10) {
		ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"a.example.com"}, SecretName: "ignored"}}
	}
	for range 1 + r.IntN(3) {
		rule := randomRule(r, ing.Annotations[prefix+"use-regex-path-match"] == "true")
		if byExpression && rule.HTTP != nil && chance(r, 80) {
			writeExpressions(r, &rule)
		}
		ing.Spec.Rules = append(ing.Spec.Rules, rule)
	}
	return ing
}

// writeExpressions gives the paths of a rule expressions, or none, as conditions with expressions want it.
func writeExpressions(r *rand.Rand, rule *networkingv1.IngressRule) {
	rule.Host = ""
	for i := range rule.HTTP.Paths {
		p := &rule.HTTP.Paths[i]
		if p.Path = ""; chance(r, 60) {
			p.Path = "/" + randomExpression(r, pathParts, 0)
		}
		p.PathType = new(networkingv1.PathTypeImplementationSpecific)
	}
}

func randomRule(r *rand.Rand, regex bool) networkingv1.IngressRule {
	rule := networkingv1.IngressRule{Host: one(r, hosts)}
	if chance(r, 4) {
		return rule
	}
	rule.HTTP = &networkingv1.HTTPIngressRuleValue{}
	for range 1 + r.IntN(4) {
		kind := one(r, []networkingv1.PathType{networkingv1.PathTypeExact, networkingv1.PathTypePrefix, networkingv1.PathTypeImplementationSpecific})
		path := networkingv1.HTTPIngressPath{PathType: &kind, Backend: randomBackend(r)}
		switch {
		case kind == networkingv1.PathTypeExact:
			path.Path = one(r, exacts)
		case kind == networkingv1.PathTypePrefix:
			path.Path = one(r, prefixes)
		case regex:
			path.Path = one(r, regexes)
		default:
			path.Path = one(r, globs)
		}
		if chance(r, 3) {
			path.PathType, path.Path = nil, "/old/*"
		}
		rule.HTTP.Paths = append(rule.HTTP.Paths, path)
	}
	return rule
}

func randomBackend(r *rand.Rand) networkingv1.IngressBackend {
	if chance(r, 35) {
		return networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
			Name: one(r, []string{"one", "one", "two", "web", "absent"}), Port: networkingv1.ServiceBackendPort{Name: "use-annotation"},
		}}
	}
	name := one(r, services)
	backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: name}}
	backend.Service.Port.Number = map[string]int32{"api": 8080, "shop": 443}[name]
	if backend.Service.Port.Number == 0 {
		backend.Service.Port.Number = 80
	}
	if name != "shop" && chance(r, 20) {
		backend.Service.Port = networkingv1.ServiceBackendPort{Name: "http"}
	}
	return backend
}

// Requests returns requests at the edges of the rules of a random cluster: most fulfil a rule, or all
// of it but one part.
func (c Cluster) Requests(seed uint64, n int) []routing.Request {
	r := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // reproducible on purpose
	out := make([]routing.Request, n)
	for i := range out {
		ing := one(r, c.Ingresses)
		host, path, name := "", "/", ""
		if rule := one(r, ing.Spec.Rules); rule.HTTP != nil {
			p := one(r, rule.HTTP.Paths)
			host, path = rule.Host, p.Path
			if _, regexes, err := (member{Ingress: ing}).patterns(p); err == nil && len(regexes) > 0 {
				path = findable(r, regexes[0])
			}
			if p.Backend.Service != nil {
				name = p.Backend.Service.Name
			}
		}
		request := routing.Request{
			Port: c.randomPort(r, ing), Method: one(r, []string{"GET", "GET", "HEAD", "POST", "get"}),
			Source: netip.MustParseAddr(one(r, []string{"10.1.2.3", "10.2.0.0", "192.0.2.7", "192.0.2.8", "2001:db8::1"})),
			Header: map[string][]string{}, Query: map[string][]string{},
		}
		if chance(r, 30) {
			request.Header[one(r, []string{"X-Team", "x-team", "X-Teams"})] = one(r, [][]string{{"BLUE"}, {"bluer"}, {"red"}, {"reed"}, {"green7"}, {"green77"}, {"none", "rod"}})
		}
		for range r.IntN(3) {
			request.Query[one(r, []string{"v", "V", "w", "wx", "other"})] = one(r, [][]string{{"1"}, {"*"}, {"x"}, {"beta"}, {"BETA-2"}, {"0", "1"}, {""}, {"v=1"}})
		}
		extra, _ := readConditions(ing.Annotations, name) // a mistake adds nothing
		for _, condition := range extra {
			fulfil(r, condition, &request, &host, &path)
		}
		request.Host, request.Path = nearHost(r, host), nearPath(r, path)
		out[i] = request
	}
	return out
}

// randomPort returns a port of an Ingress, most of the time.
func (c Cluster) randomPort(r *rand.Rand, ing *networkingv1.Ingress) int32 {
	m := member{Ingress: ing}
	m.class, _ = c.classOf(ing)
	if err := (&builder{Cluster: c}).readPorts(&m); err != nil || chance(r, 10) {
		return one(r, []int32{80, 443, 8080, 8443, 81})
	}
	return one(r, slices.Sorted(maps.Keys(m.ports)))
}

// fulfil changes a request so that it fulfils a condition, most of the time.
func fulfil(r *rand.Rand, c condition, request *routing.Request, host, path *string) {
	if len(c.globs)+len(c.regexes)+len(c.pairs) == 0 || chance(r, 20) {
		return
	}
	if len(c.regexes) > 0 {
		switch text := findable(r, one(r, c.regexes)); c.Field {
		case "host-header":
			*host = text
		case "path-pattern":
			*path = text
		default:
			request.Header[c.name] = []string{text}
		}
		return
	}
	switch c.Field {
	case "host-header":
		*host = one(r, c.globs)
	case "path-pattern":
		*path = one(r, c.globs)
	case "http-header":
		request.Header[c.name] = []string{fill(r, one(r, c.globs))}
	case "http-request-method":
		request.Method = one(r, c.globs)
	case "source-ip":
		if block, err := netip.ParsePrefix(one(r, c.globs)); err == nil {
			request.Source = block.Addr()
		}
	case "query-string":
		p := one(r, c.pairs)
		key := "any"
		if p.Key != nil {
			key = *p.Key
		}
		request.Query[key] = []string{strings.ReplaceAll(fill(r, strings.ReplaceAll(p.Value, `\*`, "\x00")), "\x00", "*")}
	}
}

// fill returns a text that a glob takes.
func fill(r *rand.Rand, glob string) string {
	filled := strings.ReplaceAll(glob, "*", one(r, []string{"", "x", "b", "x/c", "a.x"}))
	return strings.ReplaceAll(filled, "?", one(r, []string{"x", "7", "/"}))
}

var notInHosts = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

func nearHost(r *rand.Rand, host string) string {
	if host == "" {
		host = one(r, []string{"a.example.com", "c.example.com", "other.test", "x.y.example.com"})
	}
	host = strings.ReplaceAll(host, "*", one(r, []string{"a", "x", "x.y", "x.a"}))
	host = notInHosts.ReplaceAllString(host, "x")
	switch r.IntN(12) {
	case 0:
		return strings.ToUpper(host)
	case 1:
		return host + ":" + strconv.Itoa(80+r.IntN(2))
	case 2:
		return "x." + host
	case 3:
		if _, parent, _ := strings.Cut(host, "."); parent != "" {
			return parent
		}
	case 4:
		return host + ".test"
	}
	return host
}

func nearPath(r *rand.Rand, path string) string {
	path = "/" + strings.TrimPrefix(fill(r, path), "/")
	switch r.IntN(14) {
	case 0:
		return path + "/"
	case 1:
		return path + "/x"
	case 2:
		return path + "x"
	case 3:
		path = strings.TrimSuffix(path, "/")
	case 4:
		path = strings.ToUpper(path)
	case 5:
		path = "/" + path
	case 6:
		path = one(r, []string{"/a", "/a/b", "/more/x", "/re/x", "/re/7", "/"})
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return path
}
