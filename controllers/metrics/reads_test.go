package metrics

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// An object that is looked up counts as one, whether it is there or not. A list counts as many.
func TestReadsAreCounted(t *testing.T) {
	in := func(namespace, name string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	reads := &Reads{}
	c := countedClient{fake.NewClientBuilder().WithObjects(in("a", "1"), in("a", "2"), in("b", "1")).Build(), reads}
	service, list := &corev1.Service{}, &corev1.ServiceList{}
	for _, read := range []struct {
		do   func() error
		more int64
	}{
		{func() error { return c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "1"}, service) }, 1},
		{func() error { return c.Get(t.Context(), client.ObjectKey{Namespace: "c", Name: "1"}, service) }, 1},
		{func() error { return c.List(t.Context(), list) }, 3},
		{func() error { return c.List(t.Context(), list, client.InNamespace("a")) }, 2},
		{func() error { return c.Delete(t.Context(), in("a", "1")) }, 0},
	} {
		before := reads.Total()
		if err := read.do(); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		if more := reads.Total() - before; more != read.more {
			t.Errorf("%d objects are counted, want %d", more, read.more)
		}
	}
}
