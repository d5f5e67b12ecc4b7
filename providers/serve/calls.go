package serve

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/go-logr/logr"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/wire"
)

// This file calls the provider.

const (
	stepsPerApply = 32 // in one request
	atOnce        = 4  // steps of one request, as in providers.Run
)

// withLog adds the server's log to a context.
func withLog(ctx context.Context, s *Server) context.Context {
	return logr.NewContext(ctx, s.options.Log)
}

// readSafely calls read, and returns an answer if read panics.
func (s *Server) readSafely(
	w http.ResponseWriter, r *http.Request, c call,
) (do func(context.Context) answer, p *v1.Problem) {
	read := providers.CatchPanics(withLog(r.Context(), s), func() error {
		do, p = s.read(w, r, c)
		return nil
	})
	if err := read(); err != nil {
		return nil, wire.EncodeError(err)
	}
	return do, p
}

// read reads the body of a request and returns the call to make.
func (s *Server) read(
	w http.ResponseWriter, r *http.Request, c call,
) (func(context.Context) answer, *v1.Problem) {
	var body []byte
	if c.body {
		if !isSupported(r.Header.Get("Content-Type")) {
			return nil, versionProblem(http.StatusUnsupportedMediaType, fmt.Sprintf("the body is sent as "+
				"%q, "+
				"and this provider reads %s", clip(r.Header.Get("Content-Type")), v1.MediaType))
		}
		read, understood, p := s.bounds.readBody(w, r, s.options.MaxRequest)
		if p != nil {
			return nil, p
		}
		defer understood()
		body = read
	}
	switch {
	case c.equals(getCapabilities):
		return s.capabilities, nil
	case c.equals(postLookup):
		return s.lookup(body)
	case c.equals(getLoadBalancers):
		return s.list, nil
	case c.equals(getLoadBalancer):
		return func(ctx context.Context) answer { return s.observe(ctx, c) }, nil
	case c.equals(getActive):
		return func(ctx context.Context) answer { return s.active(ctx, c.key) }, nil
	case c.equals(postSteps):
		return s.apply(c, body)
	case c.equals(getTargets):
		return func(ctx context.Context) answer { return s.targets(ctx, c) }, nil
	default:
		return s.setTargets(c, body)
	}
}

func (s *Server) capabilities(context.Context) answer {
	a := withETag(messageAnswer(s.encodeCapabilities()))
	a.takesGzip = true
	return a
}

// encodeCapabilities returns the capabilities in their wire form.
func (s *Server) encodeCapabilities() v1.Capabilities {
	out := wire.EncodeCapabilities(s.provider.Capabilities(lb.Class{}))
	out.Software = s.options.Software
	out.Calls.StepsPerApply = stepsPerApply
	if s.options.MaxRequest != v1.MaxRequest {
		out.Calls.RequestBytes = s.options.MaxRequest
	}
	if schemas := s.options.Schemas; len(schemas.LoadBalancer) > 0 || len(schemas.TargetGroup) > 0 {
		out.SettingsSchema = &schemas
	}
	return out
}

func (s *Server) lookup(body []byte) (func(context.Context) answer, *v1.Problem) {
	var asked v1.Questions
	if p := decode(body, &asked); p != nil {
		return nil, p
	}
	return func(ctx context.Context) answer {
		facts, err := s.provider.Lookup(ctx, wire.DecodeQuestions(asked))
		if err != nil {
			return errorAnswer(err)
		}
		out := wire.EncodeFacts(facts)
		// The lookup may have changed the limits in the capabilities.
		out.CapabilitiesETag = withETag(messageAnswer(s.encodeCapabilities())).tag
		return messageAnswer(out)
	}, nil
}

func (s *Server) list(ctx context.Context) answer {
	keys, err := s.provider.List(ctx)
	if err != nil {
		return errorAnswer(err)
	}
	out := v1.LoadBalancerList{Keys: make([]string, 0, len(keys))}
	for _, key := range keys {
		out.Keys = append(out.Keys, string(key))
	}
	return messageAnswer(out)
}

// observing returns the call that observes a load balancer.
func (s *Server) observing(key lb.Key, deep bool) observation {
	return func(ctx context.Context) (*lb.Observed, error) {
		return s.provider.Observe(ctx, key, deep)
	}
}

func (s *Server) observe(ctx context.Context, c call) answer {
	m, giveBack := s.mirrors.of(c.key)
	defer giveBack()
	seen, err := m.look(ctx, s.observing(c.key, c.deep))
	if err != nil {
		return errorAnswer(err)
	}
	return withETag(messageAnswer(wire.EncodeObserved(seen)))
}

