package alb_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/settings"
	"fairlead.dev/fairlead/test/page"
)

const webACL = "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/edge/11111111-1111-1111-1111-111111111111"

// paramsFields are those of IngressClassParamsSpec, in apis/elbv2/v1beta1/ingressclassparams_types.go of the
// controller. Each has values that Fairlead takes, and values that it refuses.
var paramsFields = map[string][2][]string{
	"loadBalancerName":            {{`shop`}, {`a_b`, `[a]`}},
	"certificateArn":              {{`["arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012"]`}, {`[cert]`}},
	"namespaceSelector":           {{`{matchLabels: {team: shop}}`, `{}`}, {`{matchExpressions: [{key: team, operator: Is}]}`}},
	"group":                       {{`{name: shop.edge}`}, {`{name: Shop}`}},
	"scheme":                      {{`internet-facing`}, {`public`}},
	"inboundCIDRs":                {{`[10.0.0.0/8, "2001:db8::/32"]`}, {`[10.0.0.0]`, `[pl-0123456789abcdef0]`, `[10.0.0.1/8]`}},
	"sslPolicy":                   {{`ELBSecurityPolicy-TLS13-1-2-2021-06`}, {`TLS 1.2`}},
	"sslRedirectPort":             {{`"443"`, `"0443"`}, {`https`, `"0"`}},
	"subnets":                     {{`{ids: [subnet-0a1b2c3d]}`, `{tags: {tier: [edge]}}`}, {`{tags: {tier: [edge, inner]}}`, `{tags: {tier: []}}`, `{ids: [a], tags: {a: [b]}}`}},
	"ipAddressType":               {{`dualstack-without-public-ipv4`}, {`ipv6`}},
	"tags":                        {{`[{key: team, value: shop}]`}, {`[{key: fairlead.dev/x, value: z}]`}},
	"targetType":                  {{`ip`}, {`pod`}},
	"loadBalancerAttributes":      {{`[{key: idle_timeout.timeout_seconds, value: "120"}]`}, {`[{value: a}]`}},
	"listeners":                   {{`[{protocol: HTTPS, port: 443, listenerAttributes: [{key: routing.http.response.server.enabled, value: "false"}]}]`}, {`[{protocol: TCP, port: 443}]`, `[{protocol: HTTP, port: 0}]`, `[{protocol: HTTP, port: 80}, {protocol: HTTPS, port: 80}]`}},
	"minimumLoadBalancerCapacity": {{`{capacityUnits: 0}`}, {`{capacityUnits: 100}`}},
	"ipamConfiguration":           {{`{}`}, {`{ipv4IPAMPoolId: ipam-pool-0a1b2c}`}},
	"PrefixListsIDs":              {{`[pl-0123456789abcdef0]`}, {`[list]`}},
	"prefixListsIDs":              {{`[pl-0123456789abcdef0]`}, {`[list]`, `[pl-x]`}},
	"wafv2AclArn":                 {{`arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/edge/11111111-1111-1111-1111-111111111111`, `""`}, {`edge one`}},
	"wafv2AclName":                {{`edge`, `none`}, {`edge one`}},

	// These are none of the controller's.
	"comment":      {{`x`}, nil},
	"allowedCIDRs": {nil, {`[10.0.0.0/8]`}},
}

func paramsOf(t *testing.T, spec string) *alb.IngressClassParams {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	return &alb.IngressClassParams{ObjectMeta: metav1.ObjectMeta{Name: "edge"}, Spec: runtime.RawExtension{Raw: raw}}
}

