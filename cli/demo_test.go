package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/clouds"
)

func TestDemoAnswersEveryRouteOfTheSamples(t *testing.T) {
	got := fairlead(t, "demo", "--once", "-f", sampleFiles)
	if got.code != exitDone {
		t.Fatalf("exit code %d\n%s%s", got.code, got.out, got.err)
	}
	for _, want := range []string{
		"pass http://shop.example.com/cart is answered by Service shop/cart port 8080",
		"pass https://shop.example.com/", // by the certificate that the demo made
		"pass http://any.shop.example.com/",
		"pass http://pay.example.com/ is answered by redirect 301 to https://pay.example.com/",
		"pass https://pay.example.com/ is answered by Service pay/payments port 80",
		"is answered by fixed response 404",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing in\n%s", want, got.out)
		}
	}
}

// The sample is written for ingress-nginx: a rewrite, a canary by header, and a range of addresses that the demo is not in.
func TestDemoServesWhatWasWrittenForNGINX(t *testing.T) {
	got := fairlead(t, "demo", "--once", "-f", "../examples/nginx", "--from", "nginx")
	if got.code != exitDone {
		t.Fatalf("exit code %d\n%s%s", got.code, got.out, got.err)
	}
	for _, want := range []string{
		"pass http://shop.example.com/api is answered by Service shop/api port 80",
		"pass http://shop.example.com/api with X-Canary: always is answered by Service shop/api-next port 80",
		"pass http://office.example.com/ is answered by fixed response 403",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing in\n%s", want, got.out)
		}
	}
}

func TestDemoFailsWhereAnAnswerIsNotAsForetold(t *testing.T) {
	with := testProviders().with(func(c *clouds.Cloud) {
		start := c.Local
		c.Local = func() (clouds.Local, error) {
			cloud, err := start()
			return forgetful{cloud}, err
		}
	})
	got := runWith(t, with, "demo", "--once", "-f", sampleFiles)
	if got.code != exitFail || !strings.Contains(got.out, "FAIL status is 503, not 200: http://shop.example.com/cart") {
		t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
	}
}

func TestDemoForetells503WhereThereAreNoTargets(t *testing.T) {
	dir := directory(t, map[string]string{
		"gone.yaml": strings.ReplaceAll(ingressYAML("gone", "gone.example.com", "/"), "name: web,", "name: unserved,"),
		"port.yaml": strings.Replace(ingressYAML("port", "port.example.com", "/"), "number: 80", "number: 81", 1),
		"web.yaml":  serviceYAML,
	})
	got := fairlead(t, "demo", "--once", "-f", dir)
	for _, want := range []string{
		"pass http://gone.example.com/ is answered by 503, because Service shop/unserved port 80 has no targets",
		"pass http://port.example.com/ is answered by 503, because Service shop/web port 81 has no targets",
	} {
		if got.code != exitDone || !strings.Contains(got.out, want) {
			t.Errorf("exit code %d, and %q is missing in\n%s%s", got.code, want, got.out, got.err)
		}
	}
}

func TestDemoStandsInForNodes(t *testing.T) {
	dir := directory(t, map[string]string{
		"web.yaml":     strings.Replace(ingressYAML("web", "web.example.com", "/"), "namespace: shop}", "namespace: shop, annotations: {fairlead.dev/target-type: instance}}", 1),
		"service.yaml": serviceYAML + "  type: NodePort\n  externalTrafficPolicy: Local\n",
	})
	got := fairlead(t, "demo", "--once", "-f", dir)
	if want := "pass http://web.example.com/ is answered by Service shop/web port 80\n"; got.code != exitDone || !strings.Contains(got.out, want) {
		t.Errorf("exit code %d, and %q is missing in\n%s%s", got.code, want, got.out, got.err)
	}
}

// TestDemoMeetsConditions requests routes that look at more than the host and the path.
func TestDemoMeetsConditions(t *testing.T) {
	dir := directory(t, map[string]string{
		"web.yaml": strings.Replace(ingressYAML("web", "web.example.com", "/"), "namespace: shop}", `namespace: shop, annotations: {fairlead.dev/conditions: '[{"method": ["POST"], "header": {"X-Canary": ["al*"]}, "query": {"a-b": ["1"]}}]'}}`, 1),
		"far.yaml": strings.Replace(ingressYAML("far", "far.example.com", "/"), "namespace: shop}", `namespace: shop, annotations: {fairlead.dev/conditions: '[{"source": ["192.0.2.0/24"]}]'}}`, 1),
		"s.yaml":   serviceYAML,
	})
	got := fairlead(t, "demo", "--once", "-f", dir)
	for _, want := range []string{
		"pass POST http://web.example.com/?a-b=1 with X-Canary: al is answered by Service shop/web port 80\n",
		"pass http://web.example.com/ is answered by fixed response 404\n",
		"pass http://far.example.com/ is answered by fixed response 404\n",
	} {
		if got.code != exitDone || !strings.Contains(got.out, want) {
			t.Errorf("exit code %d, and %q is missing in\n%s%s", got.code, want, got.out, got.err)
		}
	}
}

