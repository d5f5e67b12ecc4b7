package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/settings"
	"fairlead.dev/fairlead/test/kube"
)

// This file holds the API server's checks of our kinds against the compiler's. What is wrong is
// refused by both: by the one before it is stored, by the other in files and in what was stored
// before a check was there.

// A verdict says who refuses an object.
type verdict int

const (
	fine    verdict = iota
	refused         // by both
	// The compiler does not see a difference between what is empty and what is not there.
	byServer
	// What no schema can say within its budget is for the compiler alone.
	byCompiler
)

var backends = map[string]verdict{
	`{}`:                          refused,
	`{redirect: {scheme: https}}`: fine,
	`{redirect: {scheme: https}, provider: {a: 1}}`:                          refused,
	`{services: [{name: a, port: {number: 80}}], provider: {keepAlive: 60}}`: fine,
	`{services: [{name: a, port: {number: 80}}], provider: [1]}`:             refused,
	`{redirect: {scheme: https, statusCode: 301}}`:                           fine,
	`{redirect: {scheme: ""}}`:                                               refused,
	`{redirect: {scheme: "", host: a.example}}`:                              byServer,
	`{redirect: {}}`:                                                                refused,
	`{redirect: {statusCode: 301}}`:                                                 refused,
	`{redirect: {host: a.example, statusCode: "301"}}`:                              refused,
	`{redirect: {host: a.example, statusCode: 0}}`:                                  byServer,
	`{redirect: {host: "#{host}", path: "/new#{path}"}}`:                            fine,
	`{redirect: {host: ""}}`:                                                        refused,
	`{redirect: {port: "443"}}`:                                                     fine,
	`{redirect: {port: "#{port}", path: /}}`:                                        fine,
	`{redirect: {port: "1"}}`:                                                       fine,
	`{redirect: {port: "65535"}}`:                                                   fine,
	`{redirect: {port: "0"}}`:                                                       refused,
	`{redirect: {port: "65536"}}`:                                                   refused,
	`{redirect: {port: "99999999999999999999"}}`:                                    refused,
	`{redirect: {port: https}}`:                                                     refused,
	`{redirect: {port: 443}}`:                                                       refused,
	`{redirect: {port: "-1"}}`:                                                      refused,
	`{redirect: {path: /new}}`:                                                      fine,
	`{redirect: {path: "#{path}"}}`:                                                 refused,
	`{redirect: {query: "a=b"}}`:                                                    fine,
	`{redirect: {to: https}}`:                                                       refused,
	`{fixedResponse: {statusCode: 200}}`:                                            fine,
	`{fixedResponse: {statusCode: 599, contentType: text/html, body: <p>}}`:         fine,
	`{fixedResponse: {}}`:                                                           refused,
	`{fixedResponse: {statusCode: 200}, redirect: {scheme: https}}`:                 refused,
	`{fixedResponse: {statusCode: 200}, services: [{name: a, port: {number: 80}}]}`: refused,
	`{services: []}`:                                                                refused,
	`{services: [{name: a, port: {number: 80}}]}`:                                   fine,
	`{services: [{name: a, port: {name: http}}]}`:                                   fine,
	`{services: [{name: a, port: {name: http, number: 80}}]}`:                       refused,
	`{services: [{name: a, port: {}}]}`:                                             refused,
	`{services: [{name: a}]}`:                                                       refused,
	`{services: [{port: {number: 80}}]}`:                                            refused,
	`{services: [{name: "", port: {number: 80}}]}`:                                  refused,
	`{services: [{name: a, port: {number: 80}, weight: 0}]}`:                        refused,
	`{services: [{name: a, port: {number: 80}, weight: 0}, {name: b, port: {number: 80}}]}`: fine,

	`{services: [{targetGroupARN: "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/a/0", weight: 2}]}`:          fine,
	`{services: [{targetGroupARN: "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/a/0", name: a}]}`:            refused,
	`{services: [{targetGroupARN: "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/a/0", port: {number: 80}}]}`: refused,
	`{services: [{targetGroupARN: "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/a/0", weight: 2}]}`:     refused,
}

