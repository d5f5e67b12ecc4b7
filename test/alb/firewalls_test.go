package alb

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
)

// This file has resources found by their tags late, or after they were deleted, and looks at the
// security groups of load balancers: rows A3 and A6 of what differs between a simulator and AWS. It
// judges before any restart or deep look.

// lagging is an account whose tags are found a minute late.
func lagging() albsim.Options {
	o := usual()
	o.Indexing = time.Minute
	return o
}

// failing breaks a call of some action as often as it says.
func (w *world) failing(action string, times int) {
	w.sim.Break(func(c albsim.Call) albsim.Fault {
		if c.Action != action || times == 0 {
			return albsim.NoFault
		}
		times--
		return albsim.Unavailable
	})
}

// persist reconciles as long as it takes, as the operator does: after a failure it looks again, and
// tries again soon.
func (w *world) persist() {
	w.Helper()
	for range 100 {
		rests, err := w.try()
		if rests {
			return
		}
		if err != nil {
			w.seen = nil
			time.Sleep(50 * time.Millisecond)
		}
	}
	w.Fatal("it does not come to rest")
}

// Row A3.
func TestTheFirewallIsKnownWhileTheIndexLags(t *testing.T) {
	for _, action := range []string{"CreateLoadBalancer", "CreateListener", "RegisterTargets", "CreateRule"} {
		for name, restart := range map[string]func(w *world){"the same process": func(*world) {}, "another process": (*world).restart} {
			t.Run(action+" fails, and then comes "+name, func(t *testing.T) {
				inBubble(t, lagging(), func(w *world) {
					w.service("web", 1)
					w.serve("site", map[string]string{"/": "web"})
					w.failing(action, 9) // the SDK tries three times
					if err := w.rest(); err == nil {
						t.Fatal("nothing fails")
					}
					restart(w)
					w.persist()
					if w.seen.Firewall == "" {
						t.Error("no firewall is known")
					}
					w.expectFences("made", map[string][]string{"firewall": everybody, "shared": {}, "nodes": {"8080 shared"}})

					w.annotate("inbound", "10.0.0.0/8")
					w.persist()
					w.expectFences("for some", map[string][]string{"firewall": {"80 10.0.0.0/8"}, "shared": {}, "nodes": {"8080 shared"}})

					w.annotate("listen-ports", "HTTP:80,HTTP:8081")
					w.persist()
					w.expectFences("on a new port", map[string][]string{"firewall": {"80 10.0.0.0/8", "8081 10.0.0.0/8"}, "shared": {}, "nodes": {"8080 shared"}})

					w.Ingresses = nil
					w.persist()
					w.expectFences("in the end", map[string][]string{"nodes": {}})
				})
			})
		}
	}
}

// The load balancer is not made in the end.
func TestAFirewallWithoutALoadBalancerGoes(t *testing.T) {
	inBubble(t, lagging(), func(w *world) {
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.failing("CreateLoadBalancer", 9)
		if err := w.rest(); err == nil {
			t.Fatal("nothing fails")
		}
		w.Ingresses, w.seen = nil, nil
		w.persist()
		w.expectFences("in the end", map[string][]string{"nodes": {}})
	})
}

// Row A6: deleted groups are listed for hours. One of them is likely to sort first.
func TestAGroupThatIsGoneIsNotTakenForTheFirewall(t *testing.T) {
	o := lagging()
	o.Ghosts = 6 * time.Hour
	inBubble(t, o, func(w *world) {
		w.service("web", 1)
		for range 4 { // lives
			w.serve("site", map[string]string{"/": "web"})
			w.settle()
			time.Sleep(2 * time.Minute)
			w.restart()
			w.settle()
			w.annotate("listen-ports", "HTTP:80,HTTP:8081")
			w.settle()
			w.expectFences("on a new port", map[string][]string{"firewall": append(slices.Clone(everybody), "8081 0.0.0.0/0", "8081 ::/0"), "shared": {}, "nodes": {"8080 shared"}})
			w.restart()
			w.Ingresses = nil
			w.settle()
			w.expectFences("deleted", map[string][]string{"nodes": {}})
			time.Sleep(2 * time.Minute)
			w.restart()
			if todo := w.look(false); !todo.Empty() || w.seen.Firewall != "" {
				t.Errorf("when nothing is there, the firewall is %q and there is to be done:\n%v", w.seen.Firewall, todo)
			}
		}
	})
}

