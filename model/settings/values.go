package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
)

// This file reads the annotations of an Ingress under its class.

// A Finding is an error in an annotation.
type Finding struct {
	Annotation string
	Severity   diag.Severity
	Reason     diag.Reason
	Message    string
}

// Read reads annotations under a class. Annotations that the class forbids are not read. If whole
// is not set, those of whole ports and load balancers do not count.
func Read(annotations map[string]string, c *v1alpha1.LoadBalancerClassSpec,
	whole bool) (Values, []Finding) {
	var found []Finding
	var forbidden []*Setting
	var uncounted Values
	said := make(map[*Setting]string, len(annotations))
	given := Values{}
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		s, value := Of(name), annotations[name]
		if s == nil || s.put == nil {
			continue
		}
		to := &Values{}
		switch {
		case !s.Allows(c, value):
			forbidden = append(forbidden, s)
			continue
		case len(value) > s.longest():
			found = append(found, Finding{name, diag.Error, diag.AnnotationInvalid,
				fmt.Sprintf("it has %d bytes, and an annotation has at most %d", len(value), s.longest())})
			continue
		case s.About.Whole() && !whole:
			to, given.Uncounted = &uncounted, &uncounted
		default:
			said[s] = value
		}
		if err := s.read(to, value); err != nil {
			delete(said, s)
			found = append(found, Finding{name, diag.Error, diag.AnnotationInvalid,
				fmt.Sprintf("%s: %s", diag.Quote(value), err)})
		}
	}
	given.complete(said, c)
	found = slices.Concat(found,
		setTwice(TargetGroupAttributes, said[Of(TargetGroupAttributes)], given.GroupAttributes),
		setTwice(LoadBalancerAttributes, said[Of(LoadBalancerAttributes)], given.BalancerAttributes),
		given.withoutReserved(c), uncounted.withoutReserved(c),
		given.withoutTagsOf(c), uncounted.withoutTagsOf(c))
	given.Inbound, given.TLSPolicyOfClass = CanonicalInbound(given.Inbound), c.TLSPolicy
	given.SecurityGroupsOfClass = c.SecurityGroups
	for _, s := range forbidden {
		found = append(found, s.refusal(annotations[s.Annotation], given))
	}
	return given, found
}

// complete stores the values in force: those of the Ingress, those of the class, or the defaults.
func (v *Values) complete(said map[*Setting]string, c *v1alpha1.LoadBalancerClassSpec) {
	for i := range Table {
		s := &Table[i]
		if s.put == nil {
			continue
		}
		if s.ofHealthCheck() {
			if value, is := said[s]; is {
				if v.HealthAsked == nil {
					v.HealthAsked = map[string]string{}
				}
				v.HealthAsked[s.Annotation] = value
			}
			continue
		}
		value := s.value(said[s], c)
		if s.BalancerAttribute != "" {
			value = said[s] // the class sets its attributes directly
		}
		if value != "" {
			// every value was checked: the class's by Validate, the default by a test
			_ = s.put(v, value)
		}
	}
}

// refusal returns the finding about an annotation that the class forbids.
func (s *Setting) refusal(value string, given Values) Finding {
	if s.Exposes(value, given) {
		return Finding{s.Annotation, diag.Error, diag.AnnotationNotAllowed,
			"the class does not allow it, and without it more could be exposed than it asks for, so the " +
				"Ingress is not served as it is"}
	}
	return Finding{s.Annotation, diag.Warning, diag.AnnotationNotAllowed,
		"the class does not allow it, so it is ignored"}
}

// InboundAsked returns the clients that an Ingress asks for, even if that does not count; nil for
// all.
func (v Values) InboundAsked() []string {
	if v.Uncounted != nil && v.Uncounted.Inbound != nil {
		return v.Uncounted.Inbound
	}
	return v.Inbound
}

// TLSPolicyAsked returns the TLS policy that an Ingress asks for, even if that does not count; ""
// for none.
func (v Values) TLSPolicyAsked() string {
	if v.Uncounted != nil {
		return first(v.Uncounted.TLSPolicy, v.TLSPolicy)
	}
	return v.TLSPolicy
}

// SecurityGroupsAsked returns the security groups that an Ingress asks for, even if that does not
// count; nil for none.
func (v Values) SecurityGroupsAsked() []string {
	if v.Uncounted != nil && v.Uncounted.SecurityGroups != nil {
		return v.Uncounted.SecurityGroups
	}
	return v.SecurityGroups
}

// WebACLAsked returns the web ACL that an Ingress asks for, even if that does not count; "" for
// none.
func (v Values) WebACLAsked() string {
	if v.Uncounted != nil {
		return first(v.Uncounted.WebACL, v.WebACL)
	}
	return v.WebACL
}

// ofHealthCheck reports whether a setting is a field of the health check.
func (s *Setting) ofHealthCheck() bool { return strings.HasPrefix(s.Class, "healthCheck.") }
