package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/serve"
)

// This file puts faults on the wire between the operator and a provider. A step is carried out once
// whatever happens, and an error says what is wrong.

const shop lb.Key = "fairlead/shop/web/internal"

// A counting cloud counts the steps that are carried out.
type counting struct {
	*fake.Cloud
	applied atomic.Int32
	delay   time.Duration
}

func (c *counting) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	time.Sleep(c.delay)
	c.applied.Add(1)
	return c.Cloud.Apply(ctx, seen, step)
}

func newCounting(t testing.TB) *counting {
	t.Helper()
	cloud, err := fake.New(fake.Options{Capabilities: lb.ALB()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	return &counting{Cloud: cloud}
}

var create = plan.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Key: shop}}

// A fault is what happens to a request for steps: the next handler is the provider's.
type fault func(w http.ResponseWriter, r *http.Request, attempt int32, next http.Handler)

// between is a provider with a fault before its steps.
func between(next http.Handler, happens fault) http.Handler {
	var attempt atomic.Int32
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != v1.PathSteps {
			next.ServeHTTP(w, r)
			return
		}
		happens(w, r, attempt.Add(1), next)
	})
}

// TestAStepIsCarriedOutOnce has the answer of the first attempt lost in each way that there is.
func TestAStepIsCarriedOutOnce(t *testing.T) {
	for name, happens := range map[string]fault{
		"cut off in the middle of the answer": func(w http.ResponseWriter, r *http.Request, attempt int32, next http.Handler) {
			if attempt > 1 {
				next.ServeHTTP(w, r)
				return
			}
			got := httptest.NewRecorder()
			next.ServeHTTP(got, r)
			w.Header().Set("Content-Type", v1.MediaType)
			w.Header().Set("Content-Length", fmt.Sprint(got.Body.Len()))
			_, _ = w.Write(got.Body.Bytes()[:got.Body.Len()/2])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"cut off before the answer": func(w http.ResponseWriter, r *http.Request, attempt int32, next http.Handler) {
			if attempt > 1 {
				next.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		},
		"answered late": func(w http.ResponseWriter, r *http.Request, attempt int32, next http.Handler) {
			if attempt > 1 {
				w.WriteHeader(http.StatusTeapot) // it is not asked again
				return
			}
			time.Sleep(400 * time.Millisecond)
			next.ServeHTTP(w, r)
		},
		"delivered twice": func(w http.ResponseWriter, r *http.Request, _ int32, next http.Handler) {
			body, _ := io.ReadAll(r.Body)
			for _, to := range []http.ResponseWriter{httptest.NewRecorder(), w} {
				again := r.Clone(r.Context())
				again.Body = io.NopCloser(bytes.NewReader(body))
				next.ServeHTTP(to, again)
			}
		},
		"too many calls, twice": func(w http.ResponseWriter, r *http.Request, attempt int32, next http.Handler) {
			if attempt > 2 {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Retry-After", "100000000")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"a gateway without a provider, twice": func(w http.ResponseWriter, r *http.Request, attempt int32, next http.Handler) {
			if attempt > 2 {
				next.ServeHTTP(w, r)
				return
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := newCounting(t)
			p := opened(t, Endpoint{URL: served(t, between(serve.New(cloud, serve.Options{}), happens)), Attempt: 300 * time.Millisecond})
			result, err := p.Apply(t.Context(), &lb.Observed{Key: shop}, create)
			if err != nil || result.Handle == "" {
				t.Errorf("result %+v, error %v", result, err)
			}
			if n := cloud.applied.Load(); n != 1 {
				t.Errorf("the step was carried out %d times", n)
			}
		})
	}
}

// TestWhatIsNotRepeated counts the attempts of calls that another attempt does not help.
func TestWhatIsNotRepeated(t *testing.T) {
	problem := func(status int, body string) fault {
		return func(w http.ResponseWriter, _ *http.Request, _ int32, _ http.Handler) {
			w.Header().Set("Content-Type", v1.ProblemMediaType)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	says := func(kind, body string) fault {
		return func(w http.ResponseWriter, _ *http.Request, _ int32, _ http.Handler) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, c := range map[string]struct {
		happens fault
		class   error
		want    string
	}{
		"rejected":               {problem(422, `{"type":"urn:fairlead:problem:rejected","detail":"no such\u0007 zone"}`), providers.ErrRejected, "provider edge: calling"},
		"no room":                {problem(422, `{"type":"urn:fairlead:problem:no-room","detail":"5 of 5"}`), providers.ErrNoRoom, "5 of 5"},
		"denied":                 {problem(403, `{"type":"urn:fairlead:problem:denied","detail":"no right"}`), providers.ErrDenied, "no right"},
		"no token":               {problem(401, ``), providers.ErrDenied, "status 401"},
		"unknown":                {problem(422, `{"type":"urn:fairlead:problem:unknown","detail":"field colour"}`), providers.ErrRejected, "field colour"},
		"pending":                {problem(409, `{"type":"urn:fairlead:problem:pending"}`), providers.ErrPending, "pending"},
		"another version":        {problem(406, `{"type":"urn:fairlead:problem:version","versions":[2,3]}`), nil, "speaks the versions [2 3]"},
		"a page of a proxy":      {says("text/html", "<html>"), nil, `"text/html"`},
		"an answer of version 2": {says(strings.Replace(v1.MediaType, "version=1", "version=2", 1), "{}"), nil, "version=2"},
		"invalid JSON":           {says(v1.MediaType, `{"results": [`), nil, "reading the answer to POST /load-balancer/steps"},
		"deep JSON":              {says(v1.MediaType, `{"x":`+strings.Repeat("[", 20_000)), nil, "reading the answer to POST /load-balancer/steps"},
		"two values":             {says(v1.MediaType, `{"results": []} {}`), nil, "something follows"},
		"a number too large":     {says(v1.MediaType, `{"results": [{"id":"a","reachedAt":99999999999999999999}]}`), nil, "reading the answer to POST /load-balancer/steps"},
		"another step's result":  {says(v1.MediaType, `{"results": [{"id":"a"}]}`), nil, "no result of step createLoadBalancer"},
		"status 501":             {problem(501, ``), nil, "status 501"},
		"a redirect":             {problem(307, ``), nil, "redirect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			p := open(t, served(t, between(serve.New(newCounting(t), serve.Options{}), func(w http.ResponseWriter, r *http.Request, attempt int32, next http.Handler) {
				calls.Add(1)
				c.happens(w, r, attempt, next)
			})))
			_, err := p.Apply(t.Context(), &lb.Observed{Key: shop}, create)
			if err == nil || !strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "no such  zone") || !strings.HasPrefix(err.Error(), "provider edge: ") {
				t.Errorf("told %v, want %q", err, c.want)
			}
			for _, class := range []error{providers.ErrRejected, providers.ErrDenied, providers.ErrPending, providers.ErrThrottled} {
				if errors.Is(err, class) != (c.class != nil && errors.Is(c.class, class)) {
					t.Errorf("%v: is it %v? want %v", err, class, c.class)
				}
			}
			if n := calls.Load(); n != 1 {
				t.Errorf("%d attempts were made", n)
			}
		})
	}
}

