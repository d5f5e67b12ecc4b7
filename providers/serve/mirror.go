package serve

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// This file holds the state of each load balancer. A provider gets it with each step, and the
// protocol does not send it. A mirror begins with an observation, the operator's or the server's
// own, and follows each step that succeeds, as providers.Run does. If it may be wrong it is
// dropped, and the next step begins with an observation.

// A mirror holds the state of one load balancer.
type mirror struct {
	users int       // calls that hold it; of mirrors
	used  time.Time // of mirrors

	mu       sync.Mutex
	seen     *lb.Observed // nil: not known
	view     *lb.Observed // a copy of seen for steps, which is not changed; nil: none yet
	begun    int          // steps, ever
	underWay map[*underWay]bool
	// closed at the end of an observation of the server's own; nil: there is none
	looking chan struct{}
}

// underWay is a step that is not over.
type underWay struct{ ended chan struct{} }

// An observation is the result of Observe.
type observation func(context.Context) (*lb.Observed, error)

// look observes for the operator. It waits for the steps under way: their client may have given up,
// and the observation has to include them. The observation becomes the mirror, unless other steps
// began since: it may or may not include those.
func (m *mirror) look(ctx context.Context, observe observation) (*lb.Observed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for step := range maps.Clone(m.underWay) {
		if err := m.wait(ctx, step.ended); err != nil {
			return nil, err
		}
	}
	begun, overlaps := m.begun, len(m.underWay) > 0
	seen, err := m.observe(ctx, observe)
	if err != nil {
		return nil, err
	}
	m.seen, m.view = nil, nil
	if !overlaps && m.begun == begun {
		m.seen = seen.Clone()
	}
	return seen, nil
}

// observe observes without the lock, which the caller holds before and after.
func (m *mirror) observe(ctx context.Context, observe observation) (seen *lb.Observed, err error) {
	m.mu.Unlock()
	defer m.mu.Lock()
	defer providers.RecoverPanic(ctx, &err)
	return observe(ctx)
}

// wait waits without the lock, which the caller holds before and after.
func (m *mirror) wait(ctx context.Context, ended <-chan struct{}) error {
	m.mu.Unlock()
	defer m.mu.Lock()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin begins a step and returns the state for it. Without a mirror it observes after the end of
// the steps under way. Other steps wait for that.
func (m *mirror) begin(ctx context.Context, observe observation) (*lb.Observed, *underWay, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.seen == nil {
		if m.looking != nil {
			if err := m.wait(ctx, m.looking); err != nil {
				return nil, nil, err
			}
			continue
		}
		if err := m.observeAlone(ctx, observe); err != nil {
			return nil, nil, err
		}
	}
	step := &underWay{make(chan struct{})}
	m.underWay[step] = true
	m.begun++
	return m.copyForProvider(), step, nil
}

// copyForProvider returns a copy of the state for providers, so that they cannot change the mirror.
// The caller holds the lock.
func (m *mirror) copyForProvider() *lb.Observed {
	if m.view == nil {
		m.view = m.seen.Clone()
	}
	return m.view
}

// observeAlone observes while no step is under way.
func (m *mirror) observeAlone(ctx context.Context, observe observation) error {
	m.looking = make(chan struct{})
	defer func() {
		close(m.looking)
		m.looking = nil
	}()
	for len(m.underWay) > 0 {
		for step := range maps.Clone(m.underWay) {
			if err := m.wait(ctx, step.ended); err != nil {
				return err
			}
		}
	}
	begun := m.begun
	seen, err := m.observe(ctx, observe)
	if err == nil && m.begun == begun { // else the operator observed, too, and steps have begun since
		m.seen, m.view = seen, nil
	}
	return err
}

// end applies a successful step to the mirror. After an error the cloud may be on either side of
// the step, and the mirror is dropped. A wait for targets changes nothing, whatever its result is.
func (m *mirror) end(
	ctx context.Context, ended *underWay, step plan.Step, result plan.Result, failed error,
) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.underWay, ended)
	close(ended.ended)
	_, waits := step.(plan.AwaitTargets)
	switch {
	case failed == nil && m.seen != nil:
		m.view = nil
		follow := providers.CatchPanics(ctx, func() error { step.Do(m.seen, result); return nil })
		if follow() != nil {
			m.seen = nil
		}
	case waits && errors.Is(failed, providers.ErrPending):
	default:
		m.seen, m.view = nil, nil
	}
}

// known returns the mirror, or nil.
func (m *mirror) known() *lb.Observed {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == nil {
		return nil
	}
	return m.copyForProvider()
}

// mirrors holds the mirrors of all load balancers.
type mirrors struct {
	mu   sync.Mutex
	most int
	all  map[lb.Key]*mirror
}

// mostMirrors limits the mirrors.
const mostMirrors = 4096

func newMirrors() *mirrors { return &mirrors{most: mostMirrors, all: map[lb.Key]*mirror{}} }

// of returns the mirror of a load balancer, until it is released. If there are too many, it drops
// the one that was not used for the longest time: the next step of that load balancer begins with
// an observation.
func (m *mirrors) of(key lb.Key) (found *mirror, giveBack func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found = m.all[key]
	if found == nil {
		if len(m.all) >= m.most {
			m.dropOldest()
		}
		found = &mirror{underWay: map[*underWay]bool{}}
		m.all[key] = found
	}
	found.users++
	return found, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		found.users--
		found.used = time.Now()
	}
}

// dropOldest drops the unused mirror that was not used for the longest time. The lock is held.
func (m *mirrors) dropOldest() {
	var oldest lb.Key
	for key, one := range m.all {
		if one.users == 0 && (m.all[oldest] == nil || one.used.Before(m.all[oldest].used)) {
			oldest = key
		}
	}
	delete(m.all, oldest)
}
