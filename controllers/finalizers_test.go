package controllers_test

import (
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/test/kube"
)

// The API server adds the finalizer to the newest version of an Ingress and removes it from one that
// is being deleted, and keeps those of others. It refuses another Ingress of the same name, to add
// the finalizer to one that is being deleted, and to remove it from one that has changed and stays.
func TestAPatchOfTheFinalizer(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	writer := ingresses.NewWriter(w.Client)
	ing := w.ask("shop", "shop.example", "/", "web")
	ing.Finalizers = []string{"example.com/theirs"}
	w.create(ing)
	read := w.ingress("shop")
	for i, step := range []struct {
		write      func() error
		finalizers []string
		refused    bool
	}{
		{func() error { return writer.AddFinalizer(t.Context(), read) }, []string{"example.com/theirs", v1alpha1.IngressFinalizer}, false},
		{func() error { return writer.AddFinalizer(t.Context(), read) }, []string{"example.com/theirs", v1alpha1.IngressFinalizer}, false}, // as it was read before
		{func() error { return writer.RemoveFinalizer(t.Context(), changedSince(w)) }, []string{"example.com/theirs", v1alpha1.IngressFinalizer}, true},
		{func() error { return writer.AddFinalizer(t.Context(), recreated(read)) }, []string{"example.com/theirs", v1alpha1.IngressFinalizer}, true},
		{func() error { return w.Delete(t.Context(), w.ingress("shop")) }, []string{"example.com/theirs", v1alpha1.IngressFinalizer}, false},
		{func() error { return writer.RemoveFinalizer(t.Context(), changedSince(w)) }, []string{"example.com/theirs"}, false},
		{func() error { return writer.RemoveFinalizer(t.Context(), w.ingress("shop")) }, []string{"example.com/theirs"}, false},
		{func() error { return writer.AddFinalizer(t.Context(), read) }, []string{"example.com/theirs"}, true},
	} {
		if err := step.write(); apierrors.IsConflict(err) != step.refused || err != nil && !step.refused {
			t.Errorf("step %d ends with %v", i, err)
		}
		got := w.ingress("shop").Finalizers
		slices.Sort(got)
		if !slices.Equal(got, step.finalizers) {
			t.Errorf("after step %d the finalizers are %q, want %q", i, got, step.finalizers)
		}
	}
	if err := w.Patch(t.Context(), w.ingress("shop"), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
}

// changedSince returns an Ingress as it was before another writer changed it.
func changedSince(w *world) *networkingv1.Ingress {
	var read *networkingv1.Ingress
	w.eventually(func() error {
		read = w.ingress("shop")
		now := read.DeepCopy()
		now.Labels = map[string]string{"example.com/at": now.ResourceVersion}
		return w.Update(w.Context(), now)
	})
	return read
}

// recreated returns an Ingress as it was read before another one was created under its name.
func recreated(read *networkingv1.Ingress) *networkingv1.Ingress {
	ing := read.DeepCopy()
	ing.UID = "another"
	return ing
}
