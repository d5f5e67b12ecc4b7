package ingress

import (
	"fmt"
	"strconv"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides whether health checks of a member may use a separate port.

// mayCheck reports whether health checks for a member may use a port, and adds a diagnostic if not.
// A last accepted version is served with such an annotation, but without such checks.
func (v *MemberBackends) mayCheck(port string) bool {
	if !settings.AllowsCheckPort(&v.pool.class.LoadBalancerClassSpec, port) {
		v.reportCheck(port, settings.TargetPortsSay(&v.pool.class.LoadBalancerClassSpec))
		return false
	}
	if number, err := strconv.ParseInt(port, 10, 32); err == nil &&
		len(v.pool.ports.reserve(v.Namespace, int32(number))) > 0 {
		v.reportCheck(port, tooManyPorts(v.Namespace))
		return false
	}
	return true
}

func (v *MemberBackends) reportCheck(port, why string) {
	p := endpoints.Problem{Severity: diag.Error, Reason: diag.TargetPortNotAllowed,
		Text: fmt.Sprintf("targets are checked on the port that serves, and not on %s: %s", port, why)}
	if !v.alreadyReported(p) {
		v.Found = append(v.Found, aboutAnnotation(v.Ingress, settings.HealthPort, p.Severity,
			p.Reason, p.Text))
	}
}
