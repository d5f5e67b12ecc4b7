package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
)

// This file reads what people say of a load balancer in the cluster: that it is to stay as it is, and that what vanished
// is to be taken away.

// skew is by how much the clock of the one that confirms may be ahead.
const skew = time.Minute

// Orders are what is said of a load balancer.
type orders struct {
	// pausedBy is what says that nothing is to be changed; "" if nothing does. Pods go on coming and going: that is no plan.
	pausedBy string
	// confirmed is the time before which it was right that Ingresses vanished; zero for none.
	confirmed time.Time
}

// orders reads them. The annotations of a LoadBalancer are lost where that object is: the setting and the annotation of the
// IngressClass are not.
func (g *gatherer) orders(ctx context.Context, key lb.Key, from client.Reader) (orders, error) {
	var out orders
	report := reportMetadata()
	if err := from.Get(ctx, client.ObjectKey{Name: v1alpha1.Name(string(key), g.scope)}, report); client.IgnoreNotFound(err) != nil {
		return out, fmt.Errorf("reading the annotations of the LoadBalancer of %s: %w", key, err)
	}
	confirmed, err := time.Parse(time.RFC3339, report.Annotations[v1alpha1.ConfirmVanishedAnnotation])
	if err == nil && !confirmed.After(time.Now().Add(skew)) {
		out.confirmed = confirmed
	}
	class := &networkingv1.IngressClass{}
	if err := g.cache.Get(ctx, client.ObjectKey{Name: key.Class()}, class); client.IgnoreNotFound(err) != nil {
		return out, fmt.Errorf("reading whether %s is paused by its class: %w", key, err)
	}
	switch {
	case slices.Contains(g.paused, string(key)):
		out.pausedBy = "the setting --paused"
	case pauses(report):
		out.pausedBy = "the annotation " + v1alpha1.PausedAnnotation
	case pauses(class):
		out.pausedBy = fmt.Sprintf("the annotation %s of IngressClass %s", v1alpha1.PausedAnnotation, class.Name)
	}
	return out, nil
}

// pauses reports whether an object says that nothing is to be changed.
func pauses(o client.Object) bool { return o.GetAnnotations()[v1alpha1.PausedAnnotation] == "true" }
