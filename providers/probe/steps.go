package probe

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file tests requests for steps: several steps in one, steps that are too late, and the load
// balancer after them.

// isRejected reports whether a step failed because the provider cannot apply it.
func isRejected(err error) bool {
	var problem *v1.Problem
	return errors.As(err, &problem) &&
		(problem.Type == v1.ProblemRejected || problem.Type == v1.ProblemNoRoom)
}

// groups returns the IDs of the target groups.
func (p *probe) groups(ctx context.Context) ([]string, error) {
	seen, err := p.observe(ctx)
	var out []string
	for _, g := range seen.TargetGroups {
		out = append(out, g.ID)
	}
	return out, err
}

// sendBatch sends several steps. One fails, because its object does not exist.
func (p *probe) sendBatch(ctx context.Context) error {
	if p.capabilities.Calls.StepsPerApply < 2 {
		return noteError("its capabilities say that it takes one step in a call")
	}
	fails, made := rand.Text(), map[string]string{}
	gone := p.targetGroup(group + "-gone")
	gone.Op = v1.ModifyTargetGroup
	asked := []v1.Requested{{ID: fails, Step: gone}}
	for n := range min(2, p.capabilities.Calls.StepsPerApply-1) {
		id, name := rand.Text(), fmt.Sprintf("%s-batch-%d", group, n)
		made[id] = name
		asked = append(asked, v1.Requested{ID: id, Step: p.targetGroup(name)})
	}
	body, err := json.Marshal(v1.Apply{Steps: asked})
	if err != nil {
		return fmt.Errorf("writing steps: %w", err)
	}
	a, err := p.send(ctx, request{method: http.MethodPost, path: v1.PathSteps,
		query: url.Values{"key": {p.key}}, body: body})
	if err != nil {
		return err
	}
	var reply v1.Applied
	if err := a.read(&reply); err != nil {
		return err
	}
	results := map[string]v1.Result{}
	for _, r := range reply.Results {
		results[r.ID] = r
	}
	if len(reply.Results) != len(asked) || len(results) != len(asked) {
		return fmt.Errorf("%d steps were sent, and the answer has %d results, of %d IDs", len(asked),
			len(reply.Results), len(results))
	}
	if results[fails].Problem == nil {
		return errors.New("a step that modifies a target group that is not there has no problem")
	}
	for id, name := range made {
		r, there := results[id]
		switch {
		case !there:
			return errors.New("a step has no result with its ID")
		case r.Problem == nil:
		case isTemporary(r.Problem):
			if err := p.step(ctx, p.targetGroup(name)); err != nil {
				return err
			}
		default:
			return fmt.Errorf("a step beside one that fails failed, too: %w", r.Problem)
		}
	}
	there, err := p.groups(ctx)
	for _, name := range made {
		if err == nil && !slices.Contains(there, name) {
			err = fmt.Errorf("the target group %s has a result and is not there", name)
		}
	}
	return err
}

// lateness is the time that a request for steps takes to arrive, and waits is the timeout in its
// header.
const (
	lateness = 600 * time.Millisecond
	waits    = 200 * time.Millisecond
)

// A slowBody is a body that arrives late, except for its first byte. Without that, the header would
// be late, too.
type slowBody struct {
	begins, rest io.Reader
	wait         func() error // nil once it has waited
}

func (s *slowBody) Read(b []byte) (int, error) {
	n, err := s.begins.Read(b)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if s.wait != nil {
		if err := s.wait(); err != nil {
			return 0, err
		}
		s.wait = nil
	}
	return s.rest.Read(b)
}

// sendLate sends a step that arrives after its timeout.
func (p *probe) sendLate(ctx context.Context) error {
	const name = group + "-late"
	step := v1.Requested{ID: rand.Text(), Step: p.targetGroup(name)}
	body, err := json.Marshal(v1.Apply{Steps: []v1.Requested{step}})
	if err != nil {
		return fmt.Errorf("writing a step: %w", err)
	}
	begins := bytes.Repeat([]byte(" "), 16<<10) // more than connections keep back
	_, err = p.send(ctx, request{
		method: http.MethodPost, path: v1.PathSteps, query: url.Values{"key": {p.key}},
		length: int64(len(begins) + len(body)),
		reader: &slowBody{bytes.NewReader(begins), bytes.NewReader(body), func() error {
			return pause(ctx, lateness)
		}},
		header: http.Header{v1.HeaderTimeout: {strconv.FormatInt(waits.Milliseconds(), 10)}},
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	there, failed := p.groups(ctx)
	switch {
	case failed != nil:
		return failed
	case slices.Contains(there, name):
		return fmt.Errorf("a step whose request said %s was carried out, though it arrived after %s",
			waits, lateness)
	case err != nil: // no step was applied
		return noteError("the request was cut off: " + err.Error())
	}
	return nil
}
