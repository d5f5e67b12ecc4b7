package cluster

import (
	"context"
	"fmt"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/ingress"
)

// This file checks the IngressClasses, and whether another operator serves them.

// checkClasses returns the controller of each class.
func checkClasses(ctx context.Context, c Cluster) []check.Finding {
	const id = "cluster/class"
	found, err := c.Classes(ctx)
	if err != nil {
		return []check.Finding{check.Unsure(id, "IngressClasses", err.Error(), "")}
	}
	var out []check.Finding
	var defaults []string
	ours := 0
	for _, class := range found {
		detail := "it belongs to " + class.Spec.Controller
		if class.Spec.Controller == ingress.ControllerName {
			ours++
			detail = "it is Fairlead's"
		}
		if class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
			defaults = append(defaults, class.Name)
			detail += ", and the default"
		}
		out = append(out, check.Good(id+"/"+class.Name, "IngressClass "+class.Name, detail))
	}
	if ours == 0 {
		out = append(out, check.Bad(id, "IngressClasses", fmt.Sprintf("none of %d belongs to %s, so "+
			"that no Ingress is served", len(found), ingress.ControllerName),
			"install config/class, or let the operator make one with --manage-ingress-class"))
	}
	// https://kubernetes.io/docs/concepts/services-networking/ingress/#default-ingress-class
	if len(defaults) > 1 {
		out = append(out, check.Bad(id+"/default", "default IngressClass", "the API server refuses "+
			"Ingresses without a class, for there are several: "+strings.Join(defaults, ", "),
			"take the annotation "+networkingv1.AnnotationIsDefaultIngressClass+" from all but one"))
	}
	return out
}

// checkOthers finds a second operator that serves the same classes.
func checkOthers(ctx context.Context, c Cluster, o Options) []check.Finding {
	const id, title = "cluster/operators", "operators of these classes"
	in, err := c.Leases(ctx, o.Lease)
	switch {
	case err != nil:
		return []check.Finding{check.Unsure(id, title, err.Error(), "")}
	case len(in) > 1:
		return []check.Finding{check.Bad(id, title,
			"several hold a lease "+o.Lease+", in "+strings.Join(in, ", "),
			"remove all but one, or let each serve a namespace of its own with --namespace")}
	case len(in) == 0:
		return []check.Finding{check.Good(id, title, "none holds the lease "+o.Lease)}
	}
	return []check.Finding{check.Good(id, title, "one holds the lease "+o.Lease+", in "+in[0])}
}
