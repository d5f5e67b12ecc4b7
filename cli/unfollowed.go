package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/foreign"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file finds Ingresses that are served anew, though annotations of another controller restrict
// them: by their class, which does not follow these.

// unfollowed returns the Ingresses that are in both configurations and served in the second one only,
// without the effect of annotations that restrict them.
func (s side) unfollowed(
	cmd *cobra.Command, with access.Clouds, before *side, old, now []*precedence.Table,
) ([]compare.Exposure, error) {
	names := map[*networkingv1.Ingress][]foreign.Setting{}
	for _, ing := range s.objects.Ingresses {
		there := func(o *networkingv1.Ingress) bool {
			return o.Namespace == ing.Namespace && o.Name == ing.Name
		}
		settings := restricting(ing)
		if len(settings) > 0 && slices.ContainsFunc(before.objects.Ingresses, there) &&
			tableOf(ing, old) == nil && tableOf(ing, now) != nil {
			names[ing] = settings
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	s.objects = refusing(s.objects)
	_, notes, err := s.tables(cmd, with)
	if err != nil {
		return nil, err
	}
	var out []compare.Exposure
	for _, ing := range s.objects.Ingresses {
		var found []string
		for _, d := range notes {
			if d.Reason == diag.AnnotationForeign && d.Severity == diag.Error &&
				d.Source.Namespace == ing.Namespace && d.Source.Name == ing.Name {
				found = append(found, namedIn(d.Message, names[ing])...)
			}
		}
		if len(found) > 0 {
			out = append(out, compare.Exposure{LoadBalancer: tableOf(ing, now).Key,
				Setting: "Ingress " + ing.Namespace + "/" + ing.Name, Before: "not served",
				After: "served, and these annotations, which restrict it, are not followed: " +
					strings.Join(found, ", "), Protection: compare.Less})
		}
	}
	return out, nil
}

// restricting returns the annotations of another controller that may restrict an Ingress.
func restricting(ing *networkingv1.Ingress) []foreign.Setting {
	as := foreign.Served{Annotations: ing.Annotations}
	return slices.DeleteFunc(foreign.OnIngress(ing.Annotations, as),
		func(s foreign.Setting) bool { return s.Effect != foreign.Restricts })
}

// namedIn returns the annotations that a message names.
func namedIn(message string, settings []foreign.Setting) []string {
	var out []string
	for _, s := range settings {
		if strings.Contains(message, s.Name) {
			out = append(out, printable.Word(diag.Cut(s.Key())))
		}
	}
	return out
}

// tableOf returns the load balancer that serves an Ingress, or nil.
func tableOf(ing *networkingv1.Ingress, all []*precedence.Table) *precedence.Table {
	at := slices.IndexFunc(all, func(t *precedence.Table) bool {
		return slices.ContainsFunc(t.Routes, func(r routing.Route) bool {
			return r.Owner.Namespace == ing.Namespace && r.Owner.Name == ing.Name
		})
	})
	if at < 0 {
		return nil
	}
	return all[at]
}

// refusing returns objects with classes that refuse what restricts an Ingress and is not followed.
func refusing(o ingress.Objects) ingress.Objects {
	o.LoadBalancerClasses = slices.Clone(o.LoadBalancerClasses)
	for i, c := range o.LoadBalancerClasses {
		c = c.DeepCopy()
		c.Spec.ForeignAnnotations = v1alpha1.ForeignRefuse
		o.LoadBalancerClasses[i] = c
	}
	o.ClusterLoadBalancerClasses = slices.Clone(o.ClusterLoadBalancerClasses)
	for i, c := range o.ClusterLoadBalancerClasses {
		c = c.DeepCopy()
		c.Spec.ForeignAnnotations = v1alpha1.ForeignRefuse
		o.ClusterLoadBalancerClasses[i] = c
	}
	return o
}
