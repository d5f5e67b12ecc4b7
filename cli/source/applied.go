package source

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model/ingress"
)

// This file computes the objects of a cluster after files are applied.

// Applied returns the objects of a cluster in which those of files are created or replaced. Nothing
// is deleted.
func Applied(cluster, files ingress.Objects) ingress.Objects {
	out := cluster
	out.Ingresses = replaced(cluster.Ingresses, files.Ingresses)
	out.IngressClasses = replaced(cluster.IngressClasses, files.IngressClasses)
	out.LoadBalancerClasses = replaced(cluster.LoadBalancerClasses, files.LoadBalancerClasses)
	out.ClusterLoadBalancerClasses = replaced(
		cluster.ClusterLoadBalancerClasses, files.ClusterLoadBalancerClasses)
	out.IngressClassParams = replaced(cluster.IngressClassParams, files.IngressClassParams)
	out.TargetGroupBindings = replaced(cluster.TargetGroupBindings, files.TargetGroupBindings)
	out.Backends = replaced(cluster.Backends, files.Backends)
	out.Services = replaced(cluster.Services, files.Services)
	out.Secrets = replaced(cluster.Secrets, files.Secrets)
	out.Namespaces = replaced(cluster.Namespaces, files.Namespaces)
	return out
}

// replaced returns objects, of which those of the same name as a newer one are replaced by it. An
// object keeps its age, which decides between Ingresses that ask for the same.
func replaced[T client.Object](all, newer []T) []T {
	out := slices.Clone(all)
	for _, o := range newer {
		at := slices.IndexFunc(out, func(old T) bool {
			return old.GetNamespace() == o.GetNamespace() && old.GetName() == o.GetName()
		})
		if at < 0 {
			out = append(out, o)
			continue
		}
		o.SetCreationTimestamp(out[at].GetCreationTimestamp())
		o.SetUID(out[at].GetUID())
		out[at] = o
	}
	return out
}
