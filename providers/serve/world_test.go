package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"fairlead.dev/fairlead/api/provider/kit"
	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/serve"
	"fairlead.dev/fairlead/providers/wire"
)

// This file is what tests of the server stand on: a cloud that tests can get in the way of, and
// requests in a few words.

const shop lb.Key = "fairlead/shop/web/internal"

// A cloud is the fake cloud with something before its calls.
type cloud struct {
	providers.Provider
	observes, applies       atomic.Int32
	beforeObserve           func(context.Context) error
	beforeApply, afterApply func(context.Context, *lb.Observed, plan.Step) error
	beforeSet               func(context.Context, []lb.Target) error
}

func newCloud(t testing.TB) *cloud {
	t.Helper()
	c, err := fake.New(fake.Options{Capabilities: lb.ALB()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &cloud{Provider: c}
}

func (c *cloud) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	c.observes.Add(1)
	if c.beforeObserve != nil {
		if err := c.beforeObserve(ctx); err != nil {
			return nil, err
		}
	}
	return c.Provider.Observe(ctx, key, deep)
}

func (c *cloud) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	c.applies.Add(1)
	if c.beforeApply != nil {
		if err := c.beforeApply(ctx, seen, step); err != nil {
			return plan.Result{}, err
		}
	}
	result, err := c.Provider.Apply(ctx, seen, step)
	if err == nil && c.afterApply != nil {
		err = c.afterApply(ctx, seen, step)
	}
	return result, err
}

func (c *cloud) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	if c.beforeSet != nil {
		if err := c.beforeSet(ctx, want); err != nil {
			return err
		}
	}
	return c.Provider.SetTargets(ctx, key, group, want)
}

// A reply is what a request was answered with.
type reply struct {
	status  int
	header  http.Header
	body    string
	problem v1.Problem
}

// ask sends a request, a line such as "GET /capabilities", with a message and headers such as
// "Accept: a/b".
func ask(t testing.TB, h http.Handler, line string, message any, headers ...string) reply {
	t.Helper()
	return askUntil(t.Context(), t, h, line, message, headers...)
}

// askUntil sends a request whose client goes away when a context ends.
func askUntil(ctx context.Context, t testing.TB, h http.Handler, line string, message any, headers ...string) reply {
	t.Helper()
	method, target, _ := strings.Cut(line, " ")
	var body []byte
	switch m := message.(type) {
	case nil:
	case string:
		body = []byte(m)
	default:
		var err error
		if body, err = json.Marshal(m); err != nil {
			t.Error(err)
		}
	}
	r := httptest.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if message != nil {
		r.Header.Set("Content-Type", v1.MediaType)
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	out := reply{status: w.Code, header: w.Header(), body: w.Body.String()}
	if w.Header().Get("Content-Type") == v1.ProblemMediaType {
		if err := json.Unmarshal(w.Body.Bytes(), &out.problem); err != nil {
			t.Errorf("%s: %v in %s", line, err, out.body)
		}
		if out.problem.Status != w.Code {
			t.Errorf("%s: the status is %d, and %d in the problem", line, w.Code, out.problem.Status)
		}
	}
	return out
}

// read reads a message of a reply.
func read[T any](t testing.TB, r reply) T {
	t.Helper()
	var out T
	if err := json.Unmarshal([]byte(r.body), &out); err != nil || r.status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", r.status, err, r.body)
	}
	return out
}

func stepsOf(key lb.Key) string {
	return "POST " + v1.PathSteps + "?key=" + url.QueryEscape(string(key))
}

func observe(key lb.Key) string {
	return "GET " + v1.PathLoadBalancer + "?key=" + url.QueryEscape(string(key))
}

func targets(method string, group lb.GroupID) string {
	return method + " " + v1.PathTargets + "?key=" + url.QueryEscape(string(shop)) + "&group=" + url.QueryEscape(string(group))
}

// step is a request with one step.
func step(id string, s plan.Step) v1.Apply {
	return v1.Apply{Steps: []v1.Requested{{ID: id, Step: wire.EncodeStep(s)}}}
}

// create makes the load balancer, and group a target group.
func create() plan.Step {
	return plan.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Key: shop, Digest: "v1:a"}}
}

func group(id lb.GroupID) plan.Step {
	return plan.CreateTargetGroup{Group: lb.TargetGroup{ID: id, Service: "shop/web", Port: "80", Protocol: "HTTP"}}
}

// apply has a step carried out and returns its result.
func apply(t testing.TB, h http.Handler, id string, s plan.Step, headers ...string) v1.Result {
	t.Helper()
	results := read[v1.Applied](t, ask(t, h, stepsOf(shop), step(id, s), headers...)).Results
	if len(results) != 1 || results[0].ID != id {
		t.Fatalf("results %+v", results)
	}
	return results[0]
}

// done is apply of a step that may not fail.
func done(t testing.TB, h http.Handler, id string, s plan.Step) v1.Result {
	t.Helper()
	r := apply(t, h, id, s)
	if r.Problem != nil {
		t.Fatalf("%s: %+v", id, r.Problem)
	}
	return r
}

func serving(t testing.TB, c providers.Provider, o serve.Options) *kit.Server {
	t.Helper()
	s := serve.New(c, o)
	t.Cleanup(func() { _ = s.Close(0) }) // what is under way is the test's own
	return s
}
