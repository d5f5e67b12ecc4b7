package events

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/diag"
)

// An event names the object, the field and the reason. Its name is the same for the same content.
func TestAnEventNamesTheFieldAndTheReason(t *testing.T) {
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: strings.Repeat("a", 250) + ".b", UID: "1",
	}}
	d := diag.Diagnostic{Severity: diag.Error, Reason: diag.HostTaken, Message: "taken",
		Source: diag.Source{Kind: "Ingress", Namespace: "shop", Name: ing.Name, Field: "spec.rules[0]"}}
	got := FromDiagnostic(ing, d).Object()
	if got.Note != "spec.rules[0]: taken" || got.Reason != string(diag.HostTaken) ||
		got.Type != corev1.EventTypeWarning || got.Regarding.Kind != "Ingress" ||
		got.Regarding.Name != ing.Name || got.Regarding.UID != "1" || got.Namespace != "shop" {
		t.Errorf("the event is %+v", got)
	}
	if len(got.Name) > 253 {
		t.Errorf("its name has %d characters", len(got.Name))
	}
	if again := FromDiagnostic(ing, d).Object(); again.Name != got.Name {
		t.Errorf("the same content has the names %s and %s", got.Name, again.Name)
	}

	d.Source.Field, d.Severity = "", diag.Info
	other := FromDiagnostic(ing, d).Object()
	if other.Note != "taken" || other.Type != corev1.EventTypeNormal || other.Name == got.Name {
		t.Errorf("without a field the event is %+v", other)
	}
}

// The event of a Pod says that its gate was opened although targets are not healthy.
func TestAnEventOfAGateIsAboutThePod(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "2"}}
	got := GateTimedOut(pod, corev1.PodCondition{Reason: "TimedOut", Message: "no target is healthy"})
	about := got.Object()
	if about.Regarding.Kind != "Pod" || about.Regarding.UID != "2" || about.Reason != "TimedOut" ||
		about.Type != corev1.EventTypeWarning || !strings.HasSuffix(about.Note, "no target is healthy") {
		t.Errorf("the event is %+v", about)
	}
}
