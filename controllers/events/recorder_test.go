package events

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
)

// This file sends events to an API server that takes or refuses them.

const key = lb.Key("fairlead/shop/web/internal")

var (
	web    = &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"}}
	kind   = schema.GroupResource{Group: "events.k8s.io", Resource: "events"}
	errOff = errors.New("connection refused")
)

// A server is an API server that has events.
type server struct {
	client.Client
	refuses error
	notes   []string        // of the events that it took
	names   map[string]bool // the same
}

func (s *server) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	e := o.(*eventsv1.Event)
	if s.refuses != nil {
		return s.refuses
	}
	if s.names[e.Name] {
		return apierrors.NewAlreadyExists(kind, e.Name)
	}
	if s.names == nil {
		s.names = map[string]bool{}
	}
	s.notes, s.names[e.Name] = append(s.notes, e.Note), true
	return nil
}

func (s *server) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if !s.names[key.Name] {
		return apierrors.NewNotFound(kind, key.Name)
	}
	o.(*eventsv1.Event).EventTime = metav1.NowMicro()
	return s.refuses
}

// about returns the diagnostic of an Ingress with a message.
func about(message string) diag.Diagnostic {
	return diag.Diagnostic{Severity: diag.Error, Reason: diag.HostTaken, Message: message, Source: diag.Source{Kind: "Ingress", Namespace: "shop", Name: "web"}}
}

func all(diag.Diagnostic) *networkingv1.Ingress { return web }

// reported says that an operator before this one has reported some messages.
func reported(messages ...string) func(diag.Diagnostic) bool {
	return func(d diag.Diagnostic) bool { return slices.Contains(messages, d.Message) }
}

// Of the diagnostics of a load balancer those are sent that are new: at first, that no operator
// before this one has reported, and later, that the last reconcile did not find.
func TestOnlyNewDiagnosticsAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		h := NewRecorder(s, s)
		for _, c := range []struct {
			what     string
			found    []string
			reported []string
			want     []string
		}{
			{"at first", []string{"a", "b"}, []string{"b", "c"}, []string{"a"}},
			{"the same", []string{"a", "b"}, nil, nil},
			{"one that is new here, whatever was reported", []string{"a", "b", "c"}, []string{"c"}, []string{"c"}},
			{"one is over", []string{"b"}, nil, nil},
			{"it comes back", []string{"b", "a"}, nil, []string{"a"}},
		} {
			s.notes = nil
			var found []diag.Diagnostic
			for _, message := range c.found {
				found = append(found, about(message))
			}
			if err := h.SendNew(t.Context(), key, found, reported(c.reported...), all); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(s.notes, c.want) {
				t.Errorf("%s: %q are sent, want %q", c.what, s.notes, c.want)
			}
			time.Sleep(10 * time.Minute)
		}
		h.Forget(key)
		s.notes = nil
		if err := h.SendNew(t.Context(), key, []diag.Diagnostic{about("a"), about("b")}, reported("b"), all); err != nil || !slices.Equal(s.notes, []string{"a"}) {
			t.Errorf("after the load balancer was forgotten %q are sent, %v; want those that were not reported", s.notes, err)
		}
	})
}

// Diagnostics about other objects, and about Ingresses that are gone, are not sent.
func TestOnlyIngressesHaveEvents(t *testing.T) {
	s := &server{}
	of := about("of a class")
	of.Source.Kind = "IngressClass"
	found := []diag.Diagnostic{of, about("gone"), about("there")}
	err := NewRecorder(s, s).SendNew(t.Context(), key, found, reported(), func(d diag.Diagnostic) *networkingv1.Ingress {
		if d.Message == "gone" {
			return nil
		}
		return web
	})
	if err != nil || !slices.Equal(s.notes, []string{"there"}) {
		t.Errorf("%q are sent, %v", s.notes, err)
	}
}

// Where the API server is down, the next reconcile sends what is left, and nothing twice.
func TestWhatCouldNotBeSentIsSentLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		h := NewRecorder(s, s)
		found := []diag.Diagnostic{about("a"), about("b"), about("c")}
		err := h.SendNew(t.Context(), key, found, reported(), func(d diag.Diagnostic) *networkingv1.Ingress {
			if d.Message == "b" {
				s.refuses = errOff
			}
			return web
		})
		if !errors.Is(err, errOff) || !strings.Contains(err.Error(), "sending an event to Ingress shop/web: ") {
			t.Errorf("the error is %v", err)
		}
		s.refuses = nil
		time.Sleep(10 * time.Minute)
		if err := h.SendNew(t.Context(), key, found, reported(), all); err != nil || !slices.Equal(s.notes, []string{"a", "b", "c"}) {
			t.Errorf("%q are sent, %v", s.notes, err)
		}
	})
}

