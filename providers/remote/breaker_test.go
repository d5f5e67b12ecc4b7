package remote

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"fairlead.dev/fairlead/providers/fake"
)

// This file has a provider go away and come back, in a time of its own.

// The ways in which a provider is.
const (
	well int32 = iota
	refuses
	hangs
	behindGateway // that says 503 for it
)

// A line is what leads to a provider.
type line struct {
	is       atomic.Int32
	attempts atomic.Int32
	to       http.Handler
}

func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	l.attempts.Add(1)
	answer := httptest.NewRecorder()
	switch l.is.Load() {
	case refuses:
		return nil, errors.New("connection refused")
	case hangs:
		<-r.Context().Done()
		return nil, r.Context().Err()
	case behindGateway:
		answer.WriteHeader(http.StatusServiceUnavailable)
	default:
		l.to.ServeHTTP(answer, r)
	}
	return answer.Result(), nil
}

// alongside makes calls at once, and returns how many failed and how long the last one took.
func alongside(t *testing.T, p *Provider, calls int) (failed int32, took time.Duration) {
	t.Helper()
	var n atomic.Int32
	began, done := time.Now(), make(chan struct{})
	for range calls {
		go func() {
			if _, err := p.List(t.Context()); err != nil {
				n.Add(1)
				if !strings.HasPrefix(err.Error(), "provider edge: ") {
					t.Errorf("told %v", err)
				}
			}
			done <- struct{}{}
		}()
	}
	for range calls {
		<-done
	}
	return n.Load(), time.Since(began)
}

// TestTheBreakerClosesAgain has a provider go away in each way. No call waits for it until it is
// let through again, then one does, and once it answers all do.
func TestTheBreakerClosesAgain(t *testing.T) {
	for name, away := range map[string]int32{"refuses": refuses, "hangs": hangs, "behind a gateway": behindGateway} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				to := &line{to: serving(t, fake.Options{})}
				p, err := New(Endpoint{Name: "edge", URL: "http://127.0.0.1:1", Log: logr.Discard()})
				if err != nil {
					t.Fatal(err)
				}
				p.reads.http.HTTPClient.Transport.(*attempts).next = to
				if err := p.Reach(t.Context()); err != nil {
					t.Fatal(err)
				}

				to.is.Store(away)
				if failed, took := alongside(t, p, 10); failed != 10 || took > time.Minute {
					t.Fatalf("%d of 10 calls failed, within %s", failed, took)
				}
				for range 3 { // each time the breaker opens again
					before := to.attempts.Load()
					if failed, took := alongside(t, p, 1000); failed != 1000 || took != 0 || to.attempts.Load() != before {
						t.Fatalf("open: %d of 1000 calls failed, within %s and with %d attempts", failed, took, to.attempts.Load()-before)
					}
					time.Sleep(pause + time.Second)
					alongside(t, p, 1000)
					if n := to.attempts.Load() - before; n != 1 {
						t.Fatalf("%d attempts were let through, want 1", n)
					}
				}

				to.is.Store(well)
				time.Sleep(pause + time.Second)
				if failed, _ := alongside(t, p, 1); failed != 0 {
					t.Fatal("the provider answers again, and the call failed")
				}
				if failed, took := alongside(t, p, 50); failed != 0 || took != 0 {
					t.Errorf("closed: %d of 50 calls failed, within %s", failed, took)
				}
			})
		})
	}
}

// TestOthersDoNotWaitForTheAttempt has an attempt that is let through hang.
func TestOthersDoNotWaitForTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker("edge")
		fails := func() (*http.Response, error) { return nil, errors.New("connection refused") }
		for range mostFailures {
			_, _ = b.do(fails)
		}
		time.Sleep(pause + time.Second)
		release := make(chan struct{})
		go func() {
			_, _ = b.do(func() (*http.Response, error) {
				<-release
				return &http.Response{StatusCode: http.StatusOK}, nil
			})
		}()
		synctest.Wait()
		began := time.Now()
		for range 100 {
			_, err := b.do(func() (*http.Response, error) {
				t.Error("a second attempt is let through")
				return nil, errors.New("connection refused")
			})
			if err == nil || !strings.Contains(err.Error(), "connection refused") {
				t.Errorf("told %v", err)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the others waited for %s", took)
		}
		close(release)
		synctest.Wait()
		answered := false
		_, err := b.do(func() (*http.Response, error) {
			answered = true
			return &http.Response{StatusCode: http.StatusOK}, nil
		})
		if err != nil || !answered {
			t.Errorf("closed: %v, attempt made: %v", err, answered)
		}
	})
}

// TestTheErrorSaysSinceWhen makes attempts, one each second, and reads the error of a call that is
// not sent.
func TestTheErrorSaysSinceWhen(t *testing.T) {
	one, two, answered := errors.New("one"), errors.New("two"), error(nil)
	for want, attempts := range map[string][]error{
		"the provider has not answered since 00:00:01, and is called again every 10s: two": {one, one, one, one, two},
		"the provider has not answered since 00:00:03, and is called again every 10s: one": {two, answered, one, one, one, one, one},
		"the provider has not answered since 00:00:02, and is called again every 10s: two": {context.Canceled, one, two, two, two, two},
	} {
		synctest.Test(t, func(t *testing.T) { // it begins at midnight
			b := newBreaker("edge")
			for i, err := range attempts {
				time.Sleep(time.Second)
				_, told := b.do(func() (*http.Response, error) { return &http.Response{StatusCode: http.StatusOK}, err })
				if !errors.Is(told, err) {
					t.Errorf("attempt %d ends with %v, want %v", i, told, err)
				}
			}
			_, err := b.do(func() (*http.Response, error) {
				t.Error("an attempt is made")
				return nil, errors.New("made")
			})
			if err == nil || err.Error() != want {
				t.Errorf("told %v, want %s", err, want)
			}
		})
	}
}
