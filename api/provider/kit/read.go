package kit

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file reads the body of a request, and calls the provider.

// read reads the body of a request and returns the call to make.
func (s *Server) read(w http.ResponseWriter, r *http.Request, c call) (func(context.Context) answer, error) {
	var body []byte
	if c.body {
		var err error
		if body, err = s.readBody(w, r); err != nil {
			return nil, err
		}
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
		return func(ctx context.Context) answer {
			active, err := s.provider.Active(ctx, c.key)
			return messageOr(v1.Activity{Active: active}, err)
		}, nil
	case c.equals(postSteps):
		return s.readSteps(c, body)
	case c.equals(getTargets):
		return func(ctx context.Context) answer {
			targets, err := s.provider.Targets(ctx, c.key, c.group)
			return messageOr(v1.TargetList{Targets: append([]v1.TargetHealth{}, targets...)}, err)
		}, nil
	default:
		return s.setTargets(c, body)
	}
}

// readBody reads a body, which may be compressed. The limit holds with and without compression.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if !isSupported(r.Header.Get("Content-Type")) {
		return nil, versionProblem(http.StatusUnsupportedMediaType, fmt.Sprintf("the body is sent as %q, "+
			"and this provider reads %s", clip(r.Header.Get("Content-Type")), v1.MediaType))
	}
	limit := v1.MaxRequest
	if n := s.provider.Capabilities().Calls.RequestBytes; n > 0 {
		limit = min(n, limit)
	}
	var from io.Reader = http.MaxBytesReader(w, r.Body, int64(limit))
	switch encoding := strings.ToLower(strings.TrimSpace(strings.Join(r.Header.Values("Content-Encoding"), ","))); encoding {
	case "", "identity":
	case "gzip":
		unzipped, err := gzip.NewReader(from)
		if err != nil {
			return nil, malformed("the body of the request is no gzip: %v", err)
		}
		from = unzipped
	default:
		return nil, malformed("the Content-Encoding %q is not known; it can be gzip or none", clip(encoding))
	}
	body, err := io.ReadAll(io.LimitReader(from, int64(limit+1)))
	if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong || len(body) > limit {
		return nil, v1.NewProblem(v1.ProblemTooLarge,
			fmt.Sprintf("the request is longer than %d bytes, which this provider takes at most", limit))
	}
	if err != nil {
		return nil, malformed("the body of the request cannot be read: %v", err)
	}
	return body, nil
}

func (s *Server) capabilities(context.Context) answer {
	a := messageAnswer(s.provider.Capabilities())
	if a.problem == nil {
		a.tag, a.takesGzip = tagOf(a.body), true
	}
	return a
}

func (s *Server) lookup(body []byte) (func(context.Context) answer, error) {
	var asked v1.Questions
	if err := decode(body, &asked); err != nil {
		return nil, err
	}
	return func(ctx context.Context) answer {
		facts, err := s.provider.Lookup(ctx, asked)
		// The lookup may have changed the limits in the capabilities.
		facts.CapabilitiesETag = s.capabilities(ctx).tag
		return messageOr(facts, err)
	}, nil
}

func (s *Server) list(ctx context.Context) answer {
	keys, err := s.provider.List(ctx)
	return messageOr(v1.LoadBalancerList{Keys: append([]string{}, keys...)}, err)
}

// observe waits for the steps of the key that are under way: the operator that sent them may have
// given up, and plans with this answer.
func (s *Server) observe(ctx context.Context, c call) answer {
	leave, err := s.turns.take(ctx, turn{key: c.key})
	if err != nil {
		return errorAnswer(err)
	}
	defer leave()
	seen, err := s.provider.Observe(ctx, c.key, c.deep)
	return messageOr(seen, err)
}

// readSteps reads all steps, and returns the call that carries them out.
func (s *Server) readSteps(c call, body []byte) (func(context.Context) answer, error) {
	var asked v1.Apply
	if err := decode(body, &asked); err != nil {
		return nil, err
	}
	capabilities := s.provider.Capabilities()
	most := max(capabilities.Calls.StepsPerApply, 1)
	if len(asked.Steps) == 0 {
		return nil, malformed("the request has no steps")
	}
	if len(asked.Steps) > most {
		return nil, v1.NewProblem(v1.ProblemTooLarge, fmt.Sprintf("the request has %d steps, and "+
			"this provider takes at most %d in one request", len(asked.Steps), most))
	}
	seen := map[string]bool{}
	for i, step := range asked.Steps {
		p := understand(step, capabilities)
		if p == nil && seen[step.ID] {
			p = malformed("its id %q is there twice", clip(step.ID))
		}
		if p != nil {
			p.Detail = fmt.Sprintf("steps[%d]: %s", i, p.Detail)
			return nil, p
		}
		seen[step.ID] = true
	}
	return func(ctx context.Context) answer {
		return messageAnswer(v1.Applied{Results: s.apply(ctx, c, asked.Steps)})
	}, nil
}

func (s *Server) setTargets(c call, body []byte) (func(context.Context) answer, error) {
	var asked v1.TargetList
	if err := decode(body, &asked); err != nil {
		return nil, err
	}
	want := make([]v1.Target, len(asked.Targets))
	for i, t := range asked.Targets {
		if t.State != "" {
			return nil, v1.NewProblem(v1.ProblemUnknown,
				fmt.Sprintf("targets[%d] has the field \"state\", which a request does not have", i))
		}
		want[i] = v1.Target{Address: t.Address, Port: t.Port}
	}
	return func(ctx context.Context) answer {
		leave, err := s.turns.take(ctx, turn{c.key, c.group})
		if err != nil {
			return errorAnswer(err)
		}
		defer leave()
		if IsLate(ctx) {
			return errorAnswer(ErrLate)
		}
		if err := s.provider.SetTargets(ctx, c.key, c.group, want); err != nil {
			return errorAnswer(err)
		}
		return answer{status: http.StatusNoContent}
	}, nil
}
