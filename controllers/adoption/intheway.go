package adoption

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file looks for the AWS Load Balancer Controller in a cluster, before its load balancers are taken over.

const (
	// itsLease is the default of its --leader-election-id (its docs/deploy/configurations.md).
	itsLease = "aws-load-balancer-controller-leader"
	// itsWebhooks end all names of its webhooks (its config/webhook/manifests.yaml).
	itsWebhooks = ".elbv2.k8s.aws"
)

// InTheWay returns what stands in the way of taking load balancers over from the AWS Load Balancer Controller: that it runs,
// and that writes of what is changed then are refused while it does not.
func InTheWay(ctx context.Context, server client.Reader, now time.Time) (out []string, err error) {
	if out, err = Runs(ctx, server, now); err != nil {
		return nil, err
	}
	refused, err := Refused(ctx, server)
	return append(out, refused...), err
}

// Refused says which writes its webhooks refuse while it does not run.
func Refused(ctx context.Context, server client.Reader) (out []string, err error) {
	var validating admissionv1.ValidatingWebhookConfigurationList
	if err := server.List(ctx, &validating); err != nil {
		return nil, fmt.Errorf("listing ValidatingWebhookConfigurations: %w", err)
	}
	var mutating admissionv1.MutatingWebhookConfigurationList
	if err := server.List(ctx, &mutating); err != nil {
		return nil, fmt.Errorf("listing MutatingWebhookConfigurations: %w", err)
	}
	for _, c := range validating.Items {
		var refused resources
		for _, w := range c.Webhooks {
			refused.add(w.Name, w.FailurePolicy, w.Rules)
		}
		out = append(out, refused.text("ValidatingWebhookConfiguration "+c.Name)...)
	}
	for _, c := range mutating.Items {
		var refused resources
		for _, w := range c.Webhooks {
			refused.add(w.Name, w.FailurePolicy, w.Rules)
		}
		out = append(out, refused.text("MutatingWebhookConfiguration "+c.Name)...)
	}
	return out, nil
}

// resources are those whose writes are refused.
type resources []string

// add adds what a webhook of the controller refuses while nothing answers for it.
func (r *resources) add(name string, policy *admissionv1.FailurePolicyType, rules []admissionv1.RuleWithOperations) {
	if fails := policy == nil || *policy == admissionv1.Fail; !fails || !strings.HasSuffix(name, itsWebhooks) {
		return
	}
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			if slices.Contains([]string{"ingresses", "services", "targetgroupbindings"}, resource) && !slices.Contains(*r, resource) {
				*r = append(*r, resource)
			}
		}
	}
}

// text says so; nothing if none is.
func (r resources) text(what string) []string {
	if len(r) == 0 {
		return nil
	}
	slices.Sort(r)
	return []string{fmt.Sprintf("%s refuses writes of %s while the controller does not answer, which it does not once it is "+
		"scaled to zero: then delete it, or set failurePolicy: Ignore", what, strings.Join(r, ", "))}
}

// itsPods is the label of its Pods (its config/default/kustomization.yaml, and selectorLabels of its chart).
var itsPods = client.MatchingLabels{"app.kubernetes.io/name": "aws-load-balancer-controller"}

// Runs says that the controller runs, by each Lease that it renews, and else by its Pods: without elections it has no Lease.
func Runs(ctx context.Context, server client.Reader, now time.Time) (out []string, err error) {
	var leases coordinationv1.LeaseList
	if err := server.List(ctx, &leases, client.MatchingFields{"metadata.name": itsLease}); err != nil {
		return nil, fmt.Errorf("listing Leases: %w", err)
	}
	for _, lease := range leases.Items {
		s := lease.Spec
		if s.RenewTime == nil || s.LeaseDurationSeconds == nil || s.HolderIdentity == nil || *s.HolderIdentity == "" ||
			now.After(s.RenewTime.Add(time.Duration(*s.LeaseDurationSeconds)*time.Second)) {
			continue
		}
		out = append(out, fmt.Sprintf("the controller runs: %s holds the Lease %s/%s. Scale its Deployment to zero, and keep it "+
			"there", *s.HolderIdentity, lease.Namespace, lease.Name))
	}
	if len(out) > 0 {
		return out, nil
	}
	var pods corev1.PodList
	if err := server.List(ctx, &pods, itsPods); err != nil {
		return nil, fmt.Errorf("listing Pods: %w", err)
	}
	for _, p := range pods.Items {
		if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			out = append(out, fmt.Sprintf("the controller runs, without a Lease: Pod %s/%s. Scale its Deployment to zero, and keep it "+
				"there", p.Namespace, p.Name))
		}
	}
	return out, nil
}
