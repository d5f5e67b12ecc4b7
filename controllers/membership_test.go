package controllers_test

import (
	"slices"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/kube"
)

// The members of a target group are changed by other hands: all of them are taken out, one of two,
// or one is put in whose requests are another Service's. Nothing happens in the cluster meanwhile.
func TestMembersThatAnotherHandChangedAreMended(t *testing.T) {
	for name, change := range map[string]func(members []lb.Target) []lb.Target{
		"all are taken out": func([]lb.Target) []lb.Target { return nil },
		"one is taken out":  func(members []lb.Target) []lb.Target { return members[:1] },
		"a foreign is added": func(members []lb.Target) []lb.Target {
			return append(members, lb.Target{Address: "127.0.0.1", Port: 9})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := emptyWorld(t, kube.Shared(t))
			w.run(func(s *settings) { s.operator.DriftInterval = 300 * time.Millisecond })
			w.serve("web", "web-1", "web-2")
			w.create(w.ask("shop", "shop.example", "/", "web"))
			w.eventually(func() error { return noError(len(w.members()) == 2, "the members are %v", w.members()) })
			before := w.members()
			keys, err := w.cloud.Cloud.List(t.Context())
			if err != nil || len(keys) != 1 {
				t.Fatal(keys, err)
			}
			seen, err := w.cloud.Cloud.Observe(t.Context(), keys[0], false)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.cloud.Cloud.SetTargets(t.Context(), keys[0], seen.TargetGroups[0].ID, change(slices.Clone(before))); err != nil {
				t.Fatal(err)
			}
			w.eventually(func() error {
				now := w.members()
				same := len(now) == 2 && slices.Contains(now, before[0]) && slices.Contains(now, before[1])
				return noError(same, "the members are %v, and were %v", now, before)
			})
		})
	}
}
