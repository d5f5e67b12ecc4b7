package planner

import (
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/plan"
)

// This file puts tasks into an order that never exceeds a limit. If there is room for all new
// resources, tasks keep the order in which they were created. If there is no room for all resources
// of a kind, tasks that create none of that kind run as early as possible. Of the other tasks, the
// predecessors of the deletion that needs the least room run first.

// unplaced is the index of a task that is not in the order, and the task of a place that was free
// at the start.
const unplaced = -1

// A schedule holds the state while tasks are put in order.
type schedule struct {
	tasks     []task
	waits     []int        // by task, the number of tasks that it still waits for
	followers [][]int      // by task, the tasks that wait for it
	ready     []int        // the tasks that wait for none, ascending
	early     map[int]bool // the tasks that do not wait for all preferred tasks

	limit     places
	need      places       // places that the remaining tasks take
	free      [kinds][]int // for each free place, the task that freed it, or unplaced
	overLimit places       // places taken beyond the limit

	Sequence
}

// A Sequence holds tasks in order.
type Sequence struct {
	Steps      []plan.Planned
	Complete   bool        // false if the limits do not permit the rest
	Lacking    [kinds]bool // the limits that are reached
	EarlySteps []plan.Step // the steps that do not wait for all preferred tasks
	Unparked   bool        // target groups take over requests without a check of their health
	Index      []int       // by task, its index in Steps, or unplaced
}

// ClearEarly removes the record of steps that come early.
func (s *Sequence) ClearEarly() {
	s.EarlySteps = nil
	for i := range s.Steps {
		s.Steps[i].Early = ""
	}
}

// order returns the tasks in order, as many as the limits permit.
func order(tasks []task, taken, limit places) Sequence {
	s := &schedule{tasks: tasks, waits: make([]int, len(tasks)), followers: make([][]int, len(tasks)),
		early: map[int]bool{}, limit: limit}
	for i, t := range tasks {
		s.Index = append(s.Index, unplaced)
		for _, before := range s.before(i) {
			s.waits[i]++
			s.followers[before] = append(s.followers[before], i)
		}
		if s.waits[i] == 0 {
			s.ready = append(s.ready, i)
		}
		for k := range t.Places {
			s.need[k] += max(0, t.Places[k])
		}
	}
	for k := range limit {
		s.overLimit[k] = max(0, taken[k]-limit[k])
		for range min(limit[k]-taken[k], s.need[k]) { // tasks need no more places
			s.free[k] = append(s.free[k], unplaced)
		}
	}
	for s.takeNext() {
	}
	s.Complete = len(s.Steps) == len(tasks)
	for k := range kinds {
		s.Lacking[k] = s.isShort(k)
	}
	return s.Sequence
}

// before returns the tasks that a task waits for.
func (s *schedule) before(i int) []int {
	return slices.Concat(s.tasks[i].After, s.tasks[i].Preferred, s.tasks[i].Optional)
}

// takeNext adds a task to the order, or makes one ready, and reports whether it could.
func (s *schedule) takeNext() bool {
	anyTask := func(task) bool { return true }
	if len(s.ready) == 0 && !s.dropOptional(anyTask) && !s.startEarly(anyTask) {
		return false
	}
	at := slices.IndexFunc(s.ready, func(i int) bool { return !s.takesShort(i) })
	if at < 0 {
		errand := s.cheapestDeletion()
		at = slices.IndexFunc(s.ready, func(i int) bool { return errand[i] })
	}
	if at >= 0 {
		i := s.ready[at]
		s.ready = slices.Delete(s.ready, at, at+1)
		s.appendTask(i)
		return true
	}
	return s.dropOptional(func(t task) bool {
		return t.Places[rules] < 0 || t.Places[listeners] < 0
	}) || s.isShort(certificates) && s.startEarly(func(t task) bool {
		return t.Places[certificates] < 0
	})
}

// makeReady adds a task to the ready ones.
func (s *schedule) makeReady(i int) {
	at, _ := slices.BinarySearch(s.ready, i)
	s.ready = slices.Insert(s.ready, at, i)
}

// dropOptional makes a task ready that waits only for its optional tasks.
func (s *schedule) dropOptional(which func(task) bool) bool {
	for i, t := range s.tasks {
		if !which(t) || !slices.ContainsFunc(t.Optional, s.pending) ||
			slices.ContainsFunc(slices.Concat(t.After, t.Preferred), s.pending) {
			continue
		}
		s.tasks[i].Optional = slices.DeleteFunc(slices.Clone(t.Optional), s.pending)
		s.waits[i] = 0
		s.makeReady(i)
		return true
	}
	return false
}

