package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
)

// This file has a provider that takes its time: it carries out one step after another.

// A narrow is a provider behind an endpoint that passes on one request for changes after another,
// also if its sender no longer waits. Each of its steps takes a while.
type narrow struct {
	to   http.Handler
	each time.Duration
	line chan struct{}

	mu       sync.Mutex
	requests int
	steps    int
}

func (n *narrow) RoundTrip(r *http.Request) (*http.Response, error) {
	body := []byte{}
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	sent := r.Clone(context.WithoutCancel(r.Context()))
	sent.Body = io.NopCloser(bytes.NewReader(body))
	answered := make(chan *http.Response, 1)
	go func() {
		steps := stepsIn(r, body)
		n.mu.Lock()
		if steps > 0 {
			n.requests++
			n.steps += steps
		}
		n.mu.Unlock()
		if steps > 0 {
			n.line <- struct{}{}
			time.Sleep(time.Duration(steps) * n.each)
			<-n.line
		}
		answer := httptest.NewRecorder()
		n.to.ServeHTTP(answer, sent)
		answered <- answer.Result()
	}()
	select {
	case answer := <-answered:
		return answer, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// stepsIn is the number of steps in a request.
func stepsIn(r *http.Request, body []byte) int {
	var apply v1.Apply
	if r.URL.Path != v1.PathSteps || json.Unmarshal(body, &apply) != nil {
		return 0
	}
	return len(apply.Steps)
}

// groups is a plan that creates a load balancer with target groups.
func groups(seen *lb.Observed, count int) plan.Plan {
	p := plan.Plan{Steps: []plan.Planned{{Step: plan.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Key: seen.Key}}}}}
	if seen.Exists {
		p.Steps = nil
	}
	for i := range count {
		g := lb.TargetGroup{ID: lb.GroupID(fmt.Sprintf("shop/web-%d:80", i)), Service: fmt.Sprintf("shop/web-%d", i), Port: "80"}
		if seen.TargetGroup(g.ID) == nil {
			p.Steps = append(p.Steps, plan.Planned{Step: plan.CreateTargetGroup{Group: g}})
		}
	}
	return p
}

// All steps are carried out, in little more time than the provider needs for them, and with few
// requests more than where it is fast. This holds with one step in a request, and with several.
func TestASlowProviderIsServed(t *testing.T) {
	const balancers, each = 10, 40
	for _, batched := range []bool{true, false} {
		for _, takes := range []time.Duration{time.Second, 3 * time.Second, 8 * time.Second} {
			t.Run(fmt.Sprintf("steps that take %s, batched %t", takes, batched), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					to := &narrow{to: serving(t, fake.Options{}), each: takes, line: make(chan struct{}, 1)}
					p, err := New(Endpoint{Name: "edge", URL: "http://127.0.0.1:1", Log: logr.Discard()})
					if err != nil {
						t.Fatal(err)
					}
					p.reads.http.HTTPClient.Transport.(*attempts).next = to
					if err := p.Reach(t.Context()); err != nil {
						t.Fatal(err)
					}
					if !batched {
						p.capabilities.stepsPerApply = 1
					}
					began := time.Now()
					var all sync.WaitGroup
					for i := range balancers {
						all.Go(func() { createGroups(t, p, lb.Key(fmt.Sprintf("fairlead/shop/web-%d/internal", i)), each) })
					}
					all.Wait()
					took := time.Since(began)
					time.Sleep(100 * time.Hour) // what was sent is carried out
					const steps = balancers * (each + 1)
					t.Logf("%d steps in %d requests, in %s", to.steps, to.requests, took)
					if most := steps * takes * 13 / 10; took > most {
						t.Errorf("it takes %s, want at most %s", took, most)
					}
					if to.steps > steps*11/10 || to.requests > steps*11/10 {
						t.Errorf("%d steps are sent in %d requests, want little more than %d", to.steps, to.requests, steps)
					}
				})
			})
		}
	}
}

// createGroups creates target groups as the operator does: a reconcile ends after ten minutes, and after a
// step that may be half done it looks again.
func createGroups(t *testing.T, p *Provider, key lb.Key, count int) {
	wait := 50 * time.Millisecond
	var seen *lb.Observed
	for began := time.Now(); time.Since(began) < 50*time.Hour; {
		var err error
		if seen == nil {
			seen, err = p.Observe(t.Context(), key, false)
		}
		if err == nil {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			var outcome providers.Outcome
			if outcome, err = providers.Run(ctx, p, seen, groups(seen, count), providers.Options{}); outcome.HalfDone {
				seen = nil
			}
			cancel()
		}
		if err == nil {
			return
		}
		wait = min(2*wait, time.Minute)
		if again, ok := errors.AsType[*providers.RetryAfter](err); ok {
			wait = again.In
		}
		time.Sleep(wait)
	}
	t.Errorf("%s does not come to rest", key)
}
