// Package events sends Kubernetes events to the authors of objects, each once.
package events

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/printable"
)

// This file makes events of diagnostics and of readiness gates.

// An Event is a Kubernetes event about one object.
type Event struct {
	about    corev1.ObjectReference
	to       string // the object, as the log names it
	severity diag.Severity
	reason   string
	text     string
	action   string // that led to it
}

// FromDiagnostic returns the event of a diagnostic about an Ingress.
func FromDiagnostic(ing *networkingv1.Ingress, d diag.Diagnostic) Event {
	text := d.Message
	if d.Source.Field != "" {
		text = d.Source.Field + ": " + text
	}
	about := corev1.ObjectReference{
		APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: cluster.KindIngress,
		ResourceVersion: ing.ResourceVersion,
		Namespace:       ing.Namespace, Name: ing.Name, UID: ing.UID,
	}
	return Event{about, "an Ingress", d.Severity, string(d.Reason), text, "Compile"}
}

// OfBinding returns the event of a diagnostic about a TargetGroupBinding.
func OfBinding(b *alb.TargetGroupBinding, d diag.Diagnostic) Event {
	text := d.Message
	if d.Source.Field != "" {
		text = d.Source.Field + ": " + text
	}
	about := corev1.ObjectReference{
		APIVersion: alb.ParamsVersion.String(), Kind: alb.BindingKind, ResourceVersion: b.ResourceVersion,
		Namespace: b.Namespace, Name: b.Name, UID: b.UID,
	}
	return Event{about, "a TargetGroupBinding", d.Severity, string(d.Reason), text, "Bind"}
}

// GateTimedOut returns the event of a Pod whose readiness gate was opened at its timeout.
func GateTimedOut(pod *corev1.Pod, verdict corev1.PodCondition) Event {
	about := corev1.ObjectReference{
		APIVersion: corev1.SchemeGroupVersion.String(), Kind: cluster.KindPod,
		ResourceVersion: pod.ResourceVersion,
		Namespace:       pod.Namespace, Name: pod.Name, UID: pod.UID,
	}
	return Event{about, "a Pod", diag.Warning, verdict.Reason,
		"the gate " + v1alpha1.TargetHealthGate + " was opened at its timeout: " + verdict.Message,
		"OpenGate"}
}

// OfClass returns an event on the parameters of an IngressClass, about the takeover of its load balancers.
func OfClass(kind string, class client.Object, severity diag.Severity, text string) Event {
	about := corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, ResourceVersion: class.GetResourceVersion(),
		Namespace: class.GetNamespace(), Name: class.GetName(), UID: class.GetUID(),
	}
	return Event{about, "a class", severity, v1alpha1.ReasonTakingOver, text, "Adopt"}
}

// WithIngress returns a context of which the log lines name an Ingress.
func WithIngress(ctx context.Context, ing *networkingv1.Ingress) context.Context {
	return log.IntoContext(ctx, log.FromContext(ctx).WithValues("ingress",
		cluster.RefOf(cluster.KindIngress, ing).String()))
}

// Object returns the event as the API has it. Its name is a hash of its content.
func (n Event) Object() *eventsv1.Event {
	kind := corev1.EventTypeWarning
	if n.severity == diag.Info {
		kind = corev1.EventTypeNormal
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{string(n.about.UID), n.reason, n.text}, "\n")))
	// a name holds 253 characters
	readable := strings.TrimRight(n.about.Name[:min(len(n.about.Name), 200)], ".-")
	here, _ := os.Hostname()
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			// where events about objects without a namespace are
			Namespace: cmp.Or(n.about.Namespace, metav1.NamespaceDefault), Name: readable + "." + hex.EncodeToString(sum[:8]),
		},
		EventTime:           metav1.NowMicro(),
		ReportingController: "fairlead",
		ReportingInstance:   cmp.Or(here, "fairlead"),
		Type:                kind,
		Reason:              n.reason,
		Action:              n.action,
		Note:                printable.Shorten(n.text),
		Regarding:           n.about,
	}
}
