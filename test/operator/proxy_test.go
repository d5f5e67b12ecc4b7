package operator

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// This file stands between a process and AWS, counts what is asked for, and can forbid what writes.

// A proxy passes on calls.
type proxy struct {
	url string

	mu       sync.Mutex
	calls    map[string]int  // by operation
	answered map[string]bool // by the SDK's ID of a call: it was answered without an error
	last     time.Time
	readOnly bool
	silent   func(operation string, body []byte) bool // whether a call is never answered; nil for none
	held     int                                      // calls that have not been answered
}

// What a call is named, in either of AWS's protocols, and what one is named that only looks.
var (
	named   = regexp.MustCompile(`(?:^|&)Action=([A-Za-z0-9]+)`)
	looking = regexp.MustCompile(`^(Describe|Get|List)`)
)

// newProxy stands before the API at an address.
func newProxy(t *testing.T, before string) *proxy {
	t.Helper()
	to, err := url.Parse(before)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{calls: map[string]int{}, answered: map[string]bool{}}
	onward := httputil.NewSingleHostReverseProxy(to)
	onward.Transport = http.DefaultTransport.(*http.Transport).Clone() // httptest closes connections of the default one
	onward.ModifyResponse = func(r *http.Response) error {
		p.answers(r.Request, r.StatusCode)
		return nil
	}
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadRequest)
			return
		}
		if !p.pass(r, text) {
			http.Error(answer, "this would write: "+string(text), http.StatusForbidden)
			return
		}
		if p.holds(operation(r, text), text) {
			<-r.Context().Done() // the caller gives up, or ends
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		onward.ServeHTTP(answer, r)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// operation is the name of a call.
func operation(r *http.Request, body []byte) string {
	if _, name, found := strings.Cut(r.Header.Get("X-Amz-Target"), "."); found {
		return name
	}
	if found := named.FindSubmatch(body); found != nil {
		return string(found[1])
	}
	return r.URL.Path
}

// pass counts a call, and reports whether it may go on. An attempt is not counted that repeats a
// call which was answered: its connection broke under the answer, which is no cost of the
// operator's making.
func (p *proxy) pass(r *http.Request, body []byte) bool {
	operation := operation(r, body)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.answered[r.Header.Get(invocation)] {
		p.calls[operation]++
	}
	p.last = time.Now()
	return !p.readOnly || looking.MatchString(operation)
}

// The SDK sends the same ID with each attempt of a call (its aws/middleware/middleware.go sets it
// in the Build step, of which there is one for all attempts).
const invocation = "Amz-Sdk-Invocation-Id"

// answers remembers a call that is answered without an error.
func (p *proxy) answers(r *http.Request, status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id := r.Header.Get(invocation); id != "" && status < http.StatusBadRequest {
		p.answered[id] = true
	}
}

// forbid keeps calls that write from being passed on.
func (p *proxy) forbid() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readOnly = true
}

// silence accepts some calls from now on, and never answers them.
func (p *proxy) silence(which func(operation string, body []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent, p.held = which, 0
}

// holds reports whether a call is never answered.
func (p *proxy) holds(operation string, body []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent == nil || !p.silent(operation, body) {
		return false
	}
	p.held++
	return true
}

// holding is how many calls were not answered since the silence began.
func (p *proxy) holding() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// forget counts from now on.
func (p *proxy) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.calls)
}

// count is how many calls of an operation there were.
func (p *proxy) count(operation string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[operation]
}

// asked reports whether anybody has called.
func (p *proxy) asked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.calls) > 0
}

// quiet is how long nobody has called.
func (p *proxy) quiet() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.last)
}

// cost is how many calls there were, how many of them were to write, and which.
func (p *proxy) cost() (total, writes int, which string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for _, name := range slices.Sorted(maps.Keys(p.calls)) {
		n := p.calls[name]
		total += n
		if !looking.MatchString(name) {
			writes += n
		}
		list = append(list, fmt.Sprintf("%s %d", name, n))
	}
	return total, writes, strings.Join(list, ", ")
}

// TestAProxyCountsCalls repeats a call after an error, which counts, and after an answer, which
// does not.
func TestAProxyCountsCalls(t *testing.T) {
	status := http.StatusServiceUnavailable
	behind := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) { answer.WriteHeader(status) }))
	defer behind.Close()
	p := newProxy(t, behind.URL)
	ask := func(id string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, strings.NewReader("Action=DescribeSubnets"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(invocation, id)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	ask("a")
	status = http.StatusOK
	ask("a")
	ask("a")
	ask("b")
	if n := p.count("DescribeSubnets"); n != 3 {
		t.Errorf("%d calls were counted, want 3: a, a again after its error, and b", n)
	}
}
