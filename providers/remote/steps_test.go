package remote

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers"
)

// TestStepsOfACall has steps of some bytes wait, and takes those of each next call.
func TestStepsOfACall(t *testing.T) {
	for name, c := range map[string]struct {
		steps int
		sizes []int
		want  [][]int
	}{
		"none":                          {3, nil, nil},
		"so many in a call":             {3, []int{1, 2, 3, 4}, [][]int{{1, 2, 3}, {4}}},
		"one, where no number is known": {0, []int{1, 2}, [][]int{{1}, {2}}},
		"less than 9 of 10 bytes":       {3, []int{40, 49, 1}, [][]int{{40, 49}, {1}}},
		"as much as 9 of 10 bytes":      {3, []int{40, 50, 1}, [][]int{{40}, {50, 1}}},
		"one too large for any call":    {3, []int{200, 1}, [][]int{{200}, {1}}},
	} {
		b := newBatches(&client{capabilities: capabilities{stepsPerApply: c.steps, requestBytes: 100}})
		for _, size := range c.sizes {
			b.wait(shop, &waiting{bytes: size})
		}
		var got [][]int
		for batch := b.next(shop); len(batch) > 0; batch = b.next(shop) {
			var sizes []int
			for _, w := range batch {
				sizes = append(sizes, w.bytes)
			}
			got = append(got, sizes)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: sent as %v, want %v", name, got, c.want)
		}
		if len(b.waiting) > 0 {
			t.Errorf("%s: a call is still under way", name)
		}
	}
}

// TestAStepWaitsForTheCallUnderWay ends its context. Where a provider takes one step in a call, the
// call ends with it. Where it takes more, the step stays with those of the next call.
func TestAStepWaitsForTheCallUnderWay(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for steps, want := range map[int]string{
		0: "provider edge: calling POST /load-balancer/steps: context canceled",
		1: "provider edge: calling POST /load-balancer/steps: context canceled",
		2: "context canceled",
	} {
		p, err := New(Endpoint{Name: "edge", URL: "http://127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		p.capabilities = capabilities{stepsPerApply: steps, requestBytes: v1.MaxRequest}
		p.steps.waiting[shop] = nil // a call is under way
		if _, err := p.steps.apply(ctx, shop, create); err == nil || err.Error() != want {
			t.Errorf("%d steps in a call: told %v, want %q", steps, err, want)
		}
		left := p.steps.waiting[shop]
		if len(left) != steps/2 {
			t.Fatalf("%d steps in a call: %d wait", steps, len(left))
		}
		for _, w := range left {
			text, err := json.Marshal(w.requested)
			if err != nil || w.bytes != len(text) {
				t.Errorf("a step of %d bytes counts as %d (error %v)", len(text), w.bytes, err)
			}
		}
	}
}

func TestProblemsOfSteps(t *testing.T) {
	b := newBatches(&client{endpoint: Endpoint{Name: "edge"}})
	for name, c := range map[string]struct {
		problem v1.Problem
		want    string
		later   time.Duration
	}{
		"several lines": {v1.Problem{Detail: "no\nzone"}, "provider edge: no zone", 0},
		"a title":       {v1.Problem{Title: "no zone"}, "provider edge: no zone", 0},
		"many bytes": {
			v1.Problem{Detail: strings.Repeat("x", 1025)},
			"provider edge: " + strings.Repeat("x", 1024) + "…", 0,
		},
		"a time ago": {v1.Problem{Detail: "no", RetryAfterSeconds: -1}, "provider edge: no", 0},
		"in ten minutes": {
			v1.Problem{Detail: "no", RetryAfterSeconds: 600},
			"provider edge: no (ask again in 10m0s)", 10 * time.Minute,
		},
		"in more than allowed": {
			v1.Problem{Detail: "no", RetryAfterSeconds: 601},
			"provider edge: no (ask again in 10m0s)", 10 * time.Minute,
		},
	} {
		_, err := b.decode(v1.Result{Problem: &c.problem})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: told %v, want %q", name, err, c.want)
		}
		var later time.Duration
		if l, ok := errors.AsType[*providers.RetryAfter](err); ok {
			later = l.In
		}
		if later != c.later {
			t.Errorf("%s: to be repeated in %s, want %s", name, later, c.later)
		}
	}
}
