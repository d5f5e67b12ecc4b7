package operator

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/test/kube"
)

// This file asks what the operator would do, where nothing can be written.

// TestPlanLiveWritesNothing plans an Ingress that is new, one that is served, and one that has
// changed.
func TestPlanLiveWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, emulated(t))
	w.serve(t, "web", "10.0.0.10", "10.0.0.11")
	w.serve(t, "api", "10.0.0.12")
	look := newProxy(t, w.url)
	look.forbid()
	w.ask(t, path("/", "web"))
	text, code := w.plan(t, look)
	if code != 2 || !strings.Contains(text, "create load balancer") || !strings.Contains(text, "create rule") {
		t.Errorf("of what is new: exit code %d, %s", code, text)
	}

	w.replace(t)
	kube.Eventually(t, "the Ingress is served", func() bool { return w.hostname(t, "shop") != "" && len(w.targets(t, "web")) == 2 })
	w.replica.Kill()
	if text, code := w.plan(t, look); code != 0 {
		t.Errorf("of what is served: exit code %d, %s", code, text)
	}
	w.ask(t, path("/", "web")+", "+path("/api", "api"))
	if text, code := w.plan(t, look); code != 2 || strings.Contains(text, "create load balancer") || !strings.Contains(text, "rule") {
		t.Errorf("of what has changed: exit code %d, %s", code, text)
	}
	edit(t, w, &networkingv1.Ingress{}, "shop", func(ing *networkingv1.Ingress) {
		ing.Annotations = map[string]string{"fairlead.dev/health-check-path": "/healthy"}
	})
	text, _ = w.plan(t, look)
	if !strings.Contains(text, "      health check path: / → /healthy\n") || strings.Contains(text, "settings before are not known") {
		t.Errorf("of a setting that has changed: %s", text)
	}
	if total, writes, which := look.cost(); writes != 0 || total == 0 {
		t.Errorf("the calls were %s", which)
	}
}

// TestPlanLiveRemembersWhatTheOperatorDoes plans an Ingress that is refused, and one whose Secret
// has turned bad. That both are served as they were neither they nor the cloud say.
func TestPlanLiveRemembersWhatTheOperatorDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulated(t))
	w.serve(t, "web", "10.0.0.10")
	secret := certificate(t, w.namespace, "safe.example.com")
	w.create(t, secret)
	w.create(t, w.ingress("plain", "web", "/"))
	safe := w.ingress("safe", "web", "/")
	safe.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"safe.example.com"}, SecretName: secret.Name}}
	w.create(t, safe)
	w.replace(t)
	kube.Eventually(t, "both Ingresses are served", func() bool { return w.hostname(t, "plain") != "" && w.hostname(t, "safe") != "" })
	w.replica.Kill()

	edit(t, w, &networkingv1.Ingress{}, "plain", func(ing *networkingv1.Ingress) {
		ing.Annotations = map[string]string{"fairlead.dev/health-check-path": "not a path"}
		ing.Spec.Rules[0].HTTP.Paths[0].Path = "/changed"
	})
	edit(t, w, &corev1.Secret{}, secret.Name, func(s *corev1.Secret) { s.Data[corev1.TLSCertKey] = []byte("certificate") })
	text, code := w.plan(t, w.proxy)
	if code != 0 || !strings.Contains(text, "LastGood") || !strings.Contains(text, "served with the last certificate that it held") {
		t.Errorf("exit code %d, %s", code, text)
	}
}

// plan asks for a plan, and how that ended.
func (w *world) plan(t *testing.T, aws *proxy) (text string, code int) {
	t.Helper()
	run := exec.CommandContext(t.Context(), w.cluster.Command(t), append([]string{"plan", "--live", "--kubeconfig=" + w.cluster.Kubeconfig}, w.places()...)...)
	run.Env = slices.Concat(os.Environ(), w.environment(), []string{"AWS_ENDPOINT_URL=" + aws.url})
	said, err := run.CombinedOutput()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		code = ended.ExitCode()
	case err != nil:
		t.Fatalf("planning: %s", err)
	}
	return string(said), code
}

// TestExplainLiveKnowsServicesWithoutEndpoints: requests for them get 503, those for others do not.
func TestExplainLiveKnowsServicesWithoutEndpoints(t *testing.T) {
	t.Parallel()
	w := newWorld(t, emulated(t))
	w.serve(t, "web", "10.0.0.10")
	w.serve(t, "api")
	w.ask(t, path("/", "web")+", "+path("/api", "api")+", "+path("/gone", "gone"))
	host := w.namespace + ".example.org" // other tests have shop.example.com
	edit(t, w, &networkingv1.Ingress{}, "shop", func(ing *networkingv1.Ingress) {
		ing.Spec.Rules[0].Host = host
	})
	for url, want := range map[string]string{
		"http://" + host + "/": "answered by  Service " + w.namespace + "/web port 80\n",
		"http://" + host + "/api": "answered by  503, because Service " + w.namespace +
			"/api port 80 has no targets\n",
		"http://" + host + "/gone": "answered by  503, because Service " + w.namespace +
			"/gone port 80 has no targets\n",
	} {
		explained := exec.CommandContext(t.Context(), w.cluster.Command(t), "explain", "--live",
			"--provider=aws", "--kubeconfig="+w.cluster.Kubeconfig, url)
		out, err := explained.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v: %q is missing in\n%s", url, err, want, out)
		}
	}
}

