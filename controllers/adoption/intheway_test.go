package adoption_test

import (
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"fairlead.dev/fairlead/controllers/adoption"
)

func TestWhatIsInTheWay(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	lease := func(name, holder string, renewed time.Time) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}, Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15)), RenewTime: &metav1.MicroTime{Time: renewed}}}
	}
	hook := func(name string, policy *admissionv1.FailurePolicyType, resources ...string) admissionv1.ValidatingWebhook {
		return admissionv1.ValidatingWebhook{Name: name, FailurePolicy: policy, Rules: []admissionv1.RuleWithOperations{{Rule: admissionv1.Rule{APIGroups: []string{"*"}, Resources: resources}}}}
	}
	hooks := func(all ...admissionv1.ValidatingWebhook) *admissionv1.ValidatingWebhookConfiguration {
		return &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "aws-load-balancer-webhook"}, Webhooks: all}
	}
	pod := func(name, app string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, Labels: map[string]string{"app.kubernetes.io/name": app}},
			Status: corev1.PodStatus{Phase: phase}}
	}
	const theirs = "aws-load-balancer-controller-leader"
	for name, c := range map[string]struct {
		objects []client.Object
		want    []string
	}{
		"nothing":                    {},
		"it runs":                    {[]client.Object{lease(theirs, "pod-1", now.Add(-5*time.Second))}, []string{"the controller runs: pod-1 holds the Lease kube-system/aws-load-balancer-controller-leader. Scale its Deployment to zero, and keep it there"}},
		"it ran":                     {[]client.Object{lease(theirs, "pod-1", now.Add(-time.Minute))}, nil},
		"it runs without a Lease":    {[]client.Object{pod("alb", "aws-load-balancer-controller", corev1.PodRunning)}, []string{"the controller runs, without a Lease: Pod kube-system/alb. Scale its Deployment to zero, and keep it there"}},
		"its Pod has ended":          {[]client.Object{pod("alb", "aws-load-balancer-controller", corev1.PodSucceeded), pod("web", "web", corev1.PodRunning)}, nil},
		"it ended":                   {[]client.Object{lease(theirs, "", now)}, nil},
		"another controller":         {[]client.Object{lease("other", "pod-1", now)}, nil},
		"its webhooks":               {[]client.Object{hooks(hook("vingress.elbv2.k8s.aws", new(admissionv1.Fail), "ingresses"), hook("vtargetgroupbinding.elbv2.k8s.aws", nil, "targetgroupbindings"), hook("quicid.elbv2.k8s.aws", nil, "pods"))}, []string{"ValidatingWebhookConfiguration aws-load-balancer-webhook refuses writes of ingresses, targetgroupbindings while the controller does not answer, which it does not once it is scaled to zero: then delete it, or set failurePolicy: Ignore"}},
		"webhooks that do not block": {[]client.Object{hooks(hook("vingress.elbv2.k8s.aws", new(admissionv1.Ignore), "ingresses"))}, nil},
		"webhooks of others":         {[]client.Object{hooks(hook("guard.example.com", nil, "ingresses"))}, nil},
	} {
		byName := func(o client.Object) []string { return []string{o.GetName()} }
		api := fake.NewClientBuilder().WithObjects(c.objects...).WithIndex(&coordinationv1.Lease{}, "metadata.name", byName).Build()
		got, err := adoption.InTheWay(t.Context(), api, now)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
}
