package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file adds up the results of Replayers.

// A Report has the results for all lines. Replay prints it as JSON: keys may be added, and none may
// change. Lists are never null.
type Report struct {
	LoadBalancers []LoadBalancer `json:"loadBalancers"`
	// Others has further load balancers in the lines.
	Others []other `json:"others"`
	// TargetGroups has those whose Service was not compared: their names are those of no Service, or of
	// several.
	TargetGroups  []other        `json:"targetGroups,omitempty"`
	Paths         []Path         `json:"paths"`
	Disagreements []Disagreement `json:"disagreements"`
	// Change is the effect of a change on the requests; nil if there is no change.
	Change  *Change `json:"change,omitempty"`
	Summary summary `json:"summary"`
}

// A LoadBalancer is a load balancer whose lines were compared.
type LoadBalancer struct {
	Key   lb.Key `json:"key"`
	Lines int64  `json:"lines"`
	// Priorities: the priorities of its rules are known, so those in the lines were compared.
	Priorities bool `json:"priorities"`
	// Planned: these priorities are from a plan that creates the load balancer.
	Planned bool `json:"planned"`
	// Foreign counts the lines that a foreign rule answered.
	Foreign int64 `json:"foreign"`
}

// An other is a load balancer by its name in logs.
type other struct {
	Name  string `json:"name"`
	Lines int64  `json:"lines"`
}

// An Answer is the action of an Ingress path. Without an Ingress, it is the 404 of the load
// balancer.
type Answer struct {
	Ingress string       `json:"ingress"`
	Source  string       `json:"source"` // the field of the Ingress
	Host    routing.Host `json:"host"`
	Route   string       `json:"route"` // path and conditions; empty for a default backend
	Action  string       `json:"action"`
}

// A Path is an Ingress path with the requests that it answered.
type Path struct {
	LoadBalancer lb.Key `json:"loadBalancer"`
	Port         int32  `json:"port"`
	Answer
	Requests int64 `json:"requests"`
	// Possible counts further requests that this or another path answered: lines do not have the
	// headers that decide.
	Possible int64 `json:"possible"`
	Errors
}

// A Disagreement has lines with an impossible answer.
type Disagreement struct {
	LoadBalancer lb.Key `json:"loadBalancer"`
	Port         int32  `json:"port"`
	// Kind is rule if an impossible rule decided, answer if the action is not that of the Ingress
	// paths, or location if the redirect has another URL.
	Kind   string `json:"kind"`
	Logged Logged `json:"logged"`
	// Priorities has the possible priorities; empty if they are not known.
	Priorities []int     `json:"priorities"`
	Expected   []Answer  `json:"expected"`
	Lines      int64     `json:"lines"`
	Examples   []Example `json:"examples"`
}

// Logged has the answers in the lines.
type Logged struct {
	Priority    int    `json:"priority"` // 0 for the default action
	Action      string `json:"action"`   // the last one: forward, redirect or fixed
	SignIn      bool   `json:"signIn"`
	Status      int    `json:"status,omitempty"`
	TargetGroup string `json:"targetGroup,omitempty"`
}

// An Example is a line of a log that stands for others like it.
type Example struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Request string `json:"request"`
	// Location is the location of the logged redirect.
	Location string `json:"location,omitempty"`
}

// A Change is what another configuration changes for the requests in the lines.
type Change struct {
	// Requests counts the requests whose answers before and after the change are compared.
	Requests int64 `json:"requests"`
	Changed  int64 `json:"changed"`
	// Possible counts requests whose answer may change: lines do not have the headers that decide.
	Possible int64        `json:"possible"`
	Top      []alteration `json:"top"` // those with the most requests first
}

// An alteration has requests whose answers a change alters in the same way.
type alteration struct {
	LoadBalancer lb.Key    `json:"loadBalancer"`
	Port         int32     `json:"port"`
	Certain      bool      `json:"certain"`
	Before       []Answer  `json:"before"`
	After        []Answer  `json:"after"`
	Requests     int64     `json:"requests"`
	Examples     []Example `json:"examples"`
}

// A summary counts lines.
type summary struct {
	Lines    int64 `json:"lines"`
	Compared int64 `json:"compared"`
	// Either counts lines that one of several paths answered: lines do not have the headers that
	// decide.
	Either        int64 `json:"either"`
	Disagreements int64 `json:"disagreements"` // lines
	// NotDecided counts lines of requests that no rule decided, such as those that are not HTTP.
	NotDecided int64 `json:"notDecided"`
	// Others counts lines of unknown load balancers.
	Others int64 `json:"others"`
	// NoListener counts lines of a port that the configuration does not have.
	NoListener int64 `json:"noListener"`
	// Foreign counts lines that a foreign rule answered.
	Foreign int64 `json:"foreign"`
	// Services counts compared lines of which only the Service was not compared.
	Services int64 `json:"services,omitempty"`
	// Untimely counts lines before --since, or at or after --until. Lines does not include them.
	Untimely int64 `json:"untimely"`
	// Undescribed counts lines of disagreements and changes beyond the limit.
	Undescribed int64 `json:"undescribed"`
}

