package loadbalancer

import (
	"errors"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/printable"
)

// What tenants write stands in statuses and events, and kubectl prints both.
func TestStatusesAndEventsArePrintable(t *testing.T) {
	const hostile = "/a\x1b[2J\n\r\u202e\u009b\u200b\xff"
	d := diag.Diagnostic{Severity: diag.Error, Reason: diag.Invalid, Source: diag.Source{Kind: cluster.KindIngress, Name: hostile, Field: hostile}, Message: hostile}
	o := outcome{
		Snapshot: &gather.Snapshot{Snapshot: ingress.Snapshot{Key: "k"}},
		Built:    model.Built{Diagnostics: []diag.Diagnostic{d}},
		Observed: &lb.Observed{},
		Plan: plan.Plan{Key: "k", Steps: []plan.Planned{{Step: plan.CreateTargetGroup{Group: lb.TargetGroup{ID: hostile, Protocol: hostile}}}}, Diagnostics: []diag.Diagnostic{
			{Severity: diag.Warning, Reason: diag.Protected, Message: hostile},
		}},
		Err: errors.Join(errors.New(hostile), errors.New("another")),
	}
	next := o.record(time.Unix(0, 0))
	said := []string{next.LastError, next.LastPlan.Steps[0].ID, next.LastPlan.Steps[0].Detail}
	for _, d := range next.Diagnostics {
		said = append(said, d.Source, d.Message)
	}
	for _, c := range next.Conditions {
		said = append(said, c.Message)
	}
	e := events.FromDiagnostic(&networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, d).Object()
	said = append(said, e.Note)
	found := 0
	for _, text := range said {
		if printable.Line(text) != text {
			t.Errorf("%q is written", text)
		}
		if strings.Contains(text, "x1b") {
			found++
		}
	}
	if found < 8 {
		t.Errorf("of %q only %d texts are what was to be written", said, found)
	}
}
