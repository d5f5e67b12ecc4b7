package planner

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/plan"
)

// Steps of which only the kind matters: of those that come early, one that detaches a certificate
// has a reason of its own.
var (
	step   = plan.ModifyListener{}
	detach = plan.DetachCertificate{}
)

// after, preferred, optional and placed are tasks, which others complete.
func after(tasks ...int) task     { return task{Step: step, After: tasks} }
func preferred(tasks ...int) task { return task{Step: step, Preferred: tasks} }
func optional(tasks ...int) task  { return task{Step: step, Optional: tasks} }
func placed(kind, n int, t task) task {
	t.Places[kind] = n
	return t
}

// text writes an order as the tasks in it, and behind each one those that it waits for.
func text(t *testing.T, s Sequence) string {
	t.Helper()
	var out []string
	for at, planned := range s.Steps {
		if !slices.IsSorted(planned.After) || len(slices.Compact(slices.Clone(planned.After))) < len(planned.After) {
			t.Errorf("step %d waits for %v, which is not ascending", at, planned.After)
		}
		var waits []string
		for _, b := range planned.After {
			waits = append(waits, fmt.Sprint(slices.Index(s.Index, b)))
		}
		one := fmt.Sprint(slices.Index(s.Index, at))
		if len(waits) > 0 {
			one += "<" + strings.Join(waits, ",")
		}
		if planned.Early != "" {
			one += " (" + string(planned.Early) + ")"
		}
		out = append(out, one)
	}
	return strings.Join(out, " ")
}

func TestTasksKeepTheirOrderWhereNothingIsShort(t *testing.T) {
	create := placed(rules, 1, after())
	for _, tt := range []struct {
		why          string
		tasks        []task
		taken, limit int
		want         string
	}{
		{"a task that becomes ready goes before later ones", []task{after(), after(2), after(), after()}, 0, 0, "0 2 1<2 3"},
		{"each task that is waited for is named once", []task{after(), after(), {Step: step, After: []int{1, 0}, Preferred: []int{0}}}, 0, 0, "0 1 2<0,1"},
		{"preferred and optional tasks are waited for", []task{optional(1), preferred(2), after()}, 0, 0, "2 1<2 0<1"},
		{"there is room for all", []task{create, placed(rules, -1, after())}, 1, 2, "0 1"},
		{"no limit", []task{create, placed(rules, -1, after())}, 3, 0, "0 1"},
		{"optional tasks that wait in a circle are given up first", []task{preferred(1), optional(0)}, 0, 0, "1 0<1"},
		{"preferred tasks that wait in a circle", []task{{Step: step, Preferred: []int{1}, Optional: []int{2}}, preferred(0), after(1)}, 0, 0, "0 (RedirectOrder) 1<0 2<1"},
		{"what must be is waited for in a circle", []task{after(1), preferred(0)}, 0, 0, "1 (RedirectOrder) 0<1"},
	} {
		got := order(tt.tasks, places{rules: tt.taken}, places{rules: tt.limit})
		if order := text(t, got); order != tt.want || !got.Complete || got.Lacking != [kinds]bool{} {
			t.Errorf("%s: the order is %q, complete %t; want %q", tt.why, order, got.Complete, tt.want)
		}
		if early := strings.Count(tt.want, string(diag.RedirectOrder)); len(got.EarlySteps) != early {
			t.Errorf("%s: %d steps are early, want %d", tt.why, len(got.EarlySteps), early)
		}
	}
}