// describe writes what parameters make of a class, and returns whether they are refused.
func describe(t *testing.T, b *strings.Builder, p *alb.IngressClassParams, class v1alpha1.LoadBalancerClassSpec) bool {
	t.Helper()
	before, err := json.Marshal(class)
	if err != nil {
		t.Fatal(err)
	}
	after, said := p.Apply(class)
	if unchanged, err := json.Marshal(class); err != nil || string(unchanged) != string(before) {
		t.Errorf("the class that was given has changed: %s, %v", unchanged, err)
	}
	text, err := yaml.Marshal(after)
	if err != nil {
		t.Fatal(err)
	}
	refused := slices.ContainsFunc(said.Verdicts, func(v dialect.Verdict) bool { return v.Outcome == dialect.Refused })
	if !refused {
		for line := range strings.Lines(string(text)) {
			fmt.Fprintf(b, "    %s\n", strings.TrimRight(line, "\n"))
		}
		for _, key := range slices.Sorted(maps.Keys(said.Instead)) {
			i := said.Instead[key]
			fmt.Fprintf(b, "    %s\n", strings.TrimSpace(fmt.Sprintf("in place of %s: %s %s", key, i.Value, i.Loses)))
		}
	}
	for _, v := range said.Verdicts {
		name := strings.TrimPrefix(v.Key, "spec.")
		if strings.Contains(v.Message, "has no such field") && name != "comment" && name != "allowedCIDRs" {
			t.Errorf("%s has no row", v.Key)
		}
		if v.Outcome == dialect.Changed && v.Request.URL == "" {
			t.Errorf("%s is changed, and no request shows it", v.Key)
		}
		fmt.Fprintf(b, "    %s\n", strings.TrimSpace(fmt.Sprintf("%s: %s %s", v.Key, v.Outcome, v.Message)))
	}
	return refused
}

//go:generate go test . -run ^TestEachField$ -update

// TestEachField writes down what each field of IngressClassParams makes, with good and bad values.
func TestEachField(t *testing.T) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(paramsFields)) {
		for bad, values := range paramsFields[name] {
			for _, value := range values {
				fmt.Fprintf(&b, "%s: %s\n", name, value)
				if describe(t, &b, paramsOf(t, name+": "+value), v1alpha1.LoadBalancerClassSpec{}) != (bad == 1) {
					t.Errorf("%s: %s: refused is not %v", name, value, bad == 1)
				}
			}
		}
	}
	page.Check(t, "testdata/fields.txt", b.String())
}

//go:generate go test . -run ^TestFieldsBesideAClass$ -update

// TestFieldsBesideAClass writes down what the fields make of a class that has its own.
func TestFieldsBesideAClass(t *testing.T) {
	var b strings.Builder
	for _, c := range []struct{ about, class, params string }{
		{"the class goes first", `{scheme: internal, tags: {a: b}, attributes: {x: "1"}, ports: [{port: 443, attributes: {c: d}}], subnetTags: {e: f}, sslRedirect: "443", inbound: [10.0.0.0/8]}`,
			`{scheme: internet-facing, tags: [{key: a, value: c}, {key: d, value: e}], loadBalancerAttributes: [{key: x, value: "2"}],
			  listeners: [{protocol: HTTPS, port: 443, listenerAttributes: [{key: c, value: x}, {key: e, value: f}]}], subnets: {ids: [subnet-1]},
			  sslRedirectPort: "8443", inboundCIDRs: [10.0.0.0/16]}`},
		{"they agree", `{scheme: internal, inbound: [10.0.0.0/8], sslRedirect: "443"}`, `{scheme: internal, inboundCIDRs: [10.0.0.0/8], sslRedirectPort: "443"}`},
		{"security groups say who may connect", `{securityGroups: [edge]}`, `{inboundCIDRs: [10.0.0.0/8]}`},
		{"ranges and lists together", `{}`, `{inboundCIDRs: [10.0.0.0/8], prefixListsIDs: [pl-0123456789abcdef0]}`},
		{"both spellings", `{}`, `{prefixListsIDs: [pl-0123456789abcdef0], PrefixListsIDs: [pl-0123456789abcdef1]}`},
		{"the name of a web ACL goes first", `{}`, `{wafv2AclName: edge, wafv2AclArn: "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/a/11111111-1111-1111-1111-111111111111"}`},
		{"namespaces are bound twice", `{allowedHosts: [{hosts: [a.com], namespaceSelector: {matchLabels: {tier: web}}}, {hosts: [b.com]}]}`, `{namespaceSelector: {matchLabels: {team: shop}}}`},
		{"namespaces of a group", `{groups: [{name: shop, namespaceSelector: {matchLabels: {tier: web}}}]}`,
			`{group: {name: shop}, namespaceSelector: {matchLabels: {team: shop}, matchExpressions: [{key: a, operator: Exists}]}}`},
		{"authors may set little", `{annotations: [scheme]}`, `{group: {name: shop}}`},
	} {
		fmt.Fprintf(&b, "# %s\n%s\n%s\n", c.about, c.class, c.params)
		var class v1alpha1.LoadBalancerClassSpec
		if err := yaml.UnmarshalStrict([]byte(c.class), &class); err != nil {
			t.Fatal(err)
		}
		describe(t, &b, paramsOf(t, c.params), class)
	}
	page.Check(t, "testdata/beside.txt", b.String())
}

