package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// This file reads the ports on which load balancers of a class may reach targets. The security
// groups of nodes are opened for each.

// usualTargetPorts has the ports of a class that names none: those that unprivileged processes can
// listen on, and the two of HTTP.
var usualTargetPorts = []string{"80", "443", "1024-65535"}

// portRange reads "N" or "N-M".
func portRange(text string) (from, to int, err error) {
	low, high, ranged := strings.Cut(text, "-")
	if !ranged {
		high = low
	}
	from, _ = strconv.Atoi(low)
	to, _ = strconv.Atoi(high)
	if from < 1 || to < from || to > 65535 || low != strconv.Itoa(from) || high != strconv.Itoa(to) {
		return 0, 0, fmt.Errorf("it is neither a port from 1 to 65535 nor a range of them as 8000-8999")
	}
	return from, to, nil
}

// ValidateTargetPorts returns the errors in the field targetPorts of a class.
func ValidateTargetPorts(ports []string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, p := range ports {
		if _, _, err := portRange(p); err != nil {
			errs = append(errs, field.Invalid(at.Index(i), p, err.Error()))
		}
	}
	return errs
}

// targetPorts returns the ports that a class allows, as texts.
func targetPorts(c *v1alpha1.LoadBalancerClassSpec) []string {
	if len(c.TargetPorts) == 0 {
		return usualTargetPorts
	}
	return c.TargetPorts
}

// AllowsTargetPort reports whether a class allows targets on a port.
func AllowsTargetPort(c *v1alpha1.LoadBalancerClassSpec, port int32) bool {
	return slices.ContainsFunc(targetPorts(c), func(p string) bool {
		from, to, err := portRange(p)
		return err == nil && from <= int(port) && int(port) <= to
	})
}

// AllowsCheckPort reports whether a class allows health checks of targets on a port, a number or
// traffic-port. The class's own health check may use any port.
func AllowsCheckPort(c *v1alpha1.LoadBalancerClassSpec, port string) bool {
	number, err := strconv.ParseInt(port, 10, 32)
	return err != nil || port == c.HealthCheck.Port || AllowsTargetPort(c, int32(number))
}

// DescribeTargetPorts returns a message with the ports that a class allows, and a remedy.
func DescribeTargetPorts(c *v1alpha1.LoadBalancerClassSpec) string {
	return fmt.Sprintf("the class allows %s only: use such a port, or ask the owner of the class to "+
		"add it to `targetPorts`",
		strings.Join(targetPorts(c), ", "))
}
