package endpoints

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fairlead/model/routing"
)

// This file finds the nodes that requests for a node port can be sent to.

// NodeAddresses has the parts of a Node that matter to load balancers. Changes of other parts do
// not change targets.
type NodeAddresses struct {
	Name       string
	IPv4, IPv6 string // internal addresses
	Instance   string // its ID in the cloud
	Open       bool   // requests may be sent to it
	Ready      bool   // it answers requests
}

// AddressesOf returns the NodeAddresses of a Node. Requests may be sent to a cordoned Node: it
// starts no new Pods, but its present Pods still serve.
func AddressesOf(n *corev1.Node) NodeAddresses {
	_, excluded := n.Labels[corev1.LabelNodeExcludeBalancers]
	r := NodeAddresses{
		Name:     n.Name,
		Instance: n.Spec.ProviderID[strings.LastIndexByte(n.Spec.ProviderID, '/')+1:],
		Open: !excluded && n.DeletionTimestamp.IsZero() &&
			!slices.ContainsFunc(n.Spec.Taints, closesNode),
		Ready: slices.ContainsFunc(n.Status.Conditions, saysReady),
	}
	for _, a := range n.Status.Addresses {
		ip, err := netip.ParseAddr(a.Address)
		switch {
		case a.Type != corev1.NodeInternalIP || err != nil || NeverTarget(a.Address) != "":
		case ip.Is4():
			r.IPv4 = cmp.Or(r.IPv4, a.Address)
		default:
			r.IPv6 = cmp.Or(r.IPv6, a.Address)
		}
	}
	return r
}

func saysReady(c corev1.NodeCondition) bool {
	return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
}

// closesNode reports whether a taint marks a Node as about to be removed, out of service, or not
// yet initialised. Taints about readiness do not count, because conditions have that.
func closesNode(t corev1.Taint) bool {
	switch t.Key {
	case "ToBeDeletedByClusterAutoscaler",
		"node.cloudprovider.kubernetes.io/uninitialized",
		"node.cloudprovider.kubernetes.io/shutdown",
		corev1.TaintNodeOutOfService:
		return true
	}
	return false
}

// nodePort returns the nodes that requests for a node port can be sent to: those with the labels of
// the backend, and with externalTrafficPolicy Local those of them that run a usable endpoint.
func (b Objects) nodePort(port *corev1.ServicePort, to routing.Backend) []routing.Target {
	if port.NodePort == 0 {
		return nil
	}
	nodes := withLabels(b.Nodes, to.NodeLabels)
	if b.Service.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		return nodeTargets(nodes, port.NodePort, to.Family, func(string) bool { return true })
	}
	hosts := map[string]bool{}
	for _, e := range b.Slices.usable(port, to.Family) {
		if e.NodeName != nil {
			hosts[*e.NodeName] = true
		}
	}
	return nodeTargets(nodes, port.NodePort, to.Family, func(node string) bool { return hosts[node] })
}

// withLabels returns the nodes that a selector of labels selects, such as "name=value,other in (a,b)";
// all nodes for "".
func withLabels(nodes []*corev1.Node, selector string) []*corev1.Node {
	if selector == "" {
		return nodes
	}
	selects, err := labels.Parse(selector)
	return slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool {
		return err != nil || !selects.Matches(labels.Set(n.Labels))
	})
}

// labelled describes the labels of nodes.
func labelled(labels string) string {
	if labels == "" {
		return ""
	}
	return " with the labels " + strings.ReplaceAll(labels, ",", ", ")
}

// nodeTargets returns nodes as targets, sorted. A Node without an address can be a target by the ID
// of its instance. Nodes that are not ready are targets only if no node is ready. Then it is more
// likely that their kubelets cannot report than that all nodes fail, and the cloud checks their
// health.
func nodeTargets(nodes []*corev1.Node, port int32, family string,
	serves func(node string) bool) []routing.Target {
	var ready, unready []routing.Target
	for _, n := range nodes {
		r := AddressesOf(n)
		t := routing.Target{Address: r.IPv4, Port: port, Instance: r.Instance}
		if family == ipv6 {
			t.Address = r.IPv6
		}
		switch {
		case !r.Open || !serves(r.Name):
		case t.Address == "" && (r.IPv4 != "" || r.IPv6 != "" || r.Instance == "" || family == ipv6):
		case r.Ready:
			ready = append(ready, t)
		default:
			unready = append(unready, t)
		}
	}
	if len(ready) == 0 {
		ready = unready
	}
	return sortedTargets(ready)
}