func TestTasksAtALimit(t *testing.T) {
	create := func(waitsFor ...int) task { return placed(groups, 1, after(waitsFor...)) }
	deletion := func(waitsFor ...int) task { return placed(groups, -1, after(waitsFor...)) }
	// The group of this one has a rule, of which there may be any number.
	withRule := placed(rules, 1, create())
	freesRule := placed(rules, -1, after(0))
	for _, tt := range []struct {
		why          string
		tasks        []task
		taken, limit places
		want         string
	}{
		{"what takes a place waits for the step that frees it", []task{create(), deletion()}, places{groups: 1}, places{groups: 1}, "1 0<1"},
		{"beyond the limit, the first deletion frees none", []task{create(), deletion(), deletion()}, places{groups: 3}, places{groups: 2}, "1 2 0<2"},
		{"a place is taken once", []task{create(), create(), deletion(), deletion()}, places{groups: 2}, places{groups: 2}, "2 3 0<2 1<3"},
		{"nothing frees a place", []task{create(), after()}, places{groups: 1}, places{groups: 1}, "1, lacking groups"},
		{"kinds that are not short go on", []task{create(), placed(rules, 1, after())}, places{groups: 1}, places{groups: 1, rules: 1}, "1, lacking groups"},
		{"a deletion that needs a place", []task{create(), withRule, deletion(1)}, places{groups: 1}, places{groups: 2}, "1 2<1 0<2"},
		{"a deletion that needs a place twice", []task{create(), create(), after(1), after(1), deletion(2, 3)}, places{groups: 1}, places{groups: 2}, "1 2<1 3<1 4<2,3 0<4"},
		{"a deletion that needs more places than are free", []task{create(), create(), deletion(0, 1)}, places{groups: 1}, places{groups: 2}, ", lacking groups"},
		{"the deletion that needs fewer places, last", []task{create(), create(), create(), create(), deletion(1, 2), deletion(3)}, places{groups: 1}, places{groups: 3}, "3 5<3 1 2<5 4<1,2 0<4"},
		{"the deletion that needs fewer places, first", []task{create(), create(), create(), create(), deletion(1), deletion(2, 3)}, places{groups: 1}, places{groups: 3}, "1 4<1 2 3<4 5<2,3 0<5"},
		{"the first of equal deletions", []task{create(), create(), create(), deletion(2), deletion(1)}, places{groups: 1}, places{groups: 2}, "2 3<2 1<3 4<1 0<4"},
		{"a deletion of what is not short", []task{create(), create(), freesRule, deletion(1)}, places{groups: 1}, places{groups: 2, rules: 9}, "1 3<1 0<3 2<0"},
		{"optional tasks of the deletion of a rule are given up", []task{placed(rules, 1, after()), optional(0), placed(rules, -1, optional(0))}, places{rules: 1}, places{rules: 1}, "2 0<2 1<0"},
		{"optional tasks of the deletion of a listener are given up", []task{placed(listeners, 1, after()), optional(0), placed(listeners, -1, optional(0))}, places{listeners: 1}, places{listeners: 1}, "2 0<2 1<0"},
		{"a certificate is detached early", []task{placed(certificates, 1, after()), preferred(0), placed(certificates, -1, task{Step: detach, Preferred: []int{0}})},
			places{certificates: 1}, places{certificates: 1}, "2 (DeleteFirst) 0<2 1<0"},
		{"there is no certificate to detach", []task{placed(certificates, 1, after())}, places{certificates: 1}, places{certificates: 1}, ", lacking certificates"},
		{"no certificate is detached early for a rule", []task{placed(rules, 1, after()), placed(certificates, -1, task{Step: detach, Preferred: []int{0}})},
			places{rules: 1, certificates: 1}, places{rules: 1, certificates: 2}, ", lacking rules"},
	} {
		seq := order(slices.Clone(tt.tasks), tt.taken, tt.limit)
		got := text(t, seq)
		for kind, name := range map[int]string{rules: "rules", groups: "groups", certificates: "certificates"} {
			if seq.Lacking[kind] {
				got += ", lacking " + name
			}
		}
		if got != tt.want || seq.Complete == (len(seq.Steps) < len(tt.tasks)) {
			t.Errorf("%s: the order is %q, complete %t; want %q", tt.why, got, seq.Complete, tt.want)
		}
	}
	part := order([]task{create(), after()}, places{groups: 1}, places{groups: 1})
	if part.Has(0) || !part.Has(1) {
		t.Errorf("the order has task 0: %t, and task 1: %t", part.Has(0), part.Has(1))
	}
}

func TestEarlyStepsAreForgotten(t *testing.T) {
	got := order([]task{preferred(1), preferred(0)}, places{}, places{})
	got.ClearEarly()
	if order := text(t, got); order != "0 1<0" || len(got.EarlySteps) > 0 {
		t.Errorf("the order is %q with %d early steps", order, len(got.EarlySteps))
	}
}

// An account may have a quota of any size.
func TestALargeLimitTakesNoMemory(t *testing.T) {
	create := placed(rules, 1, after())
	const orders = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range orders {
		if got := text(t, order([]task{create, create}, places{}, places{rules: 1 << 22})); got != "0 1" {
			t.Fatal(got)
		}
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / orders; n > 10_000 {
		t.Errorf("an order of two tasks takes %d bytes", n)
	}
}
