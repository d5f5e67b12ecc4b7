package config

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/kube"
)

// This file asks the API server what the operator did, and takes that for all that it may do: what
// it lacks fails in operator_test.go, and what it has for nothing fails here.

// auditPolicy has every request noted once, with nothing of what is in it.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// A right is a verb on a resource.
type right struct{ verb, group, resource string }

func (r right) String() string { return strings.TrimSuffix(r.verb+" "+r.resource+"."+r.group, ".") }

// seldom are rights for what may not happen while a test looks.
var seldom = map[right]string{
	{"get", "networking.k8s.io", "ingresses"}: "to ask for an Ingress that the watch does not show",
	{"get", "fairlead.dev", "loadbalancers"}:  "to read a report again that somebody else wrote to",
	{"get", "events.k8s.io", "events"}:        "to see whether an Ingress that is served nowhere was told why",
	{"patch", "", "events"}:                   "an event of the lease that is repeated",
	{"patch", "events.k8s.io", "events"}:      "an event that is repeated",

	// These kinds are the AWS Load Balancer Controller's, and are not installed here: tests of controllers install them.
	{"list", "elbv2.k8s.aws", "ingressclassparams"}:          "where the kind is installed",
	{"watch", "elbv2.k8s.aws", "ingressclassparams"}:         "where the kind is installed",
	{"get", "elbv2.k8s.aws", "targetgroupbindings"}:          "where the kind is installed",
	{"list", "elbv2.k8s.aws", "targetgroupbindings"}:         "where the kind is installed",
	{"watch", "elbv2.k8s.aws", "targetgroupbindings"}:        "where the kind is installed",
	{"patch", "elbv2.k8s.aws", "targetgroupbindings"}:        "where the kind is installed",
	{"patch", "elbv2.k8s.aws", "targetgroupbindings/status"}: "where the kind is installed",
}

func TestEveryRightIsUsed(t *testing.T) {
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	c := kube.Start(t, kube.Options{Flags: []string{
		"--audit-policy-file=" + policy, "--audit-log-path=" + log, "--audit-log-mode=blocking",
		"--feature-gates=WatchList=false", // an API server without it is asked for lists, too
	}})
	objects := build(t, filepath.Join(root, "default"))
	install(t, c, objects)
	eventually(t, "the bindings count", func() bool { return may(t, c, "get", "", "secrets", "shop") })
	run(t, c, only[*appsv1.Deployment](objects)[0])
	class := classWithExpectations(t, c)
	liveWithInstances(t, c, class)
	for _, resource := range []string{"nodes", "configmaps"} {
		eventually(t, "the operator watches "+resource, func() bool {
			return usedRights(t, log)[right{"watch", "", resource}]
		})
	}

	used, may := usedRights(t, log), granted(objects)
	for r := range may {
		if !used[r] && seldom[r] == "" {
			t.Errorf("the operator may %s, and never does", r)
		}
	}
	for r, why := range seldom {
		if !may[r] {
			t.Errorf("the operator may not %s, which it needs %s", r, why)
		}
	}
}

// liveWithInstances has an Ingress come and go that needs all there is: its targets are Nodes,
// which are of no interest otherwise, and the Secret that it names is missing.
func liveWithInstances(t *testing.T, c *kube.Cluster, class string) {
	t.Helper()
	ctx, namespace := t.Context(), c.Namespace(t)
	if _, err := c.Client(t).CoreV1().Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ingresses := c.Client(t).NetworkingV1().Ingresses(namespace)
	if _, err := ingresses.Create(ctx, &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"fairlead.dev/target-type": "instance"}},
		Spec: networkingv1.IngressSpec{
			IngressClassName: &class,
			DefaultBackend: &networkingv1.IngressBackend{
				Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}},
			},
			TLS: []networkingv1.IngressTLS{{Hosts: []string{"shop.example.com"}, SecretName: "not-there"}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Ingress has an address", func() bool {
		ing, err := ingresses.Get(ctx, "web", metav1.GetOptions{})
		return err == nil && len(ing.Status.LoadBalancer.Ingress) > 0
	})
	if err := ingresses.Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	api := clientOf(t, c)
	eventually(t, "the report is gone", func() bool {
		var reports v1alpha1.LoadBalancerList
		return api.List(ctx, &reports) == nil && len(reports.Items) == 0
	})
}

// classWithExpectations makes a class that names the ConfigMap that the operator may read, and the
// ConfigMap. It returns the name of the class.
func classWithExpectations(t *testing.T, c *kube.Cluster) string {
	t.Helper()
	ctx, name := t.Context(), "careful"
	if _, err := c.Client(t).CoreV1().ConfigMaps("fairlead-system").Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "fairlead-expectations"},
		Data: map[string]string{"expectations.yaml": `
expectations:
- name: all-is-internal
  requests:
    schemes: [http, https]
  must:
    loadBalancerSchemes: [internal]
`},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := clientOf(t, c).Create(ctx, &v1alpha1.ClusterLoadBalancerClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.LoadBalancerClassSpec{Expectations: &v1alpha1.ConfigMapReference{
			Namespace: "fairlead-system", Name: "fairlead-expectations",
		}},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client(t).NetworkingV1().IngressClasses().Create(ctx, &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: networkingv1.IngressClassSpec{
			Controller: "fairlead.dev/ingress",
			Parameters: &networkingv1.IngressClassParametersReference{
				APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: name,
			},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return name
}

// granted are the rights of the operator, by all roles that are bound to it.
func granted(objects []object) map[right]bool {
	bound := map[string]bool{}
	for _, b := range only[*rbacv1.ClusterRoleBinding](objects) {
		bound[b.RoleRef.Kind+" "+b.RoleRef.Name] = true
	}
	for _, b := range only[*rbacv1.RoleBinding](objects) {
		bound[b.RoleRef.Kind+" "+b.RoleRef.Name] = true
	}
	out := map[right]bool{}
	for name, rules := range roles(objects) {
		if !bound[name] {
			continue
		}
		for _, rule := range rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						out[right{verb, group, resource}] = true
					}
				}
			}
		}
	}
	return out
}

// usedRights are those of the operator's requests in an audit log.
func usedRights(t *testing.T, log string) map[right]bool {
	t.Helper()
	file, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out := map[right]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb             string
			ImpersonatedUser struct{ Username string }
			ObjectRef        struct{ APIGroup, Resource, Subresource string }
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		if event.ImpersonatedUser.Username != "system:serviceaccount:"+home+":fairlead" {
			continue
		}
		resource := event.ObjectRef.Resource
		if event.ObjectRef.Subresource != "" {
			resource += "/" + event.ObjectRef.Subresource
		}
		out[right{event.Verb, event.ObjectRef.APIGroup, resource}] = true
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
