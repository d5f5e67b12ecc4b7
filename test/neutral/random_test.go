package neutral

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/routing"
)

// This file makes random Ingresses and requests. The hosts and paths are those of test/alb's
// exactness.

var (
	hosts = []string{"", "a.example.com", "b.example.com", "*.example.com", "*.a.example.com", "single", "with.digit1", "x-1.example.com",
		strings.Repeat("long.", 30) + "example.com"}
	paths = []string{"/", "/a", "/a/", "/a/b", "/A", "/b", "/c,1", "/p(1)", "/d.e/f", "/~u", "/star*", "/q?q", "/a/b/c/d/e/f", "/é", "/a%20b",
		"/" + strings.Repeat("l", 126), "/" + strings.Repeat("m", 140)}
	globs = []string{"/a*", "/*/b", "/*.php", "/a?c", "/*", "/img/*/thumb"}
	kinds = []networkingv1.PathType{networkingv1.PathTypePrefix, networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific}
)

// conditions are annotations that narrow the paths of one backend.
var conditions = []string{
	`[{"backend": %q, "header": {"X-Canary": ["always", "group-?"]}}]`,
	`[{"backend": %q, "query": {"beta": ["yes", "y*"]}}]`,
	`[{"backend": %q, "method": ["POST", "PUT"]}]`,
	`[{"backend": %q, "source": ["127.0.0.0/8"]}]`,
	`[{"backend": %q, "source": ["10.0.0.0/8", "192.168.0.0/16"]}]`,
	`[{"backend": %q, "method": ["GET"], "header": {"X-Canary": ["*"]}, "query": {"beta": ["*"]}}]`,
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

func anyServiceName(rng *rand.Rand) string { return fmt.Sprintf("service-%d", rng.IntN(services)) }

// randomise gives a cluster other Ingresses and Backends.
func randomise(o *ingress.Objects, rng *rand.Rand) {
	o.Backends = []*v1alpha1.Backend{
		newBackend("canary", anyForward(rng)), newBackend("elsewhere", anyRedirect(rng)), newBackend("said", anyFixed(rng)),
	}
	o.Ingresses = nil
	for i := range 1 + rng.IntN(5) {
		o.Ingresses = append(o.Ingresses, anyIngress(fmt.Sprintf("ingress-%d", i), rng))
	}
}

// vary changes one Ingress, or one Backend.
func vary(o *ingress.Objects, rng *rand.Rand) {
	if rng.IntN(4) == 0 {
		o.Backends = slices.Clone(o.Backends)
		o.Backends[0] = newBackend("canary", anyForward(rng))
		return
	}
	at := rng.IntN(len(o.Ingresses))
	o.Ingresses = slices.Clone(o.Ingresses)
	o.Ingresses[at] = anyIngress(o.Ingresses[at].Name, rng)
}

func anyIngress(name string, rng *rand.Rand) *networkingv1.Ingress {
	ing := newIngress(name, rng.IntN(3))
	for range rng.IntN(4) {
		ing.Spec.Rules = append(ing.Spec.Rules, anyRule(rng))
	}
	if ing.Spec.Rules == nil || rng.IntN(4) == 0 {
		to := anyBackend(rng)
		ing.Spec.DefaultBackend = &to
	}
	switch rng.IntN(4) {
	case 0:
		ing.Annotations["fairlead.dev/listen-ports"] = `[{"HTTP":80},{"HTTP":8080}]`
	case 1:
		ing.Spec.TLS = []networkingv1.IngressTLS{{SecretName: "tls", Hosts: []string{"a.example.com", "b.example.com"}}}
	}
	if to := anyServiceName(rng); rng.IntN(2) == 0 && leadsTo(ing, to) {
		ing.Annotations["fairlead.dev/conditions"] = fmt.Sprintf(pick(rng, conditions...), to)
	}
	return ing
}

// leadsTo reports whether conditions on a Service are about paths of an Ingress, and about these
// only.
func leadsTo(ing *networkingv1.Ingress, service string) bool {
	if to := ing.Spec.DefaultBackend; to != nil && to.Service != nil && to.Service.Name == service {
		return false
	}
	return slices.ContainsFunc(ing.Spec.Rules, func(r networkingv1.IngressRule) bool {
		return r.HTTP != nil && slices.ContainsFunc(r.HTTP.Paths, func(p networkingv1.HTTPIngressPath) bool {
			return p.Backend.Service != nil && p.Backend.Service.Name == service
		})
	})
}

func anyRule(rng *rand.Rand) networkingv1.IngressRule {
	rule := networkingv1.IngressRule{Host: pick(rng, hosts...)}
	if rng.IntN(10) == 0 && rule.Host != "" {
		return rule // it names the host, and nothing more
	}
	rule.HTTP = &networkingv1.HTTPIngressRuleValue{}
	for range 1 + rng.IntN(6) {
		kind := pick(rng, kinds...)
		path := pick(rng, paths...)
		if kind == networkingv1.PathTypeImplementationSpecific {
			path = pick(rng, globs...)
		}
		rule.HTTP.Paths = append(rule.HTTP.Paths, networkingv1.HTTPIngressPath{Path: path, PathType: &kind, Backend: anyBackend(rng)})
	}
	return rule
}

func anyBackend(rng *rand.Rand) networkingv1.IngressBackend {
	if rng.IntN(3) == 0 {
		return toBackend(pick(rng, "canary", "elsewhere", "said"))
	}
	return toService(anyServiceName(rng))
}

// anyForward shares requests, and may rewrite them and keep clients with what they got.
func anyForward(rng *rand.Rand) v1alpha1.BackendSpec {
	spec := v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{weightOf("service-0", int32(rng.IntN(3))), weightOf("service-1", 1+int32(rng.IntN(3)))}}
	if rng.IntN(3) == 0 {
		spec.Stickiness = &v1alpha1.Stickiness{DurationSeconds: int32(60 * (1 + rng.IntN(2)))}
	}
	switch rng.IntN(4) {
	case 0:
		spec.Rewrite = &v1alpha1.Rewrite{URL: &v1alpha1.Replacement{Pattern: "^/(.*)$", Replacement: "/old/$1"}}
	case 1:
		spec.Rewrite = &v1alpha1.Rewrite{Host: &v1alpha1.Replacement{Pattern: `^[^.]*\.`, Replacement: "inside."}}
	}
	return spec
}

