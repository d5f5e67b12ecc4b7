package config

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/iam"
	"fairlead.dev/fairlead/test/kube"
)

// This file runs the operator of one namespace on AWS: it has no right in any other namespace, and
// none in AWS but for its own installation.

func TestOperatorOfOneNamespaceOnAWS(t *testing.T) {
	const shop, team = "shop", "team-shop"
	c := kube.Shared(t)
	makeNamespace(t, c, shop)
	unbind(t, c, "fairlead-operator", "fairlead-secrets", "fairlead-manage-class", "fairlead-readiness-gates")
	objects := namespaced(t, "aws")
	install(t, c, objects)
	eventually(t, "the operator has rights in one namespace", func() bool {
		return may(t, c, "list", networkingv1.GroupName, "ingresses", shop) && !may(t, c, "list", networkingv1.GroupName, "ingresses", "")
	})
	sim := albsim.New(albsim.Options{Authorize: policyOf(t, team).Allows})
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	log := filepath.Join(t.TempDir(), "operator.log")
	args := append(deployed(t, c, only[*appsv1.Deployment](objects)[0]), "--installation-id="+team, "--aws-region="+albsim.Region, "--aws-cluster-name="+albsim.Cluster)
	c.StartReplicaIn(t, log, []string{
		"AWS_ENDPOINT_URL=" + server.URL, "AWS_ACCESS_KEY_ID=AKIDOFATEST", "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
	}, args[1:]...)

	ingresses := c.Client(t).NetworkingV1().Ingresses(shop)
	makeSite(t, c, shop)
	eventually(t, "the Ingress is served", func() bool {
		ing, err := ingresses.Get(t.Context(), "site", metav1.GetOptions{})
		return err == nil && len(ing.Status.LoadBalancer.Ingress) > 0
	})
	if err := ingresses.Delete(t.Context(), "site", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Ingress is gone, and what was made for it", func() bool {
		_, err := ingresses.Get(t.Context(), "site", metav1.GetOptions{})
		left := sim.Inventory()
		return apierrors.IsNotFound(err) && left["load balancers"]+left["target groups"] == 0
	})
	said, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(said)) {
		if strings.Contains(line, "forbidden") || strings.Contains(line, "not authorized") {
			t.Errorf("the operator may not do what it does: %s", line)
		}
	}
}

// policyOf is the policy of the guide, for one installation.
func policyOf(t *testing.T, installation string) iam.Policy {
	t.Helper()
	text, err := os.ReadFile("../../docs/iam-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), `installation": "*"`, `installation": "`+installation+`"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := iam.ReadPolicy(file)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// makeSite makes an Ingress, and a Service with a pod for it.
func makeSite(t *testing.T, c *kube.Cluster, namespace string) {
	t.Helper()
	cluster, ctx, options := c.Client(t), t.Context(), metav1.CreateOptions{}
	if _, err := cluster.CoreV1().Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "site"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}, options); err != nil {
		t.Fatal(err)
	}
	pod, err := cluster.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "site-1"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "echo", Image: "echo.test/echo"}}},
	}, options)
	if err != nil {
		t.Fatal(err)
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.10", PodIPs: []corev1.PodIP{{IP: "10.0.0.10"}}}
	if _, err := cluster.CoreV1().Pods(namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.DiscoveryV1().EndpointSlices(namespace).Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "site", Labels: map[string]string{discoveryv1.LabelServiceName: "site"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(80))}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"10.0.0.10"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: "site-1"},
		}},
	}, options); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.NetworkingV1().Ingresses(namespace).Create(ctx, &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: "site"}, Spec: networkingv1.IngressSpec{
			IngressClassName: new("fairlead"), DefaultBackend: &networkingv1.IngressBackend{
				Service: &networkingv1.IngressServiceBackend{Name: "site", Port: networkingv1.ServiceBackendPort{Number: 80}},
			},
		},
	}, options); err != nil {
		t.Fatal(err)
	}
}
