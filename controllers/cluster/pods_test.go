package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/endpoints"
)

// aPod has something everywhere, as Pods do.
func aPod(gates ...corev1.PodConditionType) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-1", UID: "uid", ResourceVersion: "7", Labels: map[string]string{"app": "web"},
			Annotations: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "web", Env: []corev1.EnvVar{{Name: "SECRET", Value: "x"}}}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}},
			Conditions:        []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "web"}},
		},
	}
	for _, g := range gates {
		p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: g})
	}
	return p
}

func TestOfAPodWithoutTheGateOnlyTheNameAndTheAddressesAreKept(t *testing.T) {
	for name, p := range map[string]*corev1.Pod{"no gate": aPod(), "somebody else's": aPod("example.com/warm")} {
		kept, err := SlimPod(p)
		if err != nil {
			t.Fatal(err)
		}
		want := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: types.UID("uid"), ResourceVersion: "7"},
			Status:     corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}},
		}
		if diff := cmp.Diff(any(want), kept); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestOfAPodWithTheGateWhatIsReadIsKept(t *testing.T) {
	p := aPod("example.com/warm", v1alpha1.TargetHealthGate)
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "example.com/warm", Status: corev1.ConditionTrue})
	o, err := SlimPod(p)
	if err != nil {
		t.Fatal(err)
	}
	kept := o.(*corev1.Pod)
	if !endpoints.WaitsForGate(kept) || len(kept.Status.PodIPs) != 1 || kept.Status.PodIPs[0].IP != "10.0.0.1" || kept.Labels["app"] != "web" {
		t.Errorf("what is left is %+v", kept)
	}
	if kept.Spec.Containers != nil || kept.Annotations != nil || kept.ManagedFields != nil || kept.Status.ContainerStatuses != nil {
		t.Errorf("more is left than is read: %+v", kept)
	}
	p.DeletionTimestamp = new(metav1.Now())
	if o, err = SlimPod(p); err != nil || endpoints.WaitsForGate(o.(*corev1.Pod)) {
		t.Errorf("that it is about to go is lost: %v", err)
	}
}
