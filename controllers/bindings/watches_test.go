package bindings

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model/ingress/dialect/alb"
)

// A change of a binding wakes the others that may wait for its target group.
func TestABindingWakesThoseOfItsTargetGroup(t *testing.T) {
	r, kube := newShared(t)
	for name, spec := range map[string]alb.BindingSpec{
		"arn": {TargetGroupARN: string(shared)}, "other": {TargetGroupARN: string(shared) + "0"},
		"name": {TargetGroupName: "shared"}, "another": {TargetGroupName: "another"}, "nothing": {},
	} {
		b := &alb.TargetGroupBinding{Spec: spec, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
		if err := kube.Create(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := kube.Delete(t.Context(), read(t, kube)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"arn": {"arn", "name"}, "name": {"arn", "name", "other"}, "other": {"name", "other"}, "another": {"another"}, "nothing": {"nothing"},
	} {
		b := &alb.TargetGroupBinding{}
		if err := kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, b); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, woken := range r.onBinding(t.Context(), b) {
			got = append(got, woken.Name)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s wakes %q, want %q", name, got, want)
		}
	}
}
