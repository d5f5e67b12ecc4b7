package cluster

import (
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/endpoints"
)

// aPod has something everywhere, as Pods do.
func podWithAll(gates ...corev1.PodConditionType) *corev1.Pod {
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

// inCache returns a Pod as an event of the cache has it.
func inCache(t *testing.T, p *corev1.Pod) client.Object {
	t.Helper()
	kept, err := transformPod(p)
	if err != nil {
		t.Fatal(err)
	}
	return kept.(client.Object)
}

func TestOfAPodWithoutTheGateOnlyTheNameAndTheAddressesAreKept(t *testing.T) {
	for name, p := range map[string]*corev1.Pod{"no gate": podWithAll(), "another gate": podWithAll("example.com/warm")} {
		want := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: types.UID("uid"), ResourceVersion: "7"},
			Status:     corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}},
		}
		if diff := cmp.Diff(want, PodIn(inCache(t, p))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestOfAPodWithTheGateWhatIsReadIsKept(t *testing.T) {
	p := podWithAll("example.com/warm", v1alpha1.TargetHealthGate)
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "example.com/warm", Status: corev1.ConditionTrue})
	kept := PodIn(inCache(t, p))
	if !endpoints.WaitsForGate(kept) || len(kept.Status.PodIPs) != 1 || kept.Status.PodIPs[0].IP != "10.0.0.1" || kept.Labels["app"] != "web" {
		t.Errorf("what is left is %+v", kept)
	}
	if kept.Spec.Containers != nil || kept.Annotations != nil || kept.ManagedFields != nil || kept.Status.ContainerStatuses != nil {
		t.Errorf("more is left than is read: %+v", kept)
	}
	p.DeletionTimestamp = new(metav1.Now())
	if endpoints.WaitsForGate(PodIn(inCache(t, p))) {
		t.Error("that it is about to go is lost")
	}
}

// The phase of a Pod is kept once it has ended.
func TestThatAPodHasEndedIsKept(t *testing.T) {
	p := podWithAll()
	p.Status.Phase = corev1.PodSucceeded
	if kept := PodIn(inCache(t, p)); kept.Status.Phase != corev1.PodSucceeded {
		t.Errorf("what is left is %v", kept)
	}
	deleted := toolscache.DeletedFinalStateUnknown{Key: "shop/web-1"}
	if o, err := transformPod(deleted); err != nil || o != any(deleted) {
		t.Errorf("the mark of a Pod that was deleted becomes %v, %v", o, err)
	}
}

// A cache copies an object that is read: the copy is a whole Pod, and changing it changes no other.
func TestACopyOfACachedPodIsAPod(t *testing.T) {
	kept := inCache(t, podWithAll(v1alpha1.TargetHealthGate))
	copied, ok := kept.DeepCopyObject().(*corev1.Pod)
	if !ok {
		t.Fatalf("the copy is %T", kept.DeepCopyObject())
	}
	if diff := cmp.Diff(PodIn(kept), copied); diff != "" {
		t.Errorf("the copy is another (-want +got):\n%s", diff)
	}
	copied.Status.PodIPs[0].IP, copied.Labels["app"], copied.Status.Conditions[0].Status = "", "", ""
	if now := PodIn(kept); now.Status.PodIPs[0].IP == "" || now.Labels["app"] == "" || now.Status.Conditions[0].Status == "" {
		t.Errorf("a change of the copy changes the cache: %+v", now)
	}
	if of := PodIn(podWithAll()); of.Spec.NodeName != "node" {
		t.Errorf("a Pod becomes %+v", of)
	}
	if cached, whole := unsafe.Sizeof(cachedPod{}), unsafe.Sizeof(corev1.Pod{}); cached > whole/3 {
		t.Errorf("in the cache a Pod takes %d bytes of %d", cached, whole)
	}
}
