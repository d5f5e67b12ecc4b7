package alb_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/settings"
)

// This file has Ingresses that would lose a protection, or cost the operator its memory.

const (
	userPool  = `{"userPoolARN": "arn:aws:cognito-idp:eu-west-1:1:userpool/p", "userPoolClientID": "c", "userPoolDomain": "d"}`
	rewriting = `[{"type": "url-rewrite", "urlRewriteConfig": {"rewrites": [{"regex": "^/a", "replace": "/b"}]}}]`
	answer    = `{"type": "fixed-response", "fixedResponseConfig": {"statusCode": "200"}}`
	both      = `{"type": "forward", "forwardConfig": {"targetGroups": [
		{"serviceName": "web", "servicePort": 80, "weight": 1}, {"serviceName": "api", "servicePort": 80, "weight": 1}]}}`
)

// backend returns a backend; the name of a port may be use-annotation.
func backend(service, port string) *networkingv1.IngressBackend {
	return &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Name: port}}}
}

// reading reads an Ingress with annotations of the controller, or others by their full names, and paths
// of one host.
func reading(annotations map[string]string, defaultBackend *networkingv1.IngressBackend, services map[string]map[string]string,
	paths ...networkingv1.HTTPIngressPath) dialect.Reading {
	return readingFor("a.example.com", annotations, defaultBackend, services, paths...)
}

// readingFor is reading for a host.
func readingFor(host string, annotations map[string]string, defaultBackend *networkingv1.IngressBackend,
	services map[string]map[string]string, paths ...networkingv1.HTTPIngressPath) dialect.Reading {
	in := ingress("group.name", "one")
	in.Spec.Rules[0].Host = host
	for name, value := range annotations {
		if !strings.Contains(name, "/") {
			name = alb.Prefix + name
		}
		in.Annotations[name] = value
	}
	in.Spec.DefaultBackend = defaultBackend
	if in.Spec.Rules[0].HTTP.Paths = paths; paths == nil {
		in.Spec.Rules = nil
	}
	class := alb.Defaults(v1alpha1.LoadBalancerClassSpec{})
	return alb.Read(dialect.Input{Ingress: in, Class: &class, Service: func(name string) *corev1.Service {
		of := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: map[string]string{}}}
		for key, value := range services[name] {
			of.Annotations[alb.Prefix+key] = value
		}
		return of
	}})
}

func pathTo(path string, to *networkingv1.IngressBackend) networkingv1.HTTPIngressPath {
	return networkingv1.HTTPIngressPath{Path: path, PathType: new(networkingv1.PathTypePrefix), Backend: *to}
}

// The default backend has a Backend of its own. It must not replace one of a path.
func TestTheDefaultBackendReplacesNoOther(t *testing.T) {
	out := reading(map[string]string{"transforms.web": rewriting},
		backend("web", "http"), map[string]map[string]string{"default": {"auth-type": "cognito", "auth-idp-cognito": userPool}},
		pathTo("/admin", backend("default", "backend")))
	own := settings.BackendsOf(out.Annotations)
	of := own[out.Spec.Rules[0].HTTP.Paths[0].Backend.Resource.Name]
	if of == nil || of.Authenticate == nil || of.Services[0].Name != "default" {
		t.Errorf("the path that asks for a sign-in has the Backend %+v", of)
	}
	if of := own[out.Spec.DefaultBackend.Resource.Name]; of == nil || of.Authenticate != nil || of.Rewrite != nil || of.Services[0].Name != "web" {
		t.Errorf("the default backend has the Backend %+v", of)
	}
}

// Annotations of Fairlead that the author has written are not replaced in silence.
func TestAnAnnotationOfFairleadIsNotReplaced(t *testing.T) {
	narrow := `[{"field": "http-request-method", "httpRequestMethodConfig": {"values": ["GET"]}}]`
	to := pathTo("/", backend("web", "use-annotation"))
	for own, theirs := range map[string]map[string]string{
		settings.Inbound + "=10.0.0.0/8":                         {"inbound-cidrs": "0.0.0.0/0"},
		settings.Scheme + "=internal":                            {"scheme": "internet-facing"},
		settings.RequestConditions + "=[{source: [10.0.0.0/8]}]": {"actions.web": answer, "conditions.web": narrow},
		settings.Backends + "={a: {fixedResponse: {}}}":          {"actions.web": answer},
		settings.ListenPorts + "=HTTPS:8443":                     {"listen-ports": `[{"HTTP": 80}]`},
	} {
		key, value, _ := strings.Cut(own, "=")
		annotations := map[string]string{key: value}
		for name, value := range theirs {
			annotations[name] = value
		}
		if out := reading(annotations, nil, nil, to); !out.Refuses() || out.Annotations[key] != value {
			t.Errorf("with %s, %v makes %q, refused %v", own, theirs, out.Annotations[key], out.Refuses())
		}
	}
	out := reading(map[string]string{settings.ListenPorts: "HTTPS:8443", settings.CertificateARN: "arn:aws:acm:eu-west-1:1:certificate/1"}, nil, nil, to)
	if out.Refuses() || out.Annotations[settings.ListenPorts] != "HTTPS:8443" {
		t.Errorf("ports of Fairlead's annotation make %v %v", out.Annotations, out.Verdicts)
	}
}

