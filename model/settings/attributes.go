package settings

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
)

// This file reads attributes of target groups and of load balancers.

// mostAttributes is the most attributes that an Ingress sets. Each of its target groups has all of
// them.
const mostAttributes = 30

// parseAttributes reads "name=value,name=value".
func parseAttributes(text string) (map[string]string, error) {
	out := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !found || name == "" || value == "":
			return nil, fmt.Errorf("%s is not a name, an equals sign and a value", diag.Quote(part))
		case out[name] != "":
			return nil, fmt.Errorf("%s is set twice", diag.Quote(name))
		}
		out[name] = value
	}
	if len(out) > mostAttributes {
		return nil, fmt.Errorf("it has %d attributes, and %d are the most", len(out), mostAttributes)
	}
	return out, nil
}

// A GroupAttribute is the value of an attribute of target groups, and the annotation that sets it.
type GroupAttribute struct{ Value, Annotation string }

// putListed stores the attributes that an annotation lists, without those that have an annotation
// of their own.
func putListed(annotation string) func(*Values, string) error {
	return func(v *Values, text string) error {
		listed, err := parseAttributes(text)
		for name, value := range listed {
			if v.GroupAttributes[name].Annotation == "" {
				v.putGroupAttribute(name, GroupAttribute{value, annotation})
			}
		}
		return err
	}
}

func (v *Values) putGroupAttribute(name string, a GroupAttribute) {
	if v.GroupAttributes == nil {
		v.GroupAttributes = map[string]GroupAttribute{}
	}
	v.GroupAttributes[name] = a
}

// ofTargetGroups returns the row of an annotation that sets an attribute of target groups. It takes
// priority over the same attribute in the list of all.
func ofTargetGroups(attribute string, s Setting) Setting {
	s.GroupAttribute = attribute
	s.Without = "`target-group-attributes`, else the cloud's default"
	s.About, s.Merge = ServicePorts, OldestPerTargets
	s.Needs = "the attribute `" + attribute + "` of target groups, which AWS has"
	s.put = func(v *Values, text string) error {
		v.putGroupAttribute(attribute, GroupAttribute{s.Type.canonical(text), s.Annotation})
		return nil
	}
	return s
}

// ofLoadBalancers returns the row of an annotation that sets an attribute of load balancers. The
// class can set the attribute for all Ingresses, in `attributes`; else the oldest Ingress decides.
func ofLoadBalancers(attribute string, s Setting) Setting {
	s.BalancerAttribute = attribute
	s.Without = "what the oldest Ingress of the load balancer says, else the cloud's default"
	s.About, s.Merge, s.Decides = LoadBalancer, OldestForAll, ClassDecides
	s.Needs = "the attribute `" + attribute + "` of load balancers, which AWS has"
	s.put = func(v *Values, text string) error {
		if v.BalancerAttributes == nil {
			v.BalancerAttributes = map[string]string{}
		}
		v.BalancerAttributes[attribute] = s.Type.canonical(text)
		return nil
	}
	s.ofClass = func(c *v1alpha1.LoadBalancerClassSpec) (string, bool) {
		value, is := c.Attributes[attribute]
		return value, is
	}
	return s
}
