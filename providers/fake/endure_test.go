package fake_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/test/nightly"
)

// This file is what clients do not notice: targets that come and go, and certificates.

// A pod is a target that can go away.
type pod struct {
	lb.Target
	server *http.Server
}

func newPod(t testing.TB, h http.HandlerFunc) pod {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := pod{target(t, l.Addr()), &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols)}}
	p.server.Protocols.SetHTTP1(true)
	p.server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = p.server.Serve(l) }() // until it goes away
	t.Cleanup(p.die)
	return p
}

// die drops everything, as a process does that has no handler for SIGTERM.
func (p pod) die() { p.server.Close() }

// retire finishes what it has, and takes nothing more.
func (p pod) retire() { _ = p.server.Shutdown(context.Background()) } // nothing of a test takes forever

// echo answers a request with its body.
func echo(w http.ResponseWriter, r *http.Request) {
	if body, err := io.ReadAll(r.Body); err == nil {
		_, _ = w.Write(body) // a client that has gone away needs no answer
	}
}

// hangUp closes the connection of a request when it has said something, or nothing.
func hangUp(said string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			fmt.Fprint(conn, said)
			conn.Close()
		}
	}
}

// What has not been sent goes to another target, and what may be sent twice does if a connection
// broke before the answer. Nothing else does.
func TestRetries(t *testing.T) {
	const cutShort = 0
	for name, c := range map[string]struct {
		bad          http.HandlerFunc
		closed       bool
		method, body string
		want         int // where it is the bad target's turn
	}{
		"nobody listens, and nothing was sent":    {bad: echo, closed: true, method: "POST", body: "hello", want: 200},
		"no answer to what may be asked twice":    {bad: hangUp(""), method: "GET", want: 200},
		"or may be done twice":                    {bad: hangUp(""), method: "DELETE", want: 200},
		"no answer to what may not be done twice": {bad: hangUp(""), method: "POST", want: 502},
		"with a short body":                       {bad: hangUp(""), method: "PUT", body: "hello", want: 200},
		"but not with one that is used up":        {bad: hangUp(""), method: "PUT", body: strings.Repeat("hello", 20<<10), want: 502},
		"an answer that is not one":               {bad: hangUp("what?\r\n\r\n"), method: "GET", want: 200},
		"an answer that has begun":                {bad: hangUp("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel"), method: "GET", want: cutShort},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			bad := newPod(t, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				c.bad(w, r)
			})
			cloud := start(t, fake.Options{Serve: true, CheckEvery: time.Hour}) // it does not find out otherwise
			web := group("web", bad.Target, newPod(t, echo).Target)
			o := program(t, cloud, loadBalancer(shop, []lb.TargetGroup{web}, http80(rule("- -", forward("web")))))
			everyone(t, cloud, "web", "healthy", "healthy")
			if c.closed {
				bad.die()
			}
			got := map[int]int{}
			for range 4 {
				got[outcome(t, at(o, 80), c.method, c.body)]++
			}
			n := int(asked.Load())
			if c.want == 200 && got[200] != 4 || c.want != 200 && (got[200] != 4-n || got[c.want] != n) {
				t.Errorf("answers %v, want %d from each of %d requests to the bad target", got, c.want, n)
			}
			if (n == 0) != c.closed {
				t.Errorf("the bad target was asked %d times", n)
			}
		})
	}
}

// outcome is the status of an answer, or zero if it is cut short.
func outcome(t *testing.T, address, method, body string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+"/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		return 0
	}
	if response.StatusCode == http.StatusOK && string(got) != body {
		t.Errorf("the answer has %d bytes and is not the %d that were sent", len(got), len(body))
	}
	return response.StatusCode
}

// load is requests without a pause from several clients of several kinds, and what went wrong.
type load struct {
	stop     chan struct{}
	workers  sync.WaitGroup
	answered atomic.Int64
	mu       sync.Mutex
	failures []string
}

// A caller sends one request and says what was wrong with the answer.
type caller func() error

func newLoad(callers ...caller) *load {
	l := &load{stop: make(chan struct{})}
	for _, call := range callers {
		l.workers.Go(func() {
			for {
				select {
				case <-l.stop:
					return
				default:
					l.note(call())
				}
			}
		})
	}
	return l
}

func (l *load) note(err error) {
	l.answered.Add(1)
	if err == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, err.Error())
}

// more waits for so many more answers.
func (l *load) more(t *testing.T, n int64) {
	t.Helper()
	n += l.answered.Load()
	eventually(t, func() error {
		if have := l.answered.Load(); have < n {
			return fmt.Errorf("%d of %d answers", have, n)
		}
		return nil
	})
}

// end reports every failure there was.
func (l *load) end(t *testing.T) {
	t.Helper()
	close(l.stop)
	l.workers.Wait()
	if len(l.failures) > 0 {
		t.Errorf("%d of %d requests failed: %v", len(l.failures), l.answered.Load(), slices.Compact(slices.Sorted(slices.Values(l.failures))))
	}
	t.Logf("%d requests", l.answered.Load())
}

// calling sends one kind of request with a client, or whatever else sends requests.
func calling(do func(*http.Request) (*http.Response, error), method, body string) caller {
	return func() error {
		request, err := http.NewRequestWithContext(context.Background(), method, "https://shop.example.com/", strings.NewReader(body))
		if err != nil {
			return err
		}
		response, err := do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		got, err := io.ReadAll(response.Body)
		if err == nil && (response.StatusCode != http.StatusOK || string(got) != body) {
			err = fmt.Errorf("%s over %s: status %d, body %q", method, response.Proto, response.StatusCode, got)
		}
		return err
	}
}

