package check

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/test/kube"
)

// This file runs the command against an API server.

func TestMain(m *testing.M) { kube.Main(m, kube.Options{}) }

func TestCluster(t *testing.T) {
	cluster := kube.Shared(t)
	client := cluster.Client(t)
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}, Spec: networkingv1.IngressClassSpec{Controller: ingress.ControllerName}}
	if _, err := client.NetworkingV1().IngressClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ask := func(args ...string) said {
		t.Helper()
		silent := fake.Plug()
		silent.Check = func(context.Context, clouds.Environment) []check.Finding { return nil }
		with := cli.Providers{Clouds: map[string]clouds.Cloud{"fake": silent}}
		var out, err bytes.Buffer
		code := cli.Run(t.Context(), append([]string{"check", "--kubeconfig", cluster.Kubeconfig}, args...), with, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err})
		return said{out.String(), err.String(), code}
	}
	got := ask()
	if got.code != 0 || len(got.lines("✗")) > 0 || len(got.lines("?")) > 0 || len(got.lines("✓")) < 20 {
		t.Errorf("where all is well: exit code %d, %q, it says\n%s", got.code, got.err, got.out)
	}
	if got = ask("--as", "system:serviceaccount:fairlead-system:fairlead"); got.code != 1 ||
		!slices.ContainsFunc(got.lines("✗"), func(l string) bool {
			return strings.HasPrefix(l, "✗ RBAC of ingresses/status.networking.k8s.io: the caller may not patch; ")
		}) {
		t.Errorf("as an operator without a role: exit code %d, %q, it says\n%s", got.code, got.err, got.out)
	}
	none := admissionv1.SideEffectClassNone
	guard := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "guard"}, Webhooks: []admissionv1.ValidatingWebhook{{
		Name: "guard.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "guard", Name: "gone"}},
		Rules: []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.OperationAll},
			Rule:       admissionv1.Rule{APIGroups: []string{"networking.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"ingresses"}},
		}},
	}}}
	if _, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), guard, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	want := "✗ webhook guard.example.com: its failurePolicy is Fail and its Service guard/gone does not exist, so that writes are refused; correct it, or delete the ValidatingWebhookConfiguration guard"
	if got = ask(); got.code != 1 || !slices.Equal(got.lines("✗"), []string{want}) {
		t.Errorf("with a webhook whose Service is gone: exit code %d, %q, it says\n%s", got.code, got.err, got.out)
	}
}
