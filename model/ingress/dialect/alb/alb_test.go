package alb_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/settings"
	"fairlead.dev/fairlead/test/page"
)

// annotations has all annotations of the controller: those of pkg/annotations/constants.go with the prefix
// alb.ingress.kubernetes.io, and those by backend of docs/guide/ingress/annotations.md. Each has a value
// that the controller takes and one that it refuses, or that Fairlead refuses; "" for none.
var annotations = map[string][2]string{
	"load-balancer-name":                               {"shop", "a_b"},
	"group.name":                                       {"shop.edge", "Shop"},
	"group.order":                                      {"-10", "1001"},
	"tags":                                             {"team=shop,stage=test", "fairlead.dev/x=y"},
	"ip-address-type":                                  {"dualstack", "ipv6"},
	"scheme":                                           {"internet-facing", "public"},
	"subnets":                                          {"subnet-0a1b2c3d, private-a", ""},
	"customer-owned-ipv4-pool":                         {"", "ipv4pool-coip-0a"},
	"load-balancer-attributes":                         {"idle_timeout.timeout_seconds=120,routing.http2.enabled=false", "idle_timeout"},
	"wafv2-acl-arn":                                    {"arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/edge/11111111-1111-1111-1111-111111111111", "edge one"},
	"wafv2-acl-name":                                   {"edge", "edge one"},
	"waf-acl-id":                                       {"", "499e8b99"},
	"web-acl-id":                                       {"", "499e8b99"},
	"shield-advanced-protection":                       {"true", "yes"},
	"security-groups":                                  {"sg-0a1b2c3d, edge", ""},
	"listen-ports":                                     {`[{"HTTP": 80}, {"HTTPS": 443}, {"HTTP": 8080}]`, `[{"TCP": 80}]`},
	"ssl-redirect":                                     {"443", "https"},
	"inbound-cidrs":                                    {"10.0.0.1/8, 2001:db8::/32", "10.0.0.0"},
	"certificate-arn":                                  {"arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012", "cert"},
	"ssl-policy":                                       {"ELBSecurityPolicy-TLS13-1-2-2021-06", "TLS 1.2"},
	"target-type":                                      {"ip", "pod"},
	"backend-protocol":                                 {"HTTPS", "TCP"},
	"backend-protocol-version":                         {"GRPC", "HTTP3"},
	"target-group-attributes":                          {"deregistration_delay.timeout_seconds=30", "slow"},
	"healthcheck-port":                                 {"8081", "70000"},
	"healthcheck-protocol":                             {"HTTPS", "TCP"},
	"healthcheck-path":                                 {"/healthz", "healthz"},
	"healthcheck-interval-seconds":                     {"30", "soon"},
	"healthcheck-timeout-seconds":                      {"10", "1"},
	"healthy-threshold-count":                          {"3", "1"},
	"unhealthy-threshold-count":                        {"3", "11"},
	"success-codes":                                    {"200-299", "2xx"},
	"auth-type":                                        {"none", "basic"},
	"auth-idp-cognito":                                 {`{"userPoolARN": "arn:aws:cognito-idp:eu-west-1:1:userpool/p", "userPoolClientID": "c", "userPoolDomain": "d"}`, `{`},
	"auth-idp-oidc":                                    {`{"issuer": "https://id", "authorizationEndpoint": "https://id/a", "tokenEndpoint": "https://id/t", "userInfoEndpoint": "https://id/u", "secretName": "client"}`, `{`},
	"auth-on-unauthenticated-request":                  {"deny", "maybe"},
	"auth-scope":                                       {"openid email", ""},
	"auth-session-cookie":                              {"mine", ""},
	"auth-session-timeout":                             {"3600", "1h"},
	"jwt-validation":                                   {`{"jwksEndpoint": "https://id/keys", "issuer": "https://id"}`, `{"issuer": "https://id"}`},
	"target-node-labels":                               {"pool=edge,zone=a", ""},
	"manage-backend-security-group-rules":              {"false", "true"},
	"mutual-authentication":                            {`[{"port": 443, "mode": "verify", "trustStore": "partners", "ignoreClientCertificateExpiry": true}]`, `{`},
	"security-group-prefix-lists":                      {"pl-0123456789abcdef0", "list"},
	"listener-attributes.HTTP-80":                      {"routing.http.response.server.enabled=false", "server"},
	"multi-cluster-target-group":                       {"false", "true"},
	"minimum-load-balancer-capacity":                   {"", "CapacityUnits=100"},
	"ipam-ipv4-pool-id":                                {"", "ipam-pool-0a1b2c"},
	"enable-frontend-nlb":                              {"false", "true"},
	"frontend-nlb-scheme":                              {"", "internal"},
	"frontend-nlb-subnets":                             {"", "subnet-1"},
	"frontend-nlb-security-groups":                     {"", "sg-1"},
	"frontend-nlb-listener-port-mapping":               {"", "80=443"},
	"frontend-nlb-eip-allocations":                     {"", "eipalloc-1"},
	"frontend-nlb-healthcheck-port":                    {"", "80"},
	"frontend-nlb-healthcheck-protocol":                {"", "HTTP"},
	"frontend-nlb-healthcheck-path":                    {"", "/"},
	"frontend-nlb-healthcheck-interval-seconds":        {"", "15"},
	"frontend-nlb-healthcheck-timeout-seconds":         {"", "5"},
	"frontend-nlb-healthcheck-healthy-threshold-count": {"", "2"},
	"frontend-nlb-healthcheck-unhealthy-threshold-count": {"", "2"},
	"frontend-nlb-healthcheck-success-codes":             {"", "200"},
	"frontend-nlb-attributes":                            {"", "a=b"},
	"frontend-nlb-tags":                                  {"", "a=b"},
	"use-regex-path-match":                               {"true", "sometimes"},
	"target-control-port.web.80":                         {"", "9000"},
	"create-acm-cert":                                    {"false", "true"},
	"acm-pca-arn":                                        {"", "arn:aws:acm-pca:eu-west-1:123456789012:certificate-authority/1"},
	"dry-run-plan":                                       {"", "{}"},
	"actions.moved":                                      {`{"type": "redirect", "redirectConfig": {"host": "www.example.com", "statusCode": "HTTP_301"}}`, `{"type": "teapot"}`},
	"conditions.web":                                     {`[{"field": "http-request-method", "httpRequestMethodConfig": {"values": ["GET"]}}]`, `[{"field": "source-addr", "sourceIpConfig": {"values": ["10.0.0.0/8"]}}]`},
	"transforms.web":                                     {`[{"type": "url-rewrite", "urlRewriteConfig": {"rewrites": [{"regex": "^/a/(.*)$", "replace": "/$1"}]}}]`, `[{"type": "url-rewrite"}]`},

	// These are none of the controller's.
	"allowed-cidrs": {"", "10.0.0.0/8"},
	"comment":       {"", "x"},
}

