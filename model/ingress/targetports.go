package ingress

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides on which ports load balancers may reach targets. The firewalls of nodes are opened for each,
// for all load balancers alike, and take a limited number of rules: so the class says which ports, and a
// namespace has a limited number of them.

// usualTargetPorts are those of a class that names none: ports that a process listens on without privileges,
// and the two of HTTP.
var usualTargetPorts = []string{"80", "443", "1024-65535"}

// mostTargetPorts is how many different ports the targets and health checks of one namespace have on a load
// balancer. A security group of AWS has 60 rules unless its quota is raised, and all load balancers of a
// cluster share those of the nodes: no namespace is to use up more than half of them.
// https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html
const mostTargetPorts = 30

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

func validateTargetPorts(ports []string, at *field.Path) field.ErrorList {
	if ports != nil && len(ports) == 0 {
		return field.ErrorList{field.Required(at, "name the ports that targets may have, or leave the field out")}
	}
	var errs field.ErrorList
	for i, p := range ports {
		if _, _, err := portRange(p); err != nil {
			errs = append(errs, field.Invalid(at.Index(i), p, err.Error()))
		}
	}
	return errs
}

// targetPorts are those that the class allows, as it writes them.
func (c *Class) targetPorts() []string {
	if len(c.TargetPorts) == 0 {
		return usualTargetPorts
	}
	return c.TargetPorts
}

// allowsPort reports whether targets may be reached on a port.
func (c *Class) allowsPort(port int32) bool {
	return slices.ContainsFunc(c.targetPorts(), func(p string) bool {
		from, to, err := portRange(p)
		return err == nil && from <= int(port) && int(port) <= to
	})
}

// allowsCheck reports whether health checks of targets may go to a port, which is a number or traffic-port. The
// class's own may in any case.
func (c *Class) allowsCheck(port string) bool {
	number, err := strconv.ParseInt(port, 10, 32)
	return err != nil || port == c.HealthCheck.Port || c.allowsPort(int32(number))
}

// notAllowed says of a port that the class does not allow it, and what to do about it.
func (c *Class) notAllowed() string {
	return fmt.Sprintf("the class allows %s only: use such a port, or ask the owner of the class to add it to `targetPorts`",
		strings.Join(c.targetPorts(), ", "))
}

// portBudget is the ports that the targets of each namespace have on a load balancer. Older Ingresses come first,
// so that theirs stay.
type portBudget map[string]map[int32]bool

// spend takes ports for a namespace, as far as there is room, and returns those for which there is none.
func (b portBudget) spend(namespace string, ports ...int32) (over []int32) {
	if b[namespace] == nil {
		b[namespace] = map[int32]bool{}
	}
	for _, p := range ports {
		switch has := b[namespace]; {
		case has[p] || slices.Contains(over, p):
		case len(has) < mostTargetPorts:
			has[p] = true
		default:
			over = append(over, p)
		}
	}
	return over
}

// afford leaves out the targets of a resolution whose ports its namespace has no room for.
func (b portBudget) afford(r *resolution) {
	namespace, _, _ := strings.Cut(r.backend.Service, "/")
	var ports []int32
	for _, t := range r.backend.Targets {
		ports = append(ports, t.Port)
	}
	over := b.spend(namespace, ports...)
	if len(over) == 0 {
		return
	}
	r.backend.Targets = slices.DeleteFunc(slices.Clone(r.backend.Targets), func(t routing.Target) bool { return slices.Contains(over, t.Port) })
	r.tell(diag.Error, diag.TargetPortNotAllowed, fmt.Sprintf("Service %s has targets on port %d, which are left out: %s", r.backend.Service, over[0], tooMany(namespace)))
}

// WithinPorts is what of the targets that a backend is to have its namespace has ports for, beside those that its
// other backends on the load balancer have: those that are there first, for what is served stays.
func WithinPorts(want, have []routing.Target, others map[int32]bool) []routing.Target {
	const namespace = ""
	budget := portBudget{namespace: maps.Clone(others)}
	for _, t := range have {
		budget.spend(namespace, t.Port)
	}
	var out []routing.Target
	for _, t := range want {
		if len(budget.spend(namespace, t.Port)) == 0 {
			out = append(out, t)
		}
	}
	return out
}

// isAddress reports whether a name is spelt as an address.
func isAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

func tooMany(namespace string) string {
	return fmt.Sprintf("namespace %s has targets on %d different ports of this load balancer already, which is all that it may have; let Services share ports", namespace, mostTargetPorts)
}

// mayCheck reports whether health checks for a member may go to a port, and tells it if they may not. The Ingress
// as it was last accepted is served with such an annotation, but without such checks.
func (v *visit) mayCheck(port string) bool {
	if !v.class.allowsCheck(port) {
		v.tellCheck(port, v.class.notAllowed())
		return false
	}
	if number, err := strconv.ParseInt(port, 10, 32); err == nil && len(v.pool.ports.spend(v.Namespace, int32(number))) > 0 {
		v.tellCheck(port, tooMany(v.Namespace))
		return false
	}
	return true
}

func (v *visit) tellCheck(port, why string) {
	p := problem{diag.Error, diag.TargetPortNotAllowed, fmt.Sprintf("targets are checked on the port that serves, and not on %s: %s", port, why)}
	if !v.told(p) {
		v.found = append(v.found, about(v.Ingress, settings.HealthPort, p.severity, p.reason, p.text))
	}
}
