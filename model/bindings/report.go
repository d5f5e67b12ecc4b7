package bindings

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
)

// This file says what becomes of bindings in files, as far as that is known without the cloud.

// A Report has the diagnostics of a binding: an error if it is not served, otherwise warnings about what differs
// from the other controller, and information about what is registered.
type Report struct {
	*alb.TargetGroupBinding
	Found []diag.Diagnostic
}

// ReportAll reports the bindings among objects, without those that the other controller made for itself.
func ReportAll(o ingress.Objects, options ingress.ClassOptions) (out []Report) {
	lookup, _ := ingress.NewClassLookup(o, options)
	classes := lookup.Usable()
	var claims []*Claim
	for _, b := range o.TargetGroupBindings {
		labels := map[string]string{corev1.LabelMetadataName: b.Namespace}
		for _, n := range o.Namespaces {
			if n.Name == b.Namespace {
				for name, value := range n.Labels {
					labels[name] = value
				}
			}
		}
		claim := NewClaim(b, classes, labels, nil)
		claims = append(claims, &claim)
	}
	Settle(claims)
	for _, c := range claims {
		switch {
		case c.Others:
		case c.Refused != nil:
			out = append(out, Report{c.TargetGroupBinding, []diag.Diagnostic{*c.Refused}})
		default:
			out = append(out, Report{c.TargetGroupBinding, c.registered(o)})
		}
	}
	return out
}

// registered says how many targets a claim that is served has.
func (c *Claim) registered(o ingress.Objects) []diag.Diagnostic {
	to := c.Target(nil)
	behind := endpoints.Objects{Nodes: o.Nodes, Pods: o.Pods, PodsKnown: o.PodsKnown, Awaited: o.Awaited}
	for _, s := range o.Services {
		if s.Namespace == c.Namespace && s.Name == c.Spec.ServiceRef.Name {
			behind.Service = s
		}
	}
	for _, s := range o.EndpointSlices {
		if s.Namespace == c.Namespace && s.Labels["kubernetes.io/service-name"] == c.Spec.ServiceRef.Name {
			behind.Slices = append(behind.Slices, s)
		}
	}
	targets := endpoints.Resolve(&c.Class.LoadBalancerClassSpec, reference(to), behind).Backend.Targets
	what := "the endpoints"
	if len(targets) > 0 || len(behind.Slices) > 0 || len(behind.Nodes) > 0 {
		what = fmt.Sprintf("%d targets", len(targets))
	}
	return slices.Concat(c.Notes(), c.Missing(to, behind.Service), []diag.Diagnostic{{
		Severity: diag.Info, Reason: diag.BindingServed, Source: c.Source(),
		Message: fmt.Sprintf("class %s permits it; %s of Service %s, port %s, are registered in target group %s",
			c.Class.Name, what, to.Service, to.Port, c.Group)}})
}