// TestAnEndlessAnswerEnds has a provider send without end, compressed and not.
func TestAnEndlessAnswerEnds(t *testing.T) {
	p := open(t, served(t, between(serve.New(newCounting(t), serve.Options{}), func(w http.ResponseWriter, r *http.Request, _ int32, _ http.Handler) {
		w.Header().Set("Content-Type", v1.MediaType)
		spaces := bytes.Repeat([]byte(" "), 1<<16)
		for r.Context().Err() == nil {
			if _, err := w.Write(spaces); err != nil {
				return
			}
		}
	})))
	if _, err := p.Apply(t.Context(), &lb.Observed{Key: shop}, create); err == nil || !strings.Contains(err.Error(), "more than 33554432 bytes") {
		t.Errorf("told %v", err)
	}
}

// TestWhatFollowsAnAnswerThatIsTooLongIsNotRead has a provider send a whole answer behind as many
// bytes as there may be.
func TestWhatFollowsAnAnswerThatIsTooLongIsNotRead(t *testing.T) {
	p := open(t, served(t, between(serve.New(newCounting(t), serve.Options{}), func(w http.ResponseWriter, _ *http.Request, _ int32, _ http.Handler) {
		w.Header().Set("Content-Type", v1.MediaType)
		_, _ = w.Write(append(bytes.Repeat([]byte(" "), v1.MaxAnswer+1), `{"results":[]}`...))
	})))
	if _, err := p.Apply(t.Context(), &lb.Observed{Key: shop}, create); err == nil || !strings.Contains(err.Error(), "more than 33554432 bytes") {
		t.Errorf("told %v", err)
	}
}

// TestCredentialsStayWithTheProvider has a provider send the operator elsewhere, in each way that
// there is.
func TestCredentialsStayWithTheProvider(t *testing.T) {
	var seen atomic.Int32
	elsewhere := served(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen.Add(1) }))
	for _, status := range []int{301, 302, 303, 307, 308} {
		p := open(t, served(t, between(serve.New(newCounting(t), serve.Options{}), func(w http.ResponseWriter, _ *http.Request, _ int32, _ http.Handler) {
			w.Header().Set("Location", elsewhere+"/a")
			w.WriteHeader(status)
		})))
		if _, err := p.Apply(t.Context(), &lb.Observed{Key: shop}, create); err == nil {
			t.Errorf("status %d is no error", status)
		}
	}
	if n := seen.Load(); n > 0 {
		t.Errorf("another server was called %d times", n)
	}
}

// TestAProviderThatIsAwayCostsNoWorker stops a provider: calls fail at once after a few, and go on
// once it is back.
func TestAProviderThatIsAwayCostsNoWorker(t *testing.T) {
	var away atomic.Bool
	inner := serve.New(newCounting(t), serve.Options{})
	p := open(t, served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			panic(http.ErrAbortHandler)
		}
		inner.ServeHTTP(w, r)
	})))
	away.Store(true)
	if _, err := p.List(t.Context()); err == nil {
		t.Fatal("a provider that is away lists load balancers")
	}
	began := time.Now()
	for range 1000 {
		if _, err := p.List(t.Context()); err == nil || !strings.Contains(err.Error(), "has not answered since") {
			t.Fatalf("told %v", err)
		}
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("1000 calls of a provider that is away took %s", took)
	}
}

