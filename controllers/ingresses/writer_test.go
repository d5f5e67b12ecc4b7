package ingresses

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
)

const others = "example.com/others"

// written is an Ingress in a cluster, as this operator has read it. Another writer may have changed
// it since.
func written(t *testing.T, changed bool, finalizers ...string) (client.Client, *networkingv1.Ingress) {
	t.Helper()
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Finalizers: finalizers, Labels: map[string]string{"app": "web"}}}
	ing.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: "theirs.example"}}
	c := fake.NewClientBuilder().WithScheme(cluster.NewScheme()).WithStatusSubresource(ing).WithObjects(ing).Build()
	read := get(t, c)
	if changed {
		later := read.DeepCopy()
		later.Finalizers = append(later.Finalizers, "example.com/later")
		if err := c.Update(t.Context(), later); err != nil {
			t.Fatal(err)
		}
	}
	return c, read
}

func get(t *testing.T, c client.Client) *networkingv1.Ingress {
	t.Helper()
	ing := &networkingv1.Ingress{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, ing); err != nil {
		t.Fatal(err)
	}
	return ing
}

// A write changes what it is about, and leaves finalizers, labels and entries of others. One of the
// finalizer does that on the newest version of the Ingress, too, unless it removes the finalizer and
// the Ingress stays. One that removes an address is refused there, since the list is replaced as a
// whole.
func TestWrites(t *testing.T) {
	ours := []networkingv1.IngressLoadBalancerIngress{{Hostname: "ours.example"}, {Hostname: "theirs.example"}}
	for name, c := range map[string]struct {
		before     []string
		changed    bool
		write      func(*testing.T, *Writer, *networkingv1.Ingress) error
		refused    bool
		finalizers []string
		addresses  []string
	}{
		"add": {
			before: []string{others}, finalizers: []string{others, v1alpha1.IngressFinalizer}, addresses: []string{"theirs.example"},
			write: func(t *testing.T, w *Writer, ing *networkingv1.Ingress) error {
				return w.AddFinalizer(t.Context(), ing)
			},
		},
		"add, changed since": {
			before: []string{others}, changed: true, finalizers: []string{others, "example.com/later", v1alpha1.IngressFinalizer}, addresses: []string{"theirs.example"},
			write: func(t *testing.T, w *Writer, ing *networkingv1.Ingress) error {
				return w.AddFinalizer(t.Context(), ing)
			},
		},
		"remove": {
			before: []string{others, v1alpha1.IngressFinalizer}, finalizers: []string{others}, addresses: []string{"theirs.example"},
			write: func(t *testing.T, w *Writer, ing *networkingv1.Ingress) error {
				return w.RemoveFinalizer(t.Context(), ing)
			},
		},
		"remove the only one": {
			before: []string{v1alpha1.IngressFinalizer}, addresses: []string{"theirs.example"},
			write: func(t *testing.T, w *Writer, ing *networkingv1.Ingress) error {
				return w.RemoveFinalizer(t.Context(), ing)
			},
		},
		"remove, changed since": {
			before: []string{v1alpha1.IngressFinalizer}, changed: true, refused: true,
			finalizers: []string{v1alpha1.IngressFinalizer, "example.com/later"}, addresses: []string{"theirs.example"},
			write: func(t *testing.T, w *Writer, ing *networkingv1.Ingress) error {
				return w.RemoveFinalizer(t.Context(), ing)
			},
		},
		"remove when it is being deleted, changed since": {
			before: []string{v1alpha1.IngressFinalizer}, changed: true,
			finalizers: []string{"example.com/later"}, addresses: []string{"theirs.example"},
			write: func(t *testing.T, w *Writer, ing *networkingv1.Ingress) error {
				ing.DeletionTimestamp = new(metav1.Now())
				return w.RemoveFinalizer(t.Context(), ing)
			},
		},
		"publish": {
			changed: true, finalizers: []string{"example.com/later"}, addresses: []string{"ours.example", "theirs.example"},
			write: func(t *testing.T, w *Writer, ing *networkingv1.Ingress) error {
				return w.Publish(t.Context(), ing, ours)
			},
		},
		"unpublish": {
			write: func(t *testing.T, w *Writer, ing *networkingv1.Ingress) error {
				return w.Unpublish(t.Context(), ing, []string{"theirs.example"})
			},
		},
		"unpublish, changed since": {
			changed: true, refused: true, finalizers: []string{"example.com/later"}, addresses: []string{"theirs.example"},
			write: func(t *testing.T, w *Writer, ing *networkingv1.Ingress) error {
				return w.Unpublish(t.Context(), ing, []string{"theirs.example"})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			api, read := written(t, c.changed, c.before...)
			if err := c.write(t, NewWriter(api), read); apierrors.IsConflict(err) != c.refused || err != nil && !c.refused {
				t.Errorf("it ends with %v", err)
			}
			got := get(t, api)
			var addresses []string
			for _, e := range got.Status.LoadBalancer.Ingress {
				addresses = append(addresses, e.Hostname)
			}
			slices.Sort(got.Finalizers) // it is a set
			slices.Sort(c.finalizers)
			if !slices.Equal(got.Finalizers, c.finalizers) || !slices.Equal(addresses, c.addresses) || got.Labels["app"] != "web" {
				t.Errorf("there are finalizers %q and addresses %q, want %q and %q; labels %v", got.Finalizers, addresses, c.finalizers, c.addresses, got.Labels)
			}
		})
	}
}

