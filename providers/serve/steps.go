package serve

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/wire"
)

// This file applies each step once, however often it is delivered. It keeps results for a while
// under the IDs of their steps, problems included: an operator that repeats a step because of a
// problem plans again, and uses a new ID. The results are limited. If there is no room, further
// steps are refused with throttled: if a result were dropped too early, its step could be applied
// twice.

const (
	keepFor     = 10 * time.Minute
	mostResults = 200_000
	mostBytes   = 64 << 20 // of results
	overhead    = 300      // bytes that a result takes besides its texts
)

// steps holds the steps under way, and the results of the last minutes.
type steps struct {
	mu     sync.Mutex
	most   int // results
	bytes  int
	all    map[stepName]*delivered
	ended  []*delivered // in the order in which they ended
	digest func(v1.Step) [sha256.Size]byte
}

// A stepName identifies a step.
type stepName struct {
	key lb.Key
	id  string
}

// A delivered is a step with its result.
type delivered struct {
	name   stepName
	digest [sha256.Size]byte // of what it does
	done   chan struct{}     // closed when it has ended

	// Once it has ended:
	result v1.Result
	begun  bool // false: the step was not carried out; a repeated delivery may carry it out
	at     time.Time
	bytes  int
}

func newSteps() *steps {
	return &steps{most: mostResults, all: map[stepName]*delivered{}, digest: digestOf}
}

// digestOf returns a digest that identifies the contents of a step. The contents may be a private
// key, and are not stored.
func digestOf(s v1.Step) [sha256.Size]byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // it was read from JSON
	}
	return sha256.Sum256(text)
}

// applyOnce applies a step, or returns its earlier result. Do returns false if it did not begin.
func (s *steps) applyOnce(
	ctx context.Context, key lb.Key, asked v1.Requested, do func() (v1.Result, bool),
) v1.Result {
	this := &delivered{name: stepName{key, asked.ID}, digest: s.digest(asked.Step),
		done: make(chan struct{})}
	for {
		d, p := s.deliver(this)
		if p != nil {
			return v1.Result{ID: asked.ID, Problem: p}
		}
		if d == this {
			d.result, d.begun = do()
			s.end(d)
			return d.result
		}
		select {
		case <-d.done:
		case <-ctx.Done():
			return v1.Result{ID: asked.ID, Problem: wire.EncodeError(fmt.Errorf("waiting for the first "+
				"delivery of step %s: %w", clip(asked.ID), context.Cause(ctx)))}
		}
		if d.begun {
			return d.result
		}
	}
}

// deliver returns the step that was delivered first under an ID, or records that this one is.
func (s *steps) deliver(this *delivered) (*delivered, *v1.Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropOld()
	if d := s.all[this.name]; d != nil {
		if d.digest != this.digest {
			return nil, malformedProblem(
				"the ID %q is that of another step: each step needs an ID of its own",
				clip(this.name.id))
		}
		return d, nil
	}
	if len(s.all) >= s.most || s.bytes >= mostBytes {
		p := busyProblem("too many steps were carried out in the last 10 minutes to remember the " +
			"result of one more")
		if len(s.ended) > 0 {
			p.RetryAfterSeconds = int(keepFor-time.Since(s.ended[0].at))/int(time.Second) + 1
		}
		return nil, p
	}
	s.all[this.name] = this
	return this, nil
}

// end stores the result of a step.
func (s *steps) end(d *delivered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(d.done)
	if !d.begun {
		delete(s.all, d.name)
		return
	}
	d.at, d.bytes = time.Now(), overhead+len(d.name.key)+len(d.name.id)+lengthOf(d.result)
	s.ended = append(s.ended, d)
	s.bytes += d.bytes
}

// lengthOf returns the approximate length of a result.
func lengthOf(r v1.Result) int {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // it has texts and numbers only
	}
	return len(text)
}

// dropOld drops results after their time. The lock is held.
func (s *steps) dropOld() {
	old := 0
	for ; old < len(s.ended) && time.Since(s.ended[old].at) > keepFor; old++ {
		delete(s.all, s.ended[old].name)
		s.bytes -= s.ended[old].bytes
	}
	s.ended = slices.Delete(s.ended, 0, old)
}
