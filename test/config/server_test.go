package config

import (
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/test/kube"
)

// This file installs what config/default builds on a real API server, and asks it what the operator
// may do then.

// install applies the objects as `kubectl apply --server-side` does: fields that the API server
// does not know are refused.
func install(t *testing.T, c *kube.Cluster, objects []object) {
	t.Helper()
	apply(t, c, objects, metav1.ApplyOptions{FieldManager: "test", Force: true})
}

// judge has the API server judge the objects, and keep none.
func judge(t *testing.T, c *kube.Cluster, objects []object) {
	t.Helper()
	apply(t, c, objects, metav1.ApplyOptions{FieldManager: "test", Force: true, DryRun: []string{metav1.DryRunAll}})
}

func apply(t *testing.T, c *kube.Cluster, objects []object, options metav1.ApplyOptions) {
	t.Helper()
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Client(t).Discovery()))
	for _, o := range objects {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(o.text, &u.Object); err != nil {
			t.Fatal(err)
		}
		kind := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Resource(mapping.Resource).Namespace(u.GetNamespace()).Apply(t.Context(), u.GetName(), u, options); err != nil {
			t.Errorf("applying %s %s: %s", o.Kind, u.GetName(), err)
		}
	}
}

func TestInstall(t *testing.T) {
	c := kube.Shared(t)
	objects := build(t, filepath.Join(root, "default"))
	install(t, c, objects)

	t.Run("Again", func(t *testing.T) { install(t, c, objects) })
	t.Run("PodIsRestricted", func(t *testing.T) { startPod(t, c, objects) })
	t.Run("MayAndMayNot", func(t *testing.T) { askAccess(t, c) })
}

// startPod makes a Pod as the Deployment would, in a namespace where the API server admits none but
// restricted ones.
func startPod(t *testing.T, c *kube.Cluster, objects []object) {
	for _, d := range only[*appsv1.Deployment](objects) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "try", Labels: d.Spec.Template.Labels},
			Spec:       d.Spec.Template.Spec,
		}
		options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		if _, err := c.Client(t).CoreV1().Pods(d.Namespace).Create(t.Context(), pod, options); err != nil {
			t.Error(err)
		}
		pod.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = new(true)
		if _, err := c.Client(t).CoreV1().Pods(d.Namespace).Create(t.Context(), pod, options); err == nil {
			t.Error("a Pod that may gain privileges is admitted: the namespace restricts nothing")
		}
	}
}

// home is the operator's namespace.
const home = "fairlead-system"

// may asks, as the operator, whether it may do something.
func may(t *testing.T, c *kube.Cluster, verb, group, resource, where string) bool {
	t.Helper()
	operator, err := kubernetes.NewForConfig(c.As("system:serviceaccount:"+home+":fairlead",
		"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:"+home))
	if err != nil {
		t.Fatal(err)
	}
	resource, sub, _ := strings.Cut(resource, "/")
	review, err := operator.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: group, Resource: resource, Subresource: sub, Namespace: where,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

func askAccess(t *testing.T, c *kube.Cluster) {
	// The authoriser learns of a binding a moment after it is stored.
	eventually(t, "the bindings count", func() bool { return may(t, c, "get", "", "secrets", "shop") })
	for _, ask := range []struct {
		may                          bool
		verb, group, resource, where string
	}{
		{true, "watch", "networking.k8s.io", "ingresses", ""},
		{true, "patch", "networking.k8s.io", "ingresses", "shop"},
		{true, "patch", "networking.k8s.io", "ingresses/status", "shop"},
		{false, "create", "networking.k8s.io", "ingresses", "shop"},
		{false, "delete", "networking.k8s.io", "ingresses", "shop"},
		{true, "list", "networking.k8s.io", "ingressclasses", ""},
		{false, "update", "networking.k8s.io", "ingressclasses", ""},
		{true, "watch", "fairlead.dev", "backends", ""},
		{true, "watch", "fairlead.dev", "loadbalancerclasses", ""},
		{true, "watch", "fairlead.dev", "clusterloadbalancerclasses", ""},
		{false, "patch", "fairlead.dev", "clusterloadbalancerclasses", ""},
		{true, "list", "elbv2.k8s.aws", "ingressclassparams", ""},
		{true, "watch", "elbv2.k8s.aws", "ingressclassparams", ""},
		{false, "patch", "elbv2.k8s.aws", "ingressclassparams", ""},
		{true, "get", "elbv2.k8s.aws", "targetgroupbindings", "shop"},
		{true, "watch", "elbv2.k8s.aws", "targetgroupbindings", "shop"},
		{true, "patch", "elbv2.k8s.aws", "targetgroupbindings", "shop"},
		{true, "patch", "elbv2.k8s.aws", "targetgroupbindings/status", "shop"},
		{false, "delete", "elbv2.k8s.aws", "targetgroupbindings", "shop"},
		{true, "create", "fairlead.dev", "loadbalancers", ""},
		{true, "delete", "fairlead.dev", "loadbalancers", ""},
		{false, "patch", "fairlead.dev", "loadbalancers", ""},
		{true, "patch", "fairlead.dev", "loadbalancers/status", ""},
		{true, "watch", "", "services", ""},
		{true, "watch", "", "namespaces", ""},
		{true, "watch", "", "nodes", ""},
		{false, "patch", "", "services", "shop"},
		{true, "watch", "discovery.k8s.io", "endpointslices", ""},
		{true, "get", "", "secrets", "shop"},
		{false, "update", "", "secrets", "shop"},
		{false, "create", "", "secrets", home},
		{false, "get", "", "pods", "shop"},
		{false, "create", "", "pods/exec", home},
		{false, "get", "", "configmaps", "shop"},
		{true, "create", "", "events", "shop"},
		{true, "patch", "events.k8s.io", "events", "shop"},
		{true, "create", "coordination.k8s.io", "leases", home},
		{true, "update", "coordination.k8s.io", "leases", home},
		{false, "update", "coordination.k8s.io", "leases", "kube-system"},
		{false, "create", "rbac.authorization.k8s.io", "clusterrolebindings", ""},
	} {
		if got := may(t, c, ask.verb, ask.group, ask.resource, ask.where); got != ask.may {
			t.Errorf("may the operator %s %s.%s in %q? %v, want %v", ask.verb, ask.resource, ask.group, ask.where, got, ask.may)
		}
	}
}
