package traffic

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/replay"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file makes the load balancers that lines are replayed against.

// Configurations are the compiled states that lines are replayed against.
type Configurations struct {
	Before   []*precedence.Table
	After    []*precedence.Table // after a change
	Change   bool                // there is one
	Observed map[lb.Key]*lb.Observed
	Assumed  bool                       // that these are in the cloud
	Foreign  map[lb.Key]map[int32][]int // priorities of rules that the class keeps, by port
	Names    []string                   // NAME=KEY for load balancers in logs
	Naming   *replay.Naming             // of target groups in logs; nil for Fairlead's
}

// Setup returns these for a replay.
func (c Configurations) Setup() (*replay.Setup, error) {
	names := map[lb.Key][]string{}
	for _, pair := range c.Names {
		name, key, found := strings.Cut(pair, "=")
		if !found || !slices.Contains(c.Keys(), key) {
			return nil, fmt.Errorf("--load-balancer %s: it must be a name in logs, = and the key of one of "+
				"the load balancers: %s", pair, strings.Join(c.Keys(), ", "))
		}
		names[lb.Key(key)] = append(names[lb.Key(key)], name)
	}
	after := compare.Successors(c.Before, c.After)
	out := &replay.Setup{Change: c.Change}
	for _, t := range c.Before {
		if t != nil && len(t.Listeners) > 0 {
			// The lines are those of Application Load Balancers.
			out.Balancers = append(out.Balancers, replay.Balancer{Table: t, After: after[t],
				Observed: c.Observed[t.Key], Assumed: c.Assumed, Dialect: lb.ALB().Dialect, Names: names[t.Key],
				Foreign: c.Foreign[t.Key], Naming: c.Naming})
		}
	}
	return out, nil
}

// Keys returns the keys of the load balancers before.
func (c Configurations) Keys() []string {
	var out []string
	for _, t := range c.Before {
		if t != nil && len(t.Listeners) > 0 {
			out = append(out, string(t.Key))
		}
	}
	return out
}
