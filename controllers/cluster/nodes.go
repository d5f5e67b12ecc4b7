package cluster

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model/endpoints"
)

// This file reads Nodes. They are read only once there are targets of type instance: most clusters
// have none, and Nodes are large and change all the time.

// NodesIn returns all Nodes. The caller must not change them.
func NodesIn(ctx context.Context, from client.Reader) ([]*corev1.Node, error) {
	// Until Nodes are listed the cache does not answer; without the permission to list them it never
	// does. The cache continues to fill, and the reconcile is tried again.
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var list corev1.NodeList
	if err := from.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Nodes, which needs the permissions to list and to "+
			"watch them: %w", err)
	}
	return Pointers(list.Items), nil
}

// ChangedNode reports whether the fields that load balancers need of a Node have changed: its
// addresses, its state, or its labels. Heartbeats do not count.
func ChangedNode(before, after client.Object) bool {
	return endpoints.AddressesOf(before.(*corev1.Node)) != endpoints.AddressesOf(after.(*corev1.Node)) ||
		!maps.Equal(before.GetLabels(), after.GetLabels())
}

// slimNode keeps the fields of a Node that endpoints.AddressesOf reads. A Node lists all its
// images.
func slimNode(o any) (any, error) {
	n, ok := o.(*corev1.Node)
	if !ok {
		return o, nil // the mark of one that was deleted
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion,
			DeletionTimestamp: n.DeletionTimestamp, Labels: n.Labels,
		},
		Spec:   corev1.NodeSpec{ProviderID: n.Spec.ProviderID, Taints: n.Spec.Taints},
		Status: corev1.NodeStatus{Conditions: n.Status.Conditions, Addresses: n.Status.Addresses},
	}, nil
}