// forgetful loses the targets of its groups.
type forgetful struct{ clouds.Local }

func (f forgetful) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, _ []lb.Target) error {
	return f.Local.SetTargets(ctx, key, group, nil)
}

// A notebook is written by one goroutine and read by another.
type notebook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notebook) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *notebook) contains(text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Contains(n.text.String(), text)
}

func TestDemoFollowsItsFiles(t *testing.T) {
	dir := directory(t, map[string]string{
		"ingress.yaml": ingressYAML("web", "a.example.com", "/"),
		"service.yaml": serviceYAML,
	})
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out, complaints notebook
	ended := make(chan int)
	go func() {
		ended <- Run(ctx, []string{"demo", "-f", dir}, testProviders(), Streams{Out: &out, Err: &complaints})
	}()
	until(t, "serving", func() bool { return out.contains("Watching") })
	out.mu.Lock()
	_, rest, _ := strings.Cut(out.text.String(), "in a browser: ")
	out.mu.Unlock()
	address, _, _ := strings.Cut(rest, "\n")
	shown, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(shown.Body); err != nil || !strings.Contains(string(text), "fairlead/shop/web/internal") {
		t.Errorf("%s shows %s, %v", address, text, err)
	}
	_ = shown.Body.Close()
	if !out.contains("curl -s --connect-to ::127.") || !out.contains("http://a.example.com/") {
		t.Errorf("no line for curl in\n%s", &out.text)
	}

	write(t, filepath.Join(dir, "ingress.yaml"), ingressYAML("web", "a.example.com", "no-slash"))
	until(t, "complaining", func() bool {
		return complaints.contains("ingress.yaml:10: Ingress shop/web: spec.rules[0].http.paths[0].path: ")
	})

	write(t, filepath.Join(dir, "ingress.yaml"), ingressYAML("web", "a.example.com", "/new"))
	until(t, "planning", func() bool { return out.contains("/new") })

	interrupt()
	if code := <-ended; code != exitDone {
		t.Errorf("an interrupted demo ends with exit code %d\n%s", code, &complaints.text)
	}
}

// A misreporter reports another state than the steps wrote.
type misreporter struct {
	clouds.Local
	report func(*lb.Observed)
}

func (m misreporter) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	seen, err := m.Local.Observe(ctx, key, deep)
	if err == nil {
		m.report(seen)
	}
	return seen, err
}

// TestDemoEndsWhereStepsDoNotShow has providers whose steps succeed and are to do again.
func TestDemoEndsWhereStepsDoNotShow(t *testing.T) {
	for name, c := range map[string]struct {
		report func(*lb.Observed)
		want   []string
	}{
		"nothing exists": {func(o *lb.Observed) { *o = lb.Observed{Key: o.Key} }, []string{"create load balancer", "exists: reported false, want true"}},
		"no rules": {func(o *lb.Observed) {
			for i := range o.Listeners {
				o.Listeners[i].Rules = nil
			}
		}, []string{"create rule 80/", "listeners[80].rules[", ": not reported, want {"}},
		"never ready": {func(o *lb.Observed) {
			for i := range o.TargetGroups {
				o.TargetGroups[i].Registered = false
			}
		}, []string{"register targets shop/web:80", "targetGroups[shop/web:80].registered: not reported, want true"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := directory(t, map[string]string{"ingress.yaml": ingressYAML("web", "a.example.com", "/"), "service.yaml": serviceYAML})
			with := testProviders().with(func(c2 *clouds.Cloud) {
				start := c2.Local
				c2.Local = func() (clouds.Local, error) {
					cloud, err := start()
					return misreporter{cloud, c.report}, err
				}
			})
			ctx, end := context.WithTimeout(t.Context(), time.Minute)
			defer end()
			var out, complaints notebook
			code := Run(ctx, []string{"demo", "--once", "-f", dir}, with, Streams{Out: &out, Err: &complaints})
			for _, want := range append(c.want, "3 plans in a row are the same: each time ") {
				if code != exitFail || !complaints.contains(want) {
					t.Errorf("exit code %d, and %q is missing in\n%s", code, want, &complaints.text)
				}
			}
		})
	}
}

// A slow cloud carries out one step after each look, and none after the first five.
type slow struct {
	clouds.Local
	looks, permitted *atomic.Int64
}

func (s slow) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	if s.looks.Add(1) > 5 {
		s.permitted.Store(1)
	}
	return s.Local.Observe(ctx, key, deep)
}

