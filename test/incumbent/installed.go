package incumbent

import (
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file is what an installation leaves in a cluster beside its own objects (helm/aws-load-balancer-controller,
// config/webhook/manifests.yaml, pkg/config/runtime_config.go).

// An Installation says how it stands.
type Installation struct {
	ClusterName string
	// Replicas of the Deployment, and when the Lease was renewed.
	Replicas int32
	Renewed  time.Time
}

const (
	itsNamespace = "kube-system"
	itsName      = "aws-load-balancer-controller"
)

// Objects returns the Deployment, the Lease and the webhooks of the chart with its values. No Service and no Pod answers
// for the webhooks, so that what they rule on is refused where they fail closed: an API server takes no new Service and no
// new Ingress then, nor a change of an Ingress or a binding. It deletes them, and writes their status.
func (i Installation) Objects() []client.Object {
	is := map[string]string{"app.kubernetes.io/name": itsName, "app.kubernetes.io/instance": itsName}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: itsNamespace, Name: name, Labels: is}
	}
	duration, holder, renewed := int32(15), itsName+"-6d4c75cd8c-x7k2p_0f6c8bdc-4f3e-4c5e-8a53-1a1d3a5c7f10", metav1.NewMicroTime(i.Renewed)
	mutating := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "aws-load-balancer-webhook", Labels: is}}
	for _, h := range []webhook{
		{name: "mpod", path: "/mutate-v1-pod", resources: "pods", ignore: true, label: "elbv2.k8s.aws/pod-readiness-gate-inject"},
		{name: "quicid", path: "/mutate-v1-pod-server-id", resources: "pods", label: "elbv2.k8s.aws/quic-server-id-inject"},
		{name: "mservice", path: "/mutate-v1-service", resources: "services"},
		{name: "alb-target-control.namespace", path: "/mutate-alb-target-control-namespace-v1-pod", resources: "pods", label: "elbv2.k8s.aws/alb-target-control-agent-injection"},
		{name: "mtargetgroupbinding", path: "/mutate-elbv2-k8s-aws-v1beta1-targetgroupbinding", group: itsGroup, version: "v1beta1", resources: "targetgroupbindings", updates: true},
	} {
		mutating.Webhooks = append(mutating.Webhooks, admissionv1.MutatingWebhook{
			Name: h.name + ".elbv2.k8s.aws", ClientConfig: h.client(), Rules: h.rules(), FailurePolicy: h.policy(), NamespaceSelector: h.namespaces(),
			SideEffects: h.effects(), AdmissionReviewVersions: []string{"v1"},
		})
	}
	validating := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "aws-load-balancer-webhook", Labels: is}}
	for _, h := range []webhook{
		{name: "vingressclassparams", path: "/validate-elbv2-k8s-aws-v1beta1-ingressclassparams", group: itsGroup, version: "v1beta1", resources: "ingressclassparams", updates: true},
		{name: "vtargetgroupbinding", path: "/validate-elbv2-k8s-aws-v1beta1-targetgroupbinding", group: itsGroup, version: "v1beta1", resources: "targetgroupbindings", updates: true},
		{name: "vingress", path: "/validate-networking-v1-ingress", group: "networking.k8s.io", resources: "ingresses", updates: true},
	} {
		validating.Webhooks = append(validating.Webhooks, admissionv1.ValidatingWebhook{
			Name: h.name + ".elbv2.k8s.aws", ClientConfig: h.client(), Rules: h.rules(), FailurePolicy: h.policy(), NamespaceSelector: h.namespaces(),
			SideEffects: h.effects(), AdmissionReviewVersions: []string{"v1"},
		})
	}
	return []client.Object{
		&appsv1.Deployment{ObjectMeta: meta(itsName), Spec: appsv1.DeploymentSpec{
			Replicas: &i.Replicas, Selector: &metav1.LabelSelector{MatchLabels: is},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: is}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: itsName, Image: "public.ecr.aws/eks/aws-load-balancer-controller:v3.5.0",
				Args: []string{"--cluster-name=" + i.ClusterName, "--ingress-class=alb"},
			}}}},
		}},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: itsNamespace, Name: itsName + "-leader"},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &duration, AcquireTime: &renewed, RenewTime: &renewed}},
		mutating, validating,
	}
}

// A webhook is one of them: of a kind of objects, on their creation alone if they are not looked at when they change.
type webhook struct {
	name, path, group, version, resources, label string
	updates, ignore                              bool
}

func (h webhook) client() admissionv1.WebhookClientConfig {
	return admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: itsNamespace, Name: "aws-load-balancer-webhook-service", Path: &h.path}}
}

func (h webhook) rules() []admissionv1.RuleWithOperations {
	operations := []admissionv1.OperationType{admissionv1.Create}
	if h.updates {
		operations = append(operations, admissionv1.Update)
	}
	if h.version == "" {
		h.version = "v1"
	}
	return []admissionv1.RuleWithOperations{{Operations: operations,
		Rule: admissionv1.Rule{APIGroups: []string{h.group}, APIVersions: []string{h.version}, Resources: []string{h.resources}}}}
}

func (h webhook) policy() *admissionv1.FailurePolicyType {
	policy := admissionv1.Fail
	if h.ignore {
		policy = admissionv1.Ignore
	}
	return &policy
}

func (webhook) effects() *admissionv1.SideEffectClass {
	none := admissionv1.SideEffectClassNone
	return &none
}

func (h webhook) namespaces() *metav1.LabelSelector {
	if h.label == "" {
		return nil
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: h.label, Operator: metav1.LabelSelectorOpIn, Values: []string{"enabled"}}}}
}