// A reconcile may come before the cache has the write of the one before it: that writes nothing
// again, and is no dispute. A status that another writer has changed since is repaired.
func TestAWriteThatIsNotSeenYetIsNotRepeated(t *testing.T) {
	ours := []networkingv1.IngressLoadBalancerIngress{{Hostname: "ours.example"}}
	api, read := written(t, false, v1alpha1.IngressFinalizer)
	writes := 0
	counted := interceptor.NewClient(api.(client.WithWatch), interceptor.Funcs{SubResourcePatch: func(ctx context.Context, to client.Client, part string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
		writes++
		return to.SubResource(part).Patch(ctx, o, p, opts...)
	}})
	w := NewWriter(counted)
	if err := w.AddFinalizer(t.Context(), read); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := w.Publish(t.Context(), read, ours); err != nil {
			t.Fatal(err)
		}
	}
	if writes != 1 {
		t.Errorf("%d writes of one status", writes)
	}
	if err := w.Publish(t.Context(), read, append(ours, networkingv1.IngressLoadBalancerIngress{Hostname: "more.example"})); err != nil || writes != 2 {
		t.Errorf("%d writes once there is another address, %v", writes, err)
	}
	undone := get(t, api)
	undone.Status.LoadBalancer.Ingress = nil
	if err := api.Status().Update(t.Context(), undone); err != nil {
		t.Fatal(err)
	}
	if err := w.Publish(t.Context(), get(t, api), ours); err != nil || writes != 3 {
		t.Errorf("%d writes once another writer has changed it, %v", writes, err)
	}
	if err := w.Publish(t.Context(), get(t, api), ours); err != nil || writes != 3 {
		t.Errorf("%d writes of a status that is right, just after it was repaired, %v", writes, err)
	}
}

// The status of an Ingress is kept right that another process has written, as after a restart.
func TestAStatusThatIsFoundRightIsKept(t *testing.T) {
	api, read := written(t, false, v1alpha1.IngressFinalizer)
	w := NewWriter(api)
	if err := w.AddFinalizer(t.Context(), read); err != nil {
		t.Fatal(err)
	}
	if err := w.Publish(t.Context(), read, read.Status.LoadBalancer.Ingress); err != nil || w.ChangedByOthers(read) {
		t.Fatalf("a status that is right was changed by others, %v", err)
	}
	read.Status.LoadBalancer.Ingress = nil
	if !w.ChangedByOthers(read) {
		t.Error("nothing was changed by others, and the status is empty")
	}
}

// An Ingress that the API server finds invalid for another reason than an outdated read stays so
// however often it is read again: that is reported, and no conflict.
func TestAnIngressThatIsInvalidIsNoConflict(t *testing.T) {
	for cause, conflict := range map[*field.Error]bool{
		field.Forbidden(field.NewPath("metadata", "finalizers"), "it is being deleted"): true,
		field.Invalid(field.NewPath("metadata", "uid"), "", "it is another one"):        true,
		field.Forbidden(field.NewPath("spec", "rules"), "not now"):                      false,
		field.Invalid(field.NewPath("spec", "rules"), "", "not so"):                     false,
	} {
		api, read := written(t, false)
		invalid := apierrors.NewInvalid(networkingv1.SchemeGroupVersion.WithKind("Ingress").GroupKind(), read.Name, field.ErrorList{cause})
		refusing := interceptor.NewClient(api.(client.WithWatch), interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return invalid
		}})
		if err := NewWriter(refusing).AddFinalizer(t.Context(), read); err == nil || apierrors.IsConflict(err) != conflict {
			t.Errorf("%v: it ends with %v, which has to be a conflict: %t", cause, err, conflict)
		}
	}
}

// A finalizer that the API server refuses is written again with growing pauses of at most a minute, and
// at once if the Ingress has changed.
func TestARefusedFinalizerIsWrittenLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ing := written(t, false)
		refused, writes := errors.New("etcdserver: request is too large"), 0
		w := NewWriter(interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if writes++; refused != nil {
					return refused
				}
				return c.Patch(ctx, o, p, opts...)
			},
		}))
		for range 3600 {
			if err := w.AddFinalizer(t.Context(), ing); !errors.Is(err, refused) {
				t.Fatalf("the error is %v", err)
			}
			time.Sleep(time.Second)
		}
		if writes < 60 || writes > 75 {
			t.Errorf("%d writes in an hour", writes)
		}
		before := writes
		ing.ResourceVersion += "1"
		_ = w.AddFinalizer(t.Context(), ing)
		if writes != before+1 {
			t.Errorf("%d writes after a change", writes-before)
		}
		refused = nil
		time.Sleep(time.Second)
		if err := w.AddFinalizer(t.Context(), get(t, c)); err != nil || len(get(t, c).Finalizers) == 0 {
			t.Errorf("it is not written: %v", err)
		}
	})
}
