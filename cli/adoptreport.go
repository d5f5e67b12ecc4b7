package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cli/comparison"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the report of adopt.

// takeovers are the JSON that adopt prints: keys may be added, and none may change.
type takeovers struct {
	Cluster       string          `json:"cluster"` // as the other controller names it
	LoadBalancers []foundBalancer `json:"loadBalancers"`
	// Alone are load balancers that were found and are not wanted, or that are wanted and were not found.
	Alone []alone `json:"alone"`
	// OtherClusters is how many load balancers of other clusters were found. They are left alone.
	OtherClusters int `json:"otherClusters"`
	// OtherClusterNames are the names of these clusters.
	OtherClusterNames []string `json:"otherClusterNames"`
	// InTheWay says what stands in the way of taking the load balancers over; nothing if the cluster is not read.
	InTheWay []string `json:"inTheWay"`
	// Progress says what was done with --yes.
	Progress []progress `json:"progress,omitempty"`
	// Answers has the requests that get another answer, and the settings of exposure. Before is what the load
	// balancers that were found do.
	Answers comparison.Report `json:"answers"`

	// ByHand: no controller made the load balancers.
	ByHand bool `json:"byHand,omitempty"`

	compared []compare.Report
}

// An alone is a load balancer without a counterpart.
type alone struct {
	Name   string `json:"name,omitempty"` // of one that was found
	For    string `json:"for,omitempty"`  // in its tags
	Wanted lb.Key `json:"wanted,omitempty"`
	Why    string `json:"why"`
}

// A foundBalancer is a load balancer that was compared.
type foundBalancer struct {
	Name   string `json:"name"`
	Handle string `json:"handle"`
	Key    lb.Key `json:"key"`
	For    string `json:"for"` // the group or the Ingress in its tags
	Rules  int    `json:"rules"`
	// Classes is how many classes of requests were compared, and Differ how many of them get another answer. Those that took
	// too long to compare are Undecided.
	Classes   int  `json:"classes"`
	Differ    int  `json:"differ"`
	Undecided int  `json:"undecided"`
	Same      bool `json:"same"` // nothing differs
	// Settings are otherwise than Fairlead would make them.
	Settings      []adopt.Difference `json:"settings"`
	NotUnderstood []string           `json:"notUnderstood"`
	// Left has the target groups that were found and are not wanted, with the reason.
	Left map[lb.GroupID]string `json:"left"`
	// Stay has the listeners that no Ingress asks for, and that stay as they are.
	Stay []stayingListener `json:"stay,omitempty"`
	// Missing are the target groups that are wanted and were not found.
	Missing   []lb.GroupID     `json:"missing"`
	Resources []adopt.Resource `json:"resources"`
}

// A stayingListener is a listener that no Ingress asks for, and that stays.
type stayingListener struct {
	Port     int32            `json:"port"`
	Protocol routing.Protocol `json:"protocol"`
	Rules    int              `json:"rules"`
	Handle   string           `json:"handle"`
}

// add adds a load balancer that was compared.
func (r *takeovers) add(p adopt.Pair, c adopt.Comparison) {
	none := func(all []string) []string { return append([]string{}, all...) }
	var stay []stayingListener
	for _, l := range c.Stay {
		stay = append(stay, stayingListener{l.Port, l.Protocol, len(l.Rules), l.Handle})
	}
	r.LoadBalancers = append(r.LoadBalancers, foundBalancer{
		Name: p.Found.Name, Handle: p.Found.Handle, Key: p.Wanted.LoadBalancer.Key, For: adopt.Stack(p.Found),
		Rules: p.Found.RuleCount(), Classes: c.Classes, Differ: len(c.Changes), Undecided: len(c.Undecided), Same: c.Same(),
		Settings: append([]adopt.Difference{}, c.Settings...), NotUnderstood: none(c.NotUnderstood), Left: c.Left, Stay: stay,
		Missing: append([]lb.GroupID{}, c.Missing...), Resources: c.Resources,
	})
	r.compared = append(r.compared, c.Report)
}

// finish adds the answers that differ.
func (r *takeovers) finish() {
	all := compare.Report{Changes: []compare.Change{}, Exposures: []compare.Exposure{}, Undecided: []compare.Undecided{}}
	for _, one := range r.compared {
		all.Changes = append(all.Changes, one.Changes...)
		all.Exposures = append(all.Exposures, one.Exposures...)
		all.Undecided = append(all.Undecided, one.Undecided...)
	}
	r.Answers = comparison.ReportOf(all, len(r.LoadBalancers), []comparison.Problem{})
}

// differs reports whether anything is not the same.
func (r takeovers) differs() bool { return r.differ()+len(r.Alone) > 0 }

