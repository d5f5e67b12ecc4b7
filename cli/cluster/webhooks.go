package cluster

import (
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/check"
)

// This file checks the webhooks of objects that the operator reads and writes.

// checkWebhooks returns the webhooks that refuse Ingresses or our own objects while they do not
// answer.
func checkWebhooks(ctx context.Context, c Cluster) []check.Finding {
	const id = "cluster/webhook"
	all, err := c.Webhooks(ctx)
	if err != nil {
		return []check.Finding{check.Unsure(id, "webhooks", err.Error(), "")}
	}
	var out []check.Finding
	for _, w := range all {
		// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#failure-policy:
		// the default is Fail.
		fails := w.FailurePolicy == nil || *w.FailurePolicy == admissionv1.Fail
		if fails && slices.ContainsFunc(w.Rules, coversFairlead) {
			out = append(out, w.check(ctx, c))
		}
	}
	if len(out) == 0 {
		out = append(out, check.Good(id, "webhooks",
			"no webhook can block writes of Ingresses or objects of Fairlead"))
	}
	return out
}

// coversFairlead reports whether a rule covers Ingresses or our own objects.
func coversFairlead(r admissionv1.RuleWithOperations) bool {
	group := func(g string, resources ...string) bool {
		return (slices.Contains(r.APIGroups, g) || slices.Contains(r.APIGroups, "*")) &&
			slices.ContainsFunc(append(resources, "*", "*/*"), func(name string) bool {
				return slices.Contains(r.Resources, name) || slices.Contains(r.Resources, name+"/*") ||
					slices.Contains(r.Resources, name+"/status")
			})
	}
	return group("networking.k8s.io", "ingresses") ||
		group(v1alpha1.GroupVersion.Group, "backends", "clusterloadbalancerclasses",
			"loadbalancerclasses", "loadbalancers")
}

// check returns the finding about a webhook that covers our objects.
func (w Webhook) check(ctx context.Context, c Cluster) check.Finding {
	id, title := "cluster/webhook/"+w.Configuration+"/"+w.Name, "webhook "+w.Name
	to := w.Client.Service
	if to == nil {
		return check.Good(id, title, "it can block writes of Ingresses or objects of Fairlead, and "+
			"runs outside of the cluster")
	}
	service := to.Namespace + "/" + to.Name
	there, ready, err := c.Answers(ctx, to.Namespace, to.Name)
	advice := fmt.Sprintf("correct it, or delete the %s %s", w.Kind, w.Configuration)
	switch {
	case err != nil:
		return check.Unsure(id, title, err.Error(), "")
	case !there:
		return check.Bad(id, title, "its failurePolicy is Fail and its Service "+service+
			" does not exist, so that writes are refused", advice)
	case !ready:
		return check.Bad(id, title, "its failurePolicy is Fail and nothing answers for its "+
			"Service "+service+", so that writes are refused", advice)
	}
	return check.Good(id, title, "it can block writes of Ingresses or objects of Fairlead, and its "+
		"Service "+service+" has endpoints that are ready")
}
