// Package bindings decides what becomes of TargetGroupBindings, which are of the AWS Load Balancer
// Controller: they have the endpoints of a Service registered in a target group that others made.
package bindings

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides which bindings may be served, before the cloud is asked about their target groups.
// The controller has no such permission: its documentation asks to keep users from the kind
// (docs/guide/targetgroupbinding/targetgroupbinding.md). A binding takes requests of a load balancer that
// others made, so a class has to list the target group, and the namespaces.

// A Claim is a binding that a class lets be served, or the reason why it is not.
type Claim struct {
	*alb.TargetGroupBinding
	// Others is set if the other controller made the binding for itself: it is left alone.
	Others bool
	Class  *ingress.Class // that permits it
	Group  lb.GroupID     // the ARN
	// Held is set if the binding has endpoints in the target group already.
	Held bool
	// Refused is why it is not served; nil if it is.
	Refused *diag.Diagnostic
}

// NewClaim returns the claim of a binding. Classes are all that can be used, by name; labels are those of
// the binding's namespace. Held is the name of the class that has permitted it before, or "": it goes
// first, and while it is missing the binding is neither served nor let go.
func NewClaim(b *alb.TargetGroupBinding, classes []*ingress.Class, labels map[string]string, held string) Claim {
	c := Claim{TargetGroupBinding: b, Group: lb.GroupID(b.Spec.TargetGroupARN)}
	if c.Others = b.OfController(); c.Others {
		return c
	}
	missing := held != "" && !slices.ContainsFunc(classes, func(of *ingress.Class) bool { return of.Name == held })
	if c.refuseFields(); c.Refused != nil {
		permitted := Claim{TargetGroupBinding: b, Group: c.Group}
		permitted.permit(classes, labels)
		if r := permitted.Refused; c.Group != "" && !missing && r != nil && r.Reason == diag.TargetGroupNotAllowed {
			c.Refused = r // a mistake keeps no permission that was withdrawn
		}
		return c
	}
	classes = slices.Clone(classes)
	slices.SortStableFunc(classes, func(a, b *ingress.Class) int {
		return -cmp.Compare(btoi(a.Name == held), btoi(b.Name == held))
	})
	if missing {
		c.refuse(diag.ClassMissing, "", "class "+held+", which has permitted it, is missing or cannot be used: its "+
			"targets stay as they are until the class is there")
		return c
	}
	c.permit(classes, labels)
	return c
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// MayHold reports whether a class of a provider lets a namespace with labels have endpoints in a target group.
func MayHold(group lb.GroupID, provider string, classes []*ingress.Class, labels map[string]string) bool {
	return slices.ContainsFunc(classes, func(class *ingress.Class) bool {
		return class.ProviderName == provider && lists(class.BoundTargetGroups(labels), group)
	})
}

// lists reports whether one of some globs is for a target group.
func lists(globs []string, group lb.GroupID) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { return routing.GlobMatch(glob, string(group)) })
}

// permit finds the class that lets the binding be served, and the target group of a name.
func (c *Claim) permit(classes []*ingress.Class, labels map[string]string) {
	var named []string
	for _, class := range classes {
		arns := class.BoundTargetGroups(labels)
		if c.Group == "" {
			for _, arn := range alb.ARNsOf(arns, c.Spec.TargetGroupName) {
				if c.Class = cmp.Or(c.Class, class); !slices.Contains(named, arn) {
					named = append(named, arn)
				}
			}
			continue
		}
		if c.Class == nil && lists(arns, c.Group) {
			c.Class = class
		}
	}
	switch {
	case len(named) > 1:
		c.Class = nil
		c.refuse(diag.Invalid, "spec.targetGroupName", fmt.Sprintf("`targetGroupBindings` of the classes has %d target "+
			"groups of the name %s: write targetGroupARN", len(named), diag.Quote(c.Spec.TargetGroupName)))
	case len(named) == 1:
		c.Group = lb.GroupID(named[0])
	case c.Class == nil && c.Group == "":
		c.refuse(diag.TargetGroupNotAllowed, "spec.targetGroupName", fmt.Sprintf("no class says which target group %s is: "+
			"ask the owner of a class to add its ARN, in full and without a *, to `targetGroupBindings` for namespace %s",
			diag.Quote(c.Spec.TargetGroupName), c.Namespace))
	case c.Class == nil:
		c.refuse(diag.TargetGroupNotAllowed, "spec.targetGroupARN", fmt.Sprintf("no class lets namespace %s have endpoints "+
			"in target group %s: ask the owner of a class to add it to `targetGroupBindings`", c.Namespace,
			diag.Cut(string(c.Group))))
	}
}

