package cluster

import (
	"context"
	"maps"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// The caches hold what the scope and the mode say.
func TestWhatTheCachesHold(t *testing.T) {
	of := func(o cache.Options, kind string) (found cache.ByObject, there bool) {
		for object, by := range o.ByObject {
			switch object.(type) {
			case *corev1.Namespace:
				there = kind == KindNamespace
			case *metav1.PartialObjectMetadata:
				there = kind == KindSecret && object.GetObjectKind().GroupVersionKind().Kind == KindSecret
			default:
				there = false
			}
			if there {
				return by, true
			}
		}
		return cache.ByObject{}, false
	}
	all := Cache(SecretsAll, "")
	if _, secrets := of(all, KindSecret); secrets || all.DefaultNamespaces != nil {
		t.Errorf("without a scope the caches are limited: %v", all)
	}
	if _, namespaces := of(all, KindNamespace); namespaces {
		t.Error("without a scope the namespaces are limited")
	}
	scoped := Cache(SecretsLabelled, "shop")
	if by, there := of(scoped, KindSecret); !there || by.Label.String() != SecretLabel+"=true" {
		t.Errorf("the Secrets of the mode %s are %v", SecretsLabelled, by)
	}
	if by, there := of(scoped, KindNamespace); !there || by.Field.String() != "metadata.name=shop" {
		t.Errorf("the namespaces of a scope are %v", by)
	}
	if _, there := scoped.DefaultNamespaces["shop"]; !there || len(scoped.DefaultNamespaces) != 1 {
		t.Errorf("the namespaces are %v, want shop", scoped.DefaultNamespaces)
	}
}

// What the operator does not read of an object is not kept.
func TestManagedFieldsAreNotKept(t *testing.T) {
	o := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "a": "b"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}
	kept, err := slim(o)
	if err != nil || kept != any(o) || o.ManagedFields != nil || !maps.Equal(o.Annotations, map[string]string{"a": "b"}) {
		t.Errorf("what is left is %v, error %v", kept, err)
	}
	deleted := toolscache.DeletedFinalStateUnknown{Key: "shop/web"}
	if kept, err := slim(deleted); err != nil || kept != any(deleted) {
		t.Errorf("the mark of an object that was deleted becomes %v, %v", kept, err)
	}
}

// The caches are ready once they are filled.
func TestTheCachesAreReady(t *testing.T) {
	for _, filled := range []bool{true, false} {
		err := Ready(filledCache{filled: filled})(httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil))
		if (err == nil) != filled {
			t.Errorf("filled: %t, and the error is %v", filled, err)
		}
	}
}

type filledCache struct {
	cache.Cache
	filled bool
}

func (f filledCache) WaitForCacheSync(context.Context) bool { return f.filled }
