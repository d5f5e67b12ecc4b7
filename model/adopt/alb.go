package adopt

import (
	"strings"

	"fairlead.dev/fairlead/model/lb"
)

// This file reads the tags of the AWS Load Balancer Controller (its pkg/deploy/tracking/provider.go).

const (
	tagCluster  = "elbv2.k8s.aws/cluster"    // the name of the cluster
	tagStack    = "ingress.k8s.aws/stack"    // the group, or namespace/name of an Ingress without one
	tagResource = "ingress.k8s.aws/resource" // which of its resources
)

// OfController returns the marks of the load balancers that the controller made for Ingresses.
func OfController() lb.Marks {
	return lb.Marks{Tags: map[string]string{tagCluster: "", tagStack: ""}}
}

// isOfService reports whether a target group can be one of a Service (namespace/name), by its tags. The resource of one
// is namespace/ingress-service:port.
func isOfService(tags map[string]string, service string) bool {
	namespace, name, _ := strings.Cut(service, "/")
	resource, inNamespace := strings.CutPrefix(tags[tagResource], namespace+"/")
	at := strings.LastIndexByte(resource, ':')
	return inNamespace && at > 0 && strings.HasSuffix(resource[:at], "-"+name)
}

// Stack returns what a load balancer of the controller is for: a group, or namespace/name of an Ingress without one; ""
// for that of others.
func Stack(o *lb.Other) string { return o.Tags[o.Handle][tagStack] }

// IsOfKey reports whether a load balancer of the controller is for the Ingresses of a key: for the group, or for the
// Ingress.
func IsOfKey(o *lb.Other, key lb.Key) bool {
	parts := strings.Split(strings.TrimSuffix(key.Whose(), "/"), "/")
	group, isGroup := strings.CutPrefix(parts[len(parts)-1], "@")
	stack := Stack(o)
	if isGroup {
		return stack == group
	}
	return len(parts) == 3 && stack == parts[1]+"/"+parts[2]
}
