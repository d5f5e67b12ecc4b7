package cluster

import (
	"context"
	"fmt"
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
	// Until they are there the cache does not answer, which without the right to read them is never.
	// It goes on filling meanwhile, and the reconcile is tried again.
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var list corev1.NodeList
	if err := from.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Nodes, which the operator needs the rights to list and to "+
			"watch for: %w", err)
	}
	return Pointers(list.Items), nil
}

// ChangedAddresses reports whether a Node changed for load balancers. Heartbeats do not count.
func ChangedAddresses(before, after client.Object) bool {
	return endpoints.AddressesOf(before.(*corev1.Node)) != endpoints.AddressesOf(after.(*corev1.Node))
}

// SlimNode keeps of a Node what endpoints.AddressesOf reads. A Node lists every image that it has.
func SlimNode(o any) (any, error) {
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