// through sends requests through one connection, whatever becomes of it. A client of net/http gives
// up a connection on which an answer comes before it has noticed that the request is sent.
func through(conn net.Conn) func(*http.Request) (*http.Response, error) {
	answers := bufio.NewReader(conn)
	return func(r *http.Request) (*http.Response, error) {
		if err := r.Write(conn); err != nil {
			return nil, err
		}
		return http.ReadResponse(answers, r)
	}
}

// callers are clients that keep their connections, that make a new one each time, and that share
// one with HTTP/2.
func callers(t *testing.T, cloud *fake.Cloud, o *lb.Observed, method, body string) []caller {
	fresh := client(t, cloud, o, 443, "HTTP/1.1")
	fresh.Transport.(*http.Transport).DisableKeepAlives = true
	kept, shared := client(t, cloud, o, 443, "HTTP/1.1"), client(t, cloud, o, 443, "HTTP/2.0")
	var out []caller
	for _, c := range []*http.Client{kept, kept, fresh, shared, shared} {
		out = append(out, calling(c.Do, method, body))
	}
	return out
}

// All targets are replaced, one after the other, under load. No request fails, whether a target
// says goodbye or not: the cloud hears of it before, at the same time or too late.
func TestTargetsAreReplacedUnderLoad(t *testing.T) {
	slowly := func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Millisecond) // so that there is always something under way
		echo(w, r)
	}
	ways := map[string]struct {
		method, body string
		replace      func(old pod, deregister func())
	}{
		"deregistered, and let go once it has nothing more to do": {"POST", "hello", func(old pod, deregister func()) { deregister(); old.retire() }},
		"finishing before it is deregistered": {"GET", "", func(old pod, deregister func()) {
			old.retire()
			time.Sleep(20 * time.Millisecond) // that the news takes
			deregister()
		}},
		"dying before it is deregistered": {"GET", "", func(old pod, deregister func()) {
			old.die()
			time.Sleep(20 * time.Millisecond)
			deregister()
		}},
	}
	for _, name := range nightly.Some(t, 2, slices.Sorted(maps.Keys(ways))) {
		c := ways[name]
		for _, version := range []routing.Version{routing.VersionHTTP1, routing.VersionHTTP2} {
			t.Run(name+", "+string(version), func(t *testing.T) {
				cloud := serve(t)
				pods := []pod{newPod(t, slowly), newPod(t, slowly), newPod(t, slowly)}
				targets := func() []lb.Target {
					var out []lb.Target
					for _, p := range pods {
						out = append(out, p.Target)
					}
					return out
				}
				o := secured(t, cloud, version, targets()...)
				everyone(t, cloud, "web", "healthy", "healthy", "healthy")
				load := newLoad(callers(t, cloud, o, c.method, c.body)...)
				for range 6 {
					load.more(t, 50)
					old := pods[0]
					pods = append(pods[1:], newPod(t, slowly))
					if err := cloud.SetTargets(t.Context(), shop, "web", append(targets(), old.Target)); err != nil {
						t.Error(err)
					}
					c.replace(old, func() {
						if err := cloud.SetTargets(t.Context(), shop, "web", targets()); err != nil {
							t.Error(err)
						}
						everyone(t, cloud, "web", "healthy", "healthy", "healthy")
					})
				}
				load.more(t, 50)
				load.end(t)
			})
		}
	}
}

// A certificate is replaced under load. No request fails, connections are kept, and new ones get
// the new certificate.
func TestCertificatesAreReplacedUnderLoad(t *testing.T) {
	cloud := serve(t)
	web := group("web", newPod(t, echo).Target)
	with := func(id lb.CertificateID) *lb.Observed {
		want := loadBalancer(shop, []lb.TargetGroup{web}, https443([]lb.CertificateID{id}, rule("- -", forward("web"))))
		want.Certificates = []lb.Certificate{imported(t, id, "shop.example.com")}
		return program(t, cloud, want)
	}
	o := with("sha256:0000")
	trusting := &tls.Config{InsecureSkipVerify: true}
	kept, _ := dialTLS(t, at(o, 443), "shop.example.com", trusting)
	defer kept.Close()
	if err := kept.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	fresh, shared := client(t, cloud, o, 443, "HTTP/1.1"), client(t, cloud, o, 443, "HTTP/2.0")
	fresh.Transport.(*http.Transport).DisableKeepAlives = true
	for _, c := range []*http.Client{fresh, shared} {
		c.Transport.(*http.Transport).TLSClientConfig = trusting.Clone()
	}
	load := newLoad(calling(through(kept), "POST", "hello"), calling(fresh.Do, "POST", "hello"), calling(shared.Do, "POST", "hello"))
	var id lb.CertificateID
	for i := range 10 {
		load.more(t, 20)
		id = lb.CertificateID(fmt.Sprintf("sha256:%04d", i+1))
		with(id)
	}
	load.more(t, 20)
	load.end(t)
}

// Connections to targets are used again, whoever asks.
func TestConnectionsAreUsedAgain(t *testing.T) {
	var mu sync.Mutex
	connections := map[string]bool{}
	web := newPod(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		connections[r.RemoteAddr] = true
	})
	o := secured(t, serve(t), "HTTP1", web.Target)
	for range 20 {
		if got := get(t, o, "shop.example.com", "/"); got.status != 200 {
			t.Fatalf("status %d", got.status)
		}
	}
	if len(connections) > 3 { // one that is just being given back is not waited for
		t.Errorf("20 requests, one after the other, needed %d connections", len(connections))
	}
}
