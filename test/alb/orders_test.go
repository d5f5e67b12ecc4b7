package alb

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// This file has a provider that does not wait for what AWS takes its time for, one wait at a time,
// and shows that requests go astray then: the tests that send requests see each of these waits.

// A haste is a wait that a provider leaves out.
type haste struct {
	name   string
	window string // a change that needs the wait, by its name among the windows
	leave  func(*world)
	prompt bool // as in window
}

func hastes() []haste {
	return []haste{
		{
			name:   "for the health of a target group, before a rule leads there",
			window: "W4: requests that are served get a target group that is new",
			leave:  func(w *world) { w.eager = isA[plan.AwaitTargets] },
		},
		{
			name:   "for rules to be deployed, before the target group that they led to goes",
			window: "W4: requests that are served get a target group that is new",
			leave: func(w *world) {
				w.deployed = time.Nanosecond
				w.restart()
			},
			prompt: true,
		},
		{
			name:   "for a certificate to be at the listener, before rules send requests there",
			window: "W6: a certificate is renewed, and another one added",
			leave:  func(w *world) { w.eager = isA[plan.AttachCertificate] },
		},
	}
}

// isA reports whether a step is of a kind.
func isA[S plan.Step](s plan.Step) bool {
	_, is := s.(S)
	return is
}

// An eager provider says of some steps that they are done, and does not do them.
type eager struct {
	providers.Provider
	says func(plan.Step) bool
}

func (e eager) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	if e.says(step) {
		return plan.Result{}, nil
	}
	return e.Provider.Apply(ctx, seen, step)
}

func TestAProviderThatDoesNotWaitIsSeen(t *testing.T) {
	for _, h := range hastes() {
		t.Run(h.name, func(t *testing.T) {
			all := windows()
			at := slices.IndexFunc(all, func(c window) bool { return c.name == h.window })
			if at < 0 {
				t.Fatalf("there is no window %q", h.window)
			}
			c := all[at]
			c.least, c.haste, c.prompt = 0, h.leave, h.prompt
			synctest.Test(t, func(t *testing.T) { c.watch(t) })
		})
	}
}
