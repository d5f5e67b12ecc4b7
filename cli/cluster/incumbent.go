package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
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
func (l Live) InTheWay(ctx context.Context, now time.Time) (out []string, err error) {
	var leases coordinationv1.LeaseList
	if err := l.Client.List(ctx, &leases, client.MatchingFields{"metadata.name": itsLease}); err != nil {
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
	webhooks, err := l.Webhooks(ctx)
	if err != nil {
		return nil, err
	}
	changed := []string{"ingresses", "services", "targetgroupbindings"}
	blocking := map[string][]string{}
	var names []string
	for _, w := range webhooks {
		if fails := w.FailurePolicy == nil || *w.FailurePolicy == admissionv1.Fail; !fails || !strings.HasSuffix(w.Name, itsWebhooks) {
			continue
		}
		for _, r := range w.Rules {
			for _, resource := range r.Resources {
				what := w.Kind + " " + w.Configuration
				if !slices.Contains(changed, resource) || slices.Contains(blocking[what], resource) {
					continue
				}
				if blocking[what] == nil {
					names = append(names, what)
				}
				blocking[what] = append(blocking[what], resource)
			}
		}
	}
	for _, what := range names {
		slices.Sort(blocking[what])
		out = append(out, fmt.Sprintf("%s refuses writes of %s while the controller does not answer, which it does not once it is "+
			"scaled to zero: then delete it, or set failurePolicy: Ignore", what, strings.Join(blocking[what], ", ")))
	}
	return out, nil
}
