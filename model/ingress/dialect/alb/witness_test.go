package alb_test

import (
	"maps"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
)

const (
	away     = `{"type": "redirect", "redirectConfig": {"path": "/new", "query": "", "statusCode": "HTTP_301"}}`
	moved    = `{"type": "redirect", "redirectConfig": {"host": "a.example.com", "statusCode": "HTTP_301"}}`
	secure   = `{"type": "redirect", "redirectConfig": {"protocol": "HTTPS", "port": "443", "statusCode": "HTTP_301"}}`
	toA      = `{"type": "redirect", "redirectConfig": {"path": "/a", "statusCode": "HTTP_301"}}`
	sources  = `[{"field": "source-ip", "sourceIpConfig": {"values": ["10.2.0.0/15"]}}]`
	itself   = `{"type": "redirect", "redirectConfig": {"statusCode": "HTTP_301"}}`
	notFound = `{"type": "fixed-response", "fixedResponseConfig": {"statusCode": "404"}}`
	hosts    = `[{"field": "host-header", "hostHeaderConfig": {"values": ["b.example.com"]}}]`
	regexes  = `[{"field": "host-header", "hostHeaderConfig": {"regexValues": ["^old[0-9]\\.example\\.com$"]}}]`
	header   = `[{"field": "http-header", "httpHeaderConfig": {"httpHeaderName": "x-team", "values": ["blue*"]}},` +
		`{"field": "http-request-method", "httpRequestMethodConfig": {"values": ["POST"]}}]`
	bothPorts = `[{"HTTP": 80}, {"HTTPS": 443}]`
)

// byExpression is a path to an action.
func byExpression(path, name string) networkingv1.HTTPIngressPath {
	p := pathTo(path, backend(name, alb.UseAnnotation))
	p.PathType = new(networkingv1.PathTypeImplementationSpecific)
	return p
}

// cognito is a sign-in, with the ports that it needs.
var cognito = map[string]string{"auth-type": "cognito", "auth-idp-cognito": userPool, "certificate-arn": "arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012", "listen-ports": bothPorts}

// and returns cognito with more annotations.
func and(more ...string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, cognito)
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