var classSpecs = map[string]verdict{
	`{}`:                                                    fine,
	`{scheme: internal}`:                                    fine,
	`{scheme: internet-facing}`:                             fine,
	`{scheme: public}`:                                      refused,
	`{scheme: ""}`:                                          byServer,
	`{loadBalancerName: Shop-1}`:                            fine,
	`{loadBalancerName: shop-}`:                             refused,
	`{loadBalancerName: Internal-1}`:                        refused,
	`{loadBalancerName: fl-shop}`:                           refused,
	`{ipFamily: dualstack}`:                                 fine,
	`{ipFamily: ipv6}`:                                      refused,
	`{ipFamily: dualstack-without-public-ipv4}`:             fine,
	`{subnets: [public-a, subnet-0a]}`:                      fine,
	`{subnetTags: {tier: edge, used: ""}}`:                  fine,
	`{subnets: [public-a], subnetTags: {tier: edge}}`:       refused,
	`{tags: {team: web}}`:                                   fine,
	`{tags: {fairlead.dev/key: a}}`:                         refused,
	`{securityGroups: [web, sg-0a]}`:                        fine,
	`{inbound: [10.0.0.0/8, pl-0123456789abcdef0, "::/0"]}`: fine,
	`{inbound: [everybody]}`:                                refused,
	`{inbound: [10.0.0.1/8]}`:                               byCompiler,
	`{securityGroups: [web], inbound: [10.0.0.0/8]}`:        refused,
	`{targetType: instance}`:                                fine,
	`{targetType: pod}`:                                     refused,
	`{listenPorts: [{protocol: HTTP, port: 80}, {protocol: HTTPS, port: 443}]}`: fine,
	`{listenPorts: []}`: refused,
	`{listenPorts: [{protocol: HTTP, port: 80}, {protocol: HTTPS, port: 80}]}`:                    refused,
	`{listenPorts: [{protocol: TCP, port: 80}]}`:                                                  refused,
	`{listenPorts: [{protocol: HTTP, port: 0}]}`:                                                  refused,
	`{listenPorts: [{protocol: HTTP, port: 65536}]}`:                                              refused,
	`{listenPorts: [{protocol: HTTP}]}`:                                                           refused,
	`{groups: [{name: shared, namespaceSelector: {}}]}`:                                           fine,
	`{groups: [{name: shared, namespaceSelector: {matchLabels: {team: a}}}]}`:                     fine,
	`{groups: [{name: Shared, namespaceSelector: {}}]}`:                                           refused,
	`{groups: [{name: "a.b", namespaceSelector: {}}]}`:                                            fine,
	`{groups: [{name: "a/b", namespaceSelector: {}}]}`:                                            refused,
	`{groups: [{name: "a.", namespaceSelector: {}}]}`:                                             refused,
	`{groups: [{name: "", namespaceSelector: {}}]}`:                                               refused,
	`{groups: [{name: a, namespaceSelector: {}}, {name: a, namespaceSelector: {}}]}`:              refused,
	`{groups: [{name: a, namespaceSelector: {matchExpressions: [{key: team, operator: Near}]}}]}`: byCompiler,
	`{groups: [{name: a, namespaceSelector: {matchExpressions: [{key: team, operator: In}]}}]}`:   byCompiler,
	`{groups: [{name: a, namespaceSelector: {matchLabels: {"a b": c}}}]}`:                         byCompiler,
	`{allowedHosts: [{hosts: [shop.example.com, "*.example.com", "*"]}]}`:                         fine,
	`{allowedHosts: [{hosts: ["*.*.example.com"]}]}`:                                              refused,
	`{allowedHosts: [{hosts: ["a.*.example.com"]}]}`:                                              refused,
	`{allowedHosts: [{hosts: ["Shop.example.com"]}]}`:                                             refused,
	`{allowedHosts: [{hosts: [""]}]}`:                                                             refused,
	`{allowedHosts: [{hosts: ["a..b"]}]}`:                                                         refused,
	`{allowedHosts: [{hosts: ["-a.example"]}]}`:                                                   refused,
	`{allowedHosts: [{namespaceSelector: {matchLabels: {team: a}}, hosts: [a.example]}]}`:         fine,
	`{annotations: []}`:                                     fine,
	`{annotations: [group, fairlead.dev/order]}`:            fine,
	`{annotations: [group, group]}`:                         byServer,
	`{annotations: [colour]}`:                               byCompiler,
	`{order: true}`:                                         fine,
	`{order: "yes"}`:                                        refused,
	`{sslRedirect: "443"}`:                                  fine,
	`{sslRedirect: "65536"}`:                                refused,
	`{sslRedirect: "0443"}`:                                 refused,
	`{sslRedirect: "true"}`:                                 refused,
	`{wildcardHosts: AnyLabels}`:                            refused,
	`{wildcardHosts: AnyLabels, precedence: Specification}`: refused,
	`{wildcardHosts: AnyLabels, precedence: Order}`:         fine,
	`{wildcardHosts: AnyLabels, precedence: Order, groups: [{name: a, namespaceSelector: {}}]}`:                refused,
	`{wildcardHosts: AnyLabels, precedence: Order, hosts: Shared, groups: [{name: a, namespaceSelector: {}}]}`: fine,
	`{hostMiss: LessSpecific}`:                                     fine,
	`{hostMiss: lessSpecific}`:                                     refused,
	`{implementationSpecific: Regex}`:                              fine,
	`{implementationSpecific: Prefix}`:                             refused,
	`{loadBalancers: {perNamespace: 3}}`:                           fine,
	`{loadBalancers: {perNamespace: -1}}`:                          refused,
	`{loadBalancers: {certificatesPerNamespace: 3}}`:               fine,
	`{loadBalancers: {certificatesPerNamespace: -1}}`:              refused,
	`{valuesPerCondition: 3}`:                                      fine,
	`{valuesPerCondition: 0}`:                                      fine,
	`{valuesPerCondition: -1}`:                                     refused,
	`{regularExpressions: false}`:                                  fine,
	`{healthCheck: {}}`:                                            fine,
	`{healthCheck: {path: /healthz}}`:                              fine,
	`{healthCheck: {path: healthz}}`:                               refused,
	`{healthCheck: {path: "/a b"}}`:                                refused,
	`{healthCheck: {path: /ä}}`:                                    refused,
	`{healthCheck: {port: traffic-port}}`:                          fine,
	`{healthCheck: {port: "8080"}}`:                                fine,
	`{healthCheck: {port: "0"}}`:                                   refused,
	`{healthCheck: {port: http}}`:                                  refused,
	`{healthCheck: {port: 8080}}`:                                  refused,
	`{healthCheck: {protocol: HTTPS}}`:                             fine,
	`{healthCheck: {protocol: https}}`:                             refused,
	`{healthCheck: {intervalSeconds: 300}}`:                        fine,
	`{healthCheck: {intervalSeconds: 4}}`:                          refused,
	`{healthCheck: {intervalSeconds: 301}}`:                        refused,
	`{healthCheck: {intervalSeconds: 5}}`:                          refused, // the timeout is 5 if unset
	`{healthCheck: {intervalSeconds: 0}}`:                          byServer,
	`{healthCheck: {timeoutSeconds: 14}}`:                          fine,
	`{healthCheck: {timeoutSeconds: 15}}`:                          refused, // the interval is 15 if unset
	`{healthCheck: {timeoutSeconds: 1}}`:                           refused,
	`{healthCheck: {timeoutSeconds: 119, intervalSeconds: 120}}`:   fine,
	`{healthCheck: {timeoutSeconds: 120, intervalSeconds: 120}}`:   refused,
	`{healthCheck: {timeoutSeconds: 121, intervalSeconds: 300}}`:   refused,
	`{healthCheck: {healthyThreshold: 2, unhealthyThreshold: 10}}`: fine,
	`{healthCheck: {healthyThreshold: 1}}`:                         refused,
	`{healthCheck: {unhealthyThreshold: 11}}`:                      refused,
	`{healthCheck: {successCodes: "200"}}`:                         fine,
	`{healthCheck: {successCodes: "200,204,300-399"}}`:             fine,
	`{healthCheck: {successCodes: "499-200"}}`:                     refused,
	`{healthCheck: {successCodes: "199"}}`:                         refused,
	`{healthCheck: {successCodes: "500"}}`:                         refused,
	`{healthCheck: {successCodes: "200,"}}`:                        refused,
	`{healthCheck: {successCodes: "200, 201"}}`:                    refused,
	`{healthCheck: {successCodes: "200-201-202"}}`:                 refused,
	`{warmTimeout: 90s, moveGrace: 1h30m}`:                         fine,
	`{warmTimeout: 0s}`:                                            fine,
	`{warmTimeout: -1s}`:                                           refused,
	`{warmTimeout: 5}`:                                             refused,
	`{moveGrace: soon}`:                                            refused,
	`{moveGrace: 1d}`:                                              refused,
	`{deletionPolicy: Retain}`:                                     fine,
	`{deletionPolicy: Keep}`:                                       refused,
	`{attributes: {"idle_timeout": "60"}, tags: {a: b}}`:           fine,
	`{tags: {a: 1}}`:                                               refused,
	`{wafv2ACL: shop-edge_1, shieldAdvanced: false}`:               fine,
	`{wafv2ACL: none}`:                                             fine,
	`{wafv2ACL: "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/edge/11111111-1111-1111-1111-111111111111"}`: fine,
	`{wafv2ACL: "arn:aws:wafv2:us-east-1:123456789012:global/webacl/edge/11111111-1111-1111-1111-111111111111"}`:   refused,
	`{wafv2ACL: "two words"}`:              refused,
	`{shieldAdvanced: "yes"}`:              refused,
	`{tlsPolicy: modern, subnets: [a, b]}`: fine,
	`{tags: {fairlead.dev/key: b}}`:        refused,
	`{ports: []}`:                          fine,
	`{ports: [{port: 443, tlsPolicy: strict, attributes: {a: b}}, {port: 80}]}`:                                               fine,
	`{ports: [{port: 443, tlsPolicy: "very strict"}]}`:                                                                        refused,
	`{ports: [{tlsPolicy: strict}]}`:                                                                                          refused,
	`{ports: [{port: 0}]}`:                                                                                                    refused,
	`{ports: [{port: 443}, {port: 443}]}`:                                                                                     refused,
	`{ports: [{port: 443, mutualAuthentication: {mode: "off"}}]}`:                                                             fine,
	`{ports: [{port: 443, mutualAuthentication: {mode: passthrough}}]}`:                                                       fine,
	`{ports: [{port: 443, mutualAuthentication: {}}]}`:                                                                        refused,
	`{ports: [{port: 443, mutualAuthentication: {mode: Verify, trustStore: a}}]}`:                                             refused,
	`{ports: [{port: 443, mutualAuthentication: {mode: verify}}]}`:                                                            refused,
	`{ports: [{port: 443, mutualAuthentication: {mode: verify, trustStore: ""}}]}`:                                            refused,
	`{ports: [{port: 443, mutualAuthentication: {mode: verify, trustStore: a}}]}`:                                             fine,
	`{ports: [{port: 443, mutualAuthentication: {mode: verify, trustStore: a, ignoreExpiry: true, advertiseCANames: true}}]}`: fine,
	`{ports: [{port: 443, mutualAuthentication: {mode: passthrough, trustStore: a}}]}`:                                        refused,
	`{ports: [{port: 443, mutualAuthentication: {mode: "off", trustStore: ""}}]}`:                                             byServer,
	`{ports: [{port: 443, mutualAuthentication: {mode: passthrough, ignoreExpiry: true}}]}`:                                   refused,
	`{ports: [{port: 443, mutualAuthentication: {mode: "off", advertiseCANames: true}}]}`:                                     refused,
	`{ports: [{port: 443, mutualAuthentication: {mode: passthrough, ignoreExpiry: false, advertiseCANames: false}}]}`:         fine,
	`{subnets: [a, b], subnetTags: {role: web}}`:                                                                              refused,
	`{securityGroups: [a], inbound: ["10.0.0.0/8"]}`:                                                                          refused,
	`{subnet: [a]}`:                          refused,
	`{tags: {team: web, "cost centre": ""}}`: fine,
	`{tags: {Aws:name: a}}`:                  refused,
	`{tags: {"": a}}`:                        refused,
	`{tags: {` + strings.Repeat("a", 128) + `: ` + strings.Repeat("b", 256) + `}}`: fine,
	`{tags: {` + strings.Repeat("a", 129) + `: b}}`:                                refused,
	`{tags: {a: ` + strings.Repeat("b", 257) + `}}`:                                refused,
	`{tags: {a: "b&c"}}`:                            byCompiler,
	`{targetPorts: ["80", "8000-8999", "1-65535"]}`: fine,
	`{targetPorts: ["80-80"]}`:                      fine,
	`{allowedTargetGroups: ["targetgroup/a"]}`:      refused,
	`{targetGroupBindings: [{namespaceSelector: {}, targetGroups: ["targetgroup/a"]}]}`:                           refused,
	`{targetGroupBindings: [{namespaceSelector: {}, targetGroups: ["arn:*"]}]}`:                                   fine,
	`{targetGroupBindings: [{targetGroups: ["arn:*"]}]}`:                                                          refused,
	`{targetGroupBindings: [{namespaceSelector: {matchLabels: {a: b}}, targetGroups: ["arn:*"]}]}`:                fine,
	`{targetGroupBindings: [{namespaceSelector: {matchLabels: {"a/b/c": b}}, targetGroups: ["arn:*"]}]}`:          byCompiler,
	`{targetGroupBindings: [{namespaceSelector: {}, targetGroups: []}]}`:                                          refused,
	`{dialect: alb, adoption: {from: alb, clusterName: prod}}`:                                                    fine,
	`{adoption: {from: alb, clusterName: prod}}`:                                                                  refused,
	`{dialect: alb, adoption: {from: alb}}`:                                                                       refused,
	`{dialect: alb, adoption: {clusterName: prod}}`:                                                               refused,
	`{dialect: alb, adoption: {from: alb, clusterName: "a b"}}`:                                                   refused,
	`{dialect: alb, adoption: {from: alb, clusterName: prod, keepOld: 1h}}`:                                       fine,
	`{dialect: alb, adoption: {from: alb, clusterName: prod, keepOld: -1h}}`:                                      refused,
	`{dialect: alb, adoption: {from: alb, clusterName: prod, keepOld: week}}`:                                     refused,
	`{dialect: alb, adoption: {from: alb, clusterName: prod, only: [all, shop/web]}}`:                             fine,
	`{dialect: alb, adoption: {from: alb, clusterName: prod, only: []}}`:                                          refused,
	`{dialect: alb, adoption: {from: alb, clusterName: prod, only: ["@all"]}}`:                                    refused,
	`{dialect: alb, adoption: {from: alb, clusterName: prod, names: [{stack: shop/web, name: old}]}}`:             fine,
	`{dialect: alb, adoption: {from: alb, clusterName: prod, names: [{stack: a, name: b}, {stack: a, name: c}]}}`: refused,
	`{dialect: alb, adoption: {from: alb, clusterName: prod, names: [{stack: a, name: old-}]}}`:                   refused,
	`{dialect: alb, adoption: {from: alb, clusterName: prod, names: [{stack: a}]}}`:                               refused,
	`{targetPorts: []}`:                          refused,
	`{targetPorts: [80]}`:                        refused,
	`{providerName: edge}`:                       fine,
	`{providerName: Edge}`:                       refused,
	`{providerName: edge-}`:                      refused,
	`{provider: {rateLimit: 5, deep: {a: [1]}}}`: fine,
	`{provider: 5}`:                              refused,
	`{targetPorts: ["0"]}`:                       refused,
	`{targetPorts: ["65536"]}`:                   refused,
	`{targetPorts: ["80-65536"]}`:                refused,
	`{targetPorts: ["90-80"]}`:                   refused,
	`{targetPorts: ["80-"]}`:                     refused,
	`{targetPorts: ["http"]}`:                    refused,
}