// A sign-in of a Service counts where the Service is alone. Elsewhere, and where it is wrong, it is said
// of which Service it is.
func TestSignInsOfServicesAreTold(t *testing.T) {
	signIn := map[string]string{"auth-type": "cognito", "auth-idp-cognito": userPool}
	out := reading(map[string]string{"actions.web": both}, nil, map[string]map[string]string{"web": signIn, "api": signIn},
		pathTo("/", backend("web", "use-annotation")))
	told := map[string]bool{}
	for _, v := range out.Verdicts {
		if v.Outcome == dialect.Dropped && v.Key == alb.Prefix+"auth-type" && v.Message != "" {
			told[v.Service] = true
		}
	}
	if !told["web"] || !told["api"] {
		t.Errorf("sign-ins that do not count: %+v", out.Verdicts)
	}
	out = reading(nil, nil, map[string]map[string]string{"web": {"auth-type": "oidc"}}, pathTo("/", backend("web", "http")))
	refused := false
	for _, v := range out.Verdicts {
		refused = refused || v.Outcome == dialect.Refused && v.Service == "web"
	}
	if !refused {
		t.Errorf("a sign-in without its provider: %+v", out.Verdicts)
	}
}

// Each host of conditions has each path, and each path its conditions. An object is 1.5 MB at most, and
// its annotations 256 KiB.
func TestConditionsOfManyPaths(t *testing.T) {
	list := func(format string) string {
		var all []string
		for i := range 8000 {
			all = append(all, fmt.Sprintf(format, i))
		}
		return strings.Join(all, ",")
	}
	var paths []networkingv1.HTTPIngressPath
	for i := range 4000 {
		paths = append(paths, pathTo(fmt.Sprint("/p", i), backend("web", "use-annotation")))
	}
	for name, c := range map[string]struct {
		conditions string
		refused    bool
	}{
		"hosts":   {`[{"field": "host-header", "hostHeaderConfig": {"values": [` + list(`"h%d.example.com"`) + `]}}]`, true},
		"globs":   {`[{"field": "host-header", "hostHeaderConfig": {"values": [` + list(`"*h%d.example.com"`) + `]}}]`, true},
		"sources": {`[{"field": "source-ip", "sourceIpConfig": {"values": [` + list(`"10.0.0.0/8"`) + `]}}]`, false},
		"one":     {`[{"field": "host-header", "hostHeaderConfig": {"values": ["other.example.com"]}}]`, false},
	} {
		began := time.Now()
		out := reading(map[string]string{"actions.web": answer, "conditions.web": c.conditions}, nil, nil, paths...)
		took := time.Since(began)
		rules, refused := 0, false
		for _, r := range out.Spec.Rules {
			rules += len(r.HTTP.Paths)
		}
		for _, v := range out.Verdicts {
			refused = refused || v.Outcome == dialect.Refused && v.Key == "spec.rules"
		}
		t.Logf("%s: %d paths in %s", name, rules, took)
		if refused != c.refused || rules > 40_000 || took > 5*time.Minute { // 1 s; with the race detector, beside all of CI, a minute
			t.Errorf("%s: refused %v, %d paths, in %s", name, refused, rules, took)
		}
	}
}

