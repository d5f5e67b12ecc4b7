package plan

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
)

// Lanes find out which steps of one listener must keep their order: those whose rules a request
// can match both. Rules that name plain hosts meet only in the lanes of those hosts, all others
// cross every lane. Where a rule meets too many others to compare, it becomes a barrier instead,
// which waits for everything since the last barrier and holds up everything after it.
type lanes struct {
	dialect  lb.Dialect
	barrier  int              // the last one, or absent
	since    []entry          // everything since then
	byHost   map[string][]int // of plain hosts, positions in since
	crossing []int            // positions of those that cross every lane
}

// An entry is a task and the rule whose requests it concerns.
type entry struct {
	task int
	rule lb.Rule
}

// crowd is how many rules a rule is compared with at most.
const crowd = 32

func newLanes(d lb.Dialect) *lanes {
	return &lanes{dialect: d, barrier: absent, byHost: map[string][]int{}}
}

// enter puts a task behind those that it must wait for, and returns these.
func (l *lanes) enter(e entry) []int {
	near := l.near(e.rule)
	if len(near) > crowd {
		return l.bar(e.task)
	}
	after := l.meeting(near, e.rule)
	l.admit(e)
	return after
}

// pass returns what a task must wait for, and lets nothing wait for the task.
func (l *lanes) pass(r lb.Rule) []int { return l.meeting(l.near(r), r) }

// admit makes later tasks wait for a task that is there already.
func (l *lanes) admit(e entry) {
	at := len(l.since)
	l.since = append(l.since, e)
	hosts := plainHosts(e.rule)
	if hosts == nil {
		l.crossing = append(l.crossing, at)
	}
	for _, h := range hosts {
		l.byHost[h] = append(l.byHost[h], at)
	}
}

// meeting are the barrier and those tasks at some positions whose rules overlap a rule.
func (l *lanes) meeting(near []int, r lb.Rule) []int {
	var after []int
	if l.barrier != absent {
		after = append(after, l.barrier)
	}
	for _, at := range near {
		if lb.Overlap(l.since[at].rule, r, l.dialect) {
			after = append(after, l.since[at].task)
		}
	}
	return after
}

// bar makes a task a barrier, and returns what it must wait for.
func (l *lanes) bar(task int) []int {
	var after []int
	for _, e := range l.since {
		after = append(after, e.task)
	}
	if len(after) == 0 && l.barrier != absent {
		after = append(after, l.barrier)
	}
	*l = lanes{dialect: l.dialect, barrier: task, byHost: map[string][]int{}}
	return after
}

// near are the positions of the rules that share a lane with a rule.
func (l *lanes) near(r lb.Rule) []int {
	hosts := plainHosts(r)
	if hosts == nil {
		all := make([]int, len(l.since))
		for i := range all {
			all[i] = i
		}
		return all
	}
	near := slices.Clone(l.crossing)
	for _, h := range hosts {
		near = append(near, l.byHost[h]...)
	}
	slices.Sort(near)
	return slices.Compact(near)
}

// plainHosts are the hosts of a rule that names nothing but plain ones, else nil.
func plainHosts(r lb.Rule) []string {
	c := r.Condition("host")
	if c == nil || len(c.Regex) > 0 || slices.ContainsFunc(c.Values, func(v string) bool { return strings.ContainsAny(v, "*?") }) {
		return nil
	}
	hosts := make([]string, len(c.Values))
	for i, v := range c.Values {
		hosts[i] = strings.ToLower(v)
	}
	return hosts
}
