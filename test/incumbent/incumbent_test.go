package incumbent_test

import (
	"errors"
	"flag"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/incumbent"
)

var seed = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of random clusters")

// ingress reads lines: "name: value" is an annotation, "host HOST" begins a rule, "TYPE PATH SERVICE:PORT"
// is a path, and "default SERVICE:PORT" the default backend.
func ingress(key, lines string) *networkingv1.Ingress {
	namespace, name, _ := strings.Cut(key, "/")
	class := "alb"
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{}}}
	ing.Spec.IngressClassName = &class
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		word := strings.Split(line, " ")
		annotation, value, isAnnotation := strings.Cut(line, ": ")
		switch {
		case line == "":
		case line == "deleted":
			ing.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		case word[0] == "class":
			ing.Spec.IngressClassName = &word[1]
		case isAnnotation && strings.Contains(annotation, "/"):
			ing.Annotations[annotation] = value
		case isAnnotation && !strings.Contains(annotation, " "):
			ing.Annotations["alb.ingress.kubernetes.io/"+annotation] = value
		case word[0] == "default":
			ing.Spec.DefaultBackend = backend(word[1])
		case word[0] == "tls":
			ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: word[1:]}}
		case word[0] == "host":
			ing.Spec.Rules = append(ing.Spec.Rules, networkingv1.IngressRule{Host: strings.Join(word[1:], "")})
		default:
			kind := networkingv1.PathType(map[string]string{"I": "ImplementationSpecific"}[word[0]] + strings.TrimPrefix(word[0], "I"))
			path := networkingv1.HTTPIngressPath{PathType: &kind, Path: word[1], Backend: *backend(word[2])}
			if len(ing.Spec.Rules) == 0 {
				ing.Spec.Rules = make([]networkingv1.IngressRule, 1)
			}
			rule := &ing.Spec.Rules[len(ing.Spec.Rules)-1]
			if rule.HTTP == nil {
				rule.HTTP = &networkingv1.HTTPIngressRuleValue{}
			}
			rule.HTTP.Paths = append(rule.HTTP.Paths, path)
		}
	}
	return ing
}

func backend(s string) *networkingv1.IngressBackend {
	name, port, _ := strings.Cut(s, ":")
	if port == "" {
		return &networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{Kind: "Bucket", Name: name}}
	}
	b := &networkingv1.IngressServiceBackend{Name: name}
	if number := intstr.Parse(port); number.Type == intstr.Int {
		b.Port.Number = number.IntVal
	} else {
		b.Port.Name = port
	}
	return &networkingv1.IngressBackend{Service: b}
}

// request reads "PORT URL" and, in any order, a method, @SOURCE, and HEADER=VALUE.
func request(t *testing.T, s string) routing.Request {
	t.Helper()
	word := strings.Fields(s)
	port, err := strconv.Atoi(word[0])
	if err != nil {
		t.Fatal(err)
	}
	at := strings.IndexByte(word[1], '/')
	path, query, _ := strings.Cut(word[1][at:], "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	r := routing.Request{Port: int32(port), Host: word[1][:at], Path: path, Method: "GET", Header: map[string][]string{}, Query: values, Source: netip.MustParseAddr("192.0.2.1")}
	for _, w := range word[2:] {
		name, value, isHeader := strings.Cut(w, "=")
		switch {
		case isHeader:
			r.Header[name] = append(r.Header[name], value)
		case w[0] == '@':
			r.Source = netip.MustParseAddr(w[1:])
		default:
			r.Method = w
		}
	}
	return r
}

func cluster(ingresses ...*networkingv1.Ingress) incumbent.Cluster {
	service := func(name, port string, number, node int32, annotations ...string) *corev1.Service {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{}}}
		s.Spec.Ports = []corev1.ServicePort{{Name: port, Port: number, NodePort: node, TargetPort: intstr.FromInt32(number)}}
		for i := 0; i < len(annotations); i += 2 {
			s.Annotations["alb.ingress.kubernetes.io/"+annotations[i]] = annotations[i+1]
		}
		return s
	}
	return incumbent.Cluster{
		Ingresses: ingresses,
		Services: []*corev1.Service{
			service("a", "http", 80, 30080), service("b", "http", 81, 30081), service("c", "http", 82, 30082),
			service("inside", "http", 80, 0), service("secure", "https", 443, 30443, "backend-protocol", "HTTPS", "backend-protocol-version", "GRPC"),
			service("open", "http", 80, 30083, "auth-type", "none"),
			service("tokens", "http", 80, 30085, "jwt-validation", `{"jwksEndpoint":"https://k","issuer":"https://i"}`),
			service("signed", "http", 80, 30084, "auth-type", "cognito", "auth-idp-cognito", `{"userPoolARN":"arn:p","userPoolClientID":"c","userPoolDomain":"d"}`),
		},
		Secrets: []*corev1.Secret{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "client"}, Data: map[string][]byte{"clientId": nil, "clientID": {1}, "clientSecret": {1}}}, {ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "half"}, Data: map[string][]byte{"clientID": {1}}}},
		Classes: []incumbent.Class{
			{Name: "alb"}, {Name: "ip", TargetType: "ip"}, {Name: "team", Group: "team"}, {Name: "tls", CertificateARNs: []string{"arn"}, SSLRedirectPort: "443"},
			{Name: "broken", CertificateARNs: []string{"arn"}, SSLRedirectPort: "https"},
		},
		Certificates: []string{"*.example.com"},
	}
}

