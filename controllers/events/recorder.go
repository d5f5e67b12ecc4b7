package events

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
)

// This file sends events, each once. The name of an event is a hash of its content: an event of an
// earlier process exists already, and the API server refuses a second one.

func NewRecorder(writer client.Writer, server client.Reader) *Recorder {
	return &Recorder{writer: writer, server: server}
}

// A Recorder sends events.
type Recorder struct {
	writer client.Writer
	server client.Reader // the API server itself

	mu   sync.Mutex
	said map[lb.Key][]diag.Diagnostic // at the last reconcile
	sent map[string]time.Time         // by name, for as long as events are kept
}

const (
	// eventTTL is how long the API server keeps events by default.
	eventTTL = time.Hour
	// renewal is how old an event is when it is sent again, so that there always is one.
	renewal = 50 * time.Minute
	// minInterval is the least time between two events of the same content.
	minInterval = time.Minute
)

// SendNew sends an event for each new diagnostic of a load balancer, about its Ingress. After a start, a
// diagnostic is new if no earlier operator has reported it.
func (h *Recorder) SendNew(ctx context.Context, key lb.Key, found []diag.Diagnostic,
	reported func(diag.Diagnostic) bool, about func(diag.Diagnostic) *networkingv1.Ingress) error {
	h.mu.Lock()
	said, here := h.said[key]
	h.mu.Unlock()
	for i, d := range found {
		if slices.Contains(said, d) || !here && reported(d) {
			continue
		}
		ing := about(d)
		if d.Source.Kind != cluster.KindIngress || ing == nil {
			continue
		}
		if err := h.Send(WithIngress(ctx, ing), FromDiagnostic(ing, d)); err != nil {
			h.remembered(key, found[:i])
			return err
		}
	}
	h.remembered(key, found)
	return nil
}

func (h *Recorder) remembered(key lb.Key, said []diag.Diagnostic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.said == nil {
		h.said = map[lb.Key][]diag.Diagnostic{}
	}
	h.said[key] = said
}

// Forget drops the diagnostics that were sent about a load balancer.
func (h *Recorder) Forget(key lb.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.said, key)
}

// Send sends an event, unless it was sent within the last minute.
func (h *Recorder) Send(ctx context.Context, n Event) error {
	e := n.Object()
	first := e.Name
	if !h.isDue(e) {
		return nil
	}
	l := log.FromContext(ctx)
	err := h.writer.Create(ctx, e)
	switch {
	case err == nil: // events last an hour
		l.Info("reported to "+n.to, "severity", n.severity, "reason", n.reason, "what", e.Note)
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		// the namespace is being deleted or is gone, or events are not permitted
		l.V(1).Info("sending an event", "problem", err.Error())
	case !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("sending an event to %s %s/%s: %w", n.about.Kind, n.about.Namespace,
			n.about.Name, err)
	}
	h.remember(first, e.EventTime.Time)
	return nil
}

// remember records that an event was sent.
func (h *Recorder) remember(name string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sent == nil {
		h.sent = map[string]time.Time{}
	}
	maps.DeleteFunc(h.sent, func(_ string, at time.Time) bool { return time.Since(at) > eventTTL })
	h.sent[name] = at
}

// SentBefore reports whether a process before this one has sent the event of a diagnostic. It is
// for Ingresses of no load balancer, which no record has.
func (h *Recorder) SentBefore(ctx context.Context, ing *networkingv1.Ingress,
	d diag.Diagnostic) bool {
	e := FromDiagnostic(ing, d).Object()
	h.mu.Lock()
	_, here := h.sent[e.Name]
	h.mu.Unlock()
	before := &eventsv1.Event{}
	if here || h.server.Get(ctx, client.ObjectKeyFromObject(e), before) != nil {
		return false // if it was sent, the API server refuses the second one
	}
	h.remember(e.Name, before.EventTime.Time)
	return true
}

// Renew sends the event of a diagnostic again before the API server drops it, and returns when it
// is to be called next. It is for Ingresses of no load balancer, which have no other trace in the
// cluster.
func (h *Recorder) Renew(ctx context.Context, ing *networkingv1.Ingress,
	d diag.Diagnostic) (time.Duration, error) {
	n := FromDiagnostic(ing, d)
	h.mu.Lock()
	at := h.sent[n.Object().Name]
	h.mu.Unlock()
	if left := renewal - time.Since(at); left > 0 {
		return left, nil
	}
	return renewal, h.Send(ctx, n)
}

// isDue reports whether an event is to be sent now. An event that was sent before gets another
// name: a diagnostic that comes back is sent again.
func (h *Recorder) isDue(e *eventsv1.Event) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, again := h.sent[e.Name]
	if again {
		e.Name += "." + strconv.FormatInt(e.EventTime.Unix(), 36)
	}
	return e.EventTime.Sub(at) >= minInterval
}