// refuseFields refuses what no class can permit.
func (c *Claim) refuseFields() {
	s := &c.Spec
	_, err := metav1.LabelSelectorAsSelector(s.NodeSelector)
	switch {
	case s.TargetGroupARN == "" && s.TargetGroupName == "":
		c.refuse(diag.Invalid, "spec.targetGroupARN", "it names no target group: write its ARN")
	case s.TargetGroupARN != "" && !settings.BackendFields["services[].targetGroupARN"].Pattern.MatchString(s.TargetGroupARN):
		c.refuse(diag.Invalid, "spec.targetGroupARN", diag.Quote(s.TargetGroupARN)+" is not the ARN of a target group")
	case s.ServiceRef.Name == "":
		c.refuse(diag.Invalid, "spec.serviceRef.name", "it names no Service")
	case s.IamRoleArnToAssume != "" || s.AssumeRoleExternalID != "":
		c.refuse(diag.BindingUnsupported, "spec.iamRoleArnToAssume", "Fairlead assumes no role of another account: leave "+
			"this binding to the AWS Load Balancer Controller")
	case s.TargetType != "" && s.TargetType != v1alpha1.TargetTypeIP && s.TargetType != v1alpha1.TargetTypeInstance:
		c.refuse(diag.Invalid, "spec.targetType", diag.Quote(s.TargetType)+" is neither ip nor instance")
	case s.TargetType == v1alpha1.TargetTypeIP && s.NodeSelector != nil:
		c.refuse(diag.Invalid, "spec.nodeSelector", "it is for the target type instance")
	case err != nil:
		c.refuse(diag.Invalid, "spec.nodeSelector", err.Error())
	case s.IPAddressType != "" && s.IPAddressType != "ipv4" && s.IPAddressType != "ipv6":
		c.refuse(diag.Invalid, "spec.ipAddressType", diag.Quote(s.IPAddressType)+" is neither ipv4 nor ipv6")
	case s.TargetGroupProtocol != "":
		c.refuseProtocol(s.TargetGroupProtocol)
	}
}

// refuseProtocol refuses protocols that are not over TCP: endpoints are found by their TCP ports.
func (c *Claim) refuseProtocol(protocol string) {
	switch protocol {
	case "HTTP", "HTTPS", "TCP", "TLS":
	default:
		c.refuse(diag.BindingUnsupported, "spec.targetGroupProtocol", "targets are registered for HTTP, HTTPS, TCP and TLS, "+
			"and not for "+diag.Cut(protocol)+": leave this binding to the AWS Load Balancer Controller")
	}
}

func (c *Claim) refuse(reason diag.Reason, field, message string) {
	c.Refused = &diag.Diagnostic{Severity: diag.Error, Reason: reason, Source: c.Source().At(field), Message: message}
}

// Source returns the binding as the source of diagnostics.
func (c *Claim) Source() diag.Source {
	return diag.Source{Kind: alb.BindingKind, Namespace: c.Namespace, Name: c.Name}
}

// Settle refuses those of the claims on one target group that cannot be served beside others: those that
// have endpoints there already go first, then the older. A binding removes all targets that are not its own,
// unless all bindings of the target group say multiClusterTargetGroup
// (webhooks/elbv2/targetgroupbinding_validator.go, checkExistingTargetGroups). The labels of the controller
// take a target group from no claim, since anybody can write them: the tags of a target group say whose it is.
func Settle(claims []*Claim) {
	claims = slices.Clone(claims)
	slices.SortFunc(claims, func(a, b *Claim) int {
		return cmp.Or(-cmp.Compare(btoi(a.Held), btoi(b.Held)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	served := map[lb.GroupID]*Claim{}
	for _, c := range claims {
		first := served[c.Group]
		switch {
		case c.Others || c.Refused != nil:
		case first == nil:
			served[c.Group] = c
		case c.Spec.MultiClusterTargetGroup && first.Spec.MultiClusterTargetGroup:
		default:
			c.refuse(diag.BindingConflict, "spec.targetGroupARN", fmt.Sprintf("the target group has the endpoints of %s, "+
				"which came first: use another target group, or write multiClusterTargetGroup: true in both", first.Source()))
		}
	}
}
