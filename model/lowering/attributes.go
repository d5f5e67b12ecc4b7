package lowering

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file checks attributes of load balancers, listeners and target groups against the cloud's
// list: the cloud would refuse an unknown one together with all other changes.

// BalancerAttributes returns the attributes of a load balancer that the cloud has, and errors about
// the others.
func BalancerAttributes(
	c lb.Capabilities, asked map[string]string,
) (had map[string]string, problems []string) {
	return knownAttributes(c.BalancerAttributes, asked, "load balancers", c.Name)
}

// RefusesAttribute returns why load balancers of the cloud cannot have an attribute with a value;
// "" if they can.
func RefusesAttribute(c lb.Capabilities, name, value string) string {
	_, problems := BalancerAttributes(c, map[string]string{name: value})
	return strings.Join(problems, "; ")
}

// ListenerAttributes does the same for a listener of a protocol.
func ListenerAttributes(
	c lb.Capabilities, protocol routing.Protocol, asked map[string]string,
) (had map[string]string, problems []string) {
	had, problems = knownAttributes(c.ListenerAttributes, asked, "listeners", c.Name)
	for _, name := range slices.Sorted(maps.Keys(had)) {
		if c.ListenerAttributes[name].Secure && protocol != routing.HTTPS {
			problems = append(problems,
				fmt.Sprintf("attribute %s is one of %s listeners", name, routing.HTTPS))
			had = maps.Clone(had)
			delete(had, name)
		}
	}
	return had, problems
}

// knownAttributes returns the known attributes, and errors about the others. If known is empty, the
// cloud accepts any.
func knownAttributes(
	known map[string]lb.Attribute, asked map[string]string, of, cloud string,
) (had map[string]string, problems []string) {
	if known == nil {
		return asked, nil
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		row, ok := known[name]
		switch {
		case !ok:
			problems = append(problems,
				fmt.Sprintf("%s of %s have no attribute %s", of, cloud, diag.Cut(name)))
		case !row.Takes(asked[name]):
			problems = append(problems,
				fmt.Sprintf("attribute %s of %s cannot be %s: it has to be %s", name, of,
					diag.Quote(asked[name]), row))
		default:
			if had == nil {
				had = map[string]string{}
			}
			had[name] = asked[name]
		}
	}
	return had, problems
}

// attributesOf returns the attributes of a backend that the cloud has, and refusals of the others.
// Sharer names the object that shares requests between the backend and others without stickiness;
// "" for none.
func attributesOf(c lb.Capabilities, b routing.Backend, sharer string) (had map[string]string,
	refusals []Refusal) {
	for _, asked := range b.Attributes {
		known, ok := c.GroupAttributes[asked.Name]
		switch {
		case !ok:
			refusals = append(refusals, Refusal{Owner: asked.Owner, Source: asked.Source,
				Why: fmt.Sprintf("target groups of %s have no attribute %s", c.Name, diag.Cut(asked.Name))})
		case !known.Takes(asked.Value):
			refusals = append(refusals, Refusal{Owner: asked.Owner, Source: asked.Source,
				Why: fmt.Sprintf("attribute %s of target groups cannot be %s: it has to be %s", asked.Name,
					diag.Quote(asked.Value), known)})
		case sharer != "" && c.KeepsClients(asked.Name, asked.Value):
			refusals = append(refusals, Refusal{Owner: asked.Owner, Source: asked.Source, Why: fmt.Sprintf(
				"%s keeps clients with a target of %s only where they are kept with the Service, too, and %s "+
					"shares requests between it and others without `stickiness`", c.Name, b.Service, sharer)})
		default:
			if had == nil {
				had = map[string]string{}
			}
			had[asked.Name] = asked.Value
		}
	}
	for _, asked := range b.Attributes {
		value, kept := had[asked.Name]
		why := c.GroupAttributes[asked.Name].Excluded(asked.Name, value, string(b.Version), had)
		if kept && why != "" {
			refusals = append(refusals, Refusal{Owner: asked.Owner, Source: asked.Source, Why: why})
			delete(had, asked.Name)
		}
	}
	return had, refusals
}