// fieldsOfClasses are the good and bad values of the fields of classes that the table of settings
// has. The schema takes ranges that have host bits set or too long a prefix: only the compiler
// refuses them.
func fieldsOfClasses() map[string]verdict {
	out := map[string]verdict{}
	for _, s := range settings.Table {
		if s.Class == "" {
			continue
		}
		for _, value := range s.Good {
			out[specOfClass(s, value)] = fine
		}
		for _, value := range s.Bad {
			switch spec := specOfClass(s, value); {
			case spec == "" || value == "": // a field that is empty says nothing to the compiler
			case s.Class == "inbound" && strings.Contains(value, "/") && !strings.HasSuffix(value, ","):
				out[spec] = byCompiler
			default:
				out[spec] = refused
			}
		}
	}
	return out
}

// specOfClass is the spec of a class that says a value; "" for a value that its field has no form
// for.
func specOfClass(s settings.Setting, value string) string {
	text := fmt.Sprintf("%q", value)
	switch {
	case s.Class == "listenPorts":
		var ports []string
		for item := range strings.SplitSeq(value, ",") {
			protocol, port, found := strings.Cut(item, ":")
			if !found {
				return ""
			}
			ports = append(ports, fmt.Sprintf("{protocol: %s, port: %s}", protocol, port))
		}
		text = "[" + strings.Join(ports, ", ") + "]"
	case s.Class == "inbound":
		text = `["` + strings.Join(strings.Split(strings.ReplaceAll(value, " ", ""), ","), `", "`) + `"]`
	case s.Class == "shieldAdvanced" && slices.Contains(s.Good, value), s.Type.Most > 0 && strings.Trim(value, "0123456789") == "":
		text = value
	}
	if part, field, nested := strings.Cut(s.Class, "."); nested {
		return fmt.Sprintf("{%s: {%s: %s}}", part, field, text)
	}
	return fmt.Sprintf("{%s: %s}", s.Class, text)
}

