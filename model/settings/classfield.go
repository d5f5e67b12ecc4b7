package settings

import (
	"errors"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// This file reads and validates the fields of a class.

// ValidateClass returns the errors in the fields of a class that the table has.
func ValidateClass(c *v1alpha1.LoadBalancerClassSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range Table {
		s := &Table[i]
		if s.Class == "" { // attributes are checked against those of the cloud
			continue
		}
		value, is := s.ofClass(c)
		if !is {
			continue
		}
		name, more, _ := strings.Cut(s.Class, ".")
		under := at.Child(name)
		if more != "" {
			under = under.Child(more)
		}
		if err := s.Type.Validate(value, under); err != nil {
			errs = append(errs, err)
		}
	}
	if port := c.HealthCheck.Port; port != "" && NamesPort(port) && len(errs) == 0 {
		errs = append(errs, field.Invalid(at.Child("healthCheck", "port"), port,
			"must be a port from 1 to 65535, or traffic-port"))
	}
	if err := CheckHealth(nil, c); err != nil && len(errs) == 0 {
		errs = append(errs, field.Invalid(at.Child("healthCheck", "timeoutSeconds"),
			c.HealthCheck.TimeoutSeconds, err.Error()))
	}
	return errs
}

// fieldOf returns a function that reads a field, which is unset if it is empty.
func fieldOf(of func(*v1alpha1.LoadBalancerClassSpec) string) func(
	*v1alpha1.LoadBalancerClassSpec) (string, bool) {
	return func(c *v1alpha1.LoadBalancerClassSpec) (string, bool) {
		value := of(c)
		return value, value != ""
	}
}

func inboundOfClass(c *v1alpha1.LoadBalancerClassSpec) (string, bool) {
	return strings.Join(c.Inbound, ","), c.Inbound != nil
}

func shieldOfClass(c *v1alpha1.LoadBalancerClassSpec) (string, bool) {
	if c.ShieldAdvanced == nil {
		return "", false
	}
	return strconv.FormatBool(*c.ShieldAdvanced), true
}

func waitOfClass(d *metav1.Duration) (string, bool) {
	if d == nil {
		return "", false
	}
	return d.Duration.String(), true
}

// duration is the type of a wait.
var duration = text("duration, as in 1h30m", func(text string) error {
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = errors.New("must not be negative")
	}
	return err
})

func joinMessages(messages []string) error {
	if len(messages) == 0 {
		return nil
	}
	return errors.New(strings.Join(messages, "; "))
}