// Conditions that AWS has, and that the host or the path of a rule cannot have, are written in other ways.
func TestConditionsThatRulesCannotHave(t *testing.T) {
	pattern := func(values string) string {
		return `[{"field": "path-pattern", "pathPatternConfig": {"values": [` + values + `]}}]`
	}
	for value, want := range map[string][]string{
		`"*"`: {"/*"}, `"*/admin"`: {"/*/admin", "/admin"}, `"**.png"`: {"/*.png"}, `"?a"`: {"/a"}, `"*?a"`: {"/*?a", "/a"}, `"/b/*"`: {"/b/*"},
	} {
		out := reading(map[string]string{"conditions.web": pattern(value)}, nil, nil, pathTo("", backend("web", "http")))
		var got []string
		for _, p := range out.Spec.Rules[0].HTTP.Paths {
			got = append(got, p.Path)
		}
		if !slices.Equal(got, want) || out.Refuses() {
			t.Errorf("%s is %q, want %q: %+v", value, got, want, out.Verdicts)
		}
	}
	out := reading(map[string]string{"conditions.web": `[{"field": "host-header", "hostHeaderConfig": {"values": ["my_shop.a.com", "*.a_b.com", "*.b.com"]}}]`},
		nil, nil, pathTo("/", backend("web", "http")))
	var hosts []string
	for _, r := range out.Spec.Rules {
		hosts = append(hosts, r.Host)
	}
	if when := out.Annotations[settings.RequestConditions]; !slices.Equal(hosts, []string{"a.example.com", "*.b.com", ""}) || !strings.Contains(when, "my_shop.a.com") || !strings.Contains(when, "*.a_b.com") {
		t.Errorf("the hosts are %q, with the conditions %s", hosts, when)
	}
	header := `{"field": "http-header", "httpHeaderConfig": {"httpHeaderName": "x", "values": ["a"]}}`
	for conditions, says := range map[string]string{
		pattern(`"admin"`):                "paths begin with /",
		pattern(`""`):                     "paths begin with /",
		"[" + header + "," + header + "]": "has to fulfil both",
		strings.Replace("["+header+"]", `"a"]`, `"a\\b"]`, 1):                                                                                                             "the backslash not among them",
		`[{"field": "host-header", "hostHeaderConfig": {"values": ["a b.com"]}}]`:                                                                                         "characters of a host name",
		`[{"field": "query-string", "queryStringConfig": {"values": [{"value": "a=b"}]}}]`:                                                                                "write the name in key",
		`[{"field": "query-string", "queryStringConfig": {"values": [{"key": "a", "value": "\\*"}]}}]`:                                                                    "a backslash",
		`[{"field": "http-header", "httpHeaderConfig": {"httpHeaderName": "x", "values": ["` + strings.Join(slices.Repeat([]string{"abcdefghij"}, 2000), `","`) + `"]}}]`: "16384 are the most",
	} {
		out := reading(map[string]string{"conditions.web": conditions}, nil, nil, pathTo("/", backend("web", "http")))
		if !slices.ContainsFunc(out.Verdicts, func(v dialect.Verdict) bool {
			return v.Outcome == dialect.Refused && strings.HasPrefix(v.Key, alb.Prefix+"conditions.") && strings.Contains(v.Message, says)
		}) {
			t.Errorf("%.100s: %+v, want %q", conditions, out.Verdicts, says)
		}
	}
}

// Of two web ACLs, the name goes first, and the other annotation is told so.
func TestTheNameOfAWebACLGoesFirst(t *testing.T) {
	out := reading(map[string]string{"wafv2-acl-name": "edge", "wafv2-acl-arn": "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/a/11111111-1111-1111-1111-111111111111"},
		nil, nil, pathTo("/", backend("web", "http")))
	if out.Annotations[settings.WAFv2ACL] != "edge" || !slices.ContainsFunc(out.Verdicts, func(v dialect.Verdict) bool {
		return v.Key == alb.Prefix+"wafv2-acl-arn" && v.Outcome == dialect.Same && strings.Contains(v.Message, "wafv2-acl-name goes first")
	}) {
		t.Errorf("the web ACL is %q: %+v", out.Annotations[settings.WAFv2ACL], out.Verdicts)
	}
}

// Beside expressions, a path without wildcards is Exact, so that a redirect to it is found to lead to itself.
func TestATextBesideExpressions(t *testing.T) {
	path := pathTo("/a", backend("web", "http"))
	path.PathType = new(networkingv1.PathTypeImplementationSpecific)
	out := reading(map[string]string{"conditions.api": `[{"field": "path-pattern", "pathPatternConfig": {"regexValues": ["^/re$"]}}]`}, nil, nil,
		path, pathTo("", backend("api", "http")))
	if p := out.Spec.Rules[0].HTTP.Paths[1]; p.Path != "/a" || *p.PathType != networkingv1.PathTypeExact {
		t.Errorf("it is %s %s", *p.PathType, p.Path)
	}
}

