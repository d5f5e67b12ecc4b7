package planner

import (
	"fmt"
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

// after, preferred, optional and places are tasks, which others complete.
func after(tasks ...int) Task     { return Task{Step: step, After: tasks} }
func preferred(tasks ...int) Task { return Task{Step: step, Preferred: tasks} }
func optional(tasks ...int) Task  { return Task{Step: step, Optional: tasks} }
func places(kind, n int, t Task) Task {
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
	create := places(Rules, 1, after())
	for _, tt := range []struct {
		why          string
		tasks        []Task
		taken, limit int
		want         string
	}{
		{"a task that becomes ready goes before later ones", []Task{after(), after(2), after(), after()}, 0, 0, "0 2 1<2 3"},
		{"each task that is waited for is named once", []Task{after(), after(), {Step: step, After: []int{1, 0}, Preferred: []int{0}}}, 0, 0, "0 1 2<0,1"},
		{"preferred and optional tasks are waited for", []Task{optional(1), preferred(2), after()}, 0, 0, "2 1<2 0<1"},
		{"there is room for all", []Task{create, places(Rules, -1, after())}, 1, 2, "0 1"},
		{"no limit", []Task{create, places(Rules, -1, after())}, 3, 0, "0 1"},
		{"optional tasks that wait in a circle are given up first", []Task{preferred(1), optional(0)}, 0, 0, "1 0<1"},
		{"preferred tasks that wait in a circle", []Task{{Step: step, Preferred: []int{1}, Optional: []int{2}}, preferred(0), after(1)}, 0, 0, "0 (RedirectOrder) 1<0 2<1"},
		{"what must be is waited for in a circle", []Task{after(1), preferred(0)}, 0, 0, "1 (RedirectOrder) 0<1"},
	} {
		got := Order(tt.tasks, Places{Rules: tt.taken}, Places{Rules: tt.limit})
		if order := text(t, got); order != tt.want || !got.Complete || got.Lacking != [Kinds]bool{} {
			t.Errorf("%s: the order is %q, complete %t; want %q", tt.why, order, got.Complete, tt.want)
		}
		if early := strings.Count(tt.want, string(diag.RedirectOrder)); len(got.EarlySteps) != early {
			t.Errorf("%s: %d steps are early, want %d", tt.why, len(got.EarlySteps), early)
		}
	}
}

func TestTasksAtALimit(t *testing.T) {
	create := func(waitsFor ...int) Task { return places(Groups, 1, after(waitsFor...)) }
	deletion := func(waitsFor ...int) Task { return places(Groups, -1, after(waitsFor...)) }
	// The group of this one has a rule, of which there may be any number.
	withRule := places(Rules, 1, create())
	freesRule := places(Rules, -1, after(0))
	for _, tt := range []struct {
		why          string
		tasks        []Task
		taken, limit Places
		want         string
	}{
		{"what takes a place waits for the step that frees it", []Task{create(), deletion()}, Places{Groups: 1}, Places{Groups: 1}, "1 0<1"},
		{"beyond the limit, the first deletion frees none", []Task{create(), deletion(), deletion()}, Places{Groups: 3}, Places{Groups: 2}, "1 2 0<2"},
		{"a place is taken once", []Task{create(), create(), deletion(), deletion()}, Places{Groups: 2}, Places{Groups: 2}, "2 3 0<2 1<3"},
		{"nothing frees a place", []Task{create(), after()}, Places{Groups: 1}, Places{Groups: 1}, "1, lacking groups"},
		{"kinds that are not short go on", []Task{create(), places(Rules, 1, after())}, Places{Groups: 1}, Places{Groups: 1, Rules: 1}, "1, lacking groups"},
		{"a deletion that needs a place", []Task{create(), withRule, deletion(1)}, Places{Groups: 1}, Places{Groups: 2}, "1 2<1 0<2"},
		{"a deletion that needs a place twice", []Task{create(), create(), after(1), after(1), deletion(2, 3)}, Places{Groups: 1}, Places{Groups: 2}, "1 2<1 3<1 4<2,3 0<4"},
		{"a deletion that needs more places than are free", []Task{create(), create(), deletion(0, 1)}, Places{Groups: 1}, Places{Groups: 2}, ", lacking groups"},
		{"the deletion that needs fewer places, last", []Task{create(), create(), create(), create(), deletion(1, 2), deletion(3)}, Places{Groups: 1}, Places{Groups: 3}, "3 5<3 1 2<5 4<1,2 0<4"},
		{"the deletion that needs fewer places, first", []Task{create(), create(), create(), create(), deletion(1), deletion(2, 3)}, Places{Groups: 1}, Places{Groups: 3}, "1 4<1 2 3<4 5<2,3 0<5"},
		{"the first of equal deletions", []Task{create(), create(), create(), deletion(2), deletion(1)}, Places{Groups: 1}, Places{Groups: 2}, "2 3<2 1<3 4<1 0<4"},
		{"a deletion of what is not short", []Task{create(), create(), freesRule, deletion(1)}, Places{Groups: 1}, Places{Groups: 2, Rules: 9}, "1 3<1 0<3 2<0"},
		{"optional tasks of the deletion of a rule are given up", []Task{places(Rules, 1, after()), optional(0), places(Rules, -1, optional(0))}, Places{Rules: 1}, Places{Rules: 1}, "2 0<2 1<0"},
		{"optional tasks of the deletion of a listener are given up", []Task{places(Listeners, 1, after()), optional(0), places(Listeners, -1, optional(0))}, Places{Listeners: 1}, Places{Listeners: 1}, "2 0<2 1<0"},
		{"a certificate is detached early", []Task{places(Certificates, 1, after()), preferred(0), places(Certificates, -1, Task{Step: detach, Preferred: []int{0}})},
			Places{Certificates: 1}, Places{Certificates: 1}, "2 (DeleteFirst) 0<2 1<0"},
		{"there is no certificate to detach", []Task{places(Certificates, 1, after())}, Places{Certificates: 1}, Places{Certificates: 1}, ", lacking certificates"},
		{"no certificate is detached early for a rule", []Task{places(Rules, 1, after()), places(Certificates, -1, Task{Step: detach, Preferred: []int{0}})},
			Places{Rules: 1, Certificates: 1}, Places{Rules: 1, Certificates: 2}, ", lacking rules"},
	} {
		seq := Order(slices.Clone(tt.tasks), tt.taken, tt.limit)
		got := text(t, seq)
		for kind, name := range map[int]string{Rules: "rules", Groups: "groups", Certificates: "certificates"} {
			if seq.Lacking[kind] {
				got += ", lacking " + name
			}
		}
		if got != tt.want || seq.Complete == (len(seq.Steps) < len(tt.tasks)) {
			t.Errorf("%s: the order is %q, complete %t; want %q", tt.why, got, seq.Complete, tt.want)
		}
	}
	part := Order([]Task{create(), after()}, Places{Groups: 1}, Places{Groups: 1})
	if part.Has(0) || !part.Has(1) {
		t.Errorf("the order has task 0: %t, and task 1: %t", part.Has(0), part.Has(1))
	}
}

func TestEarlyStepsAreForgotten(t *testing.T) {
	got := Order([]Task{preferred(1), preferred(0)}, Places{}, Places{})
	got.ClearEarly()
	if order := text(t, got); order != "0 1<0" || len(got.EarlySteps) > 0 {
		t.Errorf("the order is %q with %d early steps", order, len(got.EarlySteps))
	}
}

// An account may have a quota of any size.
func TestALargeLimitTakesNoMemory(t *testing.T) {
	create := places(Rules, 1, after())
	order := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if got := text(t, Order([]Task{create, create}, Places{}, Places{Rules: 1 << 22})); got != "0 1" {
				t.Fatal(got)
			}
		}
	})
	if n := order.AllocedBytesPerOp(); n > 10_000 {
		t.Errorf("an order of two tasks takes %d bytes", n)
	}
}
