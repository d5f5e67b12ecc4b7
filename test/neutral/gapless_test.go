package neutral

import (
	"context"
	"flag"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/providers"
)

// This file sends requests to Caddy while the Ingresses change.

var lasting = flag.Duration("lasting", 10*time.Second, "`HOW LONG` Ingresses change under requests")

// A client can use a connection again that was idle for no longer than idle. Caddy has ending to
// tell it that it ends one, which is longer than usual here: a machine that is busy with other
// tests holds both up.
const (
	idle   = 50 * time.Millisecond
	ending = "400ms"
)

// slow is a header that has a backend take its time for the second half of an answer.
const slow = "X-Slow"

// A history is what the Ingresses said, one after the other. A request is answered as one of those
// say that were in force from its beginning to its end.
type history struct {
	mu    sync.Mutex
	said  []model.Built
	since int // the first one that can still be in force: the one before a change under way
}

func (h *history) begin(b model.Built) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, b)
}

func (h *history) settled() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since = len(h.said) - 1
}

// now is the first of those that can be in force.
func (h *history) now() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.since
}

// fits reports whether an answer is one that the Ingresses asked for, and what these are.
func (h *history) fits(r request, first int, a *answered) (fits bool, wanted []string) {
	h.mu.Lock()
	said := slices.Clone(h.said[first:])
	h.mu.Unlock()
	for _, built := range said {
		want, _ := (&balancer{built: built}).wanted(r)
		wanted = append(wanted, want)
		if a.from == "" {
			fits = fits || want == a.text
			continue
		}
		where, to, _ := strings.Cut(want, ", ")
		fits = fits || where == a.text && slices.ContainsFunc(strings.Split(to, ", "), func(share string) bool {
			return strings.HasSuffix(share, " to "+a.from)
		})
	}
	return fits, wanted
}

// An answered request is one from a Service, or without a Service.
type answered struct{ from, text string }

// A client makes requests one after the other.
type client struct {
	rng     *rand.Rand
	at      map[int32]string
	history *history
	keeps   bool // its connection
	slow    bool // asks for slow answers
	wire    *wire
	used    time.Time
	asked   *atomic.Int64
}

// TestNoRequestGoesAstray changes the Ingresses while clients make requests: on connections that
// are kept, on new ones, and ones with slow answers. Each answer is complete, and the old one or
// the new one. A slow answer that began before a change does not say that its connection ends, so
// the next request is made on another one.
func TestNoRequestGoesAstray(t *testing.T) {
	changesUnderRequests(t, caddy(t, "--shutdown-delay", ending), nil)
}

// TestNoRequestGoesAstrayWhileTheProviderIsKilled kills the provider again and again in the midst
// of changes, and starts it anew. Caddy is another process, and goes on.
func TestNoRequestGoesAstrayWhileTheProviderIsKilled(t *testing.T) {
	process, url := startBeside(t, "--shutdown-delay", ending)
	provider := reach(t, url)
	ctx, stop := context.WithCancel(t.Context())
	var killer sync.WaitGroup
	kills := 0
	kill := func() {
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Duration(1000+rand.IntN(2000)) * time.Millisecond):
			}
			process.kill()
			if err := process.start(); err != nil {
				t.Error(err)
				return
			}
			kills++
		}
	}
	defer func() {
		stop()
		killer.Wait()
		t.Logf("the provider was killed %d times", kills)
	}()
	changesUnderRequests(t, provider, func() { killer.Go(kill) })
}