func TestOurKindsAreCheckedAlike(t *testing.T) {
	maps.Copy(classSpecs, fieldsOfClasses())
	maps.Copy(classSpecs, atBounds(t, settings.ClassFields, specsOfClasses))
	maps.Copy(backends, atBounds(t, settings.BackendFields, specsOfBackends))
	c := kube.Shared(t)
	namespace := c.Namespace(t)
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []struct {
		name, resource, namespace string
		cases                     map[string]verdict
	}{
		{v1alpha1.KindBackend, "backends", namespace, backends},
		{v1alpha1.KindClusterLoadBalancerClass, "clusterloadbalancerclasses", "", classSpecs},
		{v1alpha1.KindLoadBalancerClass, "loadbalancerclasses", namespace, classSpecs},
	} {
		resource := client.Resource(v1alpha1.GroupVersion.WithResource(kind.resource)).Namespace(kind.namespace)
		for spec, want := range kind.cases {
			t.Run(kind.name+spec, func(t *testing.T) {
				object := fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: x, namespace: %q}, spec: %s}", v1alpha1.GroupVersion, kind.name, kind.namespace, spec)
				u := &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(object), &u.Object); err != nil {
					t.Fatal(err)
				}
				_, byTheServer := resource.Create(t.Context(), u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
				if wanted := want == refused || want == byServer; wanted != (byTheServer != nil) {
					t.Errorf("the API server says: %v; want it to refuse: %v", byTheServer, wanted)
				}
				byTheCompiler := compile(kind.name, []byte(object))
				if wanted := want == refused || want == byCompiler; wanted != (byTheCompiler != nil) {
					t.Errorf("the compiler says: %v; want it to refuse: %v", byTheCompiler, wanted)
				}
			})
		}
	}
}

