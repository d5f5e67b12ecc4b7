package bindings

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file compares a binding with its target group, whose properties are the binding's defaults:
// webhooks/elbv2/targetgroupbinding_mutator.go and targetgroupbinding_validator.go.

// defaultNodes are the nodes of target type instance, besides those with the labels that Kubernetes
// excludes (docs/guide/targetgroupbinding/targetgroupbinding.md, "Default Node Selector").
const defaultNodes = "!node-role.kubernetes.io/master,!alpha.service-controller.kubernetes.io/exclude-balancer," +
	"eks.amazonaws.com/compute-type notin (fargate)"

// Target returns the target group of a served claim as it has targets. The group is what the cloud says of
// it; nil if the cloud is not asked, and then the family may be unknown.
func (c *Claim) Target(group *lb.OthersGroup) lb.TargetGroup {
	s := &c.Spec
	out := lb.TargetGroup{ID: c.Group, Service: c.Namespace + "/" + s.ServiceRef.Name,
		Port:       routing.ServicePort(s.ServiceRef.Port.String()),
		TargetType: s.TargetType, Family: s.IPAddressType}
	if group != nil {
		out.TargetType = cmp.Or(out.TargetType, group.TargetType)
		out.Family = cmp.Or(out.Family, group.Family, endpoints.IPv4)
	}
	out.TargetType = cmp.Or(out.TargetType, v1alpha1.TargetTypeIP)
	if out.TargetType == v1alpha1.TargetTypeInstance {
		out.NodeLabels = defaultNodes
		if of := metav1.FormatLabelSelector(s.NodeSelector); s.NodeSelector != nil && of != "<none>" {
			out.NodeLabels = strings.Join([]string{of, defaultNodes}, ",")
		}
	}
	return out
}

// Compare refuses a claim that its target group does not fit; nil if there is none.
func (c *Claim) Compare(group *lb.OthersGroup) {
	s := &c.Spec
	if group == nil {
		c.refuse(diag.TargetGroupMissing, "spec.targetGroupARN", fmt.Sprintf("there is no target group %s in the account "+
			"and region", c.Group))
		return
	}
	differs := func(field, asked, has string) bool {
		if asked == "" || asked == has {
			return false
		}
		c.refuse(diag.Invalid, "spec."+field, fmt.Sprintf("it is %s, and the target group has %s: write that, or leave it out",
			diag.Cut(asked), cmp.Or(has, "none")))
		return true
	}
	switch {
	case group.Kept != "":
		c.refuse(diag.BindingConflict, "spec.targetGroupARN", group.Kept+": use another target group")
	case group.TargetType != v1alpha1.TargetTypeIP && group.TargetType != v1alpha1.TargetTypeInstance:
		c.refuse(diag.BindingUnsupported, "spec.targetGroupARN", "the target group has the target type "+
			diag.Cut(group.TargetType)+", and a Service can be targets of the types ip and instance alone")
	case differs("targetType", s.TargetType, group.TargetType),
		differs("ipAddressType", s.IPAddressType, group.Family),
		differs("vpcID", s.VpcID, group.VPC),
		differs("targetGroupProtocol", s.TargetGroupProtocol, group.Protocol):
	case group.TargetType == v1alpha1.TargetTypeIP && s.NodeSelector != nil:
		c.refuse(diag.Invalid, "spec.nodeSelector", "it is for target groups of the type instance")
	default:
		c.refuseProtocol(group.Protocol)
	}
}

// Missing says what a claim that is served has no targets for. The Service is nil if there is none.
func (c *Claim) Missing(to lb.TargetGroup, service *corev1.Service) (found []diag.Diagnostic) {
	tell := func(reason diag.Reason, text string) {
		found = append(found, diag.Diagnostic{Severity: diag.Warning, Reason: reason,
			Source: c.Source().At("spec.serviceRef"), Message: text})
	}
	resolved := endpoints.Resolve(&c.Class.LoadBalancerClassSpec, reference(to), endpoints.Objects{Service: service})
	for _, p := range resolved.Problems {
		switch p.Reason {
		case diag.ServiceMissing, diag.ServicePortMissing, diag.ServiceUnusable, diag.ExternalNameRefused:
			tell(p.Reason, p.Text)
		}
	}
	if to.TargetType == v1alpha1.TargetTypeIP && !endpoints.MayHaveFamily(service, to.Family) {
		tell(diag.ServiceUnusable, fmt.Sprintf("Service %s has no addresses of the family of the target group, which is %s: "+
			"add it to spec.ipFamilies of the Service, or use a target group of the other family", to.Service, to.Family))
	}
	return found
}

// reference returns the reference to the Service of a target group.
func reference(to lb.TargetGroup) endpoints.Reference {
	ref := endpoints.ReferenceTo(to.Service, to.Port, to.TargetType)
	ref.NodeLabels, ref.Family = to.NodeLabels, to.Family
	return ref
}

// RefuseProvider refuses a claim whose class is for a provider that registers no targets in target groups of
// others, or does not say which there are: one that is reached over the provider protocol.
func (c *Claim) RefuseProvider() {
	c.refuse(diag.BindingUnsupported, "", "the provider of class "+c.Class.Name+" registers no targets in target groups "+
		"that others made: ask for the target group in `targetGroupBindings` of a class of the built-in provider aws")
}

// Notes returns diagnostics about a claim that is served, for what the other controller does and Fairlead does not.
func (c *Claim) Notes() []diag.Diagnostic {
	n := c.Spec.Networking
	if n == nil || len(n.Ingress) == 0 {
		return nil
	}
	var asked []string
	for _, rule := range n.Rules() {
		asked = append(asked, diag.Cut(rule.String()))
	}
	const shown = 5
	if more := len(asked) - shown; more > 0 {
		asked = append(asked[:shown], fmt.Sprintf("%d more", more))
	}
	return []diag.Diagnostic{{Severity: diag.Warning, Reason: diag.BindingNetworking, Source: c.Source().At("spec.networking"),
		Message: "no security group is opened for the targets, since a binding may not open those of nodes, and rules that the " +
			"AWS Load Balancer Controller has made stay: add those that are missing to the security groups of the nodes or " +
			"Pods: allow " + strings.Join(asked, "; ")}}
}
