package targets

import (
	"testing"
	"time"

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
		"replaced":     {reason: "an addition does not hold a removal up", have: targets("a"), want: targets("b"), next: more, change: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			wait, change := due(c.have, c.want, c.next, c.waiting, at)
			if wait != c.wait || change != c.change {
				t.Errorf("due = %v, %v; want %v, %v: %s", wait, change, c.wait, c.change, c.reason)
			}
		})
	}
}