// Merge adds up the results of Replayers of one Setup. Lines are in files of these names.
func Merge(setup *Setup, all []*Replayer, files []string) Report {
	sum := New(setup)
	for _, r := range all {
		sum.add(r)
	}
	out := Report{LoadBalancers: []LoadBalancer{}, Others: []other{}, Paths: []Path{},
		Disagreements: []Disagreement{}}
	for _, b := range sum.balancers {
		out.LoadBalancers = append(out.LoadBalancers,
			LoadBalancer{b.key, sum.byKey[b.key], len(b.listeners) > 0, b.planned,
				sum.foreign[b.key]})
		out.Summary.Foreign += sum.foreign[b.key]
	}
	for _, name := range slices.Sorted(maps.Keys(sum.others)) {
		out.Others = append(out.Others, other{name, sum.others[name]})
		out.Summary.Others += sum.others[name]
	}
	for _, name := range slices.Sorted(maps.Keys(sum.unclear)) {
		out.TargetGroups = append(out.TargetGroups, other{name, sum.unclear[name]})
		out.Summary.Services += sum.unclear[name]
	}
	for _, p := range sum.paths {
		out.Paths = append(out.Paths, Path{p.key, p.answer.port, p.answer.shown(), p.requests, p.possible,
			p.errors})
	}
	slices.SortFunc(out.Paths, func(a, b Path) int {
		return cmp.Or(cmp.Compare(a.LoadBalancer, b.LoadBalancer), -cmp.Compare(a.Requests, b.Requests),
			-cmp.Compare(a.Possible, b.Possible), cmp.Compare(a.Port, b.Port),
			cmp.Compare(a.Source, b.Source))
	})
	for _, g := range sum.wrong.sorted() {
		out.Disagreements = append(out.Disagreements, g.disagreement(files))
		out.Summary.Disagreements += g.lines
	}
	s := &out.Summary
	s.Disagreements += sum.wrong.rest.lines
	s.Undescribed = sum.wrong.rest.lines + sum.effects.rest.lines
	s.Untimely = sum.untimely
	s.Lines, s.Either, s.NotDecided, s.NoListener = sum.lines, sum.either, sum.unrouted, sum.unplaced
	s.Compared = s.Lines - s.Others - s.NotDecided - s.NoListener
	if setup.Change {
		out.Change = sum.change(s.Compared, files)
	}
	return out
}

func (r *Replayer) add(o *Replayer) {
	r.lines += o.lines
	r.unrouted += o.unrouted
	r.unplaced += o.unplaced
	r.either += o.either
	r.perhaps += o.perhaps
	r.changed += o.changed
	for name, n := range o.others {
		r.others[name] += n
	}
	for name, n := range o.unclear {
		r.unclear[name] += n
	}
	r.untimely += o.untimely
	for key, n := range o.byKey {
		r.byKey[key] += n
	}
	for key, n := range o.foreign {
		r.foreign[key] += n
	}
	for k, p := range o.paths {
		if r.paths[k] == nil {
			r.paths[k] = &pathCount{key: p.key, answer: p.answer}
		}
		mine := r.paths[k]
		mine.requests += p.requests
		mine.possible += p.possible
		mine.errors.add(p.errors)
	}
	r.wrong.merge(&o.wrong)
	r.effects.merge(&o.effects)
}

// sorted returns the groups with the most lines first, and otherwise by their first example.
func (g *groups) sorted() []*group {
	return slices.SortedFunc(maps.Values(g.known), func(a, b *group) int {
		if a.lines != b.lines {
			return -cmp.Compare(a.lines, b.lines)
		}
		x, y := a.examples[0].Place, b.examples[0].Place
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line))
	})
}

func (r *Replayer) change(compared int64, files []string) *Change {
	out := &Change{Requests: compared, Changed: r.changed, Possible: r.perhaps, Top: []alteration{}}
	for _, g := range r.effects.sorted() {
		out.Top = append(out.Top, alteration{g.key, g.port, g.effect == changed, shown(g.before),
			shown(g.after), g.lines, g.examples.shown(files)})
	}
	return out
}

func (g *group) disagreement(files []string) Disagreement {
	said := Logged{g.said.priority, g.said.final, g.said.authenticated, g.said.status, g.said.group}
	return Disagreement{g.key, g.port, g.wrong, said, append([]int{}, g.expected...), shown(g.before),
		g.lines, g.examples.shown(files)}
}

func (e examples) shown(files []string) []Example {
	out := []Example{}
	for _, one := range e {
		out = append(out, Example{files[one.File], one.Line, one.request, one.location})
	}
	return out
}

func shown(all []possible) []Answer {
	out := []Answer{}
	for _, p := range all {
		out = append(out, p.shown())
	}
	return out
}

// shown describes the answer.
func (a *answer) shown() Answer {
	out := Answer{Host: a.host, Action: a.action.String()}
	switch {
	case a == noListener[0].answer:
		out.Action = "no listener"
	case a.Owner.Name != "":
		out.Ingress = a.Owner.String()
	}
	switch {
	case a.Route != nil:
		out.Source, out.Route = a.Route.Source.String(), a.Route.Path.String()
		if len(a.Route.When) > 0 {
			out.Route += fmt.Sprintf(" with %s", a.Route.When)
		}
	case a.Default != nil:
		out.Source = a.Default.Source.String()
	}
	return out
}