// An expression is searched for in the path, and an anchor is of its branch alone: the path that is made of it matches
// the same paths as a whole.
func TestExpressionsAreSearchedFor(t *testing.T) {
	texts := []string{"/admin", "/admina", "/admin/users", "/x/admin", "/metrics", "/x/metrics", "/metrics/x", "/a|b", "/]", "/x|/y", "/x", "/y", "/q$", "/q"}
	for _, pattern := range []string{
		"^/admin|/metrics$", "/metrics$|^/admin", "^/admin$|^/metrics$", "(^/admin|/metrics$)", "/admin", "^/admin", "/admin$", "^/a[|]b$", "^/[]|]$",
		`^/x\|/y`, `/q\$`, "^(/x|/y)$", "^/x$|^/y$|/metrics", "^/x|", `^/q\\$|/y$`, "[^]|]$",
	} {
		text, _ := json.Marshal(pattern)
		path := pathTo("/*", backend("web", "http"))
		path.PathType = new(networkingv1.PathTypeImplementationSpecific)
		out := reading(map[string]string{"conditions.web": `[{"field": "path-pattern", "pathPatternConfig": {"regexValues": [` + string(text) + `]}}]`}, nil, nil, path)
		var made []*regexp.Regexp
		for _, p := range out.Spec.Rules[0].HTTP.Paths[1:] {
			made = append(made, regexp.MustCompile(`\A(?:`+p.Path+`)\z`))
		}
		if len(made) == 0 {
			t.Fatalf("%s becomes %+v: %+v", pattern, out.Spec.Rules, out.Verdicts)
		}
		for _, text := range texts {
			if want, got := regexp.MustCompile(pattern).MatchString(text), slices.ContainsFunc(made, func(re *regexp.Regexp) bool { return re.MatchString(text) }); got != want {
				t.Errorf("%s finds itself in %s: %v, and %s matches it: %v", pattern, text, want, made, got)
			}
		}
	}
}

// A rewrite begins where each of its branches says, and so has one.
func TestARewriteHasOneBranch(t *testing.T) {
	for regex, refused := range map[string]bool{"^/a|/b": true, "/a": true, "^(/a|/b)": false} {
		out := reading(map[string]string{"transforms.web": strings.Replace(rewriting, "^/a", regex, 1)}, nil, nil, pathTo("/", backend("web", "http")))
		if out.Refuses() != refused {
			t.Errorf("%s: refused %v: %+v", regex, out.Refuses(), out.Verdicts)
		}
	}
}

// A backslash goes before any character of a list, and Fairlead's lists have it before commas alone.
func TestEscapesInLists(t *testing.T) {
	for name, want := range map[string][3]string{
		"listener-attributes.HTTP-80": {`a=x\,y\'z\',b=c`, settings.ListenerAttributes, `80:a=x\,y'z',80:b=c`},
		"target-group-attributes":     {`a=\"b\"`, settings.TargetGroupAttributes, `a="b"`},
		"load-balancer-attributes":    {`a=b\ c`, settings.Prefix + "load-balancer-attributes", `a=b c`},
		"tags":                        {`a=b\=c`, settings.Tags, `a=b=c`},
	} {
		if out := reading(map[string]string{name: want[0]}, nil, nil, pathTo("/", backend("web", "http"))); out.Annotations[want[1]] != want[2] || out.Refuses() {
			t.Errorf("%s: %s becomes %q, want %q: %+v", name, want[0], out.Annotations[want[1]], want[2], out.Verdicts)
		}
		if out := reading(map[string]string{name: `a=b\\,c=d`}, nil, nil, pathTo("/", backend("web", "http"))); !out.Refuses() {
			t.Errorf("%s with a backslash as a part of a value becomes %q", name, out.Annotations)
		}
	}
}

// A redirect to a port on which the Ingress does not listen says what to list.
func TestARedirectToAPortThatIsNotListed(t *testing.T) {
	for port, says := range map[string]string{"443": `list {"HTTPS": 443} in alb.ingress.kubernetes.io/listen-ports`, "https": "https"} {
		out := reading(map[string]string{"ssl-redirect": port}, nil, nil, pathTo("/", backend("web", "http")))
		if !slices.ContainsFunc(out.Verdicts, func(v dialect.Verdict) bool {
			return v.Key == alb.Prefix+"ssl-redirect" && v.Outcome == dialect.Refused && strings.Contains(v.Message, says)
		}) {
			t.Errorf("%s: it says %+v", port, out.Verdicts)
		}
	}
}

// A redirect that is to remove the query says with which request that shows.
func TestAChangedRedirectShowsARequest(t *testing.T) {
	away := `{"type": "redirect", "redirectConfig": {"path": "/new", "query": "", "statusCode": "HTTP_301"}}`
	out := reading(map[string]string{"actions.away": away}, nil, nil, pathTo("/old", backend("away", "use-annotation")))
	if !slices.ContainsFunc(out.Verdicts, func(v dialect.Verdict) bool {
		return v.Key == alb.Prefix+"actions.away" && v.Outcome == dialect.Changed && v.Request.URL == "http://a.example.com:80/old?a=b"
	}) {
		t.Errorf("it says %+v", out.Verdicts)
	}
}
