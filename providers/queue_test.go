package providers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/lb"
)

// order pushes calls, each as its load balancer with ! behind it where it is urgent, and returns
// the order in which they are made.
func order(calls string) string {
	var q queue[string]
	for i, c := range strings.Fields(calls) {
		key, urgent := strings.CutSuffix(c, "!")
		q.push(lb.Key(key), urgent, fmt.Sprint(c, i))
	}
	var out []string
	for !q.empty() {
		out = append(out, strings.TrimRight(q.pop(), "0123456789"))
	}
	return strings.Join(out, " ")
}

func TestLoadBalancersTakeTurnsAndUrgentCallsGoFirst(t *testing.T) {
	for name, c := range map[string]struct{ calls, want string }{
		"in their order":                {"a a a", "a a a"},
		"a busy one, and two others":    {"a a a a b c", "a b c a a a"},
		"one urgent call":               {"a a b c!", "c! a b a"},
		"urgent ones take turns":        {"a! a! a! b! c!", "a! b! c! a! a!"},
		"the others go on":              {"a! a! a! a! a! b b", "a! a! a! b a! a! b"},
		"a load balancer in both lines": {"a a! b", "a! a b"},
	} {
		if got := order(c.calls); got != c.want {
			t.Errorf("%s: %q are made as %q, want %q", name, c.calls, got, c.want)
		}
	}
}

func TestACallThatWaitsNoLongerLeaves(t *testing.T) {
	var q queue[int]
	q.push("a", false, 1)
	q.push("a", false, 2)
	q.push("b", true, 3)
	if !q.remove(1) || !q.remove(3) || q.remove(3) {
		t.Error("what waits can be taken out, once")
	}
	if got := q.pop(); got != 2 || !q.empty() {
		t.Errorf("call %d is next, want 2 and no other", got)
	}
}

// Calls for no load balancer are not behind each other.
func TestCallsForNoLoadBalancerAreNoLine(t *testing.T) {
	var q queue[int]
	q.push("", false, 1)
	q.push("", false, 2)
	q.push("a", false, 3)
	if got := []int{q.pop(), q.pop(), q.pop()}; !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("calls are made as %v", got)
	}
}

// Of four calls three at the most are urgent while others wait, counted from when others began to.
func TestUrgentCallsAreCountedWhileOthersWait(t *testing.T) {
	var q queue[string]
	push := func(urgent bool, calls ...string) {
		for _, c := range calls {
			q.push("", urgent, c)
		}
	}
	made := ""
	pop := func(n int) {
		for range n {
			made += q.pop()
		}
	}
	push(true, "U", "U", "U")
	push(false, "o")
	pop(2)
	q.remove("o") // it waits no longer
	pop(1)
	push(true, "U", "U", "U", "U")
	push(false, "o")
	pop(5)
	if want := "UUU" + "UUUoU"; made != want || !q.empty() {
		t.Errorf("the calls are made as %s, want %s", made, want)
	}
}
