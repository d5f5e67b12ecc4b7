package cluster

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model/ingress"
)

// This file finds the changes of Ingresses and Services that need a reconcile.

// ChangedIngress reports whether an Ingress is being deleted, or a field that Fairlead reads has
// changed, or an annotation of another controller that Fairlead reports. Its status and all other
// metadata are ignored.
func ChangedIngress(before, after client.Object) bool {
	return before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
		before.GetGeneration() != after.GetGeneration() || changedAnnotations(before, after)
}

// ChangedService reports whether a Service has changed in its spec or in an annotation that
// Fairlead reads.
func ChangedService(before, after client.Object) bool {
	return ChangedServiceSpec(before, after) || changedAnnotations(before, after)
}

// ChangedServiceSpec compares specs, since Services have no generation.
func ChangedServiceSpec(before, after client.Object) bool {
	return !equality.Semantic.DeepEqual(before.(*corev1.Service).Spec, after.(*corev1.Service).Spec)
}

// changedAnnotations compares the annotations that Fairlead reads.
func changedAnnotations(before, after client.Object) bool {
	return !maps.Equal(readAnnotations(before), readAnnotations(after))
}

func readAnnotations(o client.Object) map[string]string {
	out := maps.Clone(o.GetAnnotations())
	maps.DeleteFunc(out, func(key, _ string) bool { return !ingress.HeedsAnnotation(key) })
	return out
}