// An event that cannot be sent because its namespace goes, or because events are not permitted, is
// no error, and neither is one that another process has sent. Only one that was sent is logged.
func TestRefusedEvents(t *testing.T) {
	for name, c := range map[string]struct {
		refuses error
		logged  bool
		want    error
	}{
		"it is taken":           {nil, true, nil},
		"it is there already":   {apierrors.NewAlreadyExists(kind, "web"), false, nil},
		"it is forbidden":       {apierrors.NewForbidden(kind, "web", nil), false, nil},
		"the namespace is gone": {apierrors.NewNotFound(kind, "web"), false, nil},
		"the server is down":    {errOff, false, errOff},
	} {
		t.Run(name, func(t *testing.T) {
			var logged []string
			ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{}))
			s := &server{refuses: c.refuses}
			h := NewRecorder(s, s)
			e := FromDiagnostic(web, about("taken"))
			if err := h.Send(WithIngress(ctx, web), e); !errors.Is(err, c.want) {
				t.Errorf("the error is %v, want %v", err, c.want)
			}
			if c.logged != (len(logged) == 1) || c.logged && (!strings.Contains(logged[0], "reported to an Ingress") || !strings.Contains(logged[0], "shop/web")) {
				t.Errorf("the log has %q", logged)
			}
			s.refuses = nil
			if err := h.Send(ctx, e); err != nil {
				t.Fatal(err)
			}
			if sent, again := len(s.notes) > 0, c.refuses == nil || c.want != nil; sent != again {
				t.Errorf("after a second try it is there: %v, want %v", sent, again)
			}
		})
	}
}

// The same event is sent once in a minute. One that comes back later is another event.
func TestAnEventComesBackUnderAnotherName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		h := NewRecorder(s, s)
		e := FromDiagnostic(web, about("taken"))
		for _, c := range []struct {
			after time.Duration
			want  int
		}{{0, 1}, {minInterval - time.Millisecond, 1}, {time.Millisecond, 2}} {
			time.Sleep(c.after)
			if err := h.Send(t.Context(), e); err != nil || len(s.names) != c.want || !s.names[e.Object().Name] {
				t.Errorf("there are the events %v, want %d: %v", s.names, c.want, err)
			}
		}
	})
}

// Once the API server drops an event, after an hour, its name is free again.
func TestTheNameOfAnEventIsFreeAfterAnHour(t *testing.T) {
	for after, free := range map[time.Duration]bool{eventTTL: false, eventTTL + time.Millisecond: true} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			h := NewRecorder(s, s)
			e := FromDiagnostic(web, about("taken"))
			send := func(e Event) {
				if err := h.Send(t.Context(), e); err != nil {
					t.Fatal(err)
				}
			}
			send(e)
			time.Sleep(after)
			send(FromDiagnostic(web, about("another")))
			s.names = nil
			send(e)
			if s.names[e.Object().Name] != free {
				t.Errorf("after %s the event has its first name: %v, want %v", after, !free, free)
			}
		})
	}
}

// An event that another process has sent is found on the API server once, and not sent a moment
// later. When the diagnostic comes back, it is sent.
func TestEventsOfAProcessBeforeThisOneAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := about("taken")
		e := FromDiagnostic(web, d)
		s := &server{names: map[string]bool{e.Object().Name: true}}
		h := NewRecorder(s, s)
		if h.SentBefore(t.Context(), web, about("another")) {
			t.Error("an event that is not there is found")
		}
		if !h.SentBefore(t.Context(), web, d) {
			t.Error("the event of another process is not found")
		}
		if h.SentBefore(t.Context(), web, d) {
			t.Error("an event that was found is found again")
		}
		for range 2 {
			if err := h.Send(t.Context(), e); err != nil || len(s.names) != 1 {
				t.Errorf("it is sent again at once: %v, %v", s.names, err)
			}
		}
		time.Sleep(minInterval)
		if err := h.Send(t.Context(), e); err != nil || len(s.names) != 2 {
			t.Errorf("when it comes back there are the events %v, %v", s.names, err)
		}
	})
}
