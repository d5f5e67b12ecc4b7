package settings

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
)

// This file reads attributes of target groups and of load balancers.

// mostAttributes is how many attributes an Ingress sets. Each of its target groups has all of them.
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

// ofLoadBalancers returns the row of an annotation that sets an attribute of load balancers. The
// class can set the attribute for all Ingresses, in `attributes`; else the oldest Ingress decides.
func ofLoadBalancers(attribute string, s Setting) Setting {
	s.Attribute = attribute
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
