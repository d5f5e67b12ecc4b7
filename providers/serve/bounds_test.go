package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/fake"
)

// This file tests that what a server keeps is bounded.

func TestResultsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSteps()
		s.most = 3
		applyAll := func(id string) v1.Result {
			return s.once(t.Context(), "k", v1.Requested{ID: id}, func() (v1.Result, bool) { return v1.Result{ID: id, Handle: "made"}, true })
		}
		for i := range 3 {
			applyAll(fmt.Sprint(i))
			time.Sleep(time.Minute)
		}
		if r := applyAll("one more"); r.Problem == nil || r.Problem.Type != v1.ProblemThrottled || r.Problem.RetryAfterSeconds != 7*60+1 {
			t.Errorf("one more: %+v", r)
		}
		if r := applyAll("0"); r.Problem != nil {
			t.Errorf("one that is kept: %+v", r)
		}
		time.Sleep(7*time.Minute + time.Second)
		if r := applyAll("one more"); r.Problem != nil || len(s.all) != 3 {
			t.Errorf("after the first one was forgotten: %+v, %d are kept", r, len(s.all))
		}
		time.Sleep(time.Hour)
		applyAll("last")
		if len(s.all) != 1 || len(s.ended) != 1 || s.bytes > 1000 {
			t.Errorf("%d, %d of %d bytes are kept", len(s.all), len(s.ended), s.bytes)
		}
	})
}

func TestResultsHaveABoundInBytes(t *testing.T) {
	s := newSteps()
	long := strings.Repeat("a", 1<<20)
	for i := range 100 {
		r := s.once(t.Context(), "k", v1.Requested{ID: fmt.Sprint(i)}, func() (v1.Result, bool) { return v1.Result{Handle: long}, true })
		if r.Problem != nil {
			if i < 60 || s.bytes > mostBytes+2<<20 {
				t.Errorf("%d results of %d bytes are kept", i, s.bytes)
			}
			return
		}
	}
	t.Errorf("%d bytes are kept", s.bytes)
}

// TestAStepThatDidNotBeginIsNotKept has a second delivery carry out what the first one did not.
func TestAStepThatDidNotBeginIsNotKept(t *testing.T) {
	s := newSteps()
	s.digest = func(v1.Step) [sha256.Size]byte { return [sha256.Size]byte{} }
	for _, begins := range []bool{false, false, true, true} {
		r := s.once(t.Context(), "k", v1.Requested{ID: "a"}, func() (v1.Result, bool) { return v1.Result{ID: "a", Active: begins}, begins })
		if r.Active != begins {
			t.Errorf("begins %v: %+v", begins, r)
		}
	}
	if len(s.all) != 1 {
		t.Errorf("%d are kept", len(s.all))
	}
}

func TestMirrorsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMirrors()
		m.most = 3
		held, giveBack := m.of("held")
		for i := range 100 {
			_, back := m.of(lb.Key(fmt.Sprint(i)))
			back()
			time.Sleep(time.Second)
		}
		if len(m.all) != 3 || m.all["99"] == nil || m.all["98"] == nil {
			t.Errorf("%d mirrors are kept", len(m.all))
		}
		if again, back := m.of("held"); again != held {
			t.Error("a mirror in use was forgotten")
		} else {
			back()
		}
		giveBack()
	})
}

func TestAnswersThatWaitAreBounded(t *testing.T) {
	s := newOperations()
	var last string
	for i := range 10 {
		o := &operation{id: fmt.Sprint(i), done: make(chan struct{})}
		s.begin(o)
		s.add(o)
		o.answer.body = make([]byte, mostAnswers/4)
		s.end(o)
		last = o.id
	}
	if s.bytes != mostAnswers || len(s.all) != 4 || s.find(last) == nil || s.find("0") != nil || len(s.underWay) != 0 {
		t.Errorf("%d bytes are kept, the last one is there: %v", s.bytes, s.find(last) != nil)
	}
}

