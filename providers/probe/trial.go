package probe

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/check"
)

// This file is one trial: what it sends, and how its finding is recorded.

// A probe is one run.
type probe struct {
	*client
	key          string
	findings     []check.Finding
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
		if err := pause(ctx, max(p.Pause, time.Duration(min(r.Problem.RetryAfterSeconds, 30))*time.Second)); err != nil {
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

// long is whether what was answered with 202 could be asked for.
var long = trial{
	"provider/long-calls", "an answer of 202 says where and when to ask for the answer", "answer 202 with a Location below /operations/ and with Retry-After in seconds",
	func(p *probe, _ context.Context) error {
		if p.accepted.count == 0 {
			return noted("no call was answered with 202")
		}
		return p.accepted.wrong
	},
}

// The objects of the run.
const (
	group       = "fairlead-check"
	certificate = "fairlead-check"
)

func (p *probe) loadBalancer() v1.Step {
	settings := v1.Settings{Scheme: "internal", IPFamily: "ipv4", Provider: p.Settings}
	return v1.Step{Op: v1.CreateLoadBalancer, LoadBalancer: &v1.LoadBalancer{Settings: settings, Digest: "fairlead-check"}}
}

func targetGroup(id string) v1.Step {
	return v1.Step{Op: v1.CreateTargetGroup, TargetGroup: &v1.TargetGroup{
		ID: id, Service: "fairlead-check/web", Port: "80", TargetType: "ip", Protocol: "HTTP", Version: "HTTP1", Family: "ipv4", Digest: "fairlead-check",
		Settings: v1.GroupSettings{Health: v1.HealthCheck{Path: "/", Port: "traffic-port", Protocol: "HTTP", IntervalSeconds: 15, TimeoutSeconds: 5, HealthyThreshold: 2, UnhealthyThreshold: 2, SuccessCodes: "200"}},
	}}
}
