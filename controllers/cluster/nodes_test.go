package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model/endpoints"
)

func aNode(name, address string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid", Labels: map[string]string{"zone": "a"}, Annotations: map[string]string{"a": "b"}},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///a/i-1", Taints: []corev1.Taint{{Key: "k"}}, PodCIDR: "10.0.0.0/24"},
		Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}, Images: []corev1.ContainerImage{{SizeBytes: 1}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()}},
		},
	}
}

func TestNodesAreRead(t *testing.T) {
	nodes, err := NodesIn(t.Context(), clusterOf(t, aNode("a", "10.0.0.1"), aNode("b", "10.0.0.2")))
	if err != nil || len(nodes) != 2 || nodes[0].Name != "a" || nodes[1].Name != "b" {
		t.Errorf("the nodes are %v, error %v", nodes, err)
	}
	if nodes, err := NodesIn(t.Context(), unavailable{}); nodes != nil || !errors.Is(err, errUnavailable) {
		t.Errorf("the nodes are %v, error %v, want %v", nodes, err, errUnavailable)
	}
}

// Without the right to read Nodes the cache never answers. The reconcile goes on after a second.
func TestNodesAreWaitedForForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if _, err := NodesIn(t.Context(), silent{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("after %s the error is %v", time.Since(began), err)
		}
	})
}

// silent is a reader that does not answer.
type silent struct{ client.Reader }

func (silent) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	<-ctx.Done()
	return ctx.Err()
}

// Of a Node what targets depend on is kept, and a heartbeat is no change.
func TestOfANodeWhatIsReadIsKept(t *testing.T) {
	node := aNode("a", "10.0.0.1")
	kept, err := slimNode(node.DeepCopy())
	want := aNode("a", "10.0.0.1")
	want.Annotations, want.Spec.PodCIDR, want.Status.Images, want.Status.Conditions = nil, "", nil, node.Status.Conditions
	if diff := cmp.Diff(any(want), kept); err != nil || diff != "" {
		t.Errorf("error %v, what is kept differs (-want +got):\n%s", err, diff)
	}
	if endpoints.AddressesOf(kept.(*corev1.Node)) != endpoints.AddressesOf(node) {
		t.Error("the addresses are others")
	}
	deleted := toolscache.DeletedFinalStateUnknown{Key: "a"}
	if kept, err := slimNode(deleted); err != nil || kept != any(deleted) {
		t.Errorf("the mark of a Node that was deleted becomes %v, %v", kept, err)
	}
	beat := node.DeepCopy()
	beat.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(time.Now().Add(time.Minute))
	if ChangedNode(node, beat) || !ChangedNode(node, aNode("a", "10.0.0.9")) {
		t.Error("a heartbeat is a change, or another address is none")
	}
	labelled := node.DeepCopy()
	labelled.Labels = map[string]string{"pool": "web"}
	if !ChangedNode(node, labelled) {
		t.Error("another label is no change")
	}
}