//go:generate go test . -run ^TestParametersDecide$ -update

// TestParametersDecide writes down what becomes of annotations that parameters decide.
func TestParametersDecide(t *testing.T) {
	var b strings.Builder
	for _, c := range []struct{ params, annotation, value string }{
		{`{scheme: internal}`, "scheme", "internet-facing"},
		{`{group: {name: edge}}`, "group.name", "mine"},
		{`{sslRedirectPort: "443"}`, "group.order", "1"},
		{`{sslRedirectPort: "443"}`, "listen-ports", `[{"HTTP": 80}, {"HTTPS": 443}]`},
		{`{inboundCIDRs: [10.0.0.0/8]}`, "security-group-prefix-lists", "pl-0123456789abcdef0"},
		{`{prefixListsIDs: [pl-0123456789abcdef0]}`, "inbound-cidrs", "10.0.0.0/8"},
		{`{wafv2AclArn: "` + webACL + `"}`, "wafv2-acl-name", "other"},
		{`{wafv2AclArn: "` + webACL + `"}`, "wafv2-acl-name", "edge"},
		{`{wafv2AclArn: "` + webACL + `"}`, "wafv2-acl-name", "none"},
		{`{certificateArn: ["arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012"]}`, "group.order", "1"},
	} {
		class, said := paramsOf(t, c.params).Apply(v1alpha1.LoadBalancerClassSpec{})
		class = alb.Defaults(class)
		out := alb.Read(dialect.Input{Ingress: ingress(c.annotation, c.value), Class: &class, Parameters: said,
			Service: func(string) *corev1.Service { return nil }})
		fmt.Fprintf(&b, "%s with %s: %s\n", c.params, c.annotation, c.value)
		for _, own := range slices.Sorted(maps.Keys(out.Annotations)) {
			fmt.Fprintf(&b, "    %s: %s\n", own, out.Annotations[own])
		}
		for _, v := range out.Verdicts {
			if v.Outcome == dialect.Changed && v.Request.URL == "" {
				t.Errorf("%s is changed, and no request shows it", v.Key)
			}
			fmt.Fprintf(&b, "    %s\n", strings.TrimSpace(fmt.Sprintf("%s %s %s %s", v.Key, v.Outcome, v.Message, v.Request.URL)))
		}
	}
	class, said := paramsOf(t, `{targetType: ip}`).Apply(v1alpha1.LoadBalancerClassSpec{})
	own, found := alb.ReadService(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{
		alb.Prefix + "target-type": "instance"}}}, said)
	fmt.Fprintf(&b, "targetType %s, and a Service with instance: %v\n", class.TargetType, own)
	for _, v := range found {
		fmt.Fprintf(&b, "    %s %s %s\n", v.Key, v.Outcome, v.Message)
	}
	page.Check(t, "testdata/decided.txt", b.String())
}

// TestRedirectsOfTheGroupOfParameters: all Ingresses of the class are in the group that the parameters name, whatever they name
// themselves, and one that redirects does so for all.
func TestRedirectsOfTheGroupOfParameters(t *testing.T) {
	class := alb.Defaults(v1alpha1.LoadBalancerClassSpec{})
	group := alb.Prefix + "group.name"
	said := &dialect.Parameters{Instead: map[string]dialect.Instead{group: {By: "spec.group", Value: "all"}}}
	for name, of := range map[string]string{"no group": "", "another group": "other"} {
		in, other := ingress("listen-ports", `[{"HTTP": 80}, {"HTTPS": 443}]`), ingress("ssl-redirect", "443")
		if of != "" {
			other.Annotations[group] = of
		}
		for p, want := range map[*dialect.Parameters]string{said: "443,all", nil: ""} {
			out := alb.Read(dialect.Input{Ingress: in, Class: &class, Parameters: p, Beside: []*networkingv1.Ingress{other},
				Service: func(string) *corev1.Service { return nil }})
			if got := out.Annotations[settings.SSLRedirect]; got != want {
				t.Errorf("%s, with parameters %v: ssl-redirect is %q, want %q", name, p != nil, got, want)
			}
		}
	}
}
