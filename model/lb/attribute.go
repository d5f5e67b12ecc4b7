package lb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file holds attributes of target groups, which are in a cloud's own terms, against what the
// cloud knows: one that it does not know would cost the target group everything else.

// An Attribute is what values an attribute can have: one of a few, or a number of a range, or any
// text.
type Attribute struct {
	Values      []string
	Least, Most int // no range if both are zero
	Text        bool
}

// takes reports whether a value can be had.
func (a Attribute) takes(value string) bool {
	n, err := strconv.Atoi(value)
	return a.Text && value != "" || slices.Contains(a.Values, value) || a.Most > 0 && err == nil && a.Least <= n && n <= a.Most
}

func (a Attribute) String() string {
	said := slices.Clone(a.Values)
	if a.Most > 0 {
		said = append(said, fmt.Sprintf("a number from %d to %d", a.Least, a.Most))
	}
	return strings.Join(said, ", ")
}

// attributes are those of a backend that the cloud has, and a refusal of each other one. Sharer is
// who shares requests between the backend and others, and does not care which of them a client got
// before; "" if nobody.
func (c Capabilities) attributes(b routing.Backend, sharer string) (had map[string]string, refusals []Refusal) {
	for _, asked := range b.Attributes {
		known, ok := c.GroupAttributes[asked.Name]
		switch {
		case !ok:
			refusals = append(refusals, Refusal{Owner: asked.Owner, Source: asked.Source, Why: fmt.Sprintf("target groups of %s have no attribute %s", c.Name, diag.Cut(asked.Name))})
		case !known.takes(asked.Value):
			refusals = append(refusals, Refusal{Owner: asked.Owner, Source: asked.Source, Why: fmt.Sprintf("attribute %s of target groups cannot be %s: it has to be %s", asked.Name, diag.Quote(asked.Value), known)})
		case sharer != "" && c.sticks(asked.Name, asked.Value):
			refusals = append(refusals, Refusal{Owner: asked.Owner, Source: asked.Source, Why: fmt.Sprintf(
				"%s keeps clients with a target of %s only where they are kept with the Service, too, and %s shares requests between it and others without `stickiness`", c.Name, b.Service, sharer)})
		default:
			if had == nil {
				had = map[string]string{}
			}
			had[asked.Name] = asked.Value
		}
	}
	return had, refusals
}

// sticks reports whether an attribute has a target group keep clients with a target.
func (c Capabilities) sticks(name, value string) bool {
	return name == c.StickyAttribute && name != "" && value == "true"
}

// Sticks reports whether a target group keeps clients with a target.
func (c Capabilities) Sticks(g TargetGroup) bool {
	return c.sticks(c.StickyAttribute, g.Attributes[c.StickyAttribute])
}

// albGroupAttributes are the attributes that AWS documents for target groups of Application Load
// Balancers.
func albGroupAttributes() map[string]Attribute {
	toggle := Attribute{Values: []string{"true", "false"}}
	week := Attribute{Least: 1, Most: 7 * 24 * 60 * 60}
	count, percentage := Attribute{Values: []string{"off"}, Least: 1, Most: 1000}, Attribute{Values: []string{"off"}, Least: 1, Most: 100}
	return map[string]Attribute{
		"deregistration_delay.timeout_seconds":                                           {Least: 0, Most: 3600},
		"load_balancing.algorithm.anomaly_mitigation":                                    {Values: []string{"on", "off"}},
		"load_balancing.algorithm.type":                                                  {Values: []string{"round_robin", "least_outstanding_requests", "weighted_random"}},
		"load_balancing.cross_zone.enabled":                                              {Values: []string{"true", "false", "use_load_balancer_configuration"}},
		"slow_start.duration_seconds":                                                    {Values: []string{"0"}, Least: 30, Most: 900},
		"stickiness.app_cookie.cookie_name":                                              {Text: true},
		"stickiness.app_cookie.duration_seconds":                                         week,
		"stickiness.enabled":                                                             toggle,
		"stickiness.lb_cookie.duration_seconds":                                          week,
		"stickiness.type":                                                                {Values: []string{"lb_cookie", "app_cookie"}},
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 count,
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            percentage,
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      {Least: 1, Most: 1000},
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": percentage,
	}
}

// GroupSettings are what of a target group changes in place. Without attributes and tags they are
// told as health checks alone.
type GroupSettings struct {
	routing.HealthCheck
	Attributes map[string]string `json:"attributes,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}
