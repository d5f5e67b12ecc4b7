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

// This file keeps what there is of each load balancer, for a provider is shown it with each step,
// and the protocol does not send it. What is kept is called a mirror. It begins with an
// observation, the operator's or the server's own, and follows each step that succeeds, as
// providers.Run has an operator's do. Where it may be wrong it is given up, and the next step
// begins with an observation.

// A mirror is that of one load balancer.
type mirror struct {
	users int       // calls that hold it; of mirrors
	used  time.Time // of mirrors

	mu       sync.Mutex
	seen     *lb.Observed // nil: not known
	view     *lb.Observed // a copy of seen that steps are shown, and that stays as it is; nil: none yet
	begun    int          // steps, ever
	underWay map[*underWay]bool
	looking  chan struct{} // closed at the end of an observation of the server's own; nil: there is none
}

// A step that is under way.
type underWay struct{ ended chan struct{} }

// An observation is what Observe of a provider returns.
type observation func(context.Context) (*lb.Observed, error)

// look makes an observation for the operator. It waits for the steps that were under way before:
// their client may have given up, and what they do belongs to what there is. The mirror becomes
// what was seen. Where other steps began meanwhile it may or may not have what they did, and there
// is no mirror.
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

// observe makes an observation without the lock, which is held before and after.
func (m *mirror) observe(ctx context.Context, observe observation) (seen *lb.Observed, err error) {
	m.mu.Unlock()
	defer m.mu.Lock()
	defer providers.Recovered(ctx, &err)
	return observe(ctx)
}

// wait waits without the lock, which is held before and after.
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

// begin begins a step and returns what it is shown. Where there is no mirror it makes one, once the
// steps that are under way have ended; the other steps that want to begin wait for that.
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
		if err := m.lookAlone(ctx, observe); err != nil {
			return nil, nil, err
		}
	}
	if m.view == nil {
		m.view = m.seen.Clone()
	}
	step := &underWay{make(chan struct{})}
	m.underWay[step] = true
	m.begun++
	return m.view, step, nil
}

// lookAlone makes the mirror, while nothing else is under way.
func (m *mirror) lookAlone(ctx context.Context, observe observation) error {
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
	if err == nil && m.begun == begun { // else the operator looked, too, and steps have begun since
		m.seen, m.view = seen, nil
	}
	return err
}

// end has the mirror follow a step that succeeded. After an error the cloud may be on either side
// of the step, and the mirror is given up; a wait for targets changes nothing whatever comes of it.
func (m *mirror) end(ctx context.Context, ended *underWay, step plan.Step, result plan.Result, failed error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.underWay, ended)
	close(ended.ended)
	_, waits := step.(plan.AwaitTargets)
	switch {
	case m.seen == nil:
	case failed == nil:
		m.view = nil
		follow := providers.Safely(ctx, func() error { step.Do(m.seen, result); return nil })
		if follow() != nil {
			m.seen = nil
		}
	case waits && errors.Is(failed, providers.ErrPending):
	default:
		m.seen, m.view = nil, nil
	}
}

// known is what steps are shown now; nil if there is no mirror.
func (m *mirror) known() *lb.Observed {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen != nil && m.view == nil {
		m.view = m.seen.Clone()
	}
	return m.view
}

// mirrors are those of all load balancers.
type mirrors struct {
	mu   sync.Mutex
	most int
	all  map[lb.Key]*mirror
}

// mostMirrors is of how many load balancers there is a mirror.
const mostMirrors = 4096

func newMirrors() *mirrors { return &mirrors{most: mostMirrors, all: map[lb.Key]*mirror{}} }

// of is the mirror of a load balancer, until it is given back. Where there are too many, the one
// goes that was not used for longest: the next step of its load balancer begins with an
// observation.
func (m *mirrors) of(key lb.Key) (found *mirror, giveBack func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found = m.all[key]
	if found == nil {
		if len(m.all) >= m.most {
			m.forget()
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

// forget forgets the mirror that nothing has used for longest. The lock is held.
func (m *mirrors) forget() {
	var oldest lb.Key
	for key, one := range m.all {
		if one.users == 0 && (m.all[oldest] == nil || one.used.Before(m.all[oldest].used)) {
			oldest = key
		}
	}
	delete(m.all, oldest)
}
