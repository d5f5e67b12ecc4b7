package adopt

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads the tags of the AWS Load Balancer Controller: its pkg/deploy/tracking/provider.go and, for the security
// group that all load balancers share, pkg/networking/backend_sg_provider.go.

const (
	tagCluster  = "elbv2.k8s.aws/cluster"    // the name of the cluster
	tagShared   = "elbv2.k8s.aws/resource"   // of what all groups share
	tagStack    = "ingress.k8s.aws/stack"    // the group, or namespace/name of an Ingress without one
	tagResource = "ingress.k8s.aws/resource" // which of the resources of the group

	sharedGroup  = "backend-sg"             // value of tagShared
	managedGroup = "ManagedLBSecurityGroup" // value of tagResource
)

// OfController returns the tags of the load balancers that the controller made for Ingresses, of any cluster.
func OfController() map[string]string { return map[string]string{tagCluster: "", tagStack: ""} }

// ClusterOf returns the name of the cluster for which the controller made a load balancer.
func ClusterOf(o *lb.Other) string { return o.Tags[o.Handle][tagCluster] }

// Stack returns what a load balancer of the controller is for: a group, or namespace/name of an Ingress without one.
func Stack(o *lb.Other) string { return o.Tags[o.Handle][tagStack] }

// ResourceOf returns which of its target groups one is: namespace/name of the Ingress, Service and port.
func ResourceOf(o *lb.Other, group string) string { return o.Tags[group][tagResource] }

// IsOfKey reports whether a stack is that of the Ingresses of a key. A group of the controller has no namespace, so that
// each group of its name counts, of a namespace or not.
func IsOfKey(stack string, key lb.Key) bool {
	parts := strings.Split(strings.TrimSuffix(key.Whose(), "/"), "/")
	if group, isGroup := strings.CutPrefix(parts[len(parts)-1], "@"); isGroup {
		return stack == group
	}
	return len(parts) == 3 && stack == parts[1]+"/"+parts[2]
}

// resourcesOf maps the resource in the tags of target groups to the wanted ones that it can stand for: the controller
// makes one for each Ingress, Service and port, with the port as the Ingress writes it, by number or by name
// (buildTargetGroupResourceID in its pkg/ingress/model_build_target_group.go).
func resourcesOf(w Wanted) map[string][]lb.GroupID {
	out := map[string][]lb.GroupID{}
	add := func(a routing.Action, owner routing.Owner) {
		for _, to := range a.Forward {
			b := w.Table.Backends[to.Backend]
			namespace, service, _ := strings.Cut(b.Service, "/")
			if namespace != owner.Namespace {
				continue
			}
			for _, port := range []string{string(b.Port), w.PortNames[b.Service][string(b.Port)]} {
				resource := owner.String() + "-" + service + ":" + port
				if port != "" && !slices.Contains(out[resource], b.ID) {
					out[resource] = append(out[resource], b.ID)
				}
			}
		}
	}
	for i := range w.Table.Routes {
		add(w.Table.Routes[i].Action, w.Table.Routes[i].Owner)
	}
	for i := range w.Table.Defaults {
		add(w.Table.Defaults[i].Action, w.Table.Defaults[i].Owner)
	}
	return out
}

// isManaged reports whether a security group is the one that the controller made for this load balancer.
func isManaged(o *lb.Other, group string) bool {
	tags := o.Tags[group]
	return tags[tagCluster] == ClusterOf(o) && tags[tagStack] == Stack(o) && tags[tagResource] == managedGroup
}

// isShared reports whether a security group is the one that the controller made for all load balancers of the cluster.
func isShared(o *lb.Other, group string) bool {
	tags := o.Tags[group]
	return tags[tagCluster] == ClusterOf(o) && tags[tagShared] == sharedGroup
}
