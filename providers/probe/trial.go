package probe

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/check"
)

// This file runs one trial: it sends requests, and records the finding.

// A probe is one run.
type probe struct {
	*client
	key          string
	findings     []check.Finding
	capabilities v1.Capabilities
}

// A trial tests one thing. It returns the error that it found, or nil.
type trial struct {
	id, title, advice string
	try               func(*probe, context.Context) error
}

// errSkipped is the error of a trial that does not apply.
type errSkipped string

func (e errSkipped) Error() string { return "skipped: " + string(e) }

// A noteError is the result of a trial without an error, with the reason why it could test little.
type noteError string

func (n noteError) Error() string { return string(n) }

// try runs a trial and records its finding. It reports whether there was no error.
func (p *probe) try(ctx context.Context, t trial) bool {
	if ctx.Err() != nil {
		return false
	}
	err, detail := t.try(p, ctx), ""
	var (
		skipped errSkipped
		note    noteError
	)
	if errors.As(err, &note) {
		err, detail = nil, err.Error()
	}
	switch {
	case err == nil:
		p.findings = append(p.findings, check.Good(t.id, t.title, detail))
	case errors.As(err, &skipped):
		p.findings = append(p.findings, check.Unsure(t.id, t.title, err.Error(), ""))
	case ctx.Err() != nil: // Run says that it was interrupted
	default:
		p.findings = append(p.findings, check.Bad(t.id, t.title, err.Error(), t.advice))
	}
	return err == nil
}

// observe returns the load balancer of the run.
func (p *probe) observe(ctx context.Context) (v1.Observed, error) {
	var reply v1.Observed
	err := p.get(ctx, v1.PathLoadBalancer, url.Values{"key": {p.key}, "deep": {"true"}}, &reply)
	if err == nil && reply.Key != p.key {
		err = fmt.Errorf("asked for the key %q, the answer is about %q", p.key, reply.Key)
	}
	return reply, err
}

// step applies a step. If the step is pending, it is sent again under another ID.
func (p *probe) step(ctx context.Context, s v1.Step) error {
	for {
		r, err := p.sendStep(ctx, rand.Text(), s)
		if r.Problem == nil {
			return err // with an error there is no result
		}
		if !isTemporary(r.Problem) {
			return fmt.Errorf("the step %s failed: %w", s.Op, r.Problem)
		}
		if err := p.waitFor(ctx, r.Problem); err != nil {
			return fmt.Errorf("waiting for the step %s: %s: %w", s.Op, r.Problem.Error(), err)
		}
	}
}

// isTemporary reports whether a problem ends by itself.
func isTemporary(p *v1.Problem) bool {
	return p.Type == v1.ProblemPending || p.Type == v1.ProblemThrottled
}

// waitFor waits before a step is sent again that had a problem.
func (p *probe) waitFor(ctx context.Context, problem *v1.Problem) error {
	return pause(ctx, p.delay(problem.RetryAfterSeconds))
}

// sendStep sends one step. A problem of the whole call is an error.
func (p *probe) sendStep(ctx context.Context, id string, s v1.Step) (v1.Result, error) {
	a, err := p.steps(ctx, id, s)
	if err != nil {
		return v1.Result{}, err
	}
	return a.result(id)
}

// steps sends one step and returns the answer, whatever its status is.
func (p *probe) steps(ctx context.Context, id string, s v1.Step) (answer, error) {
	body, err := json.Marshal(v1.Apply{Steps: []v1.Requested{{ID: id, Step: s}}})
	if err != nil {
		return answer{}, fmt.Errorf("writing a step: %w", err)
	}
	return p.send(ctx, request{method: http.MethodPost, path: v1.PathSteps,
		query: url.Values{"key": {p.key}}, body: body})
}

// The names of the objects of the run.
const (
	group       = "fairlead-check"
	certificate = "fairlead-check"
)

func (p *probe) loadBalancer() v1.Step {
	settings := v1.Settings{Scheme: "internal", IPFamily: "ipv4", Provider: p.Settings}
	return v1.Step{Op: v1.CreateLoadBalancer,
		LoadBalancer: &v1.LoadBalancer{Settings: settings, Digest: "fairlead-check"}}
}

// targetGroup returns the step that creates a target group, of a type that there is.
func (p *probe) targetGroup(id string) v1.Step {
	kind := "ip"
	if kinds := p.capabilities.TargetGroups.TargetTypes; len(kinds) > 0 {
		kind = kinds[0]
	}
	return v1.Step{Op: v1.CreateTargetGroup, TargetGroup: &v1.TargetGroup{
		ID: id, Service: "fairlead-check/web", Port: "80", TargetType: kind, Protocol: "HTTP",
		Version: "HTTP1", Family: "ipv4", Digest: "fairlead-check",
		Settings: v1.GroupSettings{
			Health: v1.HealthCheck{
				Path: "/", Port: "traffic-port", Protocol: "HTTP", IntervalSeconds: 15, TimeoutSeconds: 5,
				HealthyThreshold: 2, UnhealthyThreshold: 2, SuccessCodes: "200",
			},
		},
	}}
}
