package cluster

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/ingress"
)

// This file checks clusters in which one thing each is wrong.

// A stub is a cluster as a test has it.
type stub struct {
	version     string
	err         error
	definitions map[string]map[string]any
	classes     []networkingv1.IngressClass
	webhooks    []Webhook
	services    map[string]bool // whether something answers
	leases      []string
	denied      func(authorizationv1.ResourceAttributes) bool
}

func (s *stub) Version(context.Context) (string, error) { return s.version, s.err }
func (s *stub) Definition(_ context.Context, name string) (map[string]any, error) {
	return s.definitions[name], nil
}
func (s *stub) Classes(context.Context) ([]networkingv1.IngressClass, error) { return s.classes, nil }
func (s *stub) Webhooks(context.Context) ([]Webhook, error)                  { return s.webhooks, nil }
func (s *stub) Answers(_ context.Context, namespace, service string) (there, ready bool, err error) {
	ready, there = s.services[namespace+"/"+service]
	return there, ready, nil
}
func (s *stub) Leases(context.Context, string) ([]string, error) { return s.leases, nil }
func (s *stub) IsAllowed(_ context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
	return s.denied == nil || !s.denied(what), nil
}

func class(name, controller string, annotations map[string]string) networkingv1.IngressClass {
	var out networkingv1.IngressClass
	out.Name, out.Annotations, out.Spec.Controller = name, annotations, controller
	return out
}

// well is a cluster in which nothing is wrong.
func well(t *testing.T) *stub {
	t.Helper()
	s := &stub{version: "1.36", definitions: map[string]map[string]any{}, leases: []string{"fairlead-system"}, classes: []networkingv1.IngressClass{class("fairlead", ingress.ControllerName, nil)}}
	for _, name := range []string{"backends", "clusterloadbalancerclasses", "loadbalancerclasses", "loadbalancers"} {
		definition := map[string]any{}
		if err := yaml.Unmarshal([]byte(read(t, "../../config/crd/fairlead.dev_"+name+".yaml")), &definition); err != nil {
			t.Fatal(err)
		}
		s.definitions[name+".fairlead.dev"] = definition
	}
	return s
}

// webhook is one about Ingresses that a Service answers.
func webhook(policy *admissionv1.FailurePolicyType, group, resource string) Webhook {
	return Webhook{
		Kind: "ValidatingWebhookConfiguration", Configuration: "guard", Name: "guard.example.com", FailurePolicy: policy,
		Client: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "guard", Name: "guard"}},
		Rules:  []admissionv1.RuleWithOperations{{Rule: admissionv1.Rule{APIGroups: []string{group}, Resources: []string{resource}}}},
	}
}

var options = Options{Oldest: 31, Newest: 36, Lease: "fairlead"}