const (
	fixed200 = `{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"200","messageBody":"ok"}}`
	toHTTPS  = `{"Type":"redirect","RedirectConfig":{"Protocol":"HTTPS","Port":"443","StatusCode":"HTTP_301"}}`
	both     = "listen-ports: [{\"HTTP\":80},{\"HTTPS\":443}]\ncertificate-arn: arn\n"
	oidc     = `auth-idp-oidc: {"issuer":"https://i","authorizationEndpoint":"https://a","tokenEndpoint":"https://t","userInfoEndpoint":"https://u","secretName":"client"}` + "\nauth-type: oidc\n"
	signedIn = `oidc https://i https://a https://t https://u secret default/client params map[] scope "openid" cookie AWSELBAuthSessionCookie timeout 604800 unauthenticated authenticate then `
	jwt      = `jwt-validation: {"jwksEndpoint":"https://k","issuer":"https://i","additionalClaims":[{"name":"admin","format":"single-string","values":["true"]},{"name":"ver","format":"string-array","values":["6","19"]}]}` + "\n"
	cognito  = `cognito arn:p c d params map[] scope "openid" cookie AWSELBAuthSessionCookie timeout 604800 unauthenticated authenticate then `
)

// A row has an Ingress default/i and what its group answers, line by line, or "!" and why it fails.
// Situations are those of the controller's documentation (docs/guide/ingress) and of its unit tests.
var rows = []struct{ name, ingress, want string }{
	// Paths: docs/guide/ingress/spec.md, model_build_listener_rules_test.go.
	{"an exact path", "Exact /a a:80", "80 x/a => forward default/a:80\n80 x/a/ => 404\n80 x/A => 404\n81 x/a => closed"},
	{"a prefix is of elements", "Prefix /a a:80", "80 x/a => forward default/a:80\n80 x/a/ => forward default/a:80\n80 x/a/b => forward default/a:80\n80 x/ab => 404"},
	{"a prefix with a slash is the same", "Prefix /a/ a:80", "80 x/a => forward default/a:80\n80 x/a/b => forward default/a:80"},
	{"prefix / takes all", "Prefix / a:80", "80 x/ => forward default/a:80\n80 x/a?b=c => forward default/a:80"},
	{"a specific path is a glob without a suffix", "I /a?c a:80\nI /b b:81\nI /i/*/j c:82", "80 x/abc => forward default/a:80\n80 x/b/c => 404\n80 x/i/1/2/j => forward default/c:82"},
	{"exact, then longest prefix, then specific", "I /a/b c:82\nPrefix / a:80\nPrefix /a b:81\nExact /a/b a:80", "80 x/a/b => forward default/a:80\n80 x/a/c => forward default/b:81\n80 x/c => forward default/a:80"},
	{"a specific path behind prefix / is dead", "Prefix / a:80\nI /img/* b:81", "80 x/img/1 => forward default/a:80"},
	{"equal prefixes stay as written", "Prefix /a a:80\nPrefix /b a:80\nPrefix /a b:81", "80 x/a => forward default/a:80"},
	{"sorting stays within a rule", "host h.example.com\nPrefix / a:80\nhost h.example.com\nExact /x b:81", "80 h.example.com/x => forward default/a:80"},
	{"an exact path with a wildcard", "Exact /a* a:80", "! FailedBuildModel"},
	{"a prefix with a wildcard", "Prefix /a?b a:80", "! FailedBuildModel"},
	{"a path with characters that AWS refuses", "Exact /a;b a:80", "! FailedDeployModel"},
	{"a path of 127 characters as prefix", "Prefix /" + strings.Repeat("a", 126) + " a:80", "! FailedDeployModel"},
	{"a regular expression that AWS does not know", "use-regex-path-match: true\nI /^/\\p{L}$ a:80", "! FailedDeployModel"},
	{"six wildcards", "I /a*b*c*d*e*f* a:80", "! FailedDeployModel"},
	{"regular expressions", "use-regex-path-match: true\nI /^/api/(.+)$ a:80\nPrefix /p b:81", "80 x/api/1 => forward default/a:80\n80 x/api/ => 404\n80 x/p/1 => forward default/b:81"},
	{"the path / as a regular expression is empty", "use-regex-path-match: true\nI / a:80", "! FailedDeployModel"},
	{"use-regex-path-match is read for specific paths alone", "use-regex-path-match: perhaps\nExact /a a:80", "80 x/a => forward default/a:80"},
	{"use-regex-path-match that is no bool", "use-regex-path-match: perhaps\nI /a a:80", "! FailedBuildModel"},

	// Hosts.
	{"a host ignores case and port", "host H.example.com\nPrefix / a:80", "80 h.EXAMPLE.com:80/ => forward default/a:80\n80 i.example.com/ => 404"},
	{"a wildcard spans labels", "host *.example.com\nPrefix / a:80", "80 x.y.example.com/ => forward default/a:80\n80 example.com/ => 404"},
	{"rules are in the order written", "host *.example.com\nPrefix / a:80\nhost x.example.com\nPrefix / b:81", "80 x.example.com/ => forward default/a:80"},
	{"a rule without a host goes first if it is first", "host\nPrefix / a:80\nhost x.example.com\nPrefix / b:81", "80 x.example.com/ => forward default/a:80"},
	{"a rule without paths is nothing", "host x.example.com\nhost\nPrefix / a:80", "80 x.example.com/ => forward default/a:80"},
	{"a host without a dot", "host web\nPrefix / a:80", "! FailedDeployModel"},

	// Listeners: model_build_listener_test.go, and annotations.md on listen-ports and ssl-redirect.
	{"a certificate makes it HTTPS", "certificate-arn: arn\nPrefix / a:80", "443 x/ => forward default/a:80\n80 x/ => closed"},
	{"an empty certificate does not", "certificate-arn: ,\nPrefix / a:80", "80 x/ => forward default/a:80"},
	{"spec.tls does not", "tls a.example.com\nPrefix / a:80", "80 x/ => forward default/a:80\n443 x/ => closed"},
	{"four ports", `listen-ports: [{"HTTP": 80}, {"HTTPS": 443}, {"HTTP": 8080}, {"HTTPS": 8443}]` + "\ncertificate-arn: arn\nPrefix / a:80", "8080 x/ => forward default/a:80\n8443 x/ => forward default/a:80"},
	{"a port twice is the last", `listen-ports: [{"HTTPS":80},{"HTTP":80}]` + "\nPrefix / a:80", "80 x/ => forward default/a:80"},
	{"a certificate is found", `listen-ports: [{"HTTPS":443}]` + "\nhost a.example.com\nPrefix / a:80", "443 a.example.com/ => forward default/a:80"},
	{"none is found", `listen-ports: [{"HTTPS":443}]` + "\nhost a.b.example.com\nPrefix / a:80", "! FailedBuildModel"},
	{"none is looked for", `listen-ports: [{"HTTPS":443}]` + "\nPrefix / a:80", "! FailedDeployModel"},
	{"a wrong port", `listen-ports: [{"HTTP":0}]` + "\nPrefix / a:80", "! FailedBuildModel"},
	{"ssl-redirect drops rules of HTTP", both + "ssl-redirect: 443\nPrefix / a:80", "80 x/a => 301 https://#{host}:443/#{path}?#{query}\n443 x/a => forward default/a:80"},
	{"ssl-redirect to a port that is not there", "ssl-redirect: 443\nPrefix / a:80", "! FailedBuildModel"},
	{"the class redirects", "class tls\n" + both + "Prefix / a:80", "80 x/a => 301 https://#{host}:443/#{path}?#{query}"},
	{"a class's wrong port redirects nothing", "class broken\n" + both + "ssl-redirect: 443\nPrefix / a:80", "80 x/a => forward default/a:80"},

	// Default backends.
	{"a default backend", "default b:81\nExact /a a:80", "80 x/b => forward default/b:81"},
	{"its conditions and transforms are dropped", `conditions.b: [{"field":"http-request-method","httpRequestMethodConfig":{"values":["PUT"]}}]` + "\n" + `transforms.b: [{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"a","replace":"b"}]}}]` + "\ndefault b:81", "80 x/b => forward default/b:81"},
	{"one that redirects to itself", `actions.loop: {"type":"redirect","redirectConfig":{"query":"a=b","statusCode":"HTTP_301"}}` + "\ndefault loop:use-annotation", "! FailedDeployModel"},

	// Backends: enhanced_backend_builder_test.go.
	{"a missing Service", "Prefix / gone:80", "80 x/ => 503"},
	{"a missing action", "Prefix / gone:use-annotation", "80 x/ => 503"},
	{"a missing port", "Prefix / a:8080", "! FailedBuildModel"},
	{"a resource", "Prefix / bucket", "! FailedBuildModel"},
	{"a Service without node ports", "Prefix / inside:80", "! FailedBuildModel"},
	{"a Service without node ports and addresses of pods", "target-type: ip\nPrefix / inside:http", "80 x/ => forward default/inside:80"},
	{"the class goes before the annotation", "class ip\ntarget-type: instance\nPrefix / inside:80", "80 x/ => forward default/inside:80"},
	{"the Service goes before the Ingress", "backend-protocol: HTTP\nPrefix / secure:443", "80 x/ => forward default/secure:443/HTTPS/GRPC"},
	{"unknown annotations are nothing", "actons.a: {\nconditions.b: {\nPrefix / a:80", "80 x/ => forward default/a:80"},

	// Actions: annotations.md.
	{"an action without use-annotation is nothing", "actions.a: " + fixed200 + "\nPrefix / a:80", "80 x/ => forward default/a:80"},
	{"a fixed response", "actions.f: " + fixed200 + "\nPrefix / f:use-annotation", `80 x/ => fixed 200 text/plain "ok"`},
	{"a redirect", `actions.eks: {"type":"redirect","redirectConfig":{"host":"aws.amazon.com","path":"/eks/","port":"443","protocol":"HTTPS","query":"k=v","statusCode":"HTTP_302"}}` + "\nExact /eks eks:use-annotation", "80 x/eks => 302 https://aws.amazon.com:443/eks/?k=v"},
	{"a target group by ARN", `actions.f: {"type":"forward","targetGroupARN":"arn:tg","targetGroupName":"tg"}` + "\nExact /f f:use-annotation", "80 x/f => forward arn:tg"},
	{"a target group by name", `actions.f: {"type":"forward","targetGroupName":"tg"}` + "\nExact /f f:use-annotation", "80 x/f => forward name=tg"},
	{"weights and stickiness", `actions.f: {"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"b","servicePort":"http","weight":20},{"serviceName":"a","servicePort":"80","weight":20},{"targetGroupARN":"arn:tg","weight":60},{"targetGroupName":"tg","weight":80}],"TargetGroupStickinessConfig":{"Enabled":true,"DurationSeconds":200}}}` + "\nExact /f f:use-annotation", "80 x/f => forward arn:tg*60 default/a:80*20 default/b:81*20 name=tg*80 sticky 200s"},
	{"the weight and stickiness of one are nothing", `actions.f: {"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupName":"tg","weight":5}],"targetGroupStickinessConfig":{"enabled":true,"durationSeconds":1}}}` + "\nExact /f f:use-annotation", "80 x/f => forward name=tg"},
	{"a missing Service among others", `actions.f: {"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"a","servicePort":80,"weight":1},{"serviceName":"gone","servicePort":80,"weight":1}]}}` + "\nExact /f f:use-annotation", "! FailedBuildModel"},
	{"a status code that is a number", `actions.f: {"type":"fixed-response","fixedResponseConfig":{"statusCode":200}}` + "\nExact /f f:use-annotation", "! FailedBuildModel"},
	{"a broken action that no path uses", "actions.f: {\nExact /f a:80", "80 x/f => forward default/a:80"},
	{"a URL rewrite", `transforms.a: [{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"^\\/api\\/(.+)$","replace":"/$1"}]}}]` + "\nPrefix /api a:80", `80 x/api/1 => forward default/a:80, url "^\\/api\\/(.+)$" to "/$1"`},
	{"a host rewrite", `transforms.a: [{"type":"host-header-rewrite","hostHeaderRewriteConfig":{"rewrites":[{"regex":"^(.+)\\.example\\.com$","replace":"$1.example.org"}]}}]` + "\nPrefix / a:80", `80 x/ => forward default/a:80, host "^(.+)\\.example\\.com$" to "$1.example.org"`},

	// Conditions: annotations.md, rule-path1 to rule-path7.
	{"another host", `conditions.a: [{"field":"host-header","hostHeaderConfig":{"values":["anno.example.com"]}}]` + "\nhost www.example.com\nExact /p a:80", "80 www.example.com/p => forward default/a:80\n80 anno.example.com/p => forward default/a:80\n80 x.example.com/p => 404"},
	{"another path", `conditions.a: [{"field":"path-pattern","pathPatternConfig":{"values":["/anno/p"]}}]` + "\nExact /p a:80", "80 x/anno/p => forward default/a:80\n80 x/p => forward default/a:80"},
	{"a header", `conditions.a: [{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"HeaderName","values":["Value1","Val*2"]}}]` + "\nExact /p a:80", "80 x/p headername=VALUE1 => forward default/a:80\n80 x/p HeaderName=no HeaderName=val-2 => forward default/a:80\n80 x/p HeaderName=Value11 => 404\n80 x/p => 404"},
	{"a header by a regular expression", `conditions.a: [{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"User-Agent","regexValues":[".+Chrome.+"]}}]` + "\nExact /p a:80", "80 x/p User-Agent=a/Chrome/1 => forward default/a:80\n80 x/p User-Agent=Chrome => 404"},
	{"a method looks at case", `conditions.a: [{"field":"http-request-method","httpRequestMethodConfig":{"Values":["GET","HEAD"]}}]` + "\nExact /p a:80", "80 x/p HEAD => forward default/a:80\n80 x/p get => 404"},
	{"a query with and without a key", `conditions.a: [{"field":"query-string","queryStringConfig":{"values":[{"key":"k","value":"v?"},{"value":"\\*"}]}}]` + "\nExact /p a:80", "80 x/p?K=V1 => forward default/a:80\n80 x/p?k=v => 404\n80 x/p?any=* => forward default/a:80\n80 x/p?any=x => 404"},
	{"a source", `conditions.a: [{"field":"source-ip","sourceIpConfig":{"values":["192.168.0.0/16","172.16.0.0/16"]}}]` + "\nExact /p a:80", "80 x/p @172.16.1.1 => forward default/a:80\n80 x/p @10.0.0.1 X-Forwarded-For=172.16.1.1 => 404"},
	{"several conditions hold together", `conditions.a: [{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"H","values":["v"]}},{"field":"query-string","queryStringConfig":{"values":[{"key":"a","value":"1"}]}},{"field":"query-string","queryStringConfig":{"values":[{"key":"b","value":"2"}]}}]` + "\nExact /p a:80", "80 x/p?a=1&b=2 H=v => forward default/a:80\n80 x/p?a=1 H=v => 404"},
	{"a field of another name is dropped", `conditions.a: [{"field":"sourceip","sourceIpConfig":{"values":["10.0.0.0/8"]}}]` + "\nPrefix / a:80", "80 x/p => forward default/a:80"},
	{"a host with regular expressions", `conditions.a: [{"field":"host-header","hostHeaderConfig":{"regexValues":["^(.+)\\.example\\.com"]}}]` + "\nPrefix / a:80", "80 W.example.com/ => forward default/a:80\n80 example.com/ => 404"},
	{"host and regular expressions", `conditions.a: [{"field":"host-header","hostHeaderConfig":{"regexValues":["^a"]}}]` + "\nhost a.example.com\nPrefix / a:80", "! FailedBuildModel"},
	{"path and regular expressions", `conditions.a: [{"field":"path-pattern","pathPatternConfig":{"regexValues":["^/a"]}}]` + "\nExact /p a:80", "! FailedBuildModel"},
	{"six values", `conditions.a: [{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"H","values":["1","2","3"]}}]` + "\nhost a.example.com\nPrefix /p a:80", "! FailedDeployModel"},

	// Authentication: auth_config_builder_test.go.
	{"sign-in on HTTPS alone", both + oidc + "Prefix / a:80", "443 x/ => " + signedIn + "forward default/a:80\n80 x/ => forward default/a:80"},
	{"the Service's sign-in", both + "Prefix / signed:80", "443 x/ => " + cognito + "forward default/signed:80\n80 x/ => forward default/signed:80"},
	{"the Service switches it off", both + oidc + "Prefix / open:80", "443 x/ => forward default/open:80"},
	{"the Service's sign-in has no part among several", both + `actions.f: {"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"a","servicePort":80,"weight":1},{"serviceName":"signed","servicePort":80,"weight":1}]}}` + "\nPrefix / f:use-annotation", "443 x/ => forward default/a:80*1 default/signed:80*1"},
	{"sign-in goes before a missing Service", both + oidc + "Prefix / gone:80", "443 x/ => " + signedIn + "503"},
	{"no Secret", both + strings.Replace(oidc, "client", "gone", 1) + "Prefix / a:80", "! FailedBuildModel"},
	{"a Secret without a client's secret", both + strings.Replace(oidc, "client", "half", 1) + "Prefix / a:80", "! FailedBuildModel"},
	{"no Secret is read for HTTP", strings.Replace(oidc, "client", "gone", 1) + "Prefix / a:80", "80 x/ => forward default/a:80"},
	{"no identity provider", both + "auth-type: cognito\nPrefix / a:80", "! FailedBuildModel"},
	{"an unknown type fails HTTP too", "auth-type: basic\nPrefix / a:80", "! FailedBuildModel"},
	{"tokens", both + jwt + "Prefix / a:80", "443 x/ => jwt https://k https://i admin(single-string)=true ver(string-array)=6|19 then forward default/a:80\n80 x/ => forward default/a:80"},
	{"tokens of a Service are nothing", both + "Prefix / tokens:80", "443 x/ => forward default/tokens:80"},
	{"tokens and sign-in", both + jwt + oidc + "Prefix / a:80", "! FailedBuildModel"},

	// Redirects: rule_optimizer_test.go.
	{"ssl-redirect as an action", both + "actions.r: " + toHTTPS + "\nI /* r:use-annotation\nhost a.example.com\nPrefix / a:80", "80 a.example.com/ => 301 https://#{host}:443/#{path}?#{query}\n443 a.example.com/ => forward default/a:80"},
	{"a redirect of a prefix to itself is dropped with the paths below", `actions.r: {"type":"redirect","redirectConfig":{"path":"/a","statusCode":"HTTP_301"}}` + "\nPrefix /a r:use-annotation\nPrefix / a:80", "80 x/a/b => forward default/a:80"},
	{"a redirect to itself with another query is no loop", `actions.r: {"type":"redirect","redirectConfig":{"host":"a.example.com","query":"seen=1","statusCode":"HTTP_301"}}` + "\nhost a.example.com\nPrefix / r:use-annotation", "80 a.example.com/ => 301 http://a.example.com:80/#{path}?seen=1"},
	{"a redirect to its own host is dropped", `actions.r: {"type":"redirect","redirectConfig":{"host":"a.example.com","statusCode":"HTTP_301"}}` + "\nhost a.example.com\nPrefix / r:use-annotation", "80 a.example.com/ => 404"},
	{"a redirect to itself by a regular expression is left to AWS", "use-regex-path-match: true\n" + `actions.r: {"type":"redirect","redirectConfig":{"statusCode":"HTTP_301"}}` + "\nI /^/a$ r:use-annotation", "! FailedDeployModel"},
	{"a redirect from HTTPS to HTTP", both + `actions.r: {"type":"redirect","redirectConfig":{"protocol":"HTTP","port":"80","statusCode":"HTTP_301"}}` + "\nPrefix / r:use-annotation", "! FailedDeployModel"},
	{"a redirect of all paths drops all below it, and their faults", "actions.r: " + toHTTPS + "\nPrefix / r:use-annotation\nI /a;b a:80", "80 x/x => 301 https://#{host}:443/#{path}?#{query}"},
	{"a redirect of a host drops no rule without one", "actions.r: " + toHTTPS + "\nhost a.example.com\nPrefix / r:use-annotation\nhost\nPrefix / a:80", "80 b.example.com/ => forward default/a:80"},
	{"a loop is found in spite of other conditions", `actions.r: {"type":"redirect","redirectConfig":{"statusCode":"HTTP_301"}}` + "\n" + `conditions.r: [{"field":"http-request-method","httpRequestMethodConfig":{"values":["PUT"]}}]` + "\nPrefix / r:use-annotation", "80 x/ PUT => 404"},
	{"a redirect by a regular expression is no loop", "use-regex-path-match: true\nactions.r: " + `{"type":"redirect","redirectConfig":{"path":"/new","statusCode":"HTTP_301"}}` + "\nI /^/old$ r:use-annotation", "80 x/old => 301 http://#{host}:80/new?#{query}"},
	{"a redirect for hosts by regular expressions drops rules of others", "actions.r: " + toHTTPS + "\n" + `conditions.r: [{"field":"host-header","hostHeaderConfig":{"regexValues":["^a$"]}}]` + "\nPrefix / r:use-annotation\nhost b.example.com\nPrefix / a:80", "80 a/ => 301 https://#{host}:443/#{path}?#{query}\n80 b.example.com/ => 404"},
	{"a redirect with a condition drops nothing", "actions.r: " + toHTTPS + "\n" + `conditions.r: [{"field":"http-request-method","httpRequestMethodConfig":{"values":["PUT"]}}]` + "\nPrefix / r:use-annotation\nhost b.example.com\nPrefix / a:80", "80 b.example.com/ => forward default/a:80\n80 b.example.com/ PUT => 301 https://#{host}:443/#{path}?#{query}"},
	{"a redirect drops rules of its host alone", "actions.r: " + toHTTPS + "\nhost a.example.com\nPrefix / r:use-annotation\nExact /a a:80\nhost b.example.com\nPrefix / b:81", "80 a.example.com/a => forward default/a:80\n80 a.example.com/b => 301 https://#{host}:443/#{path}?#{query}\n80 b.example.com/ => forward default/b:81"},

	// Groups: group_loader_test.go.
	{"a wrong group name", "group.name: Team\nPrefix / a:80", "! FailedLoadGroupID"},
	{"a long group name", "group.name: " + strings.Repeat("g", 64) + "\nPrefix / a:80", "! FailedLoadGroupID"},
	{"a deleted Ingress", "deleted\nPrefix / a:80", "nothing"},
	{"a wrong order", "group.order: 1001\nPrefix / a:80", "! wrong group.order"},
	{"another class", "class nginx\nPrefix / a:80", "nothing"},
	{"the old annotation goes first", "class nginx\nkubernetes.io/ingress.class: alb\nPrefix / a:80", "80 x/ => forward default/a:80"},
}

