package serve

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/wire"
)

// This file runs calls. A long call is answered with 202, and its answer is requested later.

// mostAnswers limits the bytes of answers that wait to be requested. Beyond it the oldest one is
// dropped: its operator gets the problem of an unknown operation, and observes.
const mostAnswers = 64 << 20

// An operation is a call that is under way or has ended.
type operation struct {
	id     string
	done   chan struct{}
	answer answer    // once it is done
	at     time.Time // when it was done
	cancel context.CancelFunc
}

// operations holds the calls under way, and those that were answered with 202.
type operations struct {
	mu       sync.Mutex
	underWay map[*operation]bool
	all      map[string]*operation // those that were answered with 202
	ended    []*operation          // of them, in the order in which they ended
	bytes    int                   // of answers
}

func newOperations() *operations {
	return &operations{underWay: map[*operation]bool{}, all: map[string]*operation{}}
}

// begin records that a call is under way.
func (s *operations) begin(o *operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay[o] = true
}

// cancel cancels all calls under way.
func (s *operations) cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for o := range s.underWay {
		o.cancel()
	}
}

// run makes a call. A call that changes something is finished even if its client is gone; another
// one is cancelled. It calls release when the call has ended.
func (s *Server) run(
	r *http.Request, c call, do func(context.Context) answer, release func(),
) answer {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	ctx = providers.WithAsker(withLog(ctx, s), providers.Asker{Key: c.key, Urgent: urgent(r)})
	o := &operation{id: rand.Text(), done: make(chan struct{}), cancel: cancel}
	s.operations.begin(o)
	go func() {
		defer release()
		defer cancel()
		safely := providers.CatchPanics(ctx, func() error { o.answer = do(ctx); return nil })
		if err := safely(); err != nil {
			o.answer = errorAnswer(err)
		}
		s.operations.end(o)
	}()
	return s.await(r, c, o, func() answer { return s.operations.add(o) })
}

// await waits for a call, but stops early enough to answer the client in time.
func (s *Server) await(r *http.Request, c call, o *operation, late func() answer) answer {
	patience := s.options.LongAfter
	if c.timeout > 0 {
		patience = min(patience, c.timeout/2)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-o.done:
		return o.answer
	case <-r.Context().Done():
		if !c.changes && !c.polls {
			o.cancel()
		}
		return answer{}
	case <-timer.C:
		return late()
	}
}

// poll returns the answer of a call, or 202 if the call is still under way.
func (s *Server) poll(r *http.Request, c call) answer {
	id := strings.TrimPrefix(r.URL.Path, c.path)
	o := s.operations.find(id)
	if o == nil {
		p := wire.NewProblem(v1.ProblemMalformed, "this operation is not known: the provider was "+
			"started anew since it began, or it ended more than 10 minutes ago")
		p.Status = http.StatusNotFound
		return problemAnswer(p)
	}
	return s.await(r, c, o, func() answer { return acceptedAnswer(id) })
}

// add stores a call that takes long.
func (s *operations) add(o *operation) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-o.done: // at this moment
		return o.answer
	default:
	}
	s.all[o.id] = o
	return acceptedAnswer(o.id)
}

// end records the answer of a call.
func (s *operations) end(o *operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(o.done)
	delete(s.underWay, o)
	if s.all[o.id] == nil {
		return
	}
	o.at = time.Now()
	s.ended = append(s.ended, o)
	s.bytes += len(o.answer.body)
	s.dropOld()
}

func (s *operations) find(id string) *operation {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropOld()
	return s.all[id]
}

// dropOld drops answers after their time, and the oldest ones if all are too long together. The
// lock is held.
func (s *operations) dropOld() {
	old := 0
	for ; old < len(s.ended) && (time.Since(s.ended[old].at) > keepFor ||
		s.bytes > mostAnswers && old < len(s.ended)-1); old++ {
		delete(s.all, s.ended[old].id)
		s.bytes -= len(s.ended[old].answer.body)
	}
	s.ended = slices.Delete(s.ended, 0, old)
}
