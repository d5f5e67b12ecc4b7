package gather

import (
	"context"
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
)

// This file finds out whether a load balancer is paused. A pause stops plans; targets are still
// registered.

// pausedBy returns the setting or the annotation that pauses a load balancer; "" if none does.
// A deleted LoadBalancer loses the pause of its annotation, and no other.
func (g *Gatherer) pausedBy(ctx context.Context, key lb.Key, from client.Reader) (string, error) {
	if slices.Contains(g.Paused, string(key)) {
		return "the setting --paused", nil
	}
	report := records.Metadata()
	if err := from.Get(ctx, client.ObjectKey{Name: v1alpha1.Name(string(key), g.Scope)},
		report); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading whether %s is paused: %w", key, err)
	}
	if pauses(report) {
		return "the annotation " + v1alpha1.PausedAnnotation, nil
	}
	class := &networkingv1.IngressClass{}
	if err := g.Cache.Get(ctx, client.ObjectKey{Name: key.Class()},
		class); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading whether %s is paused by its class: %w", key, err)
	}
	if pauses(class) {
		return fmt.Sprintf("the annotation %s of IngressClass %s", v1alpha1.PausedAnnotation, class.Name),
			nil
	}
	return "", nil
}

// pauses reports whether an object has the annotation that pauses.
func pauses(o client.Object) bool { return o.GetAnnotations()[v1alpha1.PausedAnnotation] == "true" }
