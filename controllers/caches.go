package controllers

import (
	"context"
	"errors"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// This file is what is kept in memory of the cluster.

// Cache drops from every object what nobody here reads. Of Secrets it holds no more than may be
// served, and of what lies in namespaces, and of these, no more than the one that is looked after,
// if it is one.
func Cache(secrets SecretsMode, namespace string) cache.Options {
	o := cache.Options{DefaultTransform: slim}
	o.ByObject = map[client.Object]cache.ByObject{&corev1.Node{}: {Transform: slimNode}, &corev1.Pod{}: {Transform: slimPod}}
	if secrets == SecretsLabelled {
		o.ByObject[secretMetadata()] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set(labelledSecrets))}
	}
	if namespace != "" {
		o.DefaultNamespaces = map[string]cache.Config{namespace: {}}
		o.ByObject[&corev1.Namespace{}] = cache.ByObject{Field: fields.OneTermEqualSelector(metav1.ObjectNameField, namespace)}
	}
	return o
}

// slim drops who wrote which field, and the copy that kubectl apply keeps of the whole object: each
// takes as much memory as the fields. Writing by patches leaves both as they are.
func slim(o any) (any, error) {
	if object, ok := o.(metav1.Object); ok {
		object.SetManagedFields(nil)
		delete(object.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	}
	return o, nil
}

// reportMetadata is the kind LoadBalancer, as far as it is watched: what was written there is known.
func reportMetadata() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.KindLoadBalancer))
	return o
}

// Ready reports whether all caches hold what the cluster has.
func Ready(c cache.Cache) func(*http.Request) error {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}
}
