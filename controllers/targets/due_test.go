package targets

import (
	"slices"
	"testing"
	"time"

	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/lb"
)

func TestDue(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	targets := func(names ...string) (out []lb.Target) {
		for _, n := range names {
			out = append(out, lb.Target{Address: n, Port: 80})
		}
		return out
	}
	cases := map[string]struct {
		reason     string
		have, want []lb.Target
		next       outlook
		waiting    time.Time
		wait       time.Duration
		change     bool
	}{
		"nothing":      {reason: "what is there stays", have: targets("a"), want: targets("a")},
		"first":        {reason: "the others of its Deployment will follow", want: targets("a"), next: more, wait: time.Second, change: true},
		"alone":        {reason: "nobody follows it", want: targets("a"), change: true},
		"added":        {reason: "more will follow", have: targets("a"), want: targets("a", "b"), next: more, wait: time.Second, change: true},
		"still adding": {reason: "the second runs from the first of them", have: targets("a"), want: targets("a", "b"), next: more, waiting: at.Add(-300 * time.Millisecond), wait: 700 * time.Millisecond, change: true},
		"gathered":     {reason: "the second is over", have: targets("a"), want: targets("a", "b"), next: more, waiting: at.Add(-2 * time.Second), change: true},
		"the last":     {reason: "nobody else is to wait for", have: targets("a"), want: targets("a", "b"), waiting: at.Add(-300 * time.Millisecond), change: true},
		"removed":      {reason: "a request may be on its way there", have: targets("a", "b"), want: targets("a"), next: more, change: true},
		"left behind":  {reason: "the Ingress may go, too", have: targets("a"), next: deserted, wait: 5 * time.Second, change: true},
		"and still so": {reason: "it stayed", have: targets("a"), next: deserted, waiting: at.Add(-6 * time.Second), change: true},
		"disputed":     {reason: "its Pods may be seen yet", have: targets("a"), next: disputed, wait: 10 * time.Second, change: true},
		"replaced":     {reason: "an addition does not hold a removal up", have: targets("a"), want: targets("b"), next: more, change: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			wait, change := dueIn(c.have, c.want, c.next, c.waiting, at)
			if wait != c.wait || change != c.change {
				t.Errorf("due = %v, %v; want %v, %v: %s", wait, change, c.wait, c.change, c.reason)
			}
		})
	}
}

// A target whose Pod is not seen yet stays where it is registered. Another one is not added.
func TestRegisteredTargetsStayUntilTheirPodsAreSeen(t *testing.T) {
	a, b, c := lb.Target{Address: "a"}, lb.Target{Address: "b"}, lb.Target{Address: "c"}
	found := endpoints.Found{Targets: []lb.Target{a, b}, Awaited: []lb.Target{b, c}}
	for name, want := range map[string]struct{ have, want []lb.Target }{
		"none is registered":    {nil, []lb.Target{a, b}},
		"all are registered":    {[]lb.Target{a, b, c}, []lb.Target{a, b, c}},
		"others are registered": {[]lb.Target{a, {Address: "d"}}, []lb.Target{a, b}},
	} {
		if got := addStaying(found, want.have); !slices.Equal(got, want.want) {
			t.Errorf("%s: the targets are %v, want %v", name, got, want.want)
		}
	}
	if len(found.Targets) != 2 {
		t.Errorf("what was found has changed to %v", found.Targets)
	}
}

// A group with too many targets is tried again.
func TestACrowdedGroupIsTriedAgain(t *testing.T) {
	if got := retryCrowded(true).RequeueAfter; got != queue.AfterCrowded {
		t.Errorf("it comes back in %s", got)
	}
	if got := retryCrowded(false).RequeueAfter; got != 0 {
		t.Errorf("one with room comes back in %s", got)
	}
}

// Targets are the same in any order.
func TestTheSameTargets(t *testing.T) {
	a, b := lb.Target{Address: "a"}, lb.Target{Address: "b"}
	for _, c := range []struct {
		one, other []lb.Target
		want       bool
	}{
		{nil, nil, true},
		{[]lb.Target{a, b}, []lb.Target{b, a}, true},
		{[]lb.Target{a}, []lb.Target{a, b}, false},
		{[]lb.Target{a, b}, []lb.Target{a}, false},
		{[]lb.Target{a}, []lb.Target{b}, false},
	} {
		if got := sameTargets(c.one, c.other); got != c.want {
			t.Errorf("%v and %v are the same: %v", c.one, c.other, got)
		}
	}
}
