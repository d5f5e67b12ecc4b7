package traffic

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/replay"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file makes what lines are replayed against.

// Configurations are what lines are replayed against.
type Configurations struct {
	Before   []program.Program
	After    []program.Program // after a change
	Change   bool              // there is one
	Observed map[lb.Key]*lb.Observed
	Names    []string // NAME=KEY for load balancers in logs
}

// Setup returns these for a replay.
func (c Configurations) Setup() (*replay.Setup, error) {
	names := map[lb.Key][]string{}
	for _, told := range c.Names {
		name, key, found := strings.Cut(told, "=")
		is := func(p program.Program) bool { return p.LoadBalancer.Key == lb.Key(key) }
		if !found || !slices.ContainsFunc(c.Before, is) {
			return nil, fmt.Errorf("--load-balancer %s: it must be a name in logs, = and the key of one of "+
				"the load balancers: %s", told, strings.Join(keys(c.Before), ", "))
		}
		names[lb.Key(key)] = append(names[lb.Key(key)], name)
	}
	after := compare.Successors(tables(c.Before), tables(c.After))
	out := &replay.Setup{Change: c.Change}
	for _, p := range c.Before {
		if p.Table == nil || len(p.Table.Listeners) == 0 {
			continue
		}
		key := p.LoadBalancer.Key
		out.Balancers = append(out.Balancers, replay.Balancer{Table: p.Table, After: after[p.Table],
			Observed: c.Observed[key], Dialect: p.Capabilities.Dialect, Names: names[key]})
	}
	return out, nil
}

func tables(programs []program.Program) []*precedence.Table {
	var out []*precedence.Table
	for _, p := range programs {
		out = append(out, p.Table)
	}
	return out
}

func keys(programs []program.Program) []string {
	var out []string
	for _, p := range programs {
		out = append(out, string(p.LoadBalancer.Key))
	}
	return out
}
