package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads attributes of target groups and of load balancers.

// mostAttributes is the most attributes that an Ingress sets. Each of its target groups has all of
// them.
const mostAttributes = 30

// splitEscaped splits a list at its commas. A comma behind a backslash belongs to an item.
func splitEscaped(list string) []string {
	var items []string
	item := ""
	for part := range strings.SplitSeq(list, ",") {
		if open, escaped := strings.CutSuffix(part, `\`); escaped {
			item += open + ","
			continue
		}
		items, item = append(items, item+part), ""
	}
	if item != "" { // a backslash is at the end, and no comma behind it
		items = append(items, strings.TrimSuffix(item, ",")+`\`)
	}
	return items
}

// parseAttribute reads "name=value".
func parseAttribute(text string) (name, value string, err error) {
	name, value, found := strings.Cut(text, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !found || name == "" || value == "" {
		err = fmt.Errorf("%s is not a name, an equals sign and a value", diag.Quote(text))
	}
	return name, value, err
}

// parseAttributes reads "name=value,name=value".
func parseAttributes(text string) (map[string]string, error) {
	out := map[string]string{}
	for _, part := range splitEscaped(text) {
		name, value, err := parseAttribute(part)
		switch {
		case err != nil:
			return nil, err
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

// An Attribute is the value of an attribute, and the annotation that sets it.
type Attribute struct{ Value, Annotation string }

// Attributes are those that an Ingress sets, by name.
type Attributes map[string]Attribute

// put stores an attribute.
func (as *Attributes) put(name string, a Attribute) {
	if *as == nil {
		*as = Attributes{}
	}
	(*as)[name] = a
}

// putListed stores the attributes that an annotation lists, without those that have an annotation
// of their own.
func putListed(annotation string, of func(*Values) *Attributes) func(*Values, string) error {
	return func(v *Values, text string) error {
		listed, err := parseAttributes(text)
		for name, value := range listed {
			if (*of(v))[name].Annotation == "" {
				of(v).put(name, Attribute{value, annotation})
			}
		}
		return err
	}
}

func balancerAttributes(v *Values) *Attributes { return &v.BalancerAttributes }

func groupAttributes(v *Values) *Attributes { return &v.GroupAttributes }

// setTwice returns a finding for each attribute that a list and an annotation of its own set to
// different values.
func setTwice(annotation, listed string, given Attributes) (out []Finding) {
	list, _ := parseAttributes(listed) // what is wrong with it is a finding already
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if a := given[name]; a.Value != list[name] {
			out = append(out, Finding{annotation, diag.Warning, diag.SettingConflict,
				fmt.Sprintf("%s says %s for %s, and takes priority", a.Annotation, a.Value, name)})
		}
	}
	return out
}

// logs are the kinds of logs of load balancers. Where the class sets an attribute of one, all of
// that kind are the class's: an Ingress cannot write into a bucket of the class under another name.
var logs = []string{"access_logs.", "connection_logs.", "health_check_logs."}

// reserves returns why Ingresses cannot give an attribute of load balancers a value beside the
// settings of a class; "" if they can.
func reserves(c *v1alpha1.LoadBalancerClassSpec, name, value string) string {
	if pinned, is := c.Attributes[name]; is {
		if pinned == value {
			return ""
		}
		return fmt.Sprintf("the class has %s for %s", diag.Quote(pinned), name)
	}
	for _, kind := range logs {
		if !strings.HasPrefix(name, kind) {
			continue
		}
		for other := range c.Attributes {
			if strings.HasPrefix(other, kind) {
				return fmt.Sprintf("the class decides about all attributes of its %s, so about %s, too",
					strings.TrimSuffix(strings.ReplaceAll(kind, "_", " "), "."), name)
			}
		}
	}
	switch {
	case name == routing.AttributeFailOpen && value != "false" && IsWebACL(c.WAFv2ACL):
		return "the class has a web ACL, and " + name + " lets requests pass it"
	case name == routing.AttributeDenyGateways && value != "true":
		return "without " + name + " an internal load balancer can be reached from the internet over " +
			"IPv6, so only the class can have another value"
	}
	return ""
}

// withoutReserved removes the attributes of load balancers that the class decides about, and
// returns a finding for each.
func (v *Values) withoutReserved(c *v1alpha1.LoadBalancerClassSpec) (out []Finding) {
	for _, name := range slices.Sorted(maps.Keys(v.BalancerAttributes)) {
		a := v.BalancerAttributes[name]
		why := reserves(c, name, a.Value)
		if why == "" {
			continue
		}
		delete(v.BalancerAttributes, name)
		f := Finding{a.Annotation, diag.Warning, diag.AnnotationNotAllowed,
			why + "; the annotation changes nothing about it"}
		if name == routing.AttributeDenyGateways && a.Value == "true" {
			f.Severity, f.Message = diag.Error, why+", which exposes the Ingress more than it asks for, so "+
				"it is not served as it is"
		}
		out = append(out, f)
	}
	return out
}

// ofTargetGroups returns the row of an annotation that sets an attribute of target groups. It takes
// priority over the same attribute in the list of all.
func ofTargetGroups(attribute string, s Setting) Setting {
	s.GroupAttribute = attribute
	s.Without = "`target-group-attributes`, else the cloud's default"
	s.About, s.Merge = ServicePorts, OldestPerTargets
	s.Needs = "the attribute `" + attribute + "` of target groups, which AWS has"
	s.put = func(v *Values, text string) error {
		v.GroupAttributes.put(attribute, Attribute{s.Type.canonical(text), s.Annotation})
		return nil
	}
	return s
}

// ofLoadBalancers returns the row of an annotation that sets an attribute of load balancers. It
// takes priority over the same attribute in the list of all. The class can set the attribute for
// all Ingresses, in `attributes`; else the oldest Ingress decides.
func ofLoadBalancers(attribute string, s Setting) Setting {
	s.BalancerAttribute = attribute
	s.Without = "what the oldest Ingress of the load balancer says, else `load-balancer-attributes`, " +
		"else the cloud's default"
	s.About, s.Merge, s.Decides = LoadBalancer, OldestForAll, ClassDecides
	s.Needs = "the attribute `" + attribute + "` of load balancers, which AWS has"
	s.put = func(v *Values, text string) error {
		v.BalancerAttributes.put(attribute, Attribute{s.Type.canonical(text), s.Annotation})
		return nil
	}
	s.ofClass = func(c *v1alpha1.LoadBalancerClassSpec) (string, bool) {
		value, is := c.Attributes[attribute]
		return value, is
	}
	return s
}