// changes are constructs with the request that shows what is changed; "" for those that change nothing.
var changes = map[string]struct {
	annotations    map[string]string
	defaultBackend *networkingv1.IngressBackend
	services       map[string]map[string]string
	paths          []networkingv1.HTTPIngressPath
	free           bool // the rule is for all hosts
	key, want      string
}{
	"the query, for a path by an expression": {annotations: map[string]string{"actions.away": away, "use-regex-path-match": "true"},
		paths: []networkingv1.HTTPIngressPath{byExpression("/^/old/[0-9]+$", "away")}, key: "actions.away", want: "GET http://a.example.com:80/old/0?a=b"},
	"the query, for the default backend": {annotations: map[string]string{"actions.away": away}, defaultBackend: backend("away", alb.UseAnnotation),
		paths: []networkingv1.HTTPIngressPath{pathTo("/", backend("web", "http"))}, key: "actions.away", want: "GET http://any.example:80/?a=b"},
	"a redirect to a path beside it, before a Service of its name": {annotations: map[string]string{"actions.web": toA, "conditions.web": strings.Replace(hosts, `"host-header", "hostHeaderConfig": {"values": ["b.example.com"]`, `"path-pattern", "pathPatternConfig": {"values": ["/b"]`, 1)},
		paths: []networkingv1.HTTPIngressPath{pathTo("/a", backend("web", alb.UseAnnotation)), pathTo("/", backend("web", "http"))}, key: "conditions.web", want: "GET http://a.example.com:80/b"},
	"the query, behind a path that takes all": {annotations: map[string]string{"actions.away": away},
		paths: []networkingv1.HTTPIngressPath{pathTo("/old", backend("web", "http")), pathTo("/old", backend("away", alb.UseAnnotation))}, key: "actions.away"},
	"the query, of requests with a header": {annotations: map[string]string{"actions.away": away, "conditions.away": header},
		paths: []networkingv1.HTTPIngressPath{pathTo("/old", backend("away", alb.UseAnnotation))}, key: "actions.away", want: "POST http://a.example.com:80/old?a=b x-team=blue"},
	"the query, behind a redirect that leads to itself on one of two ports": {annotations: map[string]string{"actions.away": away,
		"actions.web": `{"type": "redirect", "redirectConfig": {"port": "8080", "statusCode": "HTTP_301"}}`, "listen-ports": `[{"HTTP": 80}, {"HTTP": 8080}]`},
		paths: []networkingv1.HTTPIngressPath{pathTo("/", backend("web", alb.UseAnnotation)), pathTo("/", backend("away", alb.UseAnnotation))}, key: "actions.away", want: "GET http://a.example.com:8080/?a=b"},
	"the query, of hosts by an expression that an empty one matches": {annotations: map[string]string{"actions.away": away,
		"conditions.away": strings.Replace(regexes, `^old[0-9]\\.example\\.com$`, `^(old)*$`, 1)}, free: true,
		paths: []networkingv1.HTTPIngressPath{pathTo("/old", backend("away", alb.UseAnnotation))}, key: "actions.away", want: "GET http://old:80/old?a=b"},
	"the query, of hosts by an expression that no host matches": {annotations: map[string]string{"actions.away": away,
		"conditions.away": strings.Replace(regexes, `^old[0-9]\\.example\\.com$`, `^([$])*$`, 1)}, free: true,
		paths: []networkingv1.HTTPIngressPath{pathTo("/old", backend("away", alb.UseAnnotation))}, key: "actions.away"},
	"an action that no path has": {annotations: map[string]string{"actions.away": away},
		paths: []networkingv1.HTTPIngressPath{pathTo("/old", backend("web", "http"))}, key: "actions.away"},
	"one of two hosts is redirected to itself": {annotations: map[string]string{"actions.moved": moved, "conditions.moved": hosts},
		paths: []networkingv1.HTTPIngressPath{pathTo("/", backend("moved", alb.UseAnnotation))}, key: "conditions.moved", want: "GET http://b.example.com:80/"},
	"one of two hosts, for a path by a glob": {annotations: map[string]string{"actions.moved": moved, "conditions.moved": hosts},
		paths: []networkingv1.HTTPIngressPath{byExpression("/a", "moved")}, key: "conditions.moved", want: "GET http://b.example.com:80/a"},
	"none of two hosts is": {annotations: map[string]string{"actions.moved": secure, "conditions.moved": hosts},
		paths: []networkingv1.HTTPIngressPath{pathTo("/", backend("moved", alb.UseAnnotation))}, key: "conditions.moved"},
	"a redirect for hosts by expressions": {annotations: map[string]string{"actions.moved": secure, "conditions.moved": regexes}, free: true,
		paths: []networkingv1.HTTPIngressPath{pathTo("/", backend("moved", alb.UseAnnotation)), pathTo("/", backend("web", "http"))}, key: "conditions.moved", want: "GET http://www.example.com:80/"},
	"such a redirect with nothing behind it": {annotations: map[string]string{"actions.moved": secure, "conditions.moved": regexes}, free: true,
		paths: []networkingv1.HTTPIngressPath{pathTo("/", backend("moved", alb.UseAnnotation))}, key: "conditions.moved"},
	"a redirect for most hosts": {annotations: map[string]string{"actions.moved": secure, "conditions.moved": strings.Replace(regexes, "^old[0-9]\\\\.example\\\\.com$", "[a-m]$", 1)}, free: true,
		paths: []networkingv1.HTTPIngressPath{pathTo("/", backend("moved", alb.UseAnnotation)), pathTo("/", backend("web", "http"))}, key: "conditions.moved", want: "GET http://n:80/"},
	"the query, behind a path for the same sources": {annotations: map[string]string{"actions.away": away, "conditions.away": sources, "conditions.web": sources},
		paths: []networkingv1.HTTPIngressPath{pathTo("/", backend("web", "http")), pathTo("/", backend("away", alb.UseAnnotation))}, key: "actions.away"},
	"a redirect of HTTP, where another one leads to itself": {annotations: and("ssl-redirect", "443", "actions.itself", itself),
		paths: []networkingv1.HTTPIngressPath{pathTo("/", backend("itself", alb.UseAnnotation))}, key: "ssl-redirect", free: true},
	"a redirect of HTTP, for hosts by conditions": {annotations: and("ssl-redirect", "443", "actions.web", secure, "conditions.web", strings.Replace(hosts, "b.example.com", "*.my_shop.example.com", 1)),
		paths: []networkingv1.HTTPIngressPath{pathTo("/", backend("web", alb.UseAnnotation))}, key: "ssl-redirect"},
	"such a redirect to itself, which is left out": {annotations: map[string]string{"actions.moved": itself, "conditions.moved": regexes}, free: true,
		paths: []networkingv1.HTTPIngressPath{pathTo("/", backend("moved", alb.UseAnnotation)), pathTo("/", backend("web", "http"))}, key: "conditions.moved"},
	"such a redirect before one to itself": {annotations: map[string]string{"actions.moved": secure, "conditions.moved": regexes, "actions.itself": itself}, free: true,
		paths: []networkingv1.HTTPIngressPath{pathTo("/", backend("moved", alb.UseAnnotation)), pathTo("/", backend("itself", alb.UseAnnotation))}, key: "conditions.moved"},
	"such a redirect before what is not found": {annotations: map[string]string{"actions.moved": secure, "conditions.moved": regexes, "actions.none": notFound}, free: true,
		paths: []networkingv1.HTTPIngressPath{pathTo("/", backend("moved", alb.UseAnnotation)), pathTo("/", backend("none", alb.UseAnnotation))}, key: "conditions.moved"},
	"such a redirect before a path for hosts that it has, too": {annotations: map[string]string{"actions.moved": secure, "conditions.moved": regexes, "conditions.web": regexes}, free: true,
		paths: []networkingv1.HTTPIngressPath{pathTo("/", backend("moved", alb.UseAnnotation)), pathTo("/", backend("web", "http"))}, key: "conditions.moved"},
	"the query, behind a path for most hosts": {annotations: map[string]string{"actions.away": away, "conditions.web": strings.Replace(regexes, "^old[0-9]\\\\.example\\\\.com$", "[a-m]$", 1)}, free: true,
		paths: []networkingv1.HTTPIngressPath{pathTo("/", backend("web", "http")), pathTo("/", backend("away", alb.UseAnnotation))}, key: "actions.away", want: "GET http://n:80/?a=b"},
	"a sign-in, of requests with a header by one of two expressions": {annotations: and("conditions.web", strings.Replace(header, `"values": ["blue*"]`, `"regexValues": ["a$b", "^green$"]`, 1)),
		paths: []networkingv1.HTTPIngressPath{pathTo("/admin", backend("web", "http"))}, key: "auth-type", want: "POST http://a.example.com:80/admin x-team=green"},
	"a sign-in": {annotations: and(), paths: []networkingv1.HTTPIngressPath{pathTo("/admin", backend("web", "http"))}, key: "auth-type", want: "GET http://a.example.com:80/admin"},
	"a sign-in of a Service": {annotations: map[string]string{"listen-ports": bothPorts, "certificate-arn": cognito["certificate-arn"]}, services: map[string]map[string]string{"web": cognito},
		paths: []networkingv1.HTTPIngressPath{pathTo("/admin", backend("web", "http"))}, key: "web auth-type", want: "GET http://a.example.com:80/admin"},
	"a sign-in behind ssl-redirect": {annotations: and("ssl-redirect", "443"), paths: []networkingv1.HTTPIngressPath{pathTo("/admin", backend("web", "http"))}, key: "auth-type"},
	"a sign-in over HTTPS alone":    {annotations: and("listen-ports", `[{"HTTPS": 443}]`), paths: []networkingv1.HTTPIngressPath{pathTo("/admin", backend("web", "http"))}, key: "auth-type"},
	"a redirect of HTTP, for paths by an expression": {annotations: and("ssl-redirect", "443", "conditions.web", `[{"field": "path-pattern", "pathPatternConfig": {"regexValues": ["[x/]$"]}}]`),
		paths: []networkingv1.HTTPIngressPath{pathTo("", backend("web", "http"))}, free: true, key: "ssl-redirect"},
	"a redirect of HTTP": {annotations: and("ssl-redirect", "443"), paths: []networkingv1.HTTPIngressPath{pathTo("/admin", backend("web", "http"))}, key: "ssl-redirect"},
}

// TestWhatIsChangedShowsARequest. A change that no request shows is none.
func TestWhatIsChangedShowsARequest(t *testing.T) {
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			for i := range c.paths {
				if is := c.paths[i].PathType; is != nil && *is == networkingv1.PathTypeImplementationSpecific {
					c.paths[i].PathType = nil // the same
				}
			}
			host := "a.example.com"
			if c.free {
				host = ""
			}
			out := readingFor(host, c.annotations, c.defaultBackend, c.services, c.paths...)
			got := ""
			for _, v := range out.Verdicts {
				if v.Outcome == dialect.Changed && (v.Request.URL == "" || v.Message == "") {
					t.Errorf("%s is changed, and no request shows it", v.Key)
				}
				if key := strings.TrimSpace(v.Service + " " + strings.TrimPrefix(v.Key, alb.Prefix)); v.Outcome == dialect.Changed && key == c.key {
					got = v.Request.Method + " " + v.Request.URL
					for name, values := range v.Request.Headers {
						got += " " + name + "=" + values[0]
					}
				}
			}
			if got != c.want {
				t.Errorf("it shows %q, want %q: %+v", got, c.want, out.Verdicts)
			}
		})
	}
}