func TestAnswers(t *testing.T) {
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			groups, failures := incumbent.Build(cluster(ingress("default/i", row.ingress)))
			check(t, groups, failures, "default/i", row.want)
		})
	}
}

func check(t *testing.T, groups map[string]incumbent.Group, failures map[string]error, name, want string) {
	t.Helper()
	group, ok := groups[name]
	if event, fails := strings.CutPrefix(want, "! "); fails || want == "nothing" {
		if err := failures[name]; ok || fails != (err != nil) || fails && !strings.HasPrefix(err.Error(), event) {
			t.Errorf("%v, want %s", err, want)
		}
		return
	}
	if !ok {
		t.Fatalf("no group %s: %v", name, failures)
	}
	for line := range strings.SplitSeq(want, "\n") {
		asked, answer, _ := strings.Cut(line, " => ")
		if got := group.Answer(request(t, asked)); got != incumbent.Answer(answer) {
			t.Errorf("%s\n got %s\nwant %s", asked, got, answer)
		}
	}
}

// TestGroups has clusters of several Ingresses.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		name, group string
		members     []string // NAMESPACE/NAME and a line each
		want        string
	}{
		{"ties are by namespace/name as text", "g", []string{"default/i\ngroup.name: g\nPrefix / a:80", "default-2/i\ngroup.name: g\nPrefix / gone:80"}, "80 x/ => 503"},
		{"order goes first", "g", []string{"default/x\ngroup.name: g\nPrefix / a:80", "default/y\ngroup.name: g\ngroup.order: -1\nPrefix / b:81"}, "80 x/ => forward default/b:81"},
		{"a class's group goes before the annotation", "team", []string{"default/i\nclass team\ngroup.name: g\nPrefix / a:80"}, "80 x/ => forward default/a:80"},
		{"rules are on the ports of their Ingress", "g", []string{"default/x\ngroup.name: g\nPrefix /x a:80", "default/y\ngroup.name: g\n" + both + "Prefix /y b:81"}, "80 x/x => forward default/a:80\n80 x/y => forward default/b:81\n443 x/x => 404\n443 x/y => forward default/b:81"},
		{"one member redirects all", "g", []string{"default/x\ngroup.name: g\nPrefix /x a:8080", "default/y\ngroup.name: g\nssl-redirect: 443\ncertificate-arn: arn\nPrefix /y b:81"}, "80 x/x => 301 https://#{host}:443/#{path}?#{query}\n443 x/y => forward default/b:81"},
		{"members differ in the redirect", "g", []string{"default/x\ngroup.name: g\n" + both + "ssl-redirect: 443", "default/y\ngroup.name: g\nssl-redirect: 8443"}, "! FailedBuildModel"},
		{"a port of two protocols", "g", []string{"default/x\ngroup.name: g\nPrefix / a:80", "default/y\ngroup.name: g\ncertificate-arn: arn\nlisten-ports: [{\"HTTPS\":80}]"}, "! FailedBuildModel"},
		{"two default backends", "g", []string{"default/x\ngroup.name: g\ndefault a:80", "default/y\ngroup.name: g\ndefault a:80"}, "! FailedBuildModel"},
		{"two default backends of two ports", "g", []string{"default/x\ngroup.name: g\ndefault a:80", "default/y\ngroup.name: g\ncertificate-arn: arn\ndefault b:81"}, "80 x/ => forward default/a:80\n443 x/ => forward default/b:81"},
		{"a default backend serves all members", "g", []string{"default/x\ngroup.name: g\ndefault a:80", "default/y\ngroup.name: g\nhost y.example.com\nExact /y b:81"}, "80 y.example.com/z => forward default/a:80"},
		{"a fault of one fails all", "g", []string{"default/x\ngroup.name: g\nPrefix / a:80", "default/y\ngroup.name: g\nExact /* a:80"}, "! FailedBuildModel"},
		{"a fault of one fails no other group", "default/x", []string{"default/x\nPrefix / a:80", "default/y\nExact /* a:80"}, "80 x/ => forward default/a:80"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var members []*networkingv1.Ingress
			for _, m := range c.members {
				key, lines, _ := strings.Cut(m, "\n")
				members = append(members, ingress(key, lines))
			}
			groups, failures := incumbent.Build(cluster(members...))
			check(t, groups, failures, c.group, c.want)
			slices.Reverse(members)
			groups, failures = incumbent.Build(cluster(members...))
			check(t, groups, failures, c.group, c.want)
		})
	}
}

