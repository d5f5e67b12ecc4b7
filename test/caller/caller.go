// Package caller calls a provider over the provider protocol, for tests of what serves it: one
// request a call, nothing is repeated and nothing is remembered. The operator's client is package
// providers/remote.
package caller

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers/wire"
)

// A Caller is a providers.Provider that calls another one.
type Caller struct {
	// URL is that of the provider.
	URL string
	// Send sends a request.
	Send func(*http.Request) (*http.Response, error)
}

// Of calls a handler in this process.
func Of(h http.Handler) *Caller {
	return &Caller{URL: "http://provider.test", Send: func(r *http.Request) (*http.Response, error) {
		if r.Body == nil {
			r.Body = http.NoBody
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result(), nil
	}}
}

// call makes a call and reads its answer, which is nil for none.
func (c *Caller) call(ctx context.Context, method, path string, query url.Values, message, into any) error {
	var body io.Reader
	if message != nil {
		text, err := json.Marshal(message)
		if err != nil {
			return fmt.Errorf("writing the request: %w", err)
		}
		body = bytes.NewReader(text)
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, c.URL+path, body)
	if err != nil {
		return fmt.Errorf("making the request: %w", err)
	}
	r.Header.Set("Accept", v1.MediaType)
	r.Header.Set(v1.HeaderRequestID, rand.Text())
	if body != nil {
		r.Header.Set("Content-Type", v1.MediaType)
	}
	return c.send(r, into)
}

// send sends a request and reads its answer.
func (c *Caller) send(r *http.Request, into any) error {
	a, err := c.Send(r)
	if err != nil {
		return err
	}
	defer func() { _ = a.Body.Close() }() // it has been read
	text, err := io.ReadAll(a.Body)
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if a.StatusCode >= http.StatusBadRequest {
		p := &v1.Problem{}
		if err := json.Unmarshal(text, p); err != nil {
			return fmt.Errorf("reading a problem from %q: %w", text, err)
		}
		return wire.DecodeError(p)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading the answer %q: %w", text, err)
	}
	return nil
}

func of(key lb.Key) url.Values { return url.Values{"key": {string(key)}} }

func within(key lb.Key, group lb.GroupID) url.Values {
	return url.Values{"key": {string(key)}, "group": {string(group)}}
}

// Capabilities implements providers.Provider. There have to be some.
func (c *Caller) Capabilities(class lb.Class) lb.Capabilities {
	var reply v1.Capabilities
	err := c.call(context.Background(), http.MethodGet, v1.PathCapabilities, nil, nil, &reply)
	var out lb.Capabilities
	if err == nil {
		out, err = wire.DecodeCapabilities(reply)
	}
	if err != nil {
		panic(fmt.Sprintf("asking for capabilities: %v", err))
	}
	return out.Restrict(class)
}

// Lookup implements providers.Provider.
func (c *Caller) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	var reply v1.Facts
	err := c.call(ctx, http.MethodPost, v1.PathLookup, nil, wire.EncodeQuestions(q), &reply)
	return wire.DecodeFacts(reply), err
}

// Observe implements providers.Provider.
func (c *Caller) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	query := of(key)
	if deep {
		query.Set("deep", "true")
	}
	var reply v1.Observed
	if err := c.call(ctx, http.MethodGet, v1.PathLoadBalancer, query, nil, &reply); err != nil {
		return nil, err
	}
	return wire.DecodeObserved(key, reply)
}

// Active implements providers.Provider.
func (c *Caller) Active(ctx context.Context, seen *lb.Observed) (bool, error) {
	var reply v1.Activity
	err := c.call(ctx, http.MethodGet, v1.PathActive, of(seen.Key), nil, &reply)
	return reply.Active, err
}

// Apply implements providers.Provider. Each step has an ID of its own.
func (c *Caller) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	asked := v1.Requested{ID: rand.Text(), Step: wire.EncodeStep(step)}
	reply, err := c.Steps(ctx, seen.Key, asked)
	if err != nil {
		return plan.Result{}, err
	}
	return wire.DecodeResult(reply[0])
}

// Steps has steps carried out and returns their results.
func (c *Caller) Steps(ctx context.Context, key lb.Key, steps ...v1.Requested) ([]v1.Result, error) {
	var reply v1.Applied
	if err := c.call(ctx, http.MethodPost, v1.PathSteps, of(key), v1.Apply{Steps: steps}, &reply); err != nil {
		return nil, err
	}
	if len(reply.Results) != len(steps) {
		return nil, fmt.Errorf("%d steps have %d results", len(steps), len(reply.Results))
	}
	return reply.Results, nil
}

// Targets implements providers.Provider.
func (c *Caller) Targets(ctx context.Context, key lb.Key, group lb.GroupID) ([]lb.TargetHealth, error) {
	var reply v1.TargetList
	err := c.call(ctx, http.MethodGet, v1.PathTargets, within(key, group), nil, &reply)
	return wire.DecodeHealth(reply), err
}

// SetTargets implements providers.Provider.
func (c *Caller) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	return c.call(ctx, http.MethodPut, v1.PathTargets, within(key, group), wire.EncodeTargets(want), nil)
}

// List implements providers.Provider.
func (c *Caller) List(ctx context.Context) ([]lb.Key, error) {
	var reply v1.LoadBalancerList
	if err := c.call(ctx, http.MethodGet, v1.PathLoadBalancers, nil, nil, &reply); err != nil {
		return nil, err
	}
	var keys []lb.Key
	for _, key := range reply.Keys {
		keys = append(keys, lb.Key(key))
	}
	return keys, nil
}