// TestAPausedOperatorSendsNothing has the lease be lost between two attempts.
func TestAPausedOperatorSendsNothing(t *testing.T) {
	var attempts atomic.Int32
	cloud := newCounting(t)
	p := open(t, served(t, between(serve.New(cloud, serve.Options{}), func(w http.ResponseWriter, _ *http.Request, _ int32, _ http.Handler) {
		attempts.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	})))
	lost := errors.New("the lease is lost")
	revocable := providers.NewRevocable(p, func() error {
		if attempts.Load() > 0 {
			return lost
		}
		return nil
	})
	if _, err := revocable.Apply(t.Context(), &lb.Observed{Key: shop}, create); !errors.Is(err, lost) || attempts.Load() != 1 {
		t.Errorf("told %v after %d attempts, want one", err, attempts.Load())
	}
}

// A slowCloud takes long to observe.
type slowCloud struct {
	*counting
	observes atomic.Int32
}

func (c *slowCloud) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	c.observes.Add(1)
	select {
	case <-time.After(1200 * time.Millisecond):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return c.counting.Observe(ctx, key, deep)
}

// TestALongReadEnds has a provider take longer than an attempt may: the attempts of one call wait for
// the same answer.
func TestALongReadEnds(t *testing.T) {
	cloud := &slowCloud{counting: newCounting(t)}
	p := opened(t, Endpoint{URL: served(t, serve.New(cloud, serve.Options{})), Attempt: 500 * time.Millisecond, Call: 10 * time.Second, LeastWait: 10 * time.Millisecond})
	if _, err := p.Observe(t.Context(), shop, false); err != nil || cloud.observes.Load() != 1 {
		t.Errorf("%v, observed %d times", err, cloud.observes.Load())
	}
}

// TestAProviderIsStartedAnewInTheMiddleOfAPlan replaces the server before each step: it knows
// nothing of what there is.
func TestAProviderIsStartedAnewInTheMiddleOfAPlan(t *testing.T) {
	cloud := newCounting(t)
	p := open(t, served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve.New(cloud, serve.Options{}).ServeHTTP(w, r)
	})))
	want := lb.LoadBalancer{
		Key: shop, Wanted: true,
		Listeners: []lb.Listener{{Port: 80, Protocol: "HTTP", Default: lb.Action{Kind: "fixed", Status: 404}}},
	}
	for i := range 30 {
		want.Listeners[0].Rules = append(want.Listeners[0].Rules, lb.Rule{
			Conditions: []lb.Condition{{Field: "host", Values: []string{fmt.Sprintf("h%d.example.com", i)}}}, Action: lb.Action{Kind: "fixed", Status: 200 + i},
		})
	}
	want.Digest = lb.DigestOf(want.Settings)
	want.Listeners[0].Digest = lb.DigestOf(want.Listeners[0].Settings)
	seen := &lb.Observed{Key: shop}
	todo := planner.Diff(seen, want, p.Capabilities(lb.Class{}))
	if _, err := providers.Run(t.Context(), p, seen, todo, providers.Options{}); err != nil {
		t.Fatal(err)
	}
	there, err := cloud.Observe(t.Context(), shop, true)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(seen, there, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(lb.Observed{}, "Read"), cmpopts.IgnoreFields(lb.Rule{}, "Origin")); diff != "" {
		t.Errorf("(-followed +there):\n%s", diff)
	}
	if n := int(cloud.applied.Load()); n != len(todo.Steps) {
		t.Errorf("%d steps were carried out, of a plan of %d", n, len(todo.Steps))
	}
}

// TestStepsThatAreReadyGoTogether counts the calls of a plan with many steps that need no other.
func TestStepsThatAreReadyGoTogether(t *testing.T) {
	cloud := newCounting(t)
	var calls atomic.Int32
	p := open(t, served(t, between(serve.New(cloud, serve.Options{}), func(w http.ResponseWriter, r *http.Request, _ int32, next http.Handler) {
		calls.Add(1)
		time.Sleep(20 * time.Millisecond)
		next.ServeHTTP(w, r)
	})))
	done := make(chan error, 100)
	for i := range 100 {
		go func() {
			_, err := p.Apply(t.Context(), &lb.Observed{Key: shop}, plan.CreateTargetGroup{Group: lb.TargetGroup{ID: lb.GroupID(fmt.Sprintf("shop/web:%d", i)), Service: "shop/web", Port: "80"}})
			done <- err
		}()
	}
	for range 100 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := calls.Load(); n > 20 {
		t.Errorf("100 steps took %d calls", n)
	}
	if n := cloud.applied.Load(); n != 100 {
		t.Errorf("%d steps were carried out", n)
	}
}