// TestRandomReachesEveryKindOfAnswer keeps the generator worth its use: a later comparison of a million
// requests sees each kind of answer and of failure many times.
func TestRandomReachesEveryKindOfAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("it draws 3000 clusters")
	}
	t.Logf("-seed %d", *seed)
	counts, failed := map[string]int{}, map[string]int{}
	groups, requests := 0, 0
	words := regexp.MustCompile(`default(-2)?/i\d: |"[^"]*"|[^a-zA-Z "]+`)
	for i := range uint64(3000) {
		c := incumbent.Random(*seed + i)
		built, failures := incumbent.Build(c)
		groups += len(built)
		for _, err := range failures {
			var failure incumbent.Failure
			if !errors.As(err, &failure) {
				t.Fatalf("not a Failure: %v", err)
			}
			failed[failure.Event]++
			counts["fails: "+words.ReplaceAllString(failure.Reason, "_")]++
		}
		for _, r := range c.Requests(*seed+i, 30) {
			requests++
			for _, g := range built {
				answer := string(g.Answer(r))
				for _, kind := range kinds {
					if kind.MatchString(answer) {
						counts[kind.String()]++
					}
				}
			}
		}
	}
	t.Logf("%d groups, %d requests, failures %v", groups, requests, failed)
	if groups < 3000 {
		t.Errorf("%d groups of 3000 clusters: too many fail", groups)
	}
	for _, kind := range kinds {
		if counts[kind.String()] < 30 {
			t.Errorf("%d answers of kind %s", counts[kind.String()], kind)
		}
	}
	for _, event := range []string{"", "FailedLoadGroupID", "FailedBuildModel", "FailedDeployModel"} {
		if failed[event] == 0 {
			t.Errorf("%d failures %q", failed[event], event)
		}
	}
	if len(counts) < len(kinds)+45 {
		t.Errorf("%d kinds of answers and failures", len(counts))
	}
	for kind, n := range counts {
		t.Logf("%6d %s", n, kind)
	}
}

var kinds = func() (out []*regexp.Regexp) {
	for _, raw := range []string{
		`^closed$`, `^404$`, `^503$`, `^fixed 200 text/plain "ok"$`, `^fixed 404 application/json `, `^fixed 503 - `,
		`^301 https://#\{host\}:443/#\{path\}\?#\{query\}$`, `^302 \w+://new.example.com:`, `^30\d \w+://a.example.com:`, `^301 \w+://#\{host\}:\d+/b$`,
		`^forward default/web:80$`, `forward default-2/shop:443/HTTPS`, `/GRPC`, `/HTTP2`, `forward default/inside:80`, `forward arn:`, `forward arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/old/0123456789abcdef$`,
		`forward default/api:8080\*80 default/web:80\*20$`, ` sticky 200s`, `forward default/web:80\*0`,
		`, url "`, `, host "`, `^oidc .* then forward `, `^oidc .*unauthenticated deny`, `^cognito `, `^jwt `, `then 30\d `, `then (fixed|404|503)`,
	} {
		out = append(out, regexp.MustCompile(raw))
	}
	return out
}()