// ingress returns an Ingress with one annotation.
func ingress(name, value string) *networkingv1.Ingress {
	exact := networkingv1.PathTypeExact
	path := func(path, service, port string) networkingv1.HTTPIngressPath {
		b := networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Name: port}}
		if port == "" {
			b.Port.Number = 80
		}
		return networkingv1.HTTPIngressPath{Path: path, PathType: &exact, Backend: networkingv1.IngressBackend{Service: &b}}
	}
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{}}}
	ing.Spec.Rules = []networkingv1.IngressRule{{Host: "a.example.com", IngressRuleValue: networkingv1.IngressRuleValue{
		HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{path("/a", "web", "")}}}}}
	switch {
	case strings.HasPrefix(name, "actions."):
		ing.Spec.Rules[0].HTTP.Paths[0] = path("/a", "moved", "use-annotation")
	case name == "mutual-authentication", name == "ssl-redirect":
		ing.Annotations[alb.Prefix+"listen-ports"] = `[{"HTTP": 80}, {"HTTPS": 443}]`
	case strings.HasPrefix(name, "auth-idp-"):
		ing.Annotations[alb.Prefix+"auth-type"] = strings.TrimPrefix(name, "auth-idp-")
	}
	ing.Annotations[alb.Prefix+name] = value
	return ing
}

//go:generate go test . -run ^TestEachAnnotation$ -update

