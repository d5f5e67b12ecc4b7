package alb

import (
	"testing"
	"time"

	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file has target groups found by their tags late, or after they were deleted: rows A3, A4 and
// A6 of what differs between a simulator and AWS, for target groups.

// Target groups of Ingresses that are gone again go, though no listener ever named them.
func TestLooseTargetGroupsAreKnownWhileTheIndexLags(t *testing.T) {
	for _, action := range []string{"RegisterTargets", "CreateLoadBalancer", "CreateRule"} {
		t.Run(action, func(t *testing.T) {
			inBubble(t, lagging(), func(w *world) {
				w.service("web", 1)
				w.service("more", 1)
				w.serve("site", map[string]string{"/": "web", "/more": "more"})
				w.failing(action, 9)
				if err := w.rest(); err == nil {
					t.Fatal("nothing fails")
				}
				w.remove("site")
				w.seen = nil
				w.persist()
				if there := w.sim.Inventory(); there["target groups"] != 0 {
					t.Errorf("there are %v", there)
				}
			})
		})
	}
}

// Row A6.
func TestATargetGroupThatIsGoneIsMadeAgain(t *testing.T) {
	for name, between := range map[string]func(w *world){"the same process": func(w *world) { w.seen = nil }, "another process": (*world).restart} {
		t.Run(name, func(t *testing.T) {
			o := lagging()
			o.Ghosts = 6 * time.Hour
			inBubble(t, o, func(w *world) {
				w.service("web", 1)
				w.service("more", 1)
				w.serve("site", map[string]string{"/": "web"})
				for range 3 {
					w.serve("more", map[string]string{"/": "more"})
					w.persist()
					time.Sleep(5 * time.Minute)
					w.remove("more")
					w.persist()
					if there := w.sim.Inventory(); there["target groups"] != 1 {
						t.Errorf("there are %v", there)
					}
					between(w)
				}
				w.serve("more", map[string]string{"/": "more"})
				w.persist()
				time.Sleep(time.Minute) // for rules to be deployed
				for _, name := range []string{"site", "more"} {
					answer := w.sim.Ask(w.seen.Address.Hostname, matching.Request{Port: 80, Host: name + ".example.com", Path: "/", Source: "203.0.113.7"}, matching.Reading{})
					if len(answer.Forward) != 1 || len(answer.Forward[0].Targets) != 1 {
						t.Errorf("requests for %s go to %v", name, answer.Forward)
					}
				}
			})
		})
	}
}

// Targets of a load balancer that is kept by the same installation, and that this process knows
// nothing of.
func TestPortsOfTargetsThatTheIndexLacksStayOpen(t *testing.T) {
	o := lagging()
	o.Indexing = 5 * time.Hour
	inBubble(t, o, func(w *world) {
		w.service("web", 1)
		w.service("old", 1)
		w.onPort("old", 7070)
		w.serve("site", map[string]string{"/": "web", "/old": "old"})
		w.settle()
		time.Sleep(o.Indexing + time.Minute) // for these to be found

		first := w.key
		w.service("far", 1)
		w.onPort("far", 9090)
		w.serve("other", map[string]string{"/": "far"}).Annotations["fairlead.dev/group"] = "other"
		w.turn("fairlead/shop/@other/internal")
		w.settle()

		w.turn(first)
		w.settle()
		w.service("web", 2)
		w.service("old", 0)
		w.settle()
		time.Sleep(70 * time.Minute)
		w.service("web", 1)
		w.settle()
		if got := w.fences()["nodes"]; len(got) != 2 || got[0] != "8080 shared" || got[1] != "9090 shared" {
			t.Errorf("nodes admit %v, want the ports 8080 and 9090", got)
		}
	})
}
