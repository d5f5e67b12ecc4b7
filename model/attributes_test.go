package model

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// An annotation of an attribute has the bounds that the attribute has on AWS.
func TestAnnotationsOfAttributesHaveTheBoundsOfAWS(t *testing.T) {
	for _, row := range settings.Table {
		name, of := row.BalancerAttribute, lb.ALB().BalancerAttributes
		if row.GroupAttribute != "" {
			name, of = row.GroupAttribute, lb.ALB().GroupAttributes
		}
		if name == "" {
			continue
		}
		known, is := of[name]
		if !is {
			t.Errorf("%s sets %s, which AWS does not have", row.Annotation, name)
			continue
		}
		if row.Type.Least != known.Least || row.Type.Most != known.Most ||
			!slices.Equal(slices.Sorted(slices.Values(row.Type.Known)),
				slices.Sorted(slices.Values(known.Values))) {
			t.Errorf("%s is %s, and AWS has %s", row.Annotation, row.Type, known)
		}
	}
}

// A cloud without the attribute serves the Ingress, whose author is told.
func TestAnAttributeThatACloudLacksIsNotSet(t *testing.T) {
	o := many(1, false)
	o.Ingresses[0].Annotations[settings.IdleTimeout] = "300"
	lacking := lb.ALB()
	lacking.BalancerAttributes = maps.Clone(lacking.BalancerAttributes)
	delete(lacking.BalancerAttributes, "idle_timeout.timeout_seconds")
	none := lb.ALB()
	none.BalancerAttributes = map[string]lb.Attribute{}
	for _, c := range []struct {
		cloud lb.Capabilities
		want  map[string]string
		told  bool
	}{
		{lb.ALB(), map[string]string{"idle_timeout.timeout_seconds": "300"}, false},
		{lacking, nil, true},
		{none, nil, true},
	} {
		built := Compile(snapshotOf(t, o), lb.Facts{}, c.cloud)
		if got := built.LoadBalancer.Settings.Attributes; !maps.Equal(got, c.want) {
			t.Errorf("attributes %v, want %v", got, c.want)
		}
		if built.LoadBalancer.Counts().Rules == 0 {
			t.Error("nothing is served")
		}
		told := slices.ContainsFunc(built.Diagnostics, func(d diag.Diagnostic) bool {
			return d.Reason == diag.NotExpressible && d.Severity == diag.Warning
		})
		if told != c.told {
			t.Errorf("told %v, want %v: %v", told, c.told, built.Diagnostics)
		}
	}
}

// A cloud whose targets cannot speak a version of HTTP answers 503, and the author is told.
func TestAVersionThatACloudLacksIsRefused(t *testing.T) {
	o := many(1, false)
	o.Ingresses[0].Annotations[settings.BackendVersion] = "HTTP2"
	for refused, c := range map[bool]lb.Capabilities{false: lb.Literal(), true: {
		Name: "nginx", MaxPriority: 1000, VersionsRefused: []routing.Version{routing.VersionHTTP2},
	}} {
		built := Compile(snapshotOf(t, o), lb.Facts{}, c)
		told := slices.ContainsFunc(built.Diagnostics, func(d diag.Diagnostic) bool {
			return d.Reason == diag.NotExpressible && strings.Contains(d.Message, "speaks HTTP2, and nginx does not")
		})
		if told != refused || (len(built.LoadBalancer.TargetGroups) == 0) != refused {
			t.Errorf("%s: %v, target groups %v", c.Name, built.Diagnostics, built.LoadBalancer.TargetGroups)
		}
	}
}