// TestMigrateLive reads Ingresses of the AWS Load Balancer Controller from the cluster, with the parameters
// of their class where their kind is installed.
func TestMigrateLive(t *testing.T) {
	t.Parallel()
	w := worldIn(t, kube.Start(t, kube.Options{}), metav1.NamespaceDefault, simulated(t)) // whose kinds and classes are no other's
	w.serve(t, "web", "10.0.0.10")
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "alb"}, Spec: networkingv1.IngressClassSpec{Controller: "ingress.k8s.aws/alb"}}
	w.create(t, class)
	shop := w.ingress("shop", "web", "/")
	shop.Annotations, shop.Spec.IngressClassName = map[string]string{"alb.ingress.kubernetes.io/acm-pca-arn": "arn", "alb.ingress.kubernetes.io/target-type": "ip"}, &class.Name
	w.create(t, shop)
	gone := w.ingress("gone", "gone", "/") // is answered 503, as by the other controller
	gone.Annotations, gone.Spec.IngressClassName = map[string]string{"alb.ingress.kubernetes.io/target-type": "ip"}, &class.Name
	w.create(t, gone)
	migrate := func() (string, int) {
		t.Helper()
		command := exec.CommandContext(t.Context(), w.cluster.Command(t), "migrate", "--live", "--from=alb", "--provider=aws", "--kubeconfig="+w.cluster.Kubeconfig)
		said, err := command.CombinedOutput()
		if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
			t.Fatal(err)
		}
		return string(said), command.ProcessState.ExitCode()
	}
	text, code := migrate()
	if code != 2 || !strings.Contains(text, "2 Ingresses: 1 same, 0 changed, 1 dropped, 0 refused.") || !strings.Contains(text, "dropped alb.ingress.kubernetes.io/acm-pca-arn") {
		t.Errorf("exit code %d, %s", code, text)
	}

	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ingressclassparams.elbv2.k8s.aws},
spec: {group: elbv2.k8s.aws, scope: Cluster, names: {plural: ingressclassparams, singular: ingressclassparams, kind: IngressClassParams, listKind: IngressClassParamsList},
versions: [{name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`), &definition.Object); err != nil {
		t.Fatal(err)
	}
	w.create(t, definition)
	params := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "elbv2.k8s.aws/v1beta1", "kind": "IngressClassParams", "metadata": map[string]any{"name": "alb"},
		"spec": map[string]any{"denyPaths": []any{"/admin"}},
	}}
	kube.Eventually(t, "the kind is served", func() bool { return w.Create(t.Context(), params) == nil })
	if text, code = migrate(); code != 3 || !strings.Contains(text, "denyPaths") {
		t.Errorf("with parameters that cannot be followed: exit code %d, %s", code, text)
	}
}

// TestMigrateLiveFromNGINX reads the ConfigMap of ingress-nginx, and looks at its Service.
func TestMigrateLiveFromNGINX(t *testing.T) {
	t.Parallel()
	w := worldIn(t, kube.Start(t, kube.Options{}), metav1.NamespaceDefault, simulated(t)) // whose classes are no other's
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "nginx"}, Spec: networkingv1.IngressClassSpec{Controller: "k8s.io/ingress-nginx"}}
	w.create(t, class)
	shop := w.ingress("shop", "web", "/")
	shop.Spec.IngressClassName = &class.Name
	shop.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{shop.Spec.Rules[0].Host}, SecretName: "shop"}}
	w.create(t, shop)
	w.create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "controller"},
		Data: map[string]string{"ssl-redirect": "false"}})
	w.create(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "controller",
		Labels:      map[string]string{"app.kubernetes.io/name": "ingress-nginx"},
		Annotations: map[string]string{"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 443}}}})
	for args, want := range map[string][]string{
		"": {"1 of 2 request classes are answered the same on alb; 1 changes;", "its defaults are assumed: name it with --config-map",
			"Service default/controller is the one of ingress-nginx", "Service default/controller may face the internet"},
		"default/controller": {"2 of 2 request classes are answered the same on alb; 0 change;", "ConfigMap default/controller is the one"},
		"default/none":       {"--config-map default/none: configmaps \"none\" not found"},
		"none":               {"write NAMESPACE/NAME"},
	} {
		command := exec.CommandContext(t.Context(), w.cluster.Command(t), "migrate", "--live", "--from=nginx", "--provider=aws",
			"--config-map="+args, "--kubeconfig="+w.cluster.Kubeconfig)
		said, _ := command.CombinedOutput() // something changes, or it fails
		for _, sentence := range want {
			if !strings.Contains(string(said), sentence) {
				t.Errorf("--config-map=%s: no %q in\n%s", args, sentence, said)
			}
		}
	}
}
