package ingress

import (
	"cmp"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides which port health checks of a member use: that of requests, or a separate one.

// checkedPort returns the port for health checks of a Service's targets, a number or traffic-port,
// and whether health checks for a member may use it. It adds a diagnostic if not. A last accepted
// version is served with such an annotation, but without such checks.
func (v *memberBackends) checkedPort(service *corev1.Service, targetType, asked,
	field string) (port string, may bool) {
	port = asked
	if settings.NamesPort(asked) {
		if service == nil { // it was reported, and there is nothing to check
			return "", false
		}
		number, why := portNamed(service, asked, targetType)
		if why != "" {
			v.reportCheck(asked, field, diag.ServicePortMissing, why)
			return "", false
		}
		port = strconv.Itoa(int(number))
		asked = fmt.Sprintf("%s, which is port %s of Service %s", port, asked, nameOf(service))
	}
	if !settings.AllowsCheckPort(&v.pool.class.LoadBalancerClassSpec, port) {
		v.reportCheck(asked, field, diag.TargetPortNotAllowed,
			settings.DescribeTargetPorts(&v.pool.class.LoadBalancerClassSpec))
		return "", false
	}
	if number, err := strconv.ParseInt(port, 10, 32); err == nil &&
		len(v.pool.ports.reserve(v.Namespace, int32(number))) > 0 {
		v.reportCheck(asked, field, diag.TargetPortNotAllowed, tooManyPorts(v.Namespace))
		return "", false
	}
	return port, true
}

// portNamed returns the port of targets that a named port of a Service stands for, or why there is
// none. The AWS Load Balancer Controller decides the same: buildTargetGroupHealthCheckPort in its
// pkg/ingress/model_build_target_group.go.
func portNamed(s *corev1.Service, name, targetType string) (number int32, why string) {
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		switch {
		case p.Name != name:
		case targetType == v1alpha1.TargetTypeInstance && p.NodePort == 0:
			return 0, fmt.Sprintf("port %s of Service %s has no node port", name, nameOf(s))
		case targetType == v1alpha1.TargetTypeInstance:
			return p.NodePort, ""
		case p.TargetPort.StrVal != "":
			return 0, fmt.Sprintf("port %s of Service %s has the targetPort %s, which can be another "+
				"number in each Pod: name the number in the annotation or the Service", name, nameOf(s),
				diag.Quote(p.TargetPort.StrVal))
		default:
			return cmp.Or(p.TargetPort.IntVal, p.Port), ""
		}
	}
	return 0, fmt.Sprintf("Service %s has no port of that name; it has %s", nameOf(s), endpoints.PortsOf(s))
}

func (v *memberBackends) reportCheck(port, field string, reason diag.Reason, why string) {
	p := endpoints.Problem{Severity: diag.Error, Reason: reason,
		Text: fmt.Sprintf("targets are checked on the port that serves, and not on %s: %s", port, why)}
	if !v.alreadyReported(p) {
		v.Found = append(v.Found, diag.Diagnostic{Severity: p.Severity, Reason: p.Reason,
			Source: v.settingSource(settings.HealthPort, field), Message: p.Text})
	}
}

// settingSource returns the place of a setting of a Service's ports: the annotation of the member,
// or the field that names the Service with the annotation.
func (v *memberBackends) settingSource(annotation, field string) diag.Source {
	if _, is := v.Annotations[annotation]; is {
		return annotationSource(v.Ingress, annotation)
	}
	return v.Source().At(field)
}
