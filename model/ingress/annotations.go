package ingress

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/settings"
)

// This file reads the annotations of an Ingress under its class.

// readAnnotations reads the annotations of an Ingress under its class. If a diagnostic is an error, this
// version of the Ingress must not be served.
func readAnnotations(ing *networkingv1.Ingress, c *Class) (settings.Values, []diag.Diagnostic) {
	return readAnnotationsOn(c, ing, c.sharedGroupOf(ing))
}

// readAnnotationsOn reads the annotations of an Ingress on a load balancer of a group across namespaces, or of
// no such group.
func readAnnotationsOn(c *Class, ing *networkingv1.Ingress, group string) (settings.Values,
	[]diag.Diagnostic) {
	given, wrong := settings.Read(ing.Annotations, &c.LoadBalancerClassSpec,
		c.countsSettingsOf(ing.Namespace, group))
	var found []diag.Diagnostic
	for _, w := range wrong {
		found = append(found, aboutAnnotation(ing, w.Annotation, w.Severity, w.Reason, w.Message))
	}
	found = append(found, unknownAnnotations(ing, given)...)
	found = append(found, foreignAnnotations(c, ing, given)...)
	found = append(found, foreignBackends(c, ing)...)
	if hasError(found) {
		return given, found
	}
	if err := given.Conditions.Check(&ing.Spec); err != nil {
		found = append(found, aboutAnnotation(ing, settings.RequestConditions, diag.Error,
			diag.AnnotationInvalid, err.Error()))
	}
	found = append(found, checkRedirect(NewMember(ing, given))...)
	found = append(found, checkPortSettings(NewMember(ing, given))...)
	found = append(found, checkNetwork(NewMember(ing, given))...)
	if port := given.HealthAsked[settings.HealthPort]; port != "" &&
		!settings.AllowsCheckPort(&c.LoadBalancerClassSpec, port) {
		found = append(found, aboutAnnotation(ing, settings.HealthPort, diag.Error,
			diag.TargetPortNotAllowed,
			fmt.Sprintf("health checks cannot go to port %s: %s", port,
				settings.DescribeTargetPorts(&c.LoadBalancerClassSpec))))
	}
	if given.HealthAsked != nil {
		if err := settings.CheckHealth(given.HealthAsked, &c.LoadBalancerClassSpec); err != nil {
			found = append(found, aboutAnnotation(ing, settings.HealthTimeout, diag.Error,
				diag.AnnotationInvalid, err.Error()))
		}
	}
	return given, found
}
