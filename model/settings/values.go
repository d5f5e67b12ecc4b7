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
		switch {
		case !s.Allows(c, value):
			forbidden = append(forbidden, s)
			continue
		case len(value) > s.longest():
			found = append(found, Finding{name, diag.Error, diag.AnnotationInvalid,
				fmt.Sprintf("it has %d bytes, and an annotation has at most %d", len(value), s.longest())})
			continue
		case s.About.Whole() && !whole:
			given.Uncounted = &uncounted
			if err := s.read(&uncounted, value); err != nil {
				found = append(found, s.invalid(value, err))
			}
		default:
			said[s] = value
		}
	}
	found = append(found, given.complete(said, c)...)
	slices.SortStableFunc(found, func(a, b Finding) int { return strings.Compare(a.Annotation, b.Annotation) })
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

// complete stores the values in force: those of the Ingress, those of the class, or the defaults. It removes what the Ingress says
// that cannot be read, and returns it.
func (v *Values) complete(said map[*Setting]string, c *v1alpha1.LoadBalancerClassSpec) (found []Finding) {
	for i := range Table {
		s := &Table[i]
		if s.put == nil {
			continue
		}
		text, is := said[s]
		value := s.inForce(text, c)
		counts := is && value == text && !s.ofHealthCheck()
		if is {
			to, before := &Values{}, *v
			if counts { // it is read once, as some are long
				to = v
			}
			if err := s.read(to, text); err != nil {
				delete(said, s)
				*v, is, counts, value = before, false, false, s.inForce("", c)
				found = append(found, s.invalid(text, err))
			}
		}
		switch {
		case s.ofHealthCheck() && is:
			if v.HealthAsked == nil {
				v.HealthAsked = map[string]string{}
			}
			v.HealthAsked[s.Annotation] = text
		case !s.ofHealthCheck() && !counts && value != "":
			_ = s.put(v, value) // it was checked: that of the class by Validate, the default by a test
		}
	}
	return found
}

// inForce returns the value that holds for an Ingress with the value said. The class sets attributes of load balancers directly.
func (s *Setting) inForce(said string, c *v1alpha1.LoadBalancerClassSpec) string {
	if s.BalancerAttribute != "" {
		return said
	}
	return s.value(said, c)
}

// invalid returns the finding about a value that cannot be read.
func (s *Setting) invalid(value string, err error) Finding {
	return Finding{s.Annotation, diag.Error, diag.AnnotationInvalid, fmt.Sprintf("%s: %s", diag.Quote(value), err)}
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