// changesUnderRequests changes Ingresses of a provider. kill has it killed from then on; nil where
// it is not.
func changesUnderRequests(t *testing.T, provider providers.Provider, kill func()) {
	t.Helper()
	seed := *seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	cluster := newCluster(t)
	b := &balancer{name: "Caddy", provider: provider, killed: kill != nil, real: backends(t)}
	var h history
	randomise(&cluster, rng)
	change := func() {
		vary(&cluster, rng)
		anchored := cluster
		anchored.Ingresses = append(slices.Clone(cluster.Ingresses), anchor())
		next := &balancer{name: "Caddy", provider: provider, killed: kill != nil}
		next.patiently(t, func() error { return next.compile(t.Context(), anchored) })
		h.begin(next.built)
		b.settle(t, anchored)
		h.settled()
	}
	change()
	if kill != nil {
		kill()
	}
	at := map[int32]string{}
	for _, port := range []int32{80, 443, 8080} {
		at[port], _ = b.at(port)
	}
	var clients sync.WaitGroup
	var asked atomic.Int64
	done := make(chan struct{})
	for i := range 6 {
		c := &client{rng: rand.New(rand.NewPCG(seed, uint64(2+i))), at: at, history: &h, keeps: i < 2, slow: i > 3, asked: &asked}
		clients.Go(func() { c.run(t, done) })
	}
	changes := 0
	for begun := time.Now(); time.Since(begun) < *lasting && !t.Failed(); changes++ {
		change()
		for port, was := range at {
			if now, _ := b.at(port); now != was {
				t.Errorf("port %d is reached at %s, and was at %s", port, now, was)
			}
		}
	}
	close(done)
	clients.Wait()
	t.Logf("%d changes, %d requests", changes, asked.Load())
	if !t.Failed() && (changes == 0 || asked.Load() < 100) {
		t.Error("that shows little")
	}
}

// anchor is an Ingress that keeps all ports open.
func anchor() *networkingv1.Ingress {
	ing := newIngress("anchor", 9)
	ing.Annotations["fairlead.dev/listen-ports"] = `[{"HTTP":80},{"HTTP":8080},{"HTTPS":443}]`
	ing.Spec.TLS = []networkingv1.IngressTLS{{SecretName: "tls", Hosts: []string{"a.example.com"}}}
	ing.Spec.Rules = []networkingv1.IngressRule{{Host: "a.example.com", IngressRuleValue: networkingv1.IngressRuleValue{
		HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: "/anchor", PathType: &kinds[1], Backend: toService("service-0")}}},
	}}}
	return ing
}

func (c *client) run(t *testing.T, done chan struct{}) {
	defer c.hangUp()
	for !t.Failed() {
		select {
		case <-done:
			return
		default:
		}
		r := anyRequest(c.rng)
		if c.keeps { // its connection is busy then
			r.port, r.host = 80, "a.example.com"
		}
		r.slow = c.slow
		first := c.history.now()
		a, err := c.ask(r)
		if err != nil {
			t.Errorf("%s: %v; the connection is kept: %v, the answer is slow: %v", r, err, c.keeps, c.slow)
			return
		}
		if fits, wanted := c.history.fits(r, first, a); !fits {
			t.Errorf("%s is answered with %+v, not with one of %q", r, *a, wanted)
		}
		c.asked.Add(1)
	}
}

// ask makes a request once. A request that fails is not made again.
func (c *client) ask(r request) (*answered, error) {
	if c.wire != nil && time.Since(c.used) > idle {
		c.hangUp()
	}
	if c.wire == nil {
		conn, err := dial(c.at[r.port], r)
		if err != nil {
			return nil, err
		}
		c.wire = newWire(conn)
	}
	response, body, err := c.wire.send(r)
	c.used = time.Now()
	if err != nil || response.Close || !c.keeps {
		c.hangUp()
	}
	if err != nil {
		return nil, err
	}
	return answerOf(response, body), nil
}

func (c *client) hangUp() {
	if c.wire != nil {
		_ = c.wire.Close()
		c.wire = nil
	}
}

// answerOf is an answer in words.
func answerOf(response *http.Response, body string) *answered {
	if from := response.Header.Get("X-Service"); from != "" {
		return &answered{from, body}
	}
	if to := response.Header.Get("Location"); to != "" {
		return &answered{text: redirected(response.StatusCode, to)}
	}
	return &answered{text: received(response.StatusCode, body)}
}
