package alb

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// This file has the names of the controller's load balancers. Facts are from buildLoadBalancerName in its
// pkg/ingress/model_build_load_balancer.go, and from pkg/ingress/group.go.

// Stack returns what the controller has one load balancer for: a group, which has no namespace, or an Ingress without
// one.
func Stack(namespace, name, group string) string {
	if group != "" {
		return group
	}
	return namespace + "/" + name
}

// LoadBalancerName returns the name that the controller of a cluster gives the load balancer of a stack, if its Ingresses
// ask for none: k8s, letters and digits of the stack, and the beginning of a digest of cluster, stack and scheme.
func LoadBalancerName(cluster, stack, scheme string) string {
	sum := sha256.Sum256([]byte(cluster + stack + scheme))
	digest := hex.EncodeToString(sum[:])[:10]
	namespace, name, ofIngress := strings.Cut(stack, "/")
	if !ofIngress {
		return "k8s-" + plain(stack, 17) + "-" + digest
	}
	return "k8s-" + plain(namespace, 8) + "-" + plain(name, 8) + "-" + digest
}

// plain returns the first letters and digits of a name.
func plain(name string, most int) string {
	out := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, name)
	return out[:min(len(out), most)]
}
