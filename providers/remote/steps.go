package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers/wire"
)

// This file sends steps. If a provider takes several steps in one call, those that wait while a
// call for the same load balancer is under way are sent together in the next call.

// batches holds the steps that wait, by load balancer.
type batches struct {
	provider *client

	mu      sync.Mutex
	waiting map[lb.Key][]*waiting // an entry for each load balancer with a call under way
}

// waiting is a step without a result yet.
type waiting struct {
	requested v1.Requested
	bytes     int
	done      chan struct{} // closed once there is a result
	result    plan.Result
	err       error
}

func newBatches(p *client) *batches {
	return &batches{provider: p, waiting: map[lb.Key][]*waiting{}}
}

// apply sends a step and waits for its result.
func (b *batches) apply(ctx context.Context, key lb.Key, step plan.Step) (plan.Result, error) {
	w := &waiting{requested: v1.Requested{ID: randomHex(16), Step: wire.EncodeStep(step)},
		done: make(chan struct{})}
	if b.provider.known().stepsPerApply <= 1 {
		b.send(ctx, key, []*waiting{w})
		return w.result, w.err
	}
	text, err := json.Marshal(w.requested)
	if err != nil {
		return plan.Result{}, b.provider.withName(fmt.Errorf("writing a step: %w", err))
	}
	w.bytes = len(text)
	if b.wait(key, w) {
		go b.drain(context.WithoutCancel(ctx), key)
	}
	select {
	case <-w.done:
		return w.result, w.err
	case <-ctx.Done():
		// The provider may still apply the step, as after any lost answer.
		return plan.Result{}, context.Cause(ctx)
	}
}

// wait adds a step. It reports whether no call is under way for the load balancer.
func (b *batches) wait(key lb.Key, w *waiting) (first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, underWay := b.waiting[key]
	b.waiting[key] = append(before, w)
	return !underWay
}

// drain sends the waiting steps of a load balancer until none is left. The end of a step's context
// does not end the call. The lease in the context of the first step holds for all: they belong to
// one operator.
func (b *batches) drain(ctx context.Context, key lb.Key) {
	for {
		batch := b.next(key)
		if len(batch) == 0 {
			return
		}
		b.send(ctx, key, batch)
	}
}

// next returns the steps of the next call, or none if no step waits; then no call is under way any
// more.
func (b *batches) next(key lb.Key) []*waiting {
	known := b.provider.known()
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.waiting[key]
	if len(all) == 0 {
		delete(b.waiting, key)
		return nil
	}
	n, bytes := 0, 0
	for n < len(all) && n < max(known.stepsPerApply, 1) &&
		(n == 0 || bytes+all[n].bytes < known.requestBytes*9/10) {
		bytes += all[n].bytes
		n++
	}
	b.waiting[key] = append([]*waiting{}, all[n:]...)
	return all[:n]
}

// send makes one call for some steps, and sets the result of each.
func (b *batches) send(ctx context.Context, key lb.Key, batch []*waiting) {
	p := b.provider
	request := v1.Apply{}
	for _, w := range batch {
		request.Steps = append(request.Steps, w.requested)
	}
	var reply v1.Applied
	err := p.call(ctx, call{
		operation: "Apply", method: http.MethodPost, at: v1.PathSteps,
		query: url.Values{"key": {string(key)}}, body: request, into: &reply, changes: true,
	})
	results := map[string]v1.Result{}
	for _, r := range reply.Results {
		results[r.ID] = r
	}
	for _, w := range batch {
		r, answered := results[w.requested.ID]
		switch {
		case err != nil:
			w.err = err
		case !answered:
			w.err = p.withName(fmt.Errorf("the answer has no result of step %s", w.requested.Step.Op))
		default:
			w.result, w.err = b.decode(r)
		}
		close(w.done)
	}
}

// decode converts the result of a step.
func (b *batches) decode(r v1.Result) (plan.Result, error) {
	if r.Problem != nil {
		r.Problem.Detail = clip(r.Problem.Error(), longestDetail)
		r.Problem.RetryAfterSeconds = min(max(r.Problem.RetryAfterSeconds, 0),
			int(longestLater.Seconds()))
	}
	result, err := wire.DecodeResult(r)
	return result, b.provider.withName(err)
}