// A class takes load balancers over from its beginning, or never: with another name, each would be another one. Other
// fields change as before.
func TestAdoptionStaysAsItIs(t *testing.T) {
	c := kube.Shared(t)
	namespace := c.Namespace(t)
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	const adopting = `{dialect: alb, adoption: {from: alb, clusterName: prod}}`
	for _, kind := range []struct{ name, resource, namespace string }{
		{v1alpha1.KindClusterLoadBalancerClass, "clusterloadbalancerclasses", ""},
		{v1alpha1.KindLoadBalancerClass, "loadbalancerclasses", namespace},
	} {
		resource := client.Resource(v1alpha1.GroupVersion.WithResource(kind.resource)).Namespace(kind.namespace)
		read := func(name, spec string) *unstructured.Unstructured {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(fmt.Appendf(nil, "{apiVersion: %s, kind: %s, metadata: {name: %s, namespace: %q}%s}", v1alpha1.GroupVersion, kind.name, name, kind.namespace, spec), &u.Object); err != nil {
				t.Fatal(err)
			}
			return u
		}
		for i, change := range []struct {
			before, after string
			refused       bool
		}{
			{"", ", spec: {scheme: internal}", false},
			{"", ", spec: " + adopting, true},
			{", spec: {dialect: alb}", ", spec: {dialect: alb, targetType: ip}", false},
			{", spec: {dialect: alb}", ", spec: " + adopting, true},
			{", spec: " + adopting, ", spec: {dialect: alb}", true},
			{", spec: " + adopting, "", true},
			{", spec: " + adopting, ", spec: {dialect: alb, adoption: {from: alb, clusterName: staging}}", true},
			{", spec: " + adopting, ", spec: {dialect: alb, targetType: ip, adoption: {from: alb, clusterName: prod, keepOld: 1h, names: [{stack: a, name: b}]}}", false},
		} {
			name := fmt.Sprintf("adoption-%d", i)
			made, err := resource.Create(t.Context(), read(name, change.before), metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			to := read(name, change.after)
			to.SetResourceVersion(made.GetResourceVersion())
			if _, err := resource.Update(t.Context(), to, metav1.UpdateOptions{}); (err != nil) != change.refused {
				t.Errorf("%s%s becomes%s: error %v; want it to be refused: %t", kind.name, change.before, change.after, err, change.refused)
			}
			if err := resource.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// compile is what the compiler has against an object of ours: a field that does not exist, or an
// error about it where an Ingress needs it.
func compile(kind string, text []byte) error {
	const class, shop = "fairlead", "shop"
	group := v1alpha1.Group
	o := ingress.Objects{
		Namespaces: []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: shop}}},
		IngressClasses: []*networkingv1.IngressClass{{
			ObjectMeta: metav1.ObjectMeta{Name: class},
			Spec:       networkingv1.IngressClassSpec{Controller: ingress.ControllerName},
		}},
		Ingresses: []*networkingv1.Ingress{{
			ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "web"},
			Spec: networkingv1.IngressSpec{IngressClassName: new(class), DefaultBackend: &networkingv1.IngressBackend{
				Resource: &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: v1alpha1.KindBackend, Name: "x"},
			}},
		}},
	}
	parameters := &networkingv1.IngressClassParametersReference{APIGroup: &group, Kind: kind, Name: "x"}
	var err error
	switch kind {
	case v1alpha1.KindBackend:
		b := &v1alpha1.Backend{}
		err = read(text, b)
		b.Namespace = shop
		o.Backends = append(o.Backends, b)
	case v1alpha1.KindClusterLoadBalancerClass:
		c := &v1alpha1.ClusterLoadBalancerClass{}
		err = read(text, c)
		o.ClusterLoadBalancerClasses = append(o.ClusterLoadBalancerClasses, c)
		parameters.Scope = new(networkingv1.IngressClassParametersReferenceScopeCluster)
		o.IngressClasses[0].Spec.Parameters = parameters
	case v1alpha1.KindLoadBalancerClass:
		c := &v1alpha1.LoadBalancerClass{}
		err = read(text, c)
		c.Namespace = shop
		o.LoadBalancerClasses = append(o.LoadBalancerClasses, c)
		parameters.Scope, parameters.Namespace = new(networkingv1.IngressClassParametersReferenceScopeNamespace), new(shop)
		o.IngressClasses[0].Spec.Parameters = parameters
	}
	if err != nil {
		return err
	}
	snapshots, found := ingress.Place(o, ingress.ClassOptions{})
	for _, s := range snapshots {
		_, more := ingress.Translate(s, ingress.Certificates{})
		found = append(found, more...)
	}
	for _, d := range found {
		if d.Severity == diag.Error && d.Source.Kind == kind {
			return fmt.Errorf("%s", d)
		}
	}
	return nil
}

// read decodes as the command line does: a number is no string.
func read(text []byte, into any) error {
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return err
	}
	unknown, err := sigsjson.UnmarshalStrict(data, into)
	return errors.Join(append(unknown, err)...)
}
