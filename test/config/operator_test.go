package config

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/test/keypair"
	"fairlead.dev/fairlead/test/kube"
)

// This file runs the operator as it is deployed: with the Deployment's arguments, and no rights but
// those of its service account.

// logs are what the operator says, while it says it.
type logs struct {
	sync.Mutex
	bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.Write(p)
}

func (l *logs) String() string {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.String()
}

// deployed are the arguments with which a Deployment runs the operator: with no rights but those of
// its service account, with what a pod knows by itself, and at no fixed ports of a machine that may
// use them.
func deployed(t *testing.T, c *kube.Cluster, d *appsv1.Deployment) []string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:" + d.Namespace + ":" + d.Spec.Template.Spec.ServiceAccountName
		user.ImpersonateGroups = []string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:" + d.Namespace}
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	for _, v := range d.Spec.Template.Spec.Containers[0].Env {
		t.Setenv(v.Name, v.Value)
	}
	return slices.Concat(d.Spec.Template.Spec.Containers[0].Args, []string{
		"--kubeconfig=" + kubeconfig, "--leader-elect-namespace=" + d.Namespace,
		"--metrics-bind-address=0", "--health-probe-bind-address=0",
	})
}

// run starts the operator; it is stopped when the test ends.
func run(t *testing.T, c *kube.Cluster, d *appsv1.Deployment) {
	t.Helper()
	args := deployed(t, c, d)
	providers := cli.Providers{Clouds: map[string]clouds.Cloud{"fake": fake.Plug()}}
	said := &logs{}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Run(ctx, args, providers, cli.Streams{In: strings.NewReader(""), Out: said, Err: said})
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("the operator ended with %d", code)
		}
		for line := range strings.Lines(said.String()) {
			if strings.Contains(line, "forbidden") {
				t.Errorf("the operator may not do what it does: %s", line)
			}
		}
		if t.Failed() {
			t.Log(said)
		}
	})
}

func TestOperatorWorksAsDeployed(t *testing.T) {
	c := kube.Shared(t)
	install(t, c, build(t, filepath.Join(root, "default")))
	for name, components := range choices {
		t.Run(name, func(t *testing.T) {
			// What another choice permits must not help this one.
			unbind(t, c, "fairlead-secrets", "fairlead-manage-class", "fairlead-readiness-gates", "fairlead-adoption")
			objects := with(t, components...)
			install(t, c, objects)
			reads := name == "all" || name == "labelled"
			eventually(t, "the operator has the rights of the choice", func() bool {
				return may(t, c, "list", "", "secrets", "") == reads && may(t, c, "get", "", "secrets", "") == (name == "all") &&
					may(t, c, "create", networkingv1.GroupName, "ingressclasses", "") == (name == "manage-class") &&
					may(t, c, "patch", "", "pods/status", "") == (name == "gates") &&
					may(t, c, "delete", alb.ParamsVersion.Group, "targetgroupbindings", "") == (name == "adoption")
			})
			if name == "manage-class" {
				if err := c.Client(t).NetworkingV1().IngressClasses().Delete(t.Context(), "fairlead", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			run(t, c, only[*appsv1.Deployment](objects)[0])
			namespace := c.Namespace(t)
			followIngress(t, c, namespace, "")
			followSecret(t, c, namespace, "plain", nil, name == "all")
			followSecret(t, c, namespace, "labelled", map[string]string{cluster.SecretLabel: "true"}, reads)
			if name == "gates" {
				followGate(t, c, namespace)
			}
		})
	}
}

// TestOperatorOfOneNamespace has no right in any other.
func TestOperatorOfOneNamespace(t *testing.T) {
	c := kube.Shared(t)
	const shop = "shop"
	makeNamespace(t, c, shop)
	unbind(t, c, "fairlead-operator", "fairlead-secrets", "fairlead-manage-class", "fairlead-readiness-gates", "fairlead-adoption")
	objects := namespaced(t, "rbac/readiness-gates")
	install(t, c, objects)
	eventually(t, "the operator has rights in one namespace", func() bool {
		return may(t, c, "list", networkingv1.GroupName, "ingresses", shop) && !may(t, c, "list", networkingv1.GroupName, "ingresses", "") &&
			may(t, c, "get", "", "secrets", shop) && !may(t, c, "get", "", "secrets", "") && !may(t, c, "list", "", "namespaces", "")
	})
	elsewhere := c.Namespace(t)
	foreign, err := c.Client(t).NetworkingV1().Ingresses(elsewhere).Create(t.Context(), secured("web", "not-there"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	run(t, c, only[*appsv1.Deployment](objects)[0])
	followIngress(t, c, shop, shop)
	followSecret(t, c, shop, "plain", nil, true)
	followGate(t, c, shop)
	after, err := c.Client(t).NetworkingV1().Ingresses(elsewhere).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || after.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("an Ingress of another namespace was written: %+v, error %v", after, err)
	}
}

// followGate waits until a Pod is let go on that waits for load balancers, and that none has.
func followGate(t *testing.T, c *kube.Cluster, namespace string) {
	t.Helper()
	pods := c.Client(t).CoreV1().Pods(namespace)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.PodSpec{
			Containers:     []corev1.Container{{Name: "echo", Image: "echo.test/echo"}},
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: v1alpha1.TargetHealthGate}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}
	if _, err := pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Pod's gate is open", func() bool {
		stored, err := pods.Get(t.Context(), "web", metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(stored.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == v1alpha1.TargetHealthGate && c.Reason == v1alpha1.ReasonNotServed
		})
	})
}

