package program

import (
	"errors"
	"slices"

	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/model/bindings"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
)

// This file says what becomes of TargetGroupBindings, which are in no plan: their target groups are others'.

// Bindings returns what becomes of the TargetGroupBindings that users wrote. One for which no class asks is no
// error, since the AWS Load Balancer Controller may serve it: a warning if some class asks for bindings at all.
func Bindings(o ingress.Objects, options ingress.ClassOptions, fromFiles bool) []diag.Diagnostic {
	var out []diag.Diagnostic
	lookup, _ := ingress.NewClassLookup(o, options)
	some := slices.ContainsFunc(lookup.Usable(), func(c *ingress.Class) bool { return len(c.TargetGroupBindings) > 0 })
	for _, b := range bindings.ReportAll(o, options) {
		for _, d := range b.Found {
			switch {
			case d.Reason == diag.TargetGroupNotAllowed:
				if d.Severity = diag.Info; some {
					d.Severity = diag.Warning
				}
				d.Message += "; until then, it is left to the AWS Load Balancer Controller"
			case d.Reason == diag.ServiceMissing && fromFiles:
				d.Severity, d.Message = diag.Info, "Service "+b.Namespace+"/"+b.Spec.ServiceRef.Name+" is not among the files"
			}
			out = append(out, d)
		}
	}
	return out
}

// WithoutIngress returns nil for the error that there is no Ingress, if there are TargetGroupBindings.
func WithoutIngress(o ingress.Objects, err error) error {
	if errors.Is(err, manifests.ErrNoIngress) && len(o.TargetGroupBindings) > 0 {
		return nil
	}
	return err
}
