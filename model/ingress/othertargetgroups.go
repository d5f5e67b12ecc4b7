package ingress

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file makes backends of target groups that others made.

// mayForward reports whether the class allows all target groups of others that a Backend names, and
// adds a diagnostic for each other one. Requests must not go to the rest of the Backend alone, whose
// weights say otherwise.
func (v *memberBackends) mayForward(services []v1alpha1.WeightedService, field string) bool {
	allowed := true
	for _, s := range services {
		if arn := s.TargetGroupARN; arn != "" && !v.pool.class.allowsTargetGroup(arn) {
			allowed = false
			v.addDiagnostic(diag.Error, diag.TargetGroupNotAllowed, field, fmt.Sprintf("requests are answered 503: "+
				"the class does not allow target group %s; ask its owner to add it to "+
				"`allowedTargetGroups`", arn))
		}
	}
	return allowed
}

// allowsTargetGroup reports whether Backends may forward to a target group of others.
func (c *Class) allowsTargetGroup(arn string) bool {
	return slices.ContainsFunc(c.AllowedTargetGroups, func(glob string) bool {
		return routing.GlobMatch(glob, arn)
	})
}

// BoundTargetGroups returns the target groups in which bindings of a namespace with these labels may have
// endpoints registered: ARNs, in which * stands for any text.
func (c *Class) BoundTargetGroups(namespace map[string]string) (arns []string) {
	for _, entry := range c.TargetGroupBindings {
		if selects(entry.NamespaceSelector, namespace) {
			arns = append(arns, entry.TargetGroups...)
		}
	}
	return arns
}

// otherGroup returns the backend of a target group of others. Its ID is the ARN.
func (p *backendPool) otherGroup(arn string) routing.BackendID {
	id := routing.BackendID(arn)
	if p.entries[id] == nil {
		p.entries[id] = &pooled{Backend: routing.Backend{ID: id, TargetGroup: arn}}
	}
	return id
}
