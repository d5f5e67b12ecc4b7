package kit

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file has each step carried out once, however often it is delivered. It keeps results for a
// while under the IDs of their steps, problems included: an operator that repeats a step because of
// a problem plans again, and uses a new ID.

// keepFor is how long the result of a step is kept.
const keepFor = 10 * time.Minute

// steps holds the steps under way, and the results of the last minutes.
type steps struct {
	mu    sync.Mutex
	all   map[stepName]*delivered
	ended []*delivered // in the order in which they ended
}

// A stepName identifies a step.
type stepName struct{ key, id string }

// A delivered is a step with its result.
type delivered struct {
	name   stepName
	digest [sha256.Size]byte // of what it does: that may be a private key, and is not stored
	done   chan struct{}     // closed when it has ended

	// Once it has ended:
	result v1.Result
	begun  bool // false: the step was not carried out; a repeated delivery may carry it out
	at     time.Time
}

func newSteps() *steps { return &steps{all: map[stepName]*delivered{}} }

// apply carries out the steps of a call, and returns their results. It waits for those that an
// earlier delivery carries out.
func (s *Server) apply(ctx context.Context, c call, asked []v1.Requested) []v1.Result {
	results := make([]v1.Result, len(asked))
	var todo []int
	for i := range asked {
		todo = append(todo, i)
	}
	for len(todo) > 0 {
		var mine, others []int
		all := map[int]*delivered{}
		for _, i := range todo {
			d, first, p := s.steps.deliver(c.key, asked[i])
			switch {
			case p != nil:
				results[i] = v1.Result{ID: asked[i].ID, Problem: p}
			case first:
				all[i], mine = d, append(mine, i)
			default:
				all[i], others = d, append(others, i)
			}
		}
		s.carryOut(ctx, c, asked, mine, all)
		for _, i := range mine {
			results[i] = all[i].result
		}
		todo = nil
		for _, i := range others {
			select {
			case <-all[i].done:
				if results[i] = all[i].result; !all[i].begun {
					todo = append(todo, i)
				}
			case <-ctx.Done():
				results[i] = v1.Result{ID: asked[i].ID, Problem: v1.NewProblem(v1.ProblemOther,
					fmt.Sprintf("waiting for the first delivery of the step: %v", context.Cause(ctx)))}
			}
		}
	}
	return results
}

// carryOut has the provider carry out some of the steps of a call, unless the client no longer
// waits.
func (s *Server) carryOut(ctx context.Context, c call, asked []v1.Requested, mine []int, all map[int]*delivered) {
	if len(mine) == 0 {
		return
	}
	var results []v1.Result
	begun := false
	err := s.safely(func() error {
		leave, err := s.turns.take(ctx, turn{key: c.key})
		if err != nil {
			return err
		}
		defer leave()
		if IsLate(ctx) {
			return ErrLate
		}
		begun = true // if it panics, that is not known
		steps := make([]v1.Step, len(mine))
		for n, i := range mine {
			steps[n] = asked[i].Step
		}
		if results, err = s.provider.Apply(ctx, c.key, steps); err != nil {
			begun = false
			return err
		}
		if len(results) != len(steps) {
			return fmt.Errorf("%d steps were carried out, and there are %d results", len(steps), len(results))
		}
		return nil
	})
	for n, i := range mine {
		d := all[i]
		if err == nil {
			d.result = results[n]
		} else {
			d.result = v1.Result{Problem: problemOf(err)}
		}
		d.result.ID, d.begun = asked[i].ID, begun
		if p := d.result.Problem; p != nil {
			d.result.Problem = problemOf(p)
			s.options.Log.Info("a step failed", "key", c.key, "op", string(asked[i].Step.Op), "id",
				asked[i].ID, "type", string(p.Type), "detail", p.Detail)
		}
		s.steps.end(d)
	}
}

// deliver returns the step that was delivered first under an ID, and whether this one is.
func (s *steps) deliver(key string, asked v1.Requested) (d *delivered, first bool, p *v1.Problem) {
	text, err := json.Marshal(asked.Step)
	if err != nil {
		panic(err) // it was read from JSON
	}
	this := &delivered{name: stepName{key, asked.ID}, digest: sha256.Sum256(text), done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := 0
	for ; old < len(s.ended) && time.Since(s.ended[old].at) > keepFor; old++ {
		delete(s.all, s.ended[old].name)
	}
	s.ended = slices.Delete(s.ended, 0, old)
	if d := s.all[this.name]; d != nil {
		if d.digest != this.digest {
			return nil, false, malformed("the ID %q is that of another step: each step needs an ID of its own",
				clip(asked.ID))
		}
		return d, false, nil
	}
	s.all[this.name] = this
	return this, true, nil
}

// end records the result of a step.
func (s *steps) end(d *delivered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(d.done)
	if !d.begun {
		delete(s.all, d.name)
		return
	}
	d.at = time.Now()
	s.ended = append(s.ended, d)
}