// A load balancer that was made a while ago is missing in the index. Its targets are not cut off.
func TestNodesStayOpenForALoadBalancerThatTheIndexLacks(t *testing.T) {
	o := lagging()
	o.Indexing = time.Hour
	inBubble(t, o, func(w *world) {
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.settle()
		time.Sleep(2 * o.Indexing) // for this one to be found
		other := w.serve("other", map[string]string{"/": "web"})
		other.Annotations["fairlead.dev/group"] = "other"
		first := w.key
		w.turn("fairlead/shop/@other/internal")
		w.settle()
		w.turn(first) // which is a process that knows nothing of the other one
		w.remove("site")
		w.settle()
		w.expectFences("for the other one", map[string][]string{"firewall": everybody, "shared": {}, "nodes": {"8080 shared"}})
	})
}

// The firewall was taken away and deleted by hand: it is made anew, and no port is opened before.
func TestAFirewallThatIsGoneIsMadeAnew(t *testing.T) {
	inWorld(t, func(w *world) {
		w.annotate("inbound", "10.0.0.0/8")
		w.settle()
		w.removeFirewall()
		w.restart()
		w.annotate("listen-ports", "HTTP:80,HTTP:8081")
		w.settle()
		w.expectFences("made anew", map[string][]string{"firewall": {"80 10.0.0.0/8", "8081 10.0.0.0/8"}, "shared": {}, "nodes": {"8080 shared"}})
		w.rests("it was made anew")
	})
}

// Steps for which the firewall has to be changed wait where it is not known.
func TestNoPortIsChangedWithoutTheFirewall(t *testing.T) {
	inWorld(t, func(w *world) {
		w.settle()
		seen := w.seen.Clone()
		seen.Firewall = ""
		door := lb.Listener{Port: 80, Protocol: "HTTP", Default: seen.Listener(80).Default, Digest: "v1:other"}
		other := door
		other.Port = 8081
		for _, step := range []plan.Step{plan.CreateListener{Listener: other}, plan.ModifyListener{Listener: door}, plan.DeleteListener{Port: 80}} {
			if _, err := w.cloud.Apply(w.Context(), seen, step); !errors.Is(err, providers.ErrPending) || !strings.Contains(err.Error(), "is not found") {
				t.Errorf("%s: %v", step.Op(), err)
			}
		}
		if b := w.sim.Inventory(); b["listeners"] != 1 {
			t.Errorf("there are %v", b)
		}
		if _, err := w.cloud.Apply(w.Context(), &lb.Observed{Key: seen.Key}, plan.DeleteFirewall{Key: seen.Key}); !errors.Is(err, providers.ErrPending) {
			t.Errorf("delete firewall, which is in use: %v", err)
		}
	})
}

// removeFirewall takes the firewall from the load balancer by hand, and deletes it.
func (w *world) removeFirewall() {
	w.Helper()
	b, _, _ := w.balancer()
	firewall := w.seen.Firewall
	rest := slices.DeleteFunc(slices.Clone(b.SecurityGroups), func(id string) bool { return id == firewall })
	if _, err := elbapi.NewFromConfig(w.sim.OwnersConfig()).SetSecurityGroups(w.Context(), &elbapi.SetSecurityGroupsInput{LoadBalancerArn: b.LoadBalancerArn, SecurityGroups: rest}); err != nil {
		w.Fatal(err)
	}
	time.Sleep(time.Minute)
	if _, err := ec2.NewFromConfig(w.sim.OwnersConfig()).DeleteSecurityGroup(w.Context(), &ec2.DeleteSecurityGroupInput{GroupId: &firewall}); err != nil {
		w.Fatal(err)
	}
}

// An operator registered targets, and another one took over before the load balancer was made. It
// deletes the last load balancer that there was, with what all share, and makes the new one: that
// one reaches the targets it has already.
func TestALoadBalancerReachesTargetsThatWereRegisteredBeforeIt(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		other := w.serve("other", map[string]string{"/": "web"})
		other.Annotations["fairlead.dev/group"] = "other"
		w.settle()
		first := w.key
		w.turn("fairlead/shop/@other/internal")
		w.sim.Break(func(c albsim.Call) albsim.Fault {
			if c.Action == "CreateLoadBalancer" {
				return albsim.LostBefore
			}
			return albsim.NoFault
		})
		for range 3 {
			_, _, _ = w.reconcile()
			time.Sleep(time.Minute)
		}
		w.sim.Break(nil)
		w.turn(first)
		w.remove("site")
		w.settle()
		w.expectFences("when the first one is gone", map[string][]string{"firewall": {}, "nodes": {}})
		next := *w
		next.key, next.seen = "fairlead/shop/@other/internal", nil
		next.settle()
		next.expectFences("for the new one", map[string][]string{"firewall": everybody, "shared": {}, "nodes": {"8080 shared"}})
	})
}
