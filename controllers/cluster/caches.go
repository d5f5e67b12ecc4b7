package cluster

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
)

// This file has the options of the caches.

// Cache returns the options of caches that keep only the fields that the operator reads. With a
// namespace they hold only that namespace and its objects, and with SecretsLabelled only the
// Secrets with the label.
func Cache(secrets SecretsMode, namespace string) cache.Options {
	o := cache.Options{DefaultTransform: slim}
	o.ByObject = map[client.Object]cache.ByObject{
		&corev1.Node{}: {Transform: slimNode}, &corev1.Pod{}: {Transform: transformPod},
	}
	if secrets == SecretsLabelled {
		o.ByObject[SecretMetadata()] = cache.ByObject{
			Label: labels.SelectorFromSet(labels.Set(labelledSecrets)),
		}
	}
	if namespace != "" {
		o.DefaultNamespaces = map[string]cache.Config{namespace: {}}
		o.ByObject[&corev1.Namespace{}] = cache.ByObject{
			Field: fields.OneTermEqualSelector(metav1.ObjectNameField, namespace),
		}
	}
	return o
}

// slim drops managedFields, and the copy of the whole object that kubectl apply keeps: each takes
// as much memory as the fields. The operator writes by patches, which leave both as they are.
func slim(o any) (any, error) {
	if object, ok := o.(metav1.Object); ok {
		object.SetManagedFields(nil)
		delete(object.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	}
	return o, nil
}

// Ready returns a check that fails until all caches are filled.
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
