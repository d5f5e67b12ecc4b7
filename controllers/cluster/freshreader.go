package cluster

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
)

// This file reads objects from the API server, where otherwise the cache is read. A plan that
// removes much is made again with it.

// FreshReader lists each kind once from the API server, as the operator's role allows, and finds
// objects in that list. Kinds that it does not list are read from the cache. It is for one
// gathering.
type FreshReader struct {
	client.Reader // the cache
	Server        client.Reader
	Scope         string
	Read          map[reflect.Type]map[client.ObjectKey]client.Object
}

// listOf returns an empty list of the kind of an object; nil for a kind that is read from the
// cache.
func listOf(o client.Object) client.ObjectList {
	switch o.(type) {
	case *networkingv1.Ingress:
		return &networkingv1.IngressList{}
	case *networkingv1.IngressClass:
		return &networkingv1.IngressClassList{}
	case *v1alpha1.ClusterLoadBalancerClass:
		return &v1alpha1.ClusterLoadBalancerClassList{}
	case *v1alpha1.LoadBalancerClass:
		return &v1alpha1.LoadBalancerClassList{}
	case *alb.IngressClassParams:
		return &alb.IngressClassParamsList{}
	case *v1alpha1.Backend:
		return &v1alpha1.BackendList{}
	case *corev1.Service:
		return &corev1.ServiceList{}
	case *corev1.Namespace:
		return &corev1.NamespaceList{}
	}
	return nil
}

// scopeOptions returns the options that limit a list of a kind to a namespace; none if it is "".
func scopeOptions(kind, scope string) []client.ListOption {
	switch kind {
	case KindIngressClass, v1alpha1.KindClusterLoadBalancerClass, KindIngressClassParams:
		return nil
	case KindNamespace:
		if scope == "" {
			return nil
		}
		return []client.ListOption{client.MatchingFields{metav1.ObjectNameField: scope}}
	}
	return []client.ListOption{client.InNamespace(scope)}
}

// Get finds an object in the list of its kind.
func (r *FreshReader) Get(ctx context.Context, key client.ObjectKey, into client.Object,
	opts ...client.GetOption) error {
	list := listOf(into)
	if list == nil {
		return r.Reader.Get(ctx, key, into, opts...)
	}
	kind := reflect.TypeOf(into)
	if r.Read[kind] == nil {
		if err := r.list(ctx, list); err != nil {
			return fmt.Errorf("reading %s anew: %w", kind, err)
		}
		found := map[client.ObjectKey]client.Object{}
		if err := meta.EachListItem(list, func(o runtime.Object) error {
			object := o.(client.Object)
			found[client.ObjectKeyFromObject(object)] = object
			return nil
		}); err != nil {
			return fmt.Errorf("reading %s anew: %w", kind, err)
		}
		r.Read[kind] = found
	}
	found := r.Read[kind][key]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kind.Elem().Name()}, key.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found.DeepCopyObject()).Elem())
	return nil
}

// List lists classes and their parameters from the API server.
func (r *FreshReader) List(ctx context.Context, list client.ObjectList,
	opts ...client.ListOption) error {
	switch list.(type) {
	case *networkingv1.IngressClassList, *v1alpha1.ClusterLoadBalancerClassList,
		*v1alpha1.LoadBalancerClassList, *alb.IngressClassParamsList, *networkingv1.IngressList:
		return r.list(ctx, list, opts...)
	}
	return r.Reader.List(ctx, list, opts...)
}

// list lists a kind from the API server. One that the cluster may lack has no objects then.
func (r *FreshReader) list(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	kind := strings.TrimSuffix(reflect.TypeOf(list).Elem().Name(), "List")
	err := r.Server.List(ctx, list, append(scopeOptions(kind, r.Scope), opts...)...)
	if isAbsent(kind, err) {
		return nil
	}
	return err
}
