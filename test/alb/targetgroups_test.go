package alb

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/albsim"
)

// This file changes the settings of a target group, and reads from AWS what came of it.

// drain is how long the only target group lets its targets finish.
func (w *world) drain() string {
	w.Helper()
	out, err := elbapi.NewFromConfig(w.sim.OwnersConfig()).DescribeTargetGroupAttributes(w.Context(),
		&elbapi.DescribeTargetGroupAttributesInput{TargetGroupArn: &w.seen.TargetGroups[0].Handle})
	if err != nil {
		w.Fatal(err)
	}
	for _, a := range out.Attributes {
		if *a.Key == "deregistration_delay.timeout_seconds" {
			return *a.Value
		}
	}
	return ""
}

func TestAttributesOfTargetGroupsComeAndGo(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, c := range []struct{ asked, want string }{
			{"", "300"}, {"deregistration_delay.timeout_seconds=30", "30"}, {"deregistration_delay.timeout_seconds=60", "60"}, {"", "300"},
		} {
			delete(w.Ingresses[0].Annotations, "fairlead.dev/target-group-attributes")
			if c.asked != "" {
				w.Ingresses[0].Annotations["fairlead.dev/target-group-attributes"] = c.asked
			}
			w.settle()
			if got := w.drain(); got != c.want {
				t.Errorf("%q: targets finish within %s seconds, want %s", c.asked, got, c.want)
			}
			var err error
			if w.seen, err = w.cloud.Observe(w.Context(), w.key, true); err != nil {
				w.Fatal(err)
			}
			if todo, _, err := w.reconcile(); err != nil || !todo.Empty() {
				t.Errorf("%q: looking deeply, error %v, still to do: %v", c.asked, err, todo.Counts())
			}
		}
	})
}

// TestKeepingClientsTakesTurnsWithSharing has Services keep clients with a target, and share
// requests with each other, in one change: AWS refuses both at a time.
func TestKeepingClientsTakesTurnsWithSharing(t *testing.T) {
	inBubble(t, slow(), func(w *world) {
		w.service("one", 1)
		w.service("two", 1)
		w.serve("shop", map[string]string{"/": "one", "/two": "two"})
		w.backendNamed("both", weighted("one", 1, "two", 1))
		share := func(ing *networkingv1.Ingress) {
			delete(ing.Annotations, "fairlead.dev/target-group-attributes")
			ing.Spec.Rules[0].HTTP.Paths[0].Backend = toResource("both")
		}
		cling := func(ing *networkingv1.Ingress) {
			ing.Annotations["fairlead.dev/target-group-attributes"] = "stickiness.enabled=true"
			ing.Spec.Rules[0].HTTP.Paths[0].Backend = ing.Spec.Rules[0].HTTP.Paths[1].Backend
		}
		w.sim.Watch(func(c albsim.Call) {
			if c.Error == "InvalidConfigurationRequest" {
				t.Errorf("AWS refuses %s", c)
			}
		})
		for range 2 {
			w.change("shop", share)
			w.settle()
			w.change("shop", cling)
			w.settle()
		}
		// New groups of which each keeps clients are waited for behind one rule.
		w.service("three", 1)
		w.service("four", 1)
		w.change("shop", func(ing *networkingv1.Ingress) {
			ing.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "three"
			ing.Spec.Rules[0].HTTP.Paths[1].Backend.Service.Name = "four"
		})
		w.settle()
	})
}

// Who starts while target groups are still in use asks about one of them, and not about each.
func TestWhatAnotherProcessLetGoOfIsAskedAboutOnce(t *testing.T) {
	inBubble(t, slow(), func(w *world) {
		const services = 10
		paths := map[string]string{}
		for i := range services {
			name := fmt.Sprintf("service-%d", i)
			w.service(name, 1)
			paths["/"+name] = name
		}
		w.serve("shop", paths)
		w.settle()
		w.Ingresses = nil
		if _, _, err := w.reconcile(); !onlyPending(err) {
			t.Fatalf("deleting the load balancer: %v", err)
		}
		w.restart()
		w.sim.Forget()
		w.settle()
		refused := 0
		for _, c := range w.sim.Calls() {
			if c.Action == "DeleteTargetGroup" && c.Error != "" {
				refused++
			}
		}
		if left := w.sim.Inventory()["target groups"]; refused > 2 || left > 0 {
			t.Errorf("%d deletions are refused of %d target groups, and %d are left", refused, services, left)
		}
	})
}

// TestNodesAreChosenByTheirLabels has AWS register the nodes with a label, and one call more for a
// node that loses it. Other labels are another target group, which takes over once it is healthy.
func TestNodesAreChosenByTheirLabels(t *testing.T) {
	inBubble(t, albsim.Options{}, func(w *world) {
		w.nodes(3)
		w.Nodes[0].Labels = map[string]string{"pool": "web", "zone": "a"}
		w.Nodes[1].Labels = map[string]string{"pool": "web"}
		w.service("web", 1)
		w.serve("shop", map[string]string{"/": "web"}).Annotations["fairlead.dev/target-type"] = "instance"
		registered := func() string {
			w.Helper()
			var out []string
			for _, g := range w.seen.TargetGroups {
				healths, err := w.cloud.Targets(w.Context(), w.key, g.ID)
				if err != nil {
					w.Fatal(err)
				}
				for _, h := range healths {
					if h.State != lb.HealthDraining {
						out = append(out, h.Target.Address)
					}
				}
			}
			slices.Sort(out)
			return strings.Join(out, " ")
		}
		for _, c := range []struct{ labels, want string }{{"", "i-0 i-1 i-2"}, {"pool=web", "i-0 i-1"}, {"pool=web,zone=a", "i-0"}, {"pool=web", "i-0 i-1"}} {
			w.annotate("target-node-labels", c.labels)
			if c.labels == "" {
				delete(w.Ingresses[0].Annotations, "fairlead.dev/target-node-labels")
			}
			w.settle()
			time.Sleep(time.Hour) // for the group that requests have left
			w.settle()
			if got := registered(); got != c.want || len(w.seen.TargetGroups) != 1 {
				t.Errorf("with the labels %q there are %s in %d groups, want %s", c.labels, got, len(w.seen.TargetGroups), c.want)
			}
		}
		w.rests("the nodes have the labels")
		w.sim.Forget()
		w.Nodes[0].Labels = nil
		w.settle()
		var writes []string
		for _, c := range w.sim.Calls() {
			if c.Write {
				writes = append(writes, c.Action)
			}
		}
		if got := registered(); got != "i-1" || !slices.Equal(writes, []string{"DeregisterTargets"}) {
			t.Errorf("without the label on one there are %s, after %v", got, writes)
		}
	})
}