func TestClusters(t *testing.T) {
	ignore := admissionv1.Ignore
	for name, c := range map[string]struct {
		change  func(*stub)
		options Options
		state   check.State
		want    string // what a finding says; empty where all is well
	}{
		"all is well":                {change: func(*stub) {}},
		"all is well in a namespace": {change: func(*stub) {}, options: Options{Oldest: 31, Newest: 36, Namespace: "shop"}},
		"an old API server": {
			change: func(s *stub) { s.version = "1.30" }, state: check.Wrong,
			want: "API server: it is of version 1.30; 1.31 to 1.36 are supported",
		},
		"a newer API server": {
			change: func(s *stub) { s.version = "1.37" }, state: check.Unknown,
			want: "API server: it is of version 1.37; 1.31 to 1.36 are supported",
		},
		"an API server that does not answer": {
			change: func(s *stub) { s.err = errors.New("connection refused") }, state: check.Wrong, want: "API server: connection refused",
		},
		"a kind that is not installed": {
			change: func(s *stub) { delete(s.definitions, "backends.fairlead.dev") }, state: check.Wrong,
			want: "backends.fairlead.dev: it is not installed",
		},
		"a kind of an older version": {
			change: func(s *stub) { delete(properties(s.definitions["backends.fairlead.dev"]), "redirect") }, state: check.Wrong,
			want: "backends.fairlead.dev: it is of another version: it lacks v1alpha1.spec.redirect, v1alpha1.spec.redirect.host, v1alpha1.spec.redirect.path and ",
		},
		"a kind of a newer version": {
			change: func(s *stub) { properties(s.definitions["backends.fairlead.dev"])["fresh"] = map[string]any{} }, state: check.Unknown,
			want: "backends.fairlead.dev: it is of another version, and has besides v1alpha1.spec.fresh",
		},
		"a role without a verb": {
			change: func(s *stub) {
				s.denied = func(a authorizationv1.ResourceAttributes) bool {
					return a.Resource == "ingresses" && a.Subresource == "status" && a.Verb == "patch"
				}
			},
			state: check.Wrong, want: "RBAC of ingresses/status.networking.k8s.io: the caller may not patch",
		},
		"a role that is bound in another namespace": {
			change: func(s *stub) {
				s.denied = func(a authorizationv1.ResourceAttributes) bool {
					return a.Resource == "services" && a.Namespace == "shop"
				}
			},
			options: Options{Oldest: 31, Newest: 36, Namespace: "shop"}, state: check.Wrong, want: "RBAC of services: the caller may not list, watch in shop",
		},
		"no class of ours": {
			change: func(s *stub) { s.classes = []networkingv1.IngressClass{class("alb", "ingress.k8s.aws/alb", nil)} }, state: check.Wrong,
			want: "IngressClasses: none of 1 belongs to fairlead.dev/ingress, so that no Ingress is served",
		},
		"two classes that are the default": {
			change: func(s *stub) {
				is := map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"}
				s.classes = []networkingv1.IngressClass{class("alb", "ingress.k8s.aws/alb", is), class("fairlead", ingress.ControllerName, is)}
			},
			state: check.Wrong, want: "default IngressClass: the API server refuses Ingresses without a class, for there are several: alb, fairlead",
		},
		"a webhook whose Service is gone": {
			change: func(s *stub) { s.webhooks = []Webhook{webhook(nil, "networking.k8s.io", "ingresses")} }, state: check.Wrong,
			want: "webhook guard.example.com: its failurePolicy is Fail and its Service guard/guard does not exist, so that writes are refused",
		},
		"a webhook for all there is that nothing answers": {
			change: func(s *stub) {
				s.webhooks, s.services = []Webhook{webhook(nil, "*", "*/*")}, map[string]bool{"guard/guard": false}
			},
			state: check.Wrong, want: "webhook guard.example.com: its failurePolicy is Fail and nothing answers for its Service guard/guard, so that writes are refused",
		},
		"a webhook for reports": {
			change: func(s *stub) { s.webhooks = []Webhook{webhook(nil, "fairlead.dev", "loadbalancers/status")} }, state: check.Wrong,
			want: "webhook guard.example.com: its failurePolicy is Fail and its Service guard/guard does not exist",
		},
		"a webhook that may fail":             {change: func(s *stub) { s.webhooks = []Webhook{webhook(&ignore, "networking.k8s.io", "ingresses")} }},
		"a webhook that is about other kinds": {change: func(s *stub) { s.webhooks = []Webhook{webhook(nil, "apps", "deployments")} }},
		"two operators": {
			change: func(s *stub) { s.leases = []string{"fairlead-system", "other"} }, state: check.Wrong,
			want: "operators of these classes: several hold a lease fairlead, in fairlead-system, other",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := well(t)
			c.change(s)
			o := c.options
			if o == (Options{}) {
				o = options
			}
			var told []string
			for _, f := range Check(t.Context(), s, o) {
				if f.State != check.OK {
					told = append(told, string(f.State)+" "+f.Title+": "+f.Detail)
				}
			}
			switch {
			case c.want == "" && len(told) > 0:
				t.Errorf("it says %q where all is well", told)
			case c.want != "" && (len(told) != 1 || !strings.HasPrefix(told[0], string(c.state)+" "+c.want)):
				t.Errorf("it says %q, want %s: %q alone", told, c.state, c.want)
			}
		})
	}
}

// properties are those of a definition's spec, which can be changed without harm to another test.
func properties(definition map[string]any) map[string]any {
	version := at(definition, "spec", "versions").([]any)[0].(map[string]any)
	spec := at(version, "schema", "openAPIV3Schema", "properties", "spec").(map[string]any)
	spec["properties"] = maps.Clone(spec["properties"].(map[string]any))
	return spec["properties"].(map[string]any)
}

// An operator of one namespace needs less of the others.
func TestNeedsOfANamespace(t *testing.T) {
	all, err := needs("shop")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, n := range all {
		found[n.String()+" in "+n.namespace] = true
	}
	for _, want := range []string{"ingresses.networking.k8s.io in shop", "ingressclasses.networking.k8s.io in ", "namespaces shop in ", "services in shop"} {
		if !found[want] {
			t.Errorf("%s is not needed; %v are", want, found)
		}
	}
	if found["services in "] || found["ingressclasses.networking.k8s.io in shop"] {
		t.Errorf("too much is needed: %v", found)
	}
}