// aloneError is the error of a takeover that leaves load balancers without a counterpart.
func (r takeovers) aloneError() error {
	if len(r.Alone) > 0 {
		return errToDo
	}
	return nil
}

// differ returns how many load balancers differ.
func (r takeovers) differ() (n int) {
	for _, b := range r.LoadBalancers {
		if !b.Same {
			n++
		}
	}
	return n
}

// odd reports whether something is not understood.
func (r takeovers) odd() bool {
	return slices.ContainsFunc(r.LoadBalancers, func(b foundBalancer) bool { return len(b.NotUnderstood) > 0 })
}

// Text implements output.Report.
func (r takeovers) Text(colour output.Palette) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(printable.Line(fmt.Sprintf(format, args...)) + "\n")
	}
	of := "of cluster " + r.Cluster + " "
	if r.ByHand {
		of = ""
	}
	line("%s %scompared, %d of them differ.", output.Number(len(r.LoadBalancers), "load balancer"), of, r.differ())
	if r.OtherClusters > 0 {
		line("%s of other clusters left alone: %s.", output.Number(r.OtherClusters, "load balancer"),
			strings.Join(r.OtherClusterNames, ", "))
	}
	for _, f := range r.LoadBalancers {
		b.WriteByte('\n')
		for _, text := range f.lines() {
			line("%s", text)
		}
	}
	if len(r.Alone) > 0 {
		b.WriteByte('\n')
		line("Without a counterpart:")
	}
	for _, one := range r.Alone {
		switch {
		case one.Wanted != "":
			line("  wanted %s: %s", one.Wanted, one.Why)
		default:
			line("  found %s, for %s: %s", one.Name, one.For, one.Why)
		}
	}
	if len(r.InTheWay) > 0 {
		b.WriteByte('\n')
		line("In the way of taking over:")
	}
	for _, what := range r.InTheWay {
		line("  %s", what)
	}
	for _, p := range r.Progress {
		b.WriteByte('\n')
		known := len(p.Obstacles)
		p.Obstacles = slices.DeleteFunc(slices.Clone(p.Obstacles), func(what string) bool { return slices.Contains(r.InTheWay, what) })
		if known > len(p.Obstacles) {
			p.Obstacles = append(p.Obstacles, "what is said above")
		}
		for _, text := range p.lines() {
			line("%s", text)
		}
	}
	b.WriteByte('\n')
	if r.ByHand {
		b.WriteString(terraform(r.LoadBalancers) + "\n")
	}
	return b.String() + r.Answers.Text(colour)
}

// lines describes a load balancer for people.
func (f foundBalancer) lines() []string {
	out := []string{strings.Replace(fmt.Sprintf("%s, for %s, is wanted as %s", f.Name, f.For, f.Key), ", for ,", "", 1)}
	add := func(format string, args ...any) { out = append(out, "  "+fmt.Sprintf(format, args...)) }
	if f.Differ+f.Undecided+len(f.NotUnderstood) == 0 {
		add("answers: the same for all requests (%s, %d kinds of requests)", output.Number(f.Rules, "rule"), f.Classes)
	} else {
		add("answers: %d of %d kinds of requests differ, and %d are not decided", f.Differ, f.Classes, f.Undecided)
	}
	for _, what := range f.NotUnderstood {
		add("not understood: %s", what)
	}
	wanted, found := map[string]bool{}, 0
	for _, r := range f.Resources {
		if r.Kind == adopt.TargetGroup && r.Wanted != "" {
			wanted[r.Wanted], found = true, found+1
		}
	}
	add("target groups: %d are %d wanted ones", found, len(wanted))
	for _, id := range slices.Sorted(maps.Keys(f.Left)) {
		add("target group %s is not wanted: %s", id, f.Left[id])
	}
	if len(f.Left) > 0 && f.For == "" {
		add("--target-group ARN=namespace/service:port says of which Service a target group is")
	}
	for _, id := range f.Missing {
		add("target group %s is wanted, and was not found", id)
	}
	for _, l := range f.Stay {
		add("listener %d (%s, %s) stays as it is: no Ingress asks for its port; unknownListeners: Remove of the class deletes it",
			l.Port, l.Protocol, output.Number(l.Rules, "rule"))
	}
	for _, d := range f.Settings {
		stays := ""
		if d.Stays {
			stays = "; nothing asks for it, so it stays"
		}
		add("%s, %s: is %s, wanted %s%s", d.Of, d.Setting, d.Found, cmp.Or(d.Wanted, "none"), stays)
	}
	return out
}

// Markdown implements output.Report.
func (r takeovers) Markdown() string { return "```\n" + r.Text(false) + "```\n" }
