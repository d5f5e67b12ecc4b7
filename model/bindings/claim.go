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
	// HasEndpoints is set if the binding has endpoints in the target group already.
	HasEndpoints bool
	// Refused is why it is not served; nil if it is.
	Refused *diag.Diagnostic
	// Instead is why a claim that is served is that of the version that was accepted last, or has the terms of
	// then; nil if it is not.
	Instead *diag.Diagnostic
}

// A Last is the version of a binding that was accepted last.
type Last struct {
	Spec  alb.BindingSpec
	Group lb.GroupID
	Class *ingress.Class // that has permitted it, as it was then
}

// of returns a binding as it was accepted last.
func (l *Last) of(b *alb.TargetGroupBinding) *alb.TargetGroupBinding {
	before := *b
	before.Spec = l.Spec
	return &before
}

// NewClaim returns the claim of a binding. Classes are all that can be used, by name; labels are those of
// the binding's namespace. Last is nil if no version was accepted. Its class goes first, and while that is
// missing and no other class permits the binding, the terms of then hold. If the binding is refused as it is,
// the claim is that of the last version, as far as that is still permitted.
func NewClaim(b *alb.TargetGroupBinding, classes []*ingress.Class, labels map[string]string, last *Last) Claim {
	c := newClaim(b, classes, labels, last)
	if c.Refused == nil || last == nil {
		return c
	}
	return c.OrLast(classes, labels, last)
}

// OrLast returns the claim of the version that was accepted last, in place of one that is refused. It returns
// the claim itself if that version cannot be served, either.
func (c Claim) OrLast(classes []*ingress.Class, labels map[string]string, last *Last) Claim {
	before := newClaim(last.of(c.TargetGroupBinding), classes, labels, last)
	switch {
	case before.Refused == nil:
		why := *c.Refused
		why.Message += "; until that is corrected, its targets are those of the version that was accepted last"
		before.Instead = &why
		return before
	case before.Refused.Reason == diag.TargetGroupNotAllowed && c.Refused.Reason != diag.TargetGroupNotAllowed:
		c.Refused = before.Refused // a mistake keeps no permission that was withdrawn
	}
	return c
}

func newClaim(b *alb.TargetGroupBinding, classes []*ingress.Class, labels map[string]string, last *Last) Claim {
	c := Claim{TargetGroupBinding: b, Group: lb.GroupID(b.Spec.TargetGroupARN)}
	if c.Others = b.OfController(); c.Others {
		return c
	}
	if c.refuseFields(); c.Refused != nil {
		return c
	}
	if last == nil {
		c.permit(classes, labels)
		return c
	}
	classes = slices.Clone(classes)
	slices.SortStableFunc(classes, func(a, b *ingress.Class) int {
		return -cmp.Compare(btoi(a.Name == last.Class.Name), btoi(b.Name == last.Class.Name))
	})
	c.permit(classes, labels)
	c.keepClass(classes, last)
	if c.Refused == nil && c.Group == last.Group && last.Spec.MultiClusterTargetGroup && !b.Spec.MultiClusterTargetGroup {
		c.refuse(diag.Invalid, "spec.multiClusterTargetGroup", "it was true, and targets that others have registered "+
			"since would be removed: write true again, or delete the binding and create it without")
	}
	return c
}

// keepClass has the class that has permitted a binding permit it while the class is missing.
func (c *Claim) keepClass(classes []*ingress.Class, last *Last) {
	same := c.Group == last.Group || c.Group == "" && c.Spec.TargetGroupName == last.Spec.TargetGroupName
	there := slices.ContainsFunc(classes, func(of *ingress.Class) bool { return of.Name == last.Class.Name })
	if c.Refused == nil || c.Refused.Reason != diag.TargetGroupNotAllowed || there || !same {
		return
	}
	c.refuse(diag.ClassMissing, "", "class "+last.Class.Name+", which has permitted it, is missing or cannot be used, and "+
		"no other class permits it: the endpoints of its Service are registered as before until the class is there")
	c.Instead, c.Refused = c.Refused, nil
	c.Group, c.Class = last.Group, last.Class
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
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
		return cmp.Or(-cmp.Compare(btoi(a.HasEndpoints), btoi(b.HasEndpoints)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
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
