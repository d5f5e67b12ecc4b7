package controllers

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

// This file tells the owners of objects what there is to say, each thing once. An event is named for
// what it says: one that a process before this one has sent is there already, and stays alone.

func newHerald(writer client.Writer, server client.Reader) *herald {
	return &herald{writer: writer, server: server}
}

// A herald sends events.
type herald struct {
	writer client.Writer
	server client.Reader // the API server itself

	mu   sync.Mutex
	said map[lb.Key][]diag.Diagnostic // at the last reconcile
	sent map[string]time.Time         // by name, for as long as events are kept
}

const (
	// eventsLast is how long the API server keeps events, unless it is told otherwise.
	eventsLast = time.Hour
	// noSooner than this is something said again that comes and goes.
	noSooner = time.Minute
)

// tellDiagnostics sends an event for each diagnostic of a load balancer that is new, to the Ingress that it is about. The first
// time, those are new that no operator before this one has reported.
func (h *herald) tellDiagnostics(ctx context.Context, key lb.Key, found []diag.Diagnostic, reported func(diag.Diagnostic) bool, about func(diag.Diagnostic) *networkingv1.Ingress) error {
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
		if err := h.send(withIngress(ctx, ing), noticeOf(ing, d)); err != nil {
			h.remembered(key, found[:i])
			return err
		}
	}
	h.remembered(key, found)
	return nil
}

func (h *herald) remembered(key lb.Key, said []diag.Diagnostic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.said == nil {
		h.said = map[lb.Key][]diag.Diagnostic{}
	}
	h.said[key] = said
}

// forget forgets a load balancer that is no more.
func (h *herald) forget(key lb.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.said, key)
}

// send makes an event of a notice.
func (h *herald) send(ctx context.Context, n notice) error {
	e := n.event()
	first := e.Name
	if !h.due(e) {
		return nil
	}
	l := log.FromContext(ctx)
	err := h.writer.Create(ctx, e)
	switch {
	case err == nil: // and events last an hour
		l.Info("told "+n.to, "severity", n.severity, "reason", n.reason, "what", e.Note)
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err): // the namespace is being deleted or is gone, or events are not permitted
		l.V(1).Info("sending an event", "problem", err.Error())
	case !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("sending an event to %s %s/%s: %w", n.about.Kind, n.about.Namespace, n.about.Name, err)
	}
	h.remember(first, e.EventTime.Time)
	return nil
}

// remember notes that an event was sent.
func (h *herald) remember(name string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sent == nil {
		h.sent = map[string]time.Time{}
	}
	maps.DeleteFunc(h.sent, func(_ string, at time.Time) bool { return time.Since(at) > eventsLast })
	h.sent[name] = at
}

// toldBefore reports whether a process before this one has sent the event about a diagnostic. No report
// remembers it of an Ingress that no load balancer has.
func (h *herald) toldBefore(ctx context.Context, ing *networkingv1.Ingress, d diag.Diagnostic) bool {
	e := noticeOf(ing, d).event()
	h.mu.Lock()
	_, here := h.sent[e.Name]
	h.mu.Unlock()
	if here || h.server.Get(ctx, client.ObjectKeyFromObject(e), &eventsv1.Event{}) != nil {
		return false // and if it was, the API server refuses to take it twice
	}
	h.remember(e.Name, e.EventTime.Time)
	return true
}

// due reports whether an event is to be sent now, and gives it another name if it was before: what
// is over and comes back is news.
func (h *herald) due(e *eventsv1.Event) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, again := h.sent[e.Name]
	if again {
		e.Name += "." + strconv.FormatInt(e.EventTime.Unix(), 36)
	}
	return !again || e.EventTime.Sub(at) >= noSooner
}