// TestEachAnnotation writes down what each annotation makes, with a good and a bad value.
func TestEachAnnotation(t *testing.T) {
	class := alb.Defaults(v1alpha1.LoadBalancerClassSpec{})
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		for i, value := range annotations[name] {
			if value == "" {
				continue
			}
			in := ingress(name, value)
			out := alb.Read(dialect.Input{Ingress: in, Class: &class, Service: func(string) *corev1.Service { return nil }})
			fmt.Fprintf(&b, "%s: %s\n", name, value)
			for _, own := range slices.Sorted(maps.Keys(out.Annotations)) {
				fmt.Fprintf(&b, "    %s: %s\n", own, strings.ReplaceAll(strings.TrimSpace(out.Annotations[own]), "\n", "\n        "))
			}
			if !cmp.Equal(in.Spec, out.Spec) {
				spec, err := yaml.Marshal(out.Spec)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, "    spec:\n        %s\n", strings.ReplaceAll(strings.TrimSpace(string(spec)), "\n", "\n        "))
			}
			refused := out.Refuses()
			_, wrong := settings.Read(out.Annotations, &class, true)
			for _, w := range wrong {
				refused = true
				fmt.Fprintf(&b, "    refused, %s: %s\n", w.Annotation, w.Message)
			}
			said := false
			for _, v := range out.Verdicts {
				if v.Key == alb.Prefix+name {
					said = true
					fmt.Fprintf(&b, "    %s\n", strings.TrimSpace(fmt.Sprintf("%s %s %s", v.Outcome, v.Message, v.Request.URL)))
				}
			}
			if !said {
				t.Errorf("%s: %s has no verdict: %+v", name, value, out.Verdicts)
			}
			if i == 0 && refused {
				t.Errorf("%s: %s is refused: %+v %+v", name, value, out.Verdicts, wrong)
			}
		}
	}
	page.Check(t, "testdata/annotations.txt", b.String())
}

// ofServices are the annotations that the controller reads on Services, by the file of pkg/ingress that does:
// what git grep finds for svc.Annotations and backend.Annotations there.
var ofServices = map[string][]string{
	"enhanced_backend_builder.go": {"auth-type", "auth-idp-cognito", "auth-idp-oidc", "auth-on-unauthenticated-request", "auth-scope",
		"auth-session-cookie", "auth-session-timeout"},
	"model_build_tags.go": {"tags"},
	"model_build_target_group.go": {"target-type", "backend-protocol", "backend-protocol-version", "target-group-attributes", "healthcheck-port",
		"healthcheck-protocol", "healthcheck-path", "healthcheck-interval-seconds", "healthcheck-timeout-seconds", "healthy-threshold-count",
		"unhealthy-threshold-count", "success-codes", "target-control-port.web.80", "target-node-labels", "multi-cluster-target-group"},
}

// TestEachAnnotationOfAService. Each has a verdict, and it says whether the controller reads it there.
func TestEachAnnotationOfAService(t *testing.T) {
	read := slices.Concat(slices.Collect(maps.Values(ofServices))...)
	class := alb.Defaults(v1alpha1.LoadBalancerClassSpec{})
	for name, values := range annotations {
		value := values[0]
		if value == "" {
			value = values[1]
		}
		out := alb.Read(dialect.Input{Ingress: ingress("group.name", "shop"), Class: &class, Service: func(of string) *corev1.Service {
			return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: of, Annotations: map[string]string{alb.Prefix + name: value}}}
		}})
		at := slices.IndexFunc(out.Verdicts, func(v dialect.Verdict) bool { return v.Service == "web" && v.Key == alb.Prefix+name })
		if at < 0 {
			t.Errorf("%s has no verdict: %+v", name, out.Verdicts)
			continue
		}
		v := out.Verdicts[at]
		not := strings.Contains(v.Message, "does not read it on a Service") || strings.Contains(v.Message, "has no such annotation")
		if is := slices.Contains(read, name); is == not || not && v.Outcome == dialect.Same {
			t.Errorf("%s is read: %v, and it is %s: %s", name, is, v.Outcome, v.Message)
		}
		read = slices.DeleteFunc(read, func(n string) bool { return n == name })
	}
	if len(read) > 0 {
		t.Errorf("%q are no annotations", read)
	}
}

// Security groups say which clients may connect, and ranges beside them have no effect.
func TestRangesBesideSecurityGroups(t *testing.T) {
	class := alb.Defaults(v1alpha1.LoadBalancerClassSpec{})
	in := ingress("security-groups", "sg-0a1b2c3d")
	in.Annotations[alb.Prefix+"inbound-cidrs"] = "10.0.0.0/8"
	out := alb.Read(dialect.Input{Ingress: in, Class: &class, Service: func(string) *corev1.Service { return nil }})
	if _, is := out.Annotations[settings.Inbound]; is || out.Annotations[settings.SecurityGroups] == "" {
		t.Errorf("it has %v", out.Annotations)
	}
	if !slices.ContainsFunc(out.Verdicts, func(v dialect.Verdict) bool {
		return v.Key == alb.Prefix+"inbound-cidrs" && v.Outcome == dialect.Dropped && v.Message != ""
	}) {
		t.Errorf("it says %+v", out.Verdicts)
	}
}
