package alb

import (
	"testing"

	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

// This file changes the settings of a target group, and reads from AWS what came of it.

// drain is how long the only target group lets its targets finish.
func (w *world) drain() string {
	w.Helper()
	out, err := elbapi.NewFromConfig(w.sim.Config()).DescribeTargetGroupAttributes(w.Context(),
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
