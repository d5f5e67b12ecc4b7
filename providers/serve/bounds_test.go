package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers/fake"
)

// This file tests that what a server keeps is bounded.

func TestResultsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSteps()
		s.most = 3
		applyAll := func(id string) v1.Result {
			return s.applyOnce(t.Context(), "k", v1.Requested{ID: id}, func() (v1.Result, bool) { return v1.Result{ID: id, Handle: "made"}, true })
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
		r := s.applyOnce(t.Context(), "k", v1.Requested{ID: fmt.Sprint(i)}, func() (v1.Result, bool) { return v1.Result{Handle: long}, true })
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
		r := s.applyOnce(t.Context(), "k", v1.Requested{ID: "a"}, func() (v1.Result, bool) { return v1.Result{ID: "a", Active: begins}, begins })
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
			if m.all[lb.Key(fmt.Sprint(i-1))] == nil && i > 0 {
				t.Errorf("mirror %d is dropped before older ones", i-1)
			}
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

// The last answer is kept, however long it is, and each one for ten minutes.
func TestTheLastAnswerIsKeptForTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOperations()
		o := &operation{id: "long", done: make(chan struct{})}
		s.begin(o)
		s.add(o)
		o.answer.body = make([]byte, mostAnswers+1)
		s.end(o)
		time.Sleep(keepFor)
		if s.find("long") == nil {
			t.Error("it is gone after ten minutes")
		}
		time.Sleep(time.Millisecond)
		if s.find("long") != nil || s.bytes != 0 || len(s.ended) != 0 {
			t.Errorf("of what is too old, %d bytes are kept", s.bytes)
		}
	})
}

func TestAStepIsRefusedWhereResultsFillTheRoom(t *testing.T) {
	s := newSteps()
	s.bytes = mostBytes
	r := s.applyOnce(t.Context(), "k", v1.Requested{ID: "a"}, func() (v1.Result, bool) { return v1.Result{}, true })
	if r.Problem == nil || r.Problem.RetryAfterSeconds != 1 {
		t.Errorf("the problem is %+v", r.Problem)
	}
}

// A lock that nothing holds or waits for is forgotten.
func TestAWaitForALockThatIsGivenUp(t *testing.T) {
	l := newLocks()
	name := groupName{"k", "g"}
	unlock, err := l.lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := l.lock(gone, name); err == nil {
		t.Error("it is locked twice")
	}
	unlock()
	if len(l.all) != 0 {
		t.Errorf("%d locks are kept", len(l.all))
	}
}

func TestALongCallIsToldInHalfTheTimeOfAConnection(t *testing.T) {
	if s := New(nil, Options{LongAfter: time.Hour}); s.options.LongAfter != longest/2 {
		t.Errorf("a call is long after %v", s.options.LongAfter)
	}
}

func TestAnswersHaveABound(t *testing.T) {
	for length, status := range map[int]int{v1.MaxAnswer: http.StatusOK, v1.MaxAnswer + 1: http.StatusInternalServerError} {
		if got := messageAnswer(strings.Repeat("a", length-2)); got.status != status {
			t.Errorf("an answer of %d bytes has the status %d", length, got.status)
		}
	}
}

func TestAnswersAreCompressedFromALength(t *testing.T) {
	for length, want := range map[int]string{compressFrom - 1: "", compressFrom: "gzip"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.Header.Set("Accept-Encoding", "gzip")
		w := httptest.NewRecorder()
		write(w, r, answer{status: http.StatusOK, body: bytes.Repeat([]byte("a"), length)})
		if got := w.Header().Get("Content-Encoding"); got != want || w.Header().Get("Content-Length") != fmt.Sprint(w.Body.Len()) {
			t.Errorf("%d bytes are sent as %q, and %d of %s", length, got, w.Body.Len(), w.Header().Get("Content-Length"))
		}
	}
}

func TestTimeoutsHaveBounds(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "1": time.Millisecond, "86400000": 24 * time.Hour, "86400001": 0, "soon": 0, "99999999999999999999": 0} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.Header.Set(v1.HeaderTimeout, text)
		if got, refused := timeout(r); got != want || (refused.status == http.StatusBadRequest) != (want == 0) {
			t.Errorf("%s is %v, answered with %d", text, got, refused.status)
		}
	}
}

func TestTextsAreClipped(t *testing.T) {
	if whole := strings.Repeat("a", 200); clip(whole) != whole || clip(whole+"b") != whole+"…" {
		t.Errorf("%q and %q", clip(whole), clip(whole+"b"))
	}
}

func TestARequestHasSoManyValues(t *testing.T) {
	for values, kind := range map[int]v1.ProblemType{mostValues: "", mostValues + 1: v1.ProblemTooLarge} {
		var into struct {
			List []string `json:"list"`
		}
		// Braces, brackets and the name are five values, and each text one.
		p := decode([]byte(`{"list":["a"`+strings.Repeat(`,"a"`, values-6)+`]}`), &into)
		if got := (v1.ProblemType)(""); p != nil && p.Type != kind || p == nil && kind != got {
			t.Errorf("%d values: %+v", values, p)
		}
	}
}

// A step that fails while another one is under way has the next one observe after that, or go.
func TestAStepThatWaitsForOthersCanGo(t *testing.T) {
	m := &mirror{underWay: map[*underWay]bool{}}
	look := func(context.Context) (*lb.Observed, error) { return &lb.Observed{Key: "k"}, nil }
	begin := func(ctx context.Context) (*underWay, error) {
		_, step, err := m.begin(ctx, look)
		return step, err
	}
	if _, err := begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, err := begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m.end(t.Context(), second, plan.DeleteLoadBalancer{}, plan.Result{}, errors.New("lost"))
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := begin(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a step that waits for the first one: %v", err)
	}
}

// An odd step cannot be followed.
type odd struct {
	plan.Step
	followed *int
}

func (o odd) Do(*lb.Observed, plan.Result) { *o.followed++; panic("odd") }

func TestAStepThatCannotBeFollowed(t *testing.T) {
	m := &mirror{underWay: map[*underWay]bool{}}
	var followed int
	_, step, err := m.begin(t.Context(), func(context.Context) (*lb.Observed, error) { return &lb.Observed{Key: "k"}, nil })
	if err != nil || m.known() == nil {
		t.Fatalf("it begins with %v and %v", m.known(), err)
	}
	for range 2 {
		m.end(t.Context(), &underWay{make(chan struct{})}, odd{followed: &followed}, plan.Result{}, nil)
	}
	m.end(t.Context(), step, odd{followed: &followed}, plan.Result{}, nil)
	if m.known() != nil || followed != 1 {
		t.Errorf("the mirror is %v, after a step was followed %d times", m.known(), followed)
	}
}

// What comes with an error is not believed.
func TestAFailedObservationIsNoMirror(t *testing.T) {
	m := &mirror{underWay: map[*underWay]bool{}}
	if _, _, err := m.begin(t.Context(), func(context.Context) (*lb.Observed, error) { return &lb.Observed{}, errors.New("half of it") }); err == nil || m.known() != nil {
		t.Errorf("the mirror is %v, with %v", m.known(), err)
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

// A connection that says nothing is closed when the time to end is over.
func TestConnectionsAreClosedAtTheEnd(t *testing.T) {
	on, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", on.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, "GET /capabilities HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- testServer(t).Listen(ctx, on, time.Millisecond) }()
	time.Sleep(50 * time.Millisecond) // until the connection is accepted
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := connection.SetReadDeadline(time.Now().Add(2 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection is still open")
	}
}