func testServer(t *testing.T) *Server {
	t.Helper()
	cloud, err := fake.New(fake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	return New(cloud, Options{})
}

func TestTooManyCallsAtOnce(t *testing.T) {
	s := testServer(t)
	var releases []func()
	for range mostCalls {
		release, p := s.bounds.enter()
		if p != nil {
			t.Fatal(p)
		}
		releases = append(releases, release)
	}
	ask := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/capabilities", nil))
		return w
	}
	if w := ask(); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
		t.Errorf("one more call: %d %s", w.Code, w.Body)
	}
	for _, release := range releases {
		release()
	}
	for range 2 * mostCalls {
		if w := ask(); w.Code != http.StatusOK {
			t.Fatalf("afterwards: %d %s", w.Code, w.Body)
		}
	}
}

// TestLongRequestsWait has long requests be read by turns, and short ones go on.
func TestLongRequestsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testServer(t)
		for range mostLarge {
			<-s.bounds.large
		}
		send := func(length int) int {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/lookup", strings.NewReader(`{"webACLs":["`+strings.Repeat("a", length)+`"]}`))
			r.Header.Set("Content-Type", v1.MediaType)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return w.Code
		}
		if code := send(100); code != http.StatusOK {
			t.Errorf("a short request: %d", code)
		}
		begun := time.Now()
		if code := send(1 << 20); code != http.StatusTooManyRequests || time.Since(begun) != waitsForIt {
			t.Errorf("a long request: %d after %s", code, time.Since(begun))
		}
		s.bounds.large <- struct{}{}
		for range 3 {
			if code := send(1 << 20); code != http.StatusOK {
				t.Errorf("a long request whose turn it is: %d", code)
			}
		}
	})
}

// TestNothingIsLeftOfWhatWasRefused has refused requests give back what they took.
func TestNothingIsLeftOfWhatWasRefused(t *testing.T) {
	s := testServer(t)
	s.options.MaxRequest = 2 * small
	send := func(method, target, body string) int {
		r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
		r.Header.Set("Content-Type", v1.MediaType)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	for range mostCalls {
		if code := send("POST", "/lookup", "{"); code != http.StatusBadRequest {
			t.Fatalf("a request that ends too early: %d", code)
		}
	}
	for range 2 * mostLarge {
		if code := send("POST", "/lookup", strings.Repeat(" ", 3*small)); code != http.StatusRequestEntityTooLarge {
			t.Fatalf("a request that is too long: %d", code)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/lookup", io.MultiReader(strings.NewReader(strings.Repeat(" ", small)), iotest.ErrReader(io.ErrUnexpectedEOF)))
		r.Header.Set("Content-Type", v1.MediaType)
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != http.StatusBadRequest {
			t.Fatalf("a request that is cut off: %d", w.Code)
		}
	}
	send("PUT", "/load-balancer/targets?key=k&group=g", `{"targets":[]}`)
	left := func() (locked, underWay int) {
		s.members.mu.Lock()
		defer s.members.mu.Unlock()
		s.operations.mu.Lock()
		defer s.operations.mu.Unlock()
		return len(s.members.all), len(s.operations.underWay)
	}
	until := time.Now().Add(10 * time.Second)
	locked, underWay := left()
	for (locked > 0 || underWay > 0 || len(s.bounds.calls) < mostCalls) && time.Now().Before(until) {
		runtime.Gosched() // a call is over just after its answer
		locked, underWay = left()
	}
	if locked > 0 || underWay > 0 || len(s.bounds.calls) != mostCalls || len(s.bounds.large) != mostLarge {
		t.Errorf("%d calls and %d long requests are free, %d target groups are locked, and %d calls under way", len(s.bounds.calls), len(s.bounds.large), locked, underWay)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	server := HTTPServer(http.NotFoundHandler())
	if server.ReadHeaderTimeout == 0 || server.ReadTimeout == 0 || server.WriteTimeout == 0 || server.IdleTimeout == 0 || server.MaxHeaderBytes == 0 {
		t.Errorf("something is not bounded: %+v", server)
	}
}

// TestListening serves at a port until it is told to end.
func TestListening(t *testing.T) {
	s := testServer(t)
	on, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Listen(ctx, on, 10*time.Second) }()
	url := "http://" + on.Addr().String()
	body := bytes.NewReader([]byte("{}"))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/lookup", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", v1.MediaType)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != v1.MediaType || !strings.Contains(string(text), "capabilitiesETag") {
		t.Errorf("%d %s, %v", got.StatusCode, text, err)
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if again, err := http.Get(url); err == nil {
		again.Body.Close()
		t.Error("it answers on")
	}
}
