package source

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file reads objects from a cluster, and load balancers from a cloud.

// Observe returns the load balancers of a cloud: those that objects ask for, and all others of this
// installation. If deep is true, their settings are read, too.
func Observe(
	ctx context.Context, cloud providers.Provider, objects ingress.Objects, options ingress.ClassOptions,
	deep bool,
) (map[lb.Key]*lb.Observed, error) {
	keys, err := cloud.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing load balancers: %w", err)
	}
	snapshots, _ := ingress.Place(objects, options)
	for _, s := range snapshots {
		keys = append(keys, s.Key)
	}
	slices.Sort(keys)
	seen := map[lb.Key]*lb.Observed{}
	for _, key := range slices.Compact(keys) {
		if seen[key], err = cloud.Observe(ctx, key, deep); err != nil {
			return nil, fmt.Errorf("observing %s: %w", key, err)
		}
	}
	return seen, nil
}

// clusterObjects reads the objects that are compiled, and the operator's records of load balancers.
// It reads Secrets only in namespaces with Ingresses.
func clusterObjects(ctx context.Context, h access.Cluster) (ingress.Objects, error) {
	var out ingress.Objects
	cluster, err := h.Client()
	if err != nil {
		return out, err
	}
	for _, k := range manifests.Kinds {
		in := []string{h.Namespace}
		switch {
		case !k.Namespaced:
			in = []string{metav1.NamespaceAll}
		case k.Name == "Secret": // Ingresses are read first
			in = nil
			for _, ing := range out.Ingresses {
				if !slices.Contains(in, ing.Namespace) {
					in = append(in, ing.Namespace)
				}
			}
		}
		for _, namespace := range in {
			if err := read(ctx, cluster, k, namespace, &out); err != nil {
				return out, fmt.Errorf("listing objects of kind %s: %w", k.Name, err)
			}
		}
	}
	out.PodsKnown = true
	if out.Records, err = records.Remembered(ctx, cluster, h.Namespace); err != nil {
		return out, fmt.Errorf("reading what the operator remembers: %w", err)
	}
	return out, nil
}

// read adds the objects of a kind. CRDs may be missing.
func read(ctx context.Context, cluster client.Reader, k manifests.Kind, namespace string,
	o *ingress.Objects) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.FromAPIVersionAndKind(k.APIVersion, k.Name+"List"))
	err := cluster.List(ctx, list, client.InNamespace(namespace))
	if meta.IsNoMatchError(err) && (k.APIVersion == v1alpha1.GroupVersion.String() || k.APIVersion == alb.ParamsVersion.String()) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, item := range list.Items {
		object := k.Empty()
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, object); err != nil {
			return fmt.Errorf("%s: %w", item.GetName(), err)
		}
		k.Add(o, object)
	}
	return nil
}
