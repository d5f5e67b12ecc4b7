package controllers

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
)

// This file reads from the API server what is otherwise read from the cache, where what the cache led to is doubted.

// An anewReader lists each kind once, as the operator's role allows, and finds in that what is asked for. Kinds that it does not
// list are the cache's. It serves one reading, and then is dropped.
type anewReader struct {
	client.Reader // the cache
	server        client.Reader
	scope         string
	read          map[reflect.Type]map[client.ObjectKey]client.Object
}

// listOf is an empty list of the kind of an object; nil for a kind that is the cache's.
func listOf(o client.Object) client.ObjectList {
	switch o.(type) {
	case *networkingv1.Ingress:
		return &networkingv1.IngressList{}
	case *v1alpha1.Backend:
		return &v1alpha1.BackendList{}
	case *corev1.Service:
		return &corev1.ServiceList{}
	case *corev1.Namespace:
		return &corev1.NamespaceList{}
	}
	return nil
}

// within limits a list of a kind to what the operator looks after, which is a namespace, or everything if it is "".
func within(kind, scope string) []client.ListOption {
	switch kind {
	case "IngressClass", v1alpha1.KindClusterLoadBalancerClass:
		return nil
	case kindNamespace:
		if scope == "" {
			return nil
		}
		return []client.ListOption{client.MatchingFields{metav1.ObjectNameField: scope}}
	}
	return []client.ListOption{client.InNamespace(scope)}
}

// Get finds an object in the list of its kind.
func (r *anewReader) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	list := listOf(into)
	if list == nil {
		return r.Reader.Get(ctx, key, into, opts...)
	}
	kind := reflect.TypeOf(into)
	if r.read[kind] == nil {
		if err := r.server.List(ctx, list, within(kind.Elem().Name(), r.scope)...); err != nil {
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
		r.read[kind] = found
	}
	found := r.read[kind][key]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kind.Elem().Name()}, key.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found.DeepCopyObject()).Elem())
	return nil
}

// List lists classes and their parameters from the API server.
func (r *anewReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	switch list.(type) {
	case *networkingv1.IngressClassList, *v1alpha1.ClusterLoadBalancerClassList, *v1alpha1.LoadBalancerClassList, *networkingv1.IngressList:
		kind := strings.TrimSuffix(reflect.TypeOf(list).Elem().Name(), "List")
		return r.server.List(ctx, list, append(within(kind, r.scope), opts...)...)
	}
	return r.Reader.List(ctx, list, opts...)
}
