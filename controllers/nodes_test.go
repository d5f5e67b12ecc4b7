package controllers_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestNodesServeWhatAsksForInstances(t *testing.T) {
	w := newWorld(t)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	w.create(service, w.pod("web", "web-1")) // nobody asks the pod itself
	port := service.Spec.Ports[0].NodePort
	first := w.node("first", port)
	ing := w.ask("shop", "shop.example", "/", "web")
	ing.Annotations["fairlead.dev/target-type"] = "instance"
	w.create(ing)
	w.answers("shop", "http://shop.example/", "first")
	w.calm()
	balancer, writes := w.balancer("shop"), w.cloud.writes.Load()

	w.beat(first)
	second := w.node("second", port)
	w.answers("shop", "http://shop.example/", "second")
	w.exclude(first)
	w.eventually(func() error {
		for range 4 {
			if err := w.request(w.ingress("shop").Status.LoadBalancer.Ingress[0].IP, "http://shop.example/", "second"); err != nil {
				return err
			}
		}
		return nil
	})
	if diff := cmp.Diff(balancer.Status, w.balancer("shop").Status); diff != "" {
		t.Errorf("the load balancer was reconciled: %s", diff)
	}
	w.exclude(second)
	w.answers("shop", "http://shop.example/", "503")
	w.told("shop", "NoNodes")
	w.calm()
	if n := w.cloud.writes.Load() - writes; n != 3 {
		t.Errorf("%d writes to the cloud for a node that comes and two that go, want 3", n)
	}

	// Nodes would pass requests on to an endpoint that is no Pod of the namespace. This is no test of
	// its own, for the tests of a cluster share its Nodes.
	w.node("third", port)
	w.answers("shop", "http://shop.example/", "third")
	w.calm()
	w.create(w.endpoint("web", "foreign"))
	w.answers("shop", "http://shop.example/", "503")
	w.told("shop", "EndpointForeign")
}

// node makes a Node that answers on a node port with a name of its own. All tests see it, for Nodes
// have no namespace.
func (w *world) node(name string, port int32) *corev1.Node {
	w.Helper()
	address, _ := w.listen(name, port)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-" + name}}
	w.create(node)
	w.Cleanup(func() {
		if err := w.Delete(context.Background(), node); err != nil {
			w.Error(err)
		}
	})
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
	w.beat(node)
	return node
}

// beat is a sign of life.
func (w *world) beat(node *corev1.Node) {
	w.Helper()
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(time.Now())}}
	if err := w.Status().Update(w.Context(), node); err != nil {
		w.Fatal(err)
	}
}

// exclude keeps load balancers away from a node.
func (w *world) exclude(node *corev1.Node) {
	w.Helper()
	before := node.DeepCopy()
	node.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""}
	if err := w.Patch(w.Context(), node, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}
