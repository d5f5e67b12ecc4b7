// Package settings has the table of settings of Ingresses, classes and Backends beyond the Ingress
// API: a row has the names of a setting, its values and their bounds, its default, the rule for
// different values of several Ingresses, and its documentation. Reading, permission, validation and
// the reference page follow from the row.
package settings

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// A Setting is one row of the table.
type Setting struct {
	Annotation string // its full name on an Ingress; "" if Ingresses have no such annotation
	// the equivalent field of a class, as in "healthCheck.path"; "" if there is none
	Class string

	// the attribute that it sets: of load balancers, or of target groups; "" for none
	BalancerAttribute, GroupAttribute string

	Type    Type
	Default string // the value where neither the class nor the Ingress has one; "" for none
	Without string // in words, the value then; "" where Default says it

	About   Subject
	Merge   Merge
	Merged  string // the meaning of Merge for this setting, if its own text is not enough
	Decides Decides
	Needs   string // the capability that a cloud needs for it; "" for none
	Doc     string
	Example string

	Longest int // the most bytes of the annotation; 0 for Longest
	// Good and Bad have accepted and refused values: of the annotation, and of the field of the class.
	Good, Bad []string
	// Restricts: the setting restricts which requests are answered, so an Ingress is not served
	// without it.
	Restricts bool
	// OtherNames has names that authors may use by mistake, in lower case and without punctuation.
	OtherNames []string

	// put stores a value that Type accepts, or returns a further error.
	put func(*Values, string) error
	// ofClass returns the value of the class, and whether it is set.
	ofClass func(*v1alpha1.LoadBalancerClassSpec) (string, bool)
	// forbidden reports whether the class forbids a value. If it is nil, the class forbids all values
	// except its own.
	forbidden func(*v1alpha1.LoadBalancerClassSpec) bool
	// exposes reports whether an Ingress whose annotation the class forbids could be exposed more than
	// its author wants. Then it is not served. The value may be invalid.
	exposes func(value string, given Values) bool
}

// A Subject is the kind of object that a setting applies to.
type Subject string

const (
	Ingress      Subject = "the Ingress"
	ServicePorts Subject = "the ports of its Services"
	Placement    Subject = "which load balancer the Ingress is on"
	Port         Subject = "the whole port"
	LoadBalancer Subject = "the whole load balancer"
)

// Whole reports whether a setting applies to more than its Ingress and its Services. In a group
// across namespaces such a setting counts only from the class and from the Ingresses of the group's
// owner.
func (s Subject) Whole() bool { return s == Port || s == LoadBalancer }

// A Merge is the rule for different values of the members of a load balancer.
type Merge string

const (
	Own              Merge = "each Ingress has its own"
	OwnLoadBalancer  Merge = "members of a group that differ are on several load balancers, and get an event"
	OwnTargets       Merge = "per Service port; each value has targets of its own"
	OldestPerTargets Merge = "per Service port; the oldest Ingress decides, the others get an event"
	OldestPerPort    Merge = "per port; the oldest Ingress decides, the others get an event"
	OneForAll        Merge = "one for the whole load balancer"
	OldestForAll     Merge = "per load balancer; the oldest Ingress decides, the others get an event"
)

// Decides is whether the class or the Ingress decides if both have a value.
type Decides int

const (
	// IngressDecides: the value of the class is for Ingresses without one.
	IngressDecides Decides = iota
	// ClassDecides: the value of the class holds for all Ingresses, which can only repeat it.
	ClassDecides
	// ClassDecidesByPort is ClassDecides for a setting that the class can also have for single ports.
	ClassDecidesByPort
)

// Longest is the most bytes of an annotation that is read, and LongestBackends of that with Backends.
const (
	Longest         = 16 << 10
	LongestBackends = 64 << 10
)

// longest returns the most bytes of the annotation that are read.
func (s *Setting) longest() int {
	if s.Longest > 0 {
		return s.Longest
	}
	return Longest
}

// Prefix is the beginning of the names of annotations.
const Prefix = v1alpha1.Group + "/"

// Full returns the full name of an annotation, which may be written without its prefix.
func Full(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return Prefix + name
}

// Allows reports whether the authors of Ingresses of a class may use a setting with a value.
func (s *Setting) Allows(c *v1alpha1.LoadBalancerClassSpec, value string) bool {
	if s.forbidden != nil && s.forbidden(c) {
		return false
	}
	if s.Decides != IngressDecides && s.forbidden == nil {
		if pinned, is := s.ofClass(c); is && s.Type.canonical(pinned) != s.Type.canonical(value) {
			return false
		}
	}
	return c.Annotations == nil || slices.ContainsFunc(*c.Annotations, func(n string) bool {
		return Full(n) == s.Annotation
	})
}

// Exposes reports whether an Ingress whose annotation the class forbids could be exposed more
// without it than its author wants.
func (s *Setting) Exposes(value string, given Values) bool {
	return s.exposes != nil && (len(value) > s.longest() || s.exposes(value, given))
}

// Check returns the error in a value, or nil.
func (s *Setting) Check(value string) error { return s.read(&Values{}, value) }

// read checks a value and stores it.
func (s *Setting) read(to *Values, value string) error {
	if err := s.Type.Check(value); err != nil {
		return err
	}
	return s.put(to, value)
}

// value returns the value in force for an Ingress with the value said, or without one ("").
func (s *Setting) value(said string, c *v1alpha1.LoadBalancerClassSpec) string {
	byClass := ""
	if s.ofClass != nil {
		byClass, _ = s.ofClass(c)
	}
	switch s.Decides {
	case ClassDecides:
		return first(byClass, said, s.Default)
	case ClassDecidesByPort:
		return said
	}
	return first(said, byClass, s.Default)
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
