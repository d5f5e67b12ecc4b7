// Package probe tries a provider that speaks the provider protocol (docs/providers/protocol.md), as
// it answers on the wire: also to requests that are wrong, that come twice, and that are cut off.
// It works on a load balancer of its own and deletes it again.
package probe

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/check"
)

// Prefix begins the keys of all load balancers that are made for a probe.
const Prefix = "fairlead-check/"

// A Provider is what is tried: the URL that the calls' paths stand behind, and how a request is
// sent.
type Provider struct {
	Base *url.URL
	Send func(*http.Request) (*http.Response, error)
	// Settings are those of the load balancer that only the provider understands; nil for none.
	Settings json.RawMessage
	// Pause is how long to wait before a call that is pending is made again; 0: a second. Clearing is
	// how long deleting may take; 0: five minutes.
	Pause, Clearing time.Duration
}

// A probe is one run.
type probe struct {
	to       Provider
	key      string
	findings []check.Finding

	mu       sync.Mutex        // of what answers are noted in: several requests are under way at once
	secrets  map[string]string // what must not be told, by a part of it that was sent
	told     map[string]bool   // what was told all the same
	accepted accepted

	capabilities v1.Capabilities
}

// A trial is one thing that is tried. It returns what is wrong; nil for nothing.
type trial struct {
	id, title, advice string
	try               func(*probe, context.Context) error
}

// errSkipped says that a trial does not apply.
type errSkipped string

func (e errSkipped) Error() string { return "skipped: " + string(e) }

// noted says that nothing is wrong, and why there was little to try.
type noted string

func (n noted) Error() string { return string(n) }

// Run tries a provider and deletes what it made, also when the context ends.
func Run(ctx context.Context, to Provider) []check.Finding {
	if to.Pause <= 0 {
		to.Pause = time.Second
	}
	if to.Clearing <= 0 {
		to.Clearing = 5 * time.Minute
	}
	p := &probe{to: to, key: Prefix + strings.ToLower(rand.Text()[:10]), secrets: map[string]string{}, told: map[string]bool{}}
	if !p.try(ctx, first) {
		return p.findings
	}
	for _, t := range reading {
		p.try(ctx, t)
	}
	if ctx.Err() == nil {
		p.write(ctx)
	}
	if ctx.Err() != nil {
		p.findings = append(p.findings, check.Unsure("provider/interrupted", "all that there is to try", "it was interrupted", "run it again"))
	}
	return p.findings
}

// write tries what changes something, and deletes it again.
func (p *probe) write(ctx context.Context) {
	defer func() {
		clearing, end := context.WithTimeout(context.WithoutCancel(ctx), p.to.Clearing)
		defer end()
		p.try(clearing, last)
		p.try(clearing, long)
		p.try(clearing, silent)
	}()
	for _, t := range writing {
		if !p.try(ctx, t) && t.id == needed {
			return
		}
	}
}

// try makes a trial and keeps what was found. It reports whether nothing was wrong.
func (p *probe) try(ctx context.Context, t trial) bool {
	if ctx.Err() != nil {
		return false
	}
	err := t.try(p, ctx)
	var (
		skipped errSkipped
		note    noted
	)
	switch {
	case errors.As(err, &note):
		p.findings = append(p.findings, check.Good(t.id, t.title, err.Error()))
		return true
	case err == nil:
		p.findings = append(p.findings, check.Good(t.id, t.title, ""))
	case errors.As(err, &skipped):
		p.findings = append(p.findings, check.Unsure(t.id, t.title, err.Error(), ""))
	case ctx.Err() != nil: // Run says that it was interrupted
	default:
		p.findings = append(p.findings, check.Bad(t.id, t.title, err.Error(), t.advice))
	}
	return err == nil
}

// observe is what there is under the key of the run.
func (p *probe) observe(ctx context.Context) (v1.Observed, error) {
	var told v1.Observed
	err := p.get(ctx, v1.PathLoadBalancer, url.Values{"key": {p.key}, "deep": {"true"}}, &told)
	if err == nil && told.Key != p.key {
		err = fmt.Errorf("asked for the key %q, it told of %q", p.key, told.Key)
	}
	return told, err
}

// step carries out a step under an ID, until it is done. One that is pending is tried again under
// another ID.
func (p *probe) step(ctx context.Context, s v1.Step) error {
	for {
		r, err := p.once(ctx, rand.Text(), s)
		if err != nil || r.Problem == nil {
			return err
		}
		if r.Problem.Type != v1.ProblemPending && r.Problem.Type != v1.ProblemThrottled {
			return fmt.Errorf("the step %s failed: %w", s.Op, r.Problem)
		}
		if err := pause(ctx, max(p.to.Pause, time.Duration(min(r.Problem.RetryAfterSeconds, 30))*time.Second)); err != nil {
			return fmt.Errorf("waiting for the step %s: %s: %w", s.Op, r.Problem.Error(), err)
		}
	}
}

// once sends one step. A problem of the whole call is an error.
func (p *probe) once(ctx context.Context, id string, s v1.Step) (v1.Result, error) {
	a, err := p.steps(ctx, id, s)
	if err != nil {
		return v1.Result{}, err
	}
	return a.result(id)
}

// steps sends one step and returns the answer, of any status.
func (p *probe) steps(ctx context.Context, id string, s v1.Step) (answer, error) {
	body, err := json.Marshal(v1.Apply{Steps: []v1.Requested{{ID: id, Step: s}}})
	if err != nil {
		return answer{}, fmt.Errorf("writing a step: %w", err)
	}
	return p.send(ctx, request{method: http.MethodPost, path: v1.PathSteps, query: url.Values{"key": {p.key}}, body: body})
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
