package program

import (
	"fmt"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/diag"
)

// This file counts the steps of plans, for the last line of plan.

// A Summary counts the steps of plans, and the diagnostics.
type Summary struct {
	LoadBalancers int `json:"loadBalancers"` // after the plans
	Create        int `json:"create"`        // steps
	Change        int `json:"change"`
	Delete        int `json:"delete"`
	output.Tally
}

// Summarise counts plans, diagnostics, and problems of objects that were left out.
func Summarise(programs []Program, diagnostics []diag.Diagnostic, problems int) Summary {
	s := Summary{Tally: output.TallyOf(diagnostics, problems)}
	for _, p := range programs {
		if p.After.Exists {
			s.LoadBalancers++
		}
		created, changed, deleted := p.Plan.Tally()
		s.Create, s.Change, s.Delete = s.Create+created, s.Change+changed, s.Delete+deleted
	}
	return s
}

// String returns the summary in one line.
func (s Summary) String() string {
	text := fmt.Sprintf("Summary: %d to create, %d to change, %d to delete; %s in the end; %s",
		s.Create, s.Change, s.Delete, output.Number(s.LoadBalancers, "load balancer"), s.Tally)
	if s.Delete > 0 && s.LeftOut > 0 {
		text += ": what is to be deleted may only be unread"
	}
	return text
}
