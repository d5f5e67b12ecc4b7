package ingress

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads how targets are checked: from annotations, from the class, and from the
// defaults in the table of annotations, in this order.

const (
	healthPath      = prefix + "health-check-path"
	healthPort      = prefix + "health-check-port"
	healthProtocol  = prefix + "health-check-protocol"
	healthInterval  = prefix + "health-check-interval-seconds"
	healthTimeout   = prefix + "health-check-timeout-seconds"
	healthHealthy   = prefix + "health-check-healthy-threshold"
	healthUnhealthy = prefix + "health-check-unhealthy-threshold"
	healthCodes     = prefix + "health-check-success-codes"
)

// The limits of health checks. The path is that of AWS: Elastic Load Balancing API, CreateTargetGroup,
// HealthCheckPath.
const (
	longestHealthPath = 1024
	longestCodes      = 255
)

// trafficPort stands for the port that serves requests.
const trafficPort = "traffic-port"

// setHealth checks the value of one setting and, where there is a health check, puts it there.
func setHealth(h *routing.HealthCheck, annotation, value string) (err error) {
	if h == nil {
		h = &routing.HealthCheck{}
	}
	switch annotation {
	case healthPath:
		h.Path = value
		if len(value) > longestHealthPath {
			err = fmt.Errorf("it has more than %d characters", longestHealthPath)
		} else if !strings.HasPrefix(value, "/") || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
			err = errors.New("it is not a path: it has to start with a slash and hold neither spaces nor other than ASCII characters")
		}
	case healthPort:
		h.Port = value
		if value != trafficPort {
			_, err = integer(value, 1, 65535)
		}
	case healthProtocol:
		h.Protocol = value
		err = oneOf(value, v1alpha1.ProtocolHTTP, v1alpha1.ProtocolHTTPS)
	case healthInterval:
		h.IntervalSeconds, err = integer(value, 5, 300)
	case healthTimeout:
		h.TimeoutSeconds, err = integer(value, 2, 120)
	case healthHealthy:
		h.HealthyThreshold, err = integer(value, 2, 10)
	case healthUnhealthy:
		h.UnhealthyThreshold, err = integer(value, 2, 10)
	case healthCodes:
		h.SuccessCodes = value
		switch {
		case len(value) > longestCodes:
			err = fmt.Errorf("it has more than %d characters", longestCodes)
		case checkCodes(value, 0, 99) != nil: // else they are of gRPC
			err = checkCodes(value, 200, 499)
		}
	}
	return err
}

// checkCodes accepts a list of statuses and ranges of them.
func checkCodes(list string, least, most int) error {
	for item := range strings.SplitSeq(list, ",") {
		from, to, ranged := strings.Cut(item, "-")
		if !ranged {
			to = from
		}
		low, err := integer(from, least, most)
		high, err2 := integer(to, low, most)
		if err := errors.Join(err, err2); err != nil || high < low {
			return fmt.Errorf("%s is neither a status from %d to %d nor a range of them", diag.Quote(item), least, most)
		}
	}
	return nil
}

// healthCheck is the health check that settings by annotation make under the class, of targets that speak
// so. The codes of another speech are passed over.
func (c *Class) healthCheck(set map[string]string, of speech) routing.HealthCheck {
	var h routing.HealthCheck
	ofClass := classHealth(c.HealthCheck)
	for i := range annotations {
		a := &annotations[i]
		if a.read != nil || a.name == classAnnotation {
			continue
		}
		said := []string{set[a.name], ofClass[a.name].value, of.usual(a)}
		if a.name == healthCodes {
			said = slices.DeleteFunc(said, func(codes string) bool { return !of.understands(codes) })
		}
		// Every value here has been checked: the table's by a test, the others when read.
		_ = setHealth(&h, a.name, first(said...))
	}
	return h
}

// checkHealth checks what no setting can be blamed for alone.
func (c *Class) checkHealth(set map[string]string) error {
	h := c.healthCheck(set, speech{})
	if h.TimeoutSeconds >= h.IntervalSeconds {
		return fmt.Errorf("health checks every %d seconds cannot wait %d seconds for an answer: the timeout has to be shorter", h.IntervalSeconds, h.TimeoutSeconds)
	}
	return nil
}

// A classSetting is a field of the class's health check that says something.
type classSetting struct{ field, value string }

// classHealth are the settings of a class, by the annotation that says the same.
func classHealth(h v1alpha1.HealthCheck) map[string]classSetting {
	out := map[string]classSetting{
		healthPath:      {"path", h.Path},
		healthPort:      {"port", h.Port},
		healthProtocol:  {"protocol", h.Protocol},
		healthInterval:  {"intervalSeconds", number(h.IntervalSeconds)},
		healthTimeout:   {"timeoutSeconds", number(h.TimeoutSeconds)},
		healthHealthy:   {"healthyThreshold", number(h.HealthyThreshold)},
		healthUnhealthy: {"unhealthyThreshold", number(h.UnhealthyThreshold)},
		healthCodes:     {"successCodes", h.SuccessCodes},
	}
	maps.DeleteFunc(out, func(_ string, s classSetting) bool { return s.value == "" })
	return out
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func validateHealthCheck(h v1alpha1.HealthCheck, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	ofClass := classHealth(h)
	for _, annotation := range slices.Sorted(maps.Keys(ofClass)) {
		s := ofClass[annotation]
		if err := setHealth(nil, annotation, s.value); err != nil {
			errs = append(errs, field.Invalid(at.Child(s.field), s.value, err.Error()))
		}
	}
	c := Class{LoadBalancerClassSpec: v1alpha1.LoadBalancerClassSpec{HealthCheck: h}}
	if err := c.checkHealth(nil); err != nil && len(errs) == 0 {
		errs = append(errs, field.Invalid(at.Child("timeoutSeconds"), h.TimeoutSeconds, err.Error()))
	}
	return errs
}