func anyRedirect(rng *rand.Rand) v1alpha1.BackendSpec {
	return v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{
		Scheme: pick(rng, "", "https"), Host: pick(rng, "", "other.example.com", "new.#{host}"), Port: pick(rng, "", "8443", "#{port}"),
		Path: pick(rng, "/moved", "/moved/#{path}"), Query: pick(rng, "", "from=#{port}&#{query}"), StatusCode: pick(rng, 301, 302),
	}}
}

func anyFixed(rng *rand.Rand) v1alpha1.BackendSpec {
	return v1alpha1.BackendSpec{FixedResponse: &v1alpha1.FixedResponse{
		StatusCode: pick(rng, 200, 404, 410, 503), Body: pick(rng, "", "said {x} #{host}"),
	}}
}

// A request is one that is sent to every load balancer.
type request struct {
	port                      int32 // 443 speaks TLS
	method, host, path, query string
	canary                    string // of the header X-Canary; "" for none
	slow                      bool   // asks for a slow answer
}

func (r request) String() string {
	return fmt.Sprintf("%s %s:%d%s?%s, X-Canary %q", r.method, r.host, r.port, r.path, r.query, r.canary)
}

// header is the Host header that a client sends.
func (r request) header() string {
	if r.port == 80 || r.port == 443 {
		return r.host
	}
	return fmt.Sprintf("%s:%d", r.host, r.port)
}

// sent is the request as the specification reads it.
func (r request) sent() routing.Request {
	query, _ := url.ParseQuery(r.query)
	sent := routing.Request{Port: r.port, Host: r.header(), Path: r.path, Method: r.method, Query: query, Source: netip.MustParseAddr("127.0.0.1")}
	if r.canary != "" {
		sent.Header = map[string][]string{canary: {r.canary}}
	}
	return sent
}

// target is what a client writes on the request line.
func (r request) target() string {
	if r.query == "" {
		return r.path
	}
	return r.path + "?" + r.query
}

// anyRequest comes near what Ingresses ask for: to their own hosts and paths, and to those that
// almost match.
func anyRequest(rng *rand.Rand) request {
	r := request{
		port: pick(rng, int32(80), 80, 80, 443, 8080), method: pick(rng, "GET", "GET", "GET", "POST", "PUT", "DELETE"),
		host: pick(rng, "a.example.com", "A.Example.COM", "b.example.com", "x.example.com", "x.a.example.com", "x.y.example.com", "example.com",
			"single", "with.digit1", "x-1.example.com", "other.net", strings.Repeat("long.", 30)+"example.com"),
		path:   pick(rng, append([]string{"/abc", "/axc", "/x/b", "/x/y.php", "/img/1/thumb", "/starx", "/%C3%A9", "/a//b", "//a", "/b/../a", "/%61"}, paths...)...),
		query:  pick(rng, "", "", "", "beta=yes", "beta=no", "beta=yellow&a=1", "Beta=yes", "beta"),
		canary: pick(rng, "", "", "always", "ALWAYS", "group-7", "group-77", "never"),
	}
	if strings.ContainsAny(r.path, "?é") {
		r.path = "/a" // no path looks like this on the wire
	}
	r.path = pick(rng, r.path, r.path, r.path+"x", strings.TrimSuffix(r.path, "/")+"/x")
	return r
}