func (s slow) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	if s.permitted.Add(-1) < 0 {
		return plan.Result{}, providers.ErrPending
	}
	return s.Local.Apply(ctx, seen, step)
}

func TestDemoWaitsForASlowCloud(t *testing.T) {
	dir := directory(t, map[string]string{"ingress.yaml": ingressYAML("web", "a.example.com", "/"), "service.yaml": serviceYAML})
	with := testProviders().with(func(c *clouds.Cloud) {
		start := c.Local
		c.Local = func() (clouds.Local, error) {
			cloud, err := start()
			return slow{cloud, new(atomic.Int64), new(atomic.Int64)}, err
		}
	})
	if got := runWith(t, with, "demo", "--once", "-f", dir); got.code != exitDone {
		t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
	}
}

// TestDemoTellsEachErrorInALine has a provider fail two steps.
func TestDemoTellsEachErrorInALine(t *testing.T) {
	dir := directory(t, map[string]string{"ingress.yaml": ingressYAML("web", "a.example.com", "/") + `      - path: /other
        pathType: Prefix
        backend: {service: {name: other, port: {number: 80}}}
`, "service.yaml": serviceYAML})
	with := testProviders().with(func(c *clouds.Cloud) {
		start := c.Local
		c.Local = func() (clouds.Local, error) {
			cloud, err := start()
			return out{cloud}, err
		}
	})
	got := runWith(t, with, "demo", "--once", "-f", dir)
	want := "error: changing fairlead/shop/web/internal: applying create target group shop/other:80: rejected\nerror: changing fairlead/shop/web/internal: applying create target group shop/web:80: out of order\n"
	if got.code != exitFail || got.err != want {
		t.Errorf("exit code %d\n%s", got.code, got.err)
	}
}

// An out cloud fails steps for one cause, and refuses others.
type out struct{ clouds.Local }

func (o out) Apply(_ context.Context, _ *lb.Observed, step plan.Step) (plan.Result, error) {
	if g, ok := step.(plan.CreateTargetGroup); ok && g.Group.ID == "shop/web:80" {
		return plan.Result{}, errors.New("out of order")
	}
	return plan.Result{}, providers.ErrRejected
}

// listed are the keys of a provider that is another process.
func listed(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url + v1.PathLoadBalancers)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDemoDeletesWhatItMade has a provider that is another process, which outlives the demo.
func TestDemoDeletesWhatItMade(t *testing.T) {
	dir := directory(t, map[string]string{"ingress.yaml": ingressYAML("web", "a.example.com", "/"), "service.yaml": serviceYAML})
	url := elsewhere(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out, complaints notebook
	ended := make(chan int)
	go func() {
		ended <- Run(ctx, []string{"demo", "-f", dir, "--provider", "edge=" + url}, testProviders(), Streams{Out: &out, Err: &complaints})
	}()
	until(t, "serving", func() bool { return out.contains("Watching") })

	// Another demo finds the load balancer there, and leaves it.
	got := fairlead(t, "demo", "--once", "-f", dir, "--provider", "edge="+url)
	if want := "The provider keeps fairlead/shop/web/internal: it was there before the demo, which changed it"; got.code != exitDone || !strings.Contains(got.out, want) || !strings.Contains(listed(t, url), "shop/web") {
		t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
	}
	interrupt()
	if code := <-ended; code != exitDone || out.contains("keeps") || !strings.Contains(listed(t, url), `"keys":[]`) {
		t.Errorf("exit code %d, left %s\n%s%s", code, listed(t, url), &out.text, &complaints.text)
	}
}

// TestDemoEndsSoonWhereStepsFail interrupts a demo whose steps are answered with 500.
func TestDemoEndsSoonWhereStepsFail(t *testing.T) {
	dir := directory(t, map[string]string{"ingress.yaml": ingressYAML("web", "a.example.com", "/"), "service.yaml": serviceYAML})
	inner := elsewhere(t)
	var failed atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == v1.PathSteps {
			failed.Add(1)
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		to, err := url.Parse(inner)
		if err != nil {
			t.Error(err)
		}
		httputil.NewSingleHostReverseProxy(to).ServeHTTP(w, r)
	}))
	defer server.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out, complaints notebook
	ended := make(chan int)
	go func() {
		ended <- Run(ctx, []string{"demo", "-f", dir, "--provider", "edge=" + server.URL}, testProviders(), Streams{Out: &out, Err: &complaints})
	}()
	until(t, "failing", func() bool { return failed.Load() > 1 })
	interrupt()
	select {
	case code := <-ended:
		if code == exitDone || out.contains("keeps") {
			t.Errorf("exit code %d\n%s%s", code, &out.text, &complaints.text)
		}
	case <-time.After(5 * time.Second):
		t.Error("it did not end within five seconds")
		<-ended
	}
}
