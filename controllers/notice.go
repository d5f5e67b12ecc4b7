package controllers

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
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/printable"
)

// This file is what the owners of objects are told, and how it looks as an event.

// A notice is one thing to say about one object.
type notice struct {
	about    corev1.ObjectReference
	to       string // the object, as the log calls it
	severity diag.Severity
	reason   string
	text     string
	action   string // of which it came
}

// noticeOf is what to say of a diagnostic.
func noticeOf(ing *networkingv1.Ingress, d diag.Diagnostic) notice {
	text := d.Message
	if d.Source.Field != "" {
		text = d.Source.Field + ": " + text
	}
	about := corev1.ObjectReference{
		APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: cluster.KindIngress, ResourceVersion: ing.ResourceVersion,
		Namespace: ing.Namespace, Name: ing.Name, UID: ing.UID,
	}
	return notice{about, "an Ingress", d.Severity, string(d.Reason), text, "Compile"}
}

// letGoOn is what to say of a Pod whose gate was opened because the time was up.
func letGoOn(pod *corev1.Pod, verdict corev1.PodCondition) notice {
	about := corev1.ObjectReference{
		APIVersion: corev1.SchemeGroupVersion.String(), Kind: cluster.KindPod, ResourceVersion: pod.ResourceVersion,
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
	}
	return notice{about, "a Pod", diag.Warning, verdict.Reason, "the gate " + v1alpha1.TargetHealthGate + " is open all the same: " + verdict.Message, "OpenGate"}
}

// withIngress has the log lines of a context name an Ingress.
func withIngress(ctx context.Context, ing *networkingv1.Ingress) context.Context {
	return log.IntoContext(ctx, log.FromContext(ctx).WithValues("ingress", cluster.RefOf(cluster.KindIngress, ing).String()))
}

// event is a notice as the API has it, named for what it says.
func (n notice) event() *eventsv1.Event {
	kind := corev1.EventTypeWarning
	if n.severity == diag.Info {
		kind = corev1.EventTypeNormal
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{string(n.about.UID), n.reason, n.text}, "\n")))
	readable := strings.TrimRight(n.about.Name[:min(len(n.about.Name), 200)], ".-") // a name holds 253 characters
	here, _ := os.Hostname()
	return &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: n.about.Namespace, Name: readable + "." + hex.EncodeToString(sum[:8])},
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
