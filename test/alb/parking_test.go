package alb

import (
	"slices"
	"testing"

	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/test/albsim"
)

// TestParkingIsTakenByAWS changes where a live path leads. The simulator refuses the sources that
// AWS documents that it refuses.
func TestParkingIsTakenByAWS(t *testing.T) {
	inBubble(t, slow(), func(w *world) {
		w.service("old", 1)
		w.service("new", 1)
		w.serve("site", map[string]string{"/": "old"})
		w.settle()
		w.Ingresses[0].Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "new"
		parked := false
		w.planned = func(p plan.Plan) { parked = parked || slices.ContainsFunc(p.Steps, parks) }
		w.settle()
		if !parked {
			t.Error("no plan had a parking rule")
		}
		w.leadsTo("new")
		if len(w.unparked) > 0 {
			t.Errorf("parking was refused: %v", w.unparked)
		}
	})
}

// TestAPathChangesWhereParkingIsRefused has AWS refuse the parking rule for a reason that no
// document says.
func TestAPathChangesWhereParkingIsRefused(t *testing.T) {
	inBubble(t, slow(), func(w *world) {
		w.service("old", 1)
		w.service("new", 1)
		w.serve("site", map[string]string{"/": "old"})
		w.settle()
		w.sim.Refuse(func(in any) error {
			create, ok := in.(*elbapi.CreateRuleInput)
			if !ok || len(create.Conditions) < 2 {
				return nil
			}
			return albsim.Refusal("ValidationError", "this rule cannot be created")
		})
		w.Ingresses[0].Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "new"
		w.settle()
		w.leadsTo("new")
		if len(w.unparked) != 1 || len(w.unparked[0].Origin) != 1 {
			t.Errorf("it says %v", w.unparked)
		}
		if w.refused {
			t.Error("it is held against the Ingress")
		}
	})
}

func parks(s plan.Planned) bool {
	create, ok := s.Step.(plan.CreateRule)
	return ok && plan.Parked(create.Rule)
}

// leadsTo checks that requests for the site are forwarded to a Service.
func (w *world) leadsTo(service string) {
	w.Helper()
	answer := w.request("site")
	if len(answer.Forward) != 1 || answer.Forward[0].Tags["fairlead.dev/service"] != "shop/"+service {
		w.Errorf("requests go to %v", answer.Forward)
	}
}
