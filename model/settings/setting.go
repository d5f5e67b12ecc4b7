// Package settings is the table of settings that Ingresses, classes and Backends can have besides
// what the Ingress API says: a row has the names of a setting, its values and their bounds, its
// default, what holds where several say different things, and its documentation. Reading,
// permission, validation and the reference page follow from the row.
package settings

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// A Setting is one row of the table.
type Setting struct {
	Annotation string // its full name on an Ingress; "" if Ingresses have no such annotation
	// the field of a class that says the same, as in "healthCheck.path"; "" if there is none
	Class string

	// the attribute that it sets: of load balancers, or of target groups; "" for none
	BalancerAttribute, GroupAttribute string

	Type    Type
	Default string // the value where neither the class nor the Ingress has one; "" for none
	Without string // in words, the value then; "" where Default says it

	About   Subject
	Merge   Merge
	Merged  string // what Merge means for this setting, where its own words do not say it
	Decides Decides
	Needs   string // the capability that a cloud needs for it; "" for none
	Doc     string
	Example string

	// Good and Bad are values that are accepted and refused: by the annotation, and by the field of
	// the class.
	Good, Bad []string
	// Restricts says that the setting restricts which requests are answered: an Ingress is not served
	// without it.
	Restricts bool
	// OtherNames are names that authors may use in its place by mistake, in lower case and without
	// punctuation.
	OtherNames []string

	// put stores a value that Type accepts, unless it finds something else wrong with it.
	put func(*Values, string) error
	// ofClass returns what the class says, and whether it says anything.
	ofClass func(*v1alpha1.LoadBalancerClassSpec) (string, bool)
	// forbidden reports whether the class forbids a value. Nil where the class forbids all but its
	// own.
	forbidden func(*v1alpha1.LoadBalancerClassSpec) bool
	// exposes reports whether an Ingress whose annotation the class forbids could be exposed more than
	// its author asked for. It is not served then. The value has not been checked.
	exposes func(value string, given Values) bool
}

// A Subject is what a setting is about.
type Subject string

const (
	Ingress      Subject = "the Ingress"
	ServicePorts Subject = "the ports of its Services"
	Placement    Subject = "which load balancer the Ingress is on"
	Port         Subject = "the whole port"
	LoadBalancer Subject = "the whole load balancer"
)

// Whole reports whether a setting is about more than the Ingress that has it and its Services. In a
// group across namespaces such a setting counts only from the class and from the Ingresses of the
// group's owner.
func (s Subject) Whole() bool { return s == Port || s == LoadBalancer }

// A Merge is what holds where the members of a load balancer say different things.
type Merge string

const (
	Own              Merge = "each Ingress has its own"
	OwnLoadBalancer  Merge = "members of a group that differ are on several load balancers, and are told"
	OwnTargets       Merge = "per Service port; each value has targets of its own"
	OldestPerTargets Merge = "per Service port; the oldest Ingress decides, the others are told"
	OldestPerPort    Merge = "per port; the oldest Ingress decides, the others are told"
	OneForAll        Merge = "one for the whole load balancer"
	OldestForAll     Merge = "per load balancer; the oldest Ingress decides, the others are told"
)

// Decides says which of the class and the Ingress decides where both say something.
type Decides int

const (
	// IngressDecides has the class say what holds for Ingresses that say nothing.
	IngressDecides Decides = iota
	// ClassDecides has the value of the class hold for all Ingresses: they can say the same, and
	// nothing else.
	ClassDecides
	// ClassDecidesByPort is ClassDecides for a setting that the class can have for single ports, too.
	ClassDecidesByPort
)

// Longest is the bytes of the longest annotation that is read.
const Longest = 16 << 10

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
// without it than its author asked for.
func (s *Setting) Exposes(value string, given Values) bool {
	return s.exposes != nil && (len(value) > Longest || s.exposes(value, given))
}

// Check returns what is wrong with a value.
func (s *Setting) Check(value string) error { return s.read(&Values{}, value) }

// read checks a value and stores it.
func (s *Setting) read(to *Values, value string) error {
	if err := s.Type.Check(value); err != nil {
		return err
	}
	return s.put(to, value)
}

// value returns what holds for an Ingress that says a value, or nothing ("").
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