func (s *Server) active(ctx context.Context, key lb.Key) answer {
	m, giveBack := s.mirrors.of(key)
	defer giveBack()
	seen := m.known()
	if seen == nil {
		var err error
		if seen, err = m.look(ctx, s.observing(key, false)); err != nil {
			return errorAnswer(err)
		}
	}
	if !seen.Exists {
		return messageAnswer(v1.Activity{})
	}
	active, err := s.provider.Active(ctx, seen)
	if err != nil {
		return errorAnswer(err)
	}
	return messageAnswer(v1.Activity{Active: active})
}

// apply reads all steps, and returns the call that applies them.
func (s *Server) apply(c call, body []byte) (func(context.Context) answer, *v1.Problem) {
	var asked v1.Apply
	if p := decode(body, &asked); p != nil {
		return nil, p
	}
	if len(asked.Steps) == 0 {
		return nil, malformedProblem("the request has no steps")
	}
	if len(asked.Steps) > stepsPerApply {
		return nil, wire.NewProblem(v1.ProblemTooLarge, fmt.Sprintf("the request has %d steps, and "+
			"this provider takes at most %d in one request", len(asked.Steps), stepsPerApply))
	}
	todo := make([]plan.Step, len(asked.Steps))
	for i, step := range asked.Steps {
		var p *v1.Problem
		if todo[i], p = s.understand(c.key, step); p != nil {
			p.Detail = fmt.Sprintf("steps[%d]: %s", i, p.Detail)
			return nil, p
		}
	}
	return func(ctx context.Context) answer { return s.applyAll(ctx, c, asked.Steps, todo) }, nil
}

// applyAll applies steps, a few at once. Each has its own result.
func (s *Server) applyAll(
	ctx context.Context, c call, asked []v1.Requested, todo []plan.Step,
) answer {
	m, giveBack := s.mirrors.of(c.key)
	defer giveBack()
	results := make([]v1.Result, len(todo))
	var all sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for i := range todo {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			results[i] = s.steps.applyOnce(ctx, c.key, asked[i], func() (v1.Result, bool) {
				result, begun, err := s.step(ctx, c, m, todo[i])
				return wire.EncodeResult(asked[i].ID, result, err), begun
			})
			if p := results[i].Problem; p != nil {
				s.options.Log.Info("a step failed", "key", string(c.key), "op", string(asked[i].Step.Op), "id",
					asked[i].ID, "type", string(p.Type), "detail", p.Detail)
			}
		})
	}
	all.Wait()
	return messageAnswer(v1.Applied{Results: results})
}

// step applies a step, unless its client no longer waits.
func (s *Server) step(
	ctx context.Context, c call, m *mirror, step plan.Step,
) (result plan.Result, begun bool, err error) {
	seen, underWay, err := m.begin(ctx, s.observing(c.key, false))
	if err != nil {
		return result, false, fmt.Errorf("observing the load balancer before the step: %w", err)
	}
	if c.isExpired() {
		err = fmt.Errorf("the step was not begun: the client had waited for %s", c.timeout)
	} else {
		begun = true
		apply := providers.CatchPanics(ctx, func() (err error) {
			result, err = s.provider.Apply(ctx, seen, step)
			return err
		})
		err = apply()
	}
	m.end(ctx, underWay, step, result, err)
	return result, begun, err
}

func (s *Server) targets(ctx context.Context, c call) answer {
	health, err := s.provider.Targets(ctx, c.key, c.group)
	if err != nil {
		return errorAnswer(err)
	}
	return messageAnswer(wire.EncodeHealth(health))
}

func (s *Server) setTargets(c call, body []byte) (func(context.Context) answer, *v1.Problem) {
	var asked v1.TargetList
	if p := decode(body, &asked); p != nil {
		return nil, p
	}
	for i, t := range asked.Targets {
		if t.State != "" {
			return nil, wire.NewProblem(v1.ProblemUnknown,
				fmt.Sprintf("targets[%d] has the field \"state\", which a request does not have", i))
		}
	}
	return func(ctx context.Context) answer {
		unlock, err := s.members.lock(ctx, groupName{c.key, c.group})
		if err != nil {
			return errorAnswer(err)
		}
		defer unlock()
		if c.isExpired() {
			return errorAnswer(fmt.Errorf("the members were not changed: the client had waited for %s",
				c.timeout))
		}
		if err := s.provider.SetTargets(ctx, c.key, c.group, wire.DecodeTargets(asked)); err != nil {
			return errorAnswer(err)
		}
		return answer{status: http.StatusNoContent}
	}, nil
}
