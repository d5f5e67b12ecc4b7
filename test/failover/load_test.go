package failover

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fairlead/test/kube"
)

// This file is clients that never stop asking.

// A load is requests to one host, and what became of them.
type load struct {
	address, host string

	mu   sync.Mutex
	seen tally
	last time.Time // that somebody was answered
}

// A tally is what became of requests.
type tally struct {
	answered int
	refused  int // nobody listened, or a connection broke
	wrong    int
	longest  time.Duration // that nobody was answered
	problem  string        // the last one
}

func (t tally) String() string {
	return fmt.Sprintf("%d requests answered, %d refused, %d answered wrongly, %s without an answer at most; %s", t.answered, t.refused, t.wrong, t.longest.Round(time.Millisecond), t.problem)
}

// newLoad has two clients ask until the test ends: one keeps its connection, one does not.
func newLoad(t *testing.T, address, host string) *load {
	l := &load{address: address, host: host, last: time.Now()}
	kept, fresh := client(), client()
	fresh.Transport.(*http.Transport).DisableKeepAlives = true
	ctx, stop := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	for _, c := range []*http.Client{kept, fresh} {
		workers.Go(func() {
			for ctx.Err() == nil {
				status, err := ask(ctx, c, l.address, l.host, "/")
				if ctx.Err() == nil {
					l.note(status, err)
				}
			}
		})
	}
	t.Cleanup(func() {
		stop()
		workers.Wait()
	})
	return l
}

func (l *load) note(status int, err error) {
	if err != nil {
		time.Sleep(time.Millisecond) // whoever refuses does so at once
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.seen.refused++
		l.seen.problem = err.Error()
		return
	case status != http.StatusOK:
		l.seen.wrong++
		l.seen.problem = fmt.Sprintf("status %d", status)
	}
	l.seen.answered++
	l.seen.longest = max(l.seen.longest, time.Since(l.last))
	l.last = time.Now()
}

// more waits for so many more answers.
func (l *load) more(t *testing.T, n int) {
	t.Helper()
	n += l.now().answered
	kube.Eventually(t, "there are more answers", func() bool { return l.now().answered >= n })
}

func (l *load) now() tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

// take is what has become of requests since it was taken last.
func (l *load) take() tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.seen
	l.seen = tally{}
	return out
}

func client() *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}}
}

// ask asks the load balancer at an address for a path of a host.
func ask(ctx context.Context, c *http.Client, address, host, path string) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(address, "80")+path, http.NoBody)
	if err != nil {
		return 0, err
	}
	r.Host = host
	response, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}
