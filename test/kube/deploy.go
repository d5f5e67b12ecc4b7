package kube

import (
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// This file makes what Ingresses send requests to, and waits for it.

// ServicePort is the number of the port "http" of Services that are deployed.
const ServicePort = 8080

// Deploy makes a Service with Pods behind it that echo, each of which is what edit makes of it.
func (c *Cluster) Deploy(t testing.TB, namespace, service string, replicas int32, edit ...func(*corev1.PodSpec)) {
	t.Helper()
	client, labels := c.Client(t), map[string]string{"app": service}
	pod := corev1.PodSpec{Containers: []corev1.Container{{
		Name: "echo", Image: "echo.test/echo",
		Ports: []corev1.ContainerPort{{Name: "echo", ContainerPort: 3000}},
		Env:   []corev1.EnvVar{{Name: "SERVICE_NAME", Value: service}},
	}}}
	for _, e := range edit {
		e(&pod)
	}
	if _, err := client.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: service},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatalf("deploying %s: %s", service, err)
	}
	if _, err := client.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: service},
		Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{
			{Name: "http", Port: ServicePort, TargetPort: intstr.FromString("echo")},
		}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatalf("deploying %s: %s", service, err)
	}
}

// Endpoints are the addresses of a Service's endpoints that are in a state.
func (c *Cluster) Endpoints(t testing.TB, namespace, service string, in func(discoveryv1.EndpointConditions) bool) []string {
	t.Helper()
	list, err := c.Client(t).DiscoveryV1().EndpointSlices(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
	if err != nil {
		t.Fatalf("listing the endpoints of %s: %s", service, err)
	}
	var out []string
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			if in(e.Conditions) {
				out = append(out, e.Addresses...)
			}
		}
	}
	return out
}

// Ready is the state of an endpoint that is to be used.
func Ready(e discoveryv1.EndpointConditions) bool { return *e.Ready }

// Terminating is the state of an endpoint that is about to go.
func Terminating(e discoveryv1.EndpointConditions) bool { return *e.Terminating }

// CreateIngress makes an Ingress of a class, from the text of its spec.
func (c *Cluster) CreateIngress(t testing.TB, namespace, name, class, spec string) {
	t.Helper()
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &ing.Spec); err != nil {
		t.Fatalf("reading the spec of Ingress %s: %s", name, err)
	}
	ing.Spec.IngressClassName = &class
	if _, err := c.Client(t).NetworkingV1().Ingresses(namespace).Create(t.Context(), ing, metav1.CreateOptions{}); err != nil {
		t.Fatalf("creating Ingress %s: %s", name, err)
	}
}

// AwaitReady waits until a Service has so many endpoints that are ready.
func (c *Cluster) AwaitReady(t testing.TB, namespace, service string, n int) {
	t.Helper()
	Eventually(t, strconv.Itoa(n)+" Pods of "+service+" are ready", func() bool {
		return len(c.Endpoints(t, namespace, service, Ready)) == n
	})
}

// Address waits until an Ingress says where it is reached.
func (c *Cluster) Address(t testing.TB, namespace, ingress string) (ip string) {
	t.Helper()
	ingresses := c.Client(t).NetworkingV1().Ingresses(namespace)
	Eventually(t, "Ingress "+ingress+" has an address", func() bool {
		stored, err := ingresses.Get(t.Context(), ingress, metav1.GetOptions{})
		if err != nil {
			t.Fatalf("reading Ingress %s: %s", ingress, err)
		}
		entries := stored.Status.LoadBalancer.Ingress
		if len(entries) > 0 {
			ip = entries[0].IP
		}
		return ip != ""
	})
	return ip
}

// Eventually waits for what happens by itself.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	often, enough := time.NewTicker(20*time.Millisecond), time.NewTimer(patience)
	defer often.Stop()
	defer enough.Stop()
	for !holds() {
		select {
		case <-often.C:
		case <-enough.C:
			t.Fatalf("waited %s until %s", patience, what)
		}
	}
}
