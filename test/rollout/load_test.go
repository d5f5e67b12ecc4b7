package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fairlead/test/kube"
)

// A load is clients that ask a load balancer, over and over: half of them over a connection that
// they keep, half of them over a new one each time.
type load struct {
	since  time.Time
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu     sync.Mutex
	asked  int
	wrong  []string // what was not answered as it should be
	served string   // the Service that answered last; "" if nobody did
}

const (
	clients = 8
	// pause is between two requests of a client, so that others have their turn on a small machine.
	pause = 5 * time.Millisecond
)

func startLoad(t *testing.T, address string) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{since: time.Now(), cancel: cancel}
	for i := range clients {
		l.all.Go(func() { l.ask(ctx, "http://"+address+"/", i%2 == 0) })
	}
	t.Cleanup(l.stop)
	kube.Eventually(t, "there is load", func() bool { return l.last() != "" })
	return l
}

func (l *load) ask(ctx context.Context, url string, keep bool) {
	transport := &http.Transport{DisableKeepAlives: !keep}
	defer transport.CloseIdleConnections()
	often := time.NewTicker(pause)
	defer often.Stop()
	for {
		echo, err := get(transport, url)
		l.note(echo, err)
		select {
		case <-ctx.Done():
			return
		case <-often.C:
		}
	}
}

// errUnavailable is the answer of a load balancer that has nobody to ask.
var errUnavailable = errors.New("answered 503")

// get sends one request. It is not cut off when the load ends: that would be a failure of ours.
func get(transport http.RoundTripper, url string) (echo kube.Echo, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return echo, err
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return echo, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusServiceUnavailable:
		return echo, errUnavailable
	default:
		return echo, fmt.Errorf("answered %d", response.StatusCode)
	}
	return echo, json.NewDecoder(response.Body).Decode(&echo)
}

func (l *load) note(echo kube.Echo, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	if err != nil {
		l.wrong = append(l.wrong, fmt.Sprintf("%s: %s", time.Since(l.since).Round(time.Millisecond), err))
		l.served = ""
		return
	}
	l.served = echo.Service
}

// last is the Service that answered last.
func (l *load) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.served
}

func (l *load) stop() {
	l.cancel()
	l.all.Wait()
}

// end stops the load and says how it went.
func (l *load) end(t *testing.T) {
	t.Helper()
	l.stop()
	took := time.Since(l.since)
	t.Logf("%d requests in %s, %.0f a second, %d failed", l.asked, took.Round(time.Millisecond), float64(l.asked)/took.Seconds(), len(l.wrong))
	for _, w := range l.wrong[:min(len(l.wrong), 10)] {
		t.Error(w)
	}
	if n := len(l.wrong); n > 10 {
		t.Errorf("and %d more", n-10)
	}
}