// AWS refuses these together with all other changes, so they are left out by name.
func TestAttributesThatAWSWouldRefuseAreLeftOut(t *testing.T) {
	const header = "routing.http.request.x_amzn_tls_version.header_name"
	for name, c := range map[string]struct {
		spec v1alpha1.LoadBalancerClassSpec
		says string
	}{
		"a header about TLS, without it": {v1alpha1.LoadBalancerClassSpec{Ports: []v1alpha1.PortSettings{{Port: 80, Attributes: map[string]string{header: "X-Tls"}}}},
			"attribute " + header + " is one of HTTPS listeners, for port 80"},
		"a bucket":            {v1alpha1.LoadBalancerClassSpec{Attributes: map[string]string{"access_logs.s3.bucket": "s3://logs"}}, "cannot be"},
		"a prefix with space": {v1alpha1.LoadBalancerClassSpec{Attributes: map[string]string{"access_logs.s3.prefix": "a b"}}, "cannot be"},
		"a prefix with slash": {v1alpha1.LoadBalancerClassSpec{Attributes: map[string]string{"access_logs.s3.prefix": "/logs"}}, "cannot be"},
		"what it takes":       {v1alpha1.LoadBalancerClassSpec{Attributes: map[string]string{"access_logs.s3.bucket": "logs.of-2026", "access_logs.s3.prefix": "a/B_1"}}, ""},
	} {
		o := many(1, false)
		o.IngressClasses[0].Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "params"}
		o.ClusterLoadBalancerClasses = []*v1alpha1.ClusterLoadBalancerClass{{ObjectMeta: metav1.ObjectMeta{Name: "params"}, Spec: c.spec}}
		built := Compile(snapshotOf(t, o), lb.Facts{}, lb.ALB())
		var told []string
		for _, d := range built.Diagnostics {
			if d.Reason == diag.NotExpressible {
				told = append(told, d.Message)
			}
		}
		if all := strings.Join(told, "; "); len(told) > 1 || (all == "") != (c.says == "") || !strings.Contains(all, c.says) {
			t.Errorf("%s: told %q, want %q", name, all, c.says)
		}
		set := len(built.LoadBalancer.Settings.Attributes)
		for _, l := range built.LoadBalancer.Listeners {
			set += len(l.Settings.Attributes)
		}
		if (set > 0) != (c.says == "") {
			t.Errorf("%s: %d attributes are set", name, set)
		}
	}
}

// A cloud that forwards to no target groups of others answers 503, and the author is told.
func TestTargetGroupsOfOthersThatACloudLacksAreRefused(t *testing.T) {
	const arn = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/vms/0123456789abcdef"
	o := many(1, false)
	o.IngressClasses[0].Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "params"}
	o.ClusterLoadBalancerClasses = []*v1alpha1.ClusterLoadBalancerClass{{ObjectMeta: metav1.ObjectMeta{Name: "params"}, Spec: v1alpha1.LoadBalancerClassSpec{AllowedTargetGroups: []string{arn}}}}
	o.Backends = []*v1alpha1.Backend{{ObjectMeta: metav1.ObjectMeta{Namespace: o.Ingresses[0].Namespace, Name: "vms"}, Spec: v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{{TargetGroupARN: arn}}}}}
	o.Ingresses[0].Spec.DefaultBackend = &networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindBackend, Name: "vms"}}
	for refused, c := range map[bool]lb.Capabilities{false: lb.Literal(), true: {Name: "nginx", MaxPriority: 1000}} {
		built := Compile(snapshotOf(t, o), lb.Facts{}, c)
		told := slices.ContainsFunc(built.Diagnostics, func(d diag.Diagnostic) bool {
			return d.Reason == diag.NotExpressible && strings.Contains(d.Message, "nginx forwards to none that others made")
		})
		forwards := slices.ContainsFunc(built.LoadBalancer.Listeners[0].Rules, func(r lb.Rule) bool { return slices.Contains(r.Action.Groups(), arn) })
		if told != refused || forwards == refused || len(built.LoadBalancer.Listeners[0].Default.Groups()) > 0 {
			t.Errorf("%s: %v, rules %v", c.Name, built.Diagnostics, built.LoadBalancer.Listeners[0])
		}
	}
}