// startEarly makes a task ready that waits only for its preferred and optional tasks. It is used if
// tasks wait for each other, or if the limits leave no room for the preferred tasks.
func (s *schedule) startEarly(which func(task) bool) bool {
	for i, t := range s.tasks {
		if s.waits[i] > 0 && which(t) && !slices.ContainsFunc(t.After, s.pending) {
			s.tasks[i].Preferred = slices.DeleteFunc(slices.Clone(t.Preferred), s.pending)
			s.tasks[i].Optional = slices.DeleteFunc(slices.Clone(t.Optional), s.pending)
			s.waits[i] = 0
			s.EarlySteps, s.early[i] = append(s.EarlySteps, t.Step), true
			s.makeReady(i)
			return true
		}
	}
	return false
}

func (s *schedule) pending(i int) bool { return s.Index[i] == unplaced }

// isShort reports whether the remaining tasks need more places of a kind than are free.
func (s *schedule) isShort(kind int) bool {
	return s.limit[kind] > 0 && s.need[kind] > len(s.free[kind])
}

// takesShort reports whether a task takes a place of a kind that is short.
func (s *schedule) takesShort(i int) bool {
	for k := range s.limit {
		if s.tasks[i].Places[k] > 0 && s.isShort(k) {
			return true
		}
	}
	return false
}

// cheapestDeletion returns the tasks that have to run before the deletion that needs the fewest
// places for them. It returns nil if no deletion fits into the free places.
func (s *schedule) cheapestDeletion() map[int]bool {
	var best map[int]bool
	cheapest := 0
	for i := range s.tasks {
		if !s.pending(i) || !s.relievesShort(i) {
			continue
		}
		way, cost := s.predecessorsOf(i)
		if s.hasPlacesFor(cost) && (best == nil || cost.total() < cheapest) {
			best, cheapest = way, cost.total()
		}
	}
	return best
}

// relievesShort reports whether a task frees a place of a kind that is short.
func (s *schedule) relievesShort(i int) bool {
	for k := range s.limit {
		if s.tasks[i].Places[k] < 0 && s.isShort(k) {
			return true
		}
	}
	return false
}

// predecessorsOf returns the tasks that must run before a task, with the task itself, and the
// places that they take.
func (s *schedule) predecessorsOf(to int) (map[int]bool, places) {
	way, cost := map[int]bool{to: true}, places{}
	for stack := []int{to}; len(stack) > 0; {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for k := range cost {
			cost[k] += max(0, s.tasks[i].Places[k])
		}
		for _, b := range s.before(i) {
			if s.pending(b) && !way[b] {
				way[b] = true
				stack = append(stack, b)
			}
		}
	}
	return way, cost
}

// hasPlacesFor reports whether enough places are free.
func (s *schedule) hasPlacesFor(cost places) bool {
	for k := range s.limit {
		if s.limit[k] > 0 && cost[k] > len(s.free[k]) {
			return false
		}
	}
	return true
}

func (u places) total() int {
	sum := 0
	for _, n := range u {
		sum += n
	}
	return sum
}

// appendTask adds a task to the end of the order. It also waits for the tasks that freed its
// places.
func (s *schedule) appendTask(i int) {
	t := s.tasks[i]
	planned := plan.Planned{Step: t.Step, Origin: t.Origin}
	if s.early[i] {
		planned.Early = earlyReason(t.Step)
	}
	for _, b := range s.before(i) {
		planned.After = append(planned.After, s.Index[b])
	}
	for k, n := range t.Places {
		s.need[k] -= max(0, n)
		if s.limit[k] == 0 {
			continue
		}
		for range n {
			if place := s.free[k][0]; place != unplaced {
				planned.After = append(planned.After, s.Index[place])
			}
			s.free[k] = s.free[k][1:]
		}
		for range -n {
			if s.overLimit[k] > 0 {
				s.overLimit[k]--
				continue
			}
			s.free[k] = append(s.free[k], i)
		}
	}
	slices.Sort(planned.After)
	planned.After = slices.Compact(planned.After)
	s.Index[i] = len(s.Steps)
	s.Steps = append(s.Steps, planned)
	for _, b := range s.followers[i] {
		if s.waits[b]--; s.waits[b] == 0 {
			s.makeReady(b)
		}
	}
}

// earlyReason returns the reason of the diagnostic about a step that comes early.
func earlyReason(s plan.Step) diag.Reason {
	if _, detaches := s.(plan.DetachCertificate); detaches {
		return diag.DeleteFirst
	}
	return diag.RedirectOrder
}

// Has reports whether a task is in the order.
func (s Sequence) Has(task int) bool { return s.Index[task] != unplaced }