// makeNamespace makes a namespace of a name that is not the test's to choose.
func makeNamespace(t *testing.T, c *kube.Cluster, name string) {
	t.Helper()
	_, err := c.Client(t).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// unbind takes rights from the operator.
func unbind(t *testing.T, c *kube.Cluster, bindings ...string) {
	t.Helper()
	for _, b := range bindings {
		err := c.Client(t).RbacV1().ClusterRoleBindings().Delete(t.Context(), b, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
}

// secured is an Ingress whose host has its certificate in a Secret.
func secured(name, secret string) *networkingv1.Ingress {
	host := name + ".example.com"
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: networkingv1.IngressSpec{
			IngressClassName: new("fairlead"),
			Rules:            []networkingv1.IngressRule{{Host: host}},
			TLS:              []networkingv1.IngressTLS{{Hosts: []string{host}, SecretName: secret}},
		},
	}
}

// followSecret makes a Secret and an Ingress that names it, and waits until it is served, or the
// Ingress is told why not.
func followSecret(t *testing.T, c *kube.Cluster, namespace, name string, labels map[string]string, served bool) {
	t.Helper()
	ctx, ingresses := t.Context(), c.Client(t).NetworkingV1().Ingresses(namespace)
	if _, err := c.Client(t).CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Type: corev1.SecretTypeTLS, Data: keypair.Data(keypair.For(t, name+".example.com")),
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := ingresses.Create(ctx, secured(name, name), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, fmt.Sprintf("Secret %s is served: %v", name, served), func() bool {
		ing, err := ingresses.Get(ctx, name, metav1.GetOptions{})
		if err != nil || len(ing.Status.LoadBalancer.Ingress) == 0 {
			return false
		}
		return slices.ContainsFunc(ing.Status.LoadBalancer.Ingress[0].Ports, func(p networkingv1.IngressPortStatus) bool {
			return p.Port == 443 && (p.Error == nil) == served
		})
	})
	told := func() bool {
		events, err := c.Client(t).EventsV1().Events(namespace).List(ctx, metav1.ListOptions{})
		return err == nil && slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool {
			return e.Regarding.Name == name && strings.Contains(e.Note, "that may be served: the operator ")
		})
	}
	if !served {
		eventually(t, "the Ingress is told why", told)
	}
	if err := ingresses.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Ingress is gone", func() bool {
		_, err := ingresses.Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// followIngress makes an Ingress, waits for all that the operator writes, and deletes it. The scope
// is the namespace that the operator looks after, or "".
func followIngress(t *testing.T, c *kube.Cluster, namespace, scope string) {
	t.Helper()
	api, ctx := clientOf(t, c), t.Context()
	report := client.ObjectKey{Name: v1alpha1.Name("fairlead/"+namespace+"/web/internal", scope)}
	if err := api.Create(ctx, &v1alpha1.Backend{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hello"},
		Spec:       v1alpha1.BackendSpec{FixedResponse: &v1alpha1.FixedResponse{StatusCode: 200, Body: "hello"}},
	}); err != nil {
		t.Fatal(err)
	}
	group := v1alpha1.Group
	ingresses := c.Client(t).NetworkingV1().Ingresses(namespace)
	if _, err := ingresses.Create(ctx, &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: networkingv1.IngressSpec{
			IngressClassName: new("fairlead"),
			DefaultBackend: &networkingv1.IngressBackend{
				Resource: &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: v1alpha1.KindBackend, Name: "hello"},
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
	eventually(t, "the report says that it is programmed", func() bool {
		var found v1alpha1.LoadBalancer
		err := api.Get(ctx, report, &found)
		return err == nil && meta.IsStatusConditionTrue(found.Status.Conditions, v1alpha1.ConditionProgrammed)
	})
	eventually(t, "an event says that the Secret is missing", func() bool {
		events, err := c.Client(t).EventsV1().Events(namespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(events.Items) > 0
	})
	if err := ingresses.Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Ingress is gone", func() bool {
		_, err := ingresses.Get(ctx, "web", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	eventually(t, "the report is gone", func() bool {
		var found v1alpha1.LoadBalancer
		return apierrors.IsNotFound(api.Get(ctx, report, &found))
	})
}

// eventually waits for what the operator does.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	const patience = 30 * time.Second
	often := time.NewTicker(50 * time.Millisecond)
	defer often.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-often.C {
		if holds() {
			return
		}
	}
	t.Fatalf("waited %s until %s", patience, what)
}
