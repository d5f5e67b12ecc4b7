// Package serve serves a providers.Provider of this tree to an operator that is another process,
// with the kit of the provider protocol.
package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-logr/logr"

	"fairlead.dev/fairlead/api/provider/kit"
	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/wire"
)

// Options configure a server.
type Options struct {
	Log logr.Logger
	// Software is the name and the version of this process, for the capabilities.
	Software string
	// Token returns the bearer token that requests need; nil: they need none.
	Token func() string
	// Schemas are those of the provider's own settings.
	Schemas v1.SettingsSchemas
	// MaxRequest limits the length of requests; 0: v1.MaxRequest.
	MaxRequest int
}

// New returns a server of a provider.
func New(p providers.Provider, o Options) *kit.Server {
	return kit.New(&adapter{Provider: p, options: o, seen: map[lb.Key]*lb.Observed{}},
		kit.Options{Log: o.Log, Token: o.Token})
}

const (
	stepsPerApply = 32 // in one request
	atOnce        = 4  // steps of one request, as in providers.Run
	mostSeen      = 4096
)

// An adapter is a kit.Provider. A Provider of this tree is shown what there is with each step, and
// the protocol does not send it: the adapter keeps what was observed last, and follows each step
// that succeeds, as providers.Run does. Where that may be wrong it is dropped, and the next step
// begins with an observation. The kit has the calls of one key wait for each other.
type adapter struct {
	providers.Provider
	options Options

	mu   sync.Mutex
	seen map[lb.Key]*lb.Observed
}

// keep stores what there is under a key; nil: that is not known.
func (a *adapter) keep(key lb.Key, seen *lb.Observed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.seen, key)
	if seen == nil {
		return
	}
	for other := range a.seen {
		if len(a.seen) < mostSeen {
			break
		}
		delete(a.seen, other)
	}
	a.seen[key] = seen
}

// known returns what there is under a key, from an observation if it is not known.
func (a *adapter) known(ctx context.Context, key lb.Key) (seen *lb.Observed, err error) {
	a.mu.Lock()
	seen = a.seen[key]
	a.mu.Unlock()
	if seen != nil {
		return seen, nil
	}
	defer providers.RecoverPanic(ctx, &err)
	return a.Provider.Observe(ctx, key, false)
}

// in adds the log, and what a limited cloud wants to know of a call, to its context.
func (a *adapter) in(ctx context.Context, key string) context.Context {
	return providers.WithAsker(logr.NewContext(ctx, a.options.Log),
		providers.Asker{Key: lb.Key(key), Urgent: kit.IsUrgent(ctx)})
}

// problem returns an error as the protocol has it.
func problem(err error) error {
	if err == nil {
		return nil
	}
	return wire.EncodeError(err)
}

func (a *adapter) Capabilities() v1.Capabilities {
	out := wire.EncodeCapabilities(a.Provider.Capabilities(lb.Class{}))
	out.Software = a.options.Software
	out.Calls.StepsPerApply = stepsPerApply
	out.Calls.RequestBytes = a.options.MaxRequest
	if schemas := a.options.Schemas; len(schemas.LoadBalancer) > 0 || len(schemas.TargetGroup) > 0 {
		out.SettingsSchema = &schemas
	}
	return out
}

func (a *adapter) Lookup(ctx context.Context, asked v1.Questions) (v1.Facts, error) {
	facts, err := a.Provider.Lookup(a.in(ctx, ""), wire.DecodeQuestions(asked))
	return wire.EncodeFacts(facts), problem(err)
}

func (a *adapter) List(ctx context.Context) ([]string, error) {
	keys, err := a.Provider.List(a.in(ctx, ""))
	out := make([]string, len(keys))
	for i, key := range keys {
		out[i] = string(key)
	}
	return out, problem(err)
}

func (a *adapter) Observe(ctx context.Context, key string, deep bool) (v1.Observed, error) {
	seen, err := a.Provider.Observe(a.in(ctx, key), lb.Key(key), deep)
	if err != nil {
		a.keep(lb.Key(key), nil)
		return v1.Observed{}, problem(err)
	}
	a.keep(lb.Key(key), seen.Clone())
	return wire.EncodeObserved(seen), nil
}

func (a *adapter) Active(ctx context.Context, key string) (bool, error) {
	seen, err := a.known(a.in(ctx, key), lb.Key(key))
	if err != nil || !seen.Exists {
		return false, problem(err)
	}
	active, err := a.Provider.Active(a.in(ctx, key), seen.Clone())
	return active, problem(err)
}

// Apply carries out a few steps at once.
func (a *adapter) Apply(ctx context.Context, key string, steps []v1.Step) ([]v1.Result, error) {
	ctx = a.in(ctx, key)
	seen, err := a.known(ctx, lb.Key(key))
	if err != nil {
		return nil, wire.EncodeError(fmt.Errorf("observing the load balancer before the step: %w", err))
	}
	if kit.IsLate(ctx) {
		return nil, kit.ErrLate
	}
	a.keep(lb.Key(key), nil) // until it is known how the steps ended
	results := make([]v1.Result, len(steps))
	view := seen.Clone()
	ended := make([]func(*lb.Observed), len(steps)) // nil: it may have been carried out, or not
	var all sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for i := range steps {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			results[i], ended[i] = a.step(ctx, lb.Key(key), view, steps[i])
		})
	}
	all.Wait()
	for _, follow := range ended {
		if follow == nil {
			return results, nil
		}
		follow(seen)
	}
	a.keep(lb.Key(key), seen)
	return results, nil
}

// step carries out a step, and returns how what there is follows it.
func (a *adapter) step(ctx context.Context, key lb.Key, view *lb.Observed, asked v1.Step) (v1.Result, func(*lb.Observed)) {
	step, err := wire.DecodeStep(key, asked)
	if err != nil {
		if p, is := errors.AsType[*v1.Problem](err); is {
			return v1.Result{Problem: p}, func(*lb.Observed) {}
		}
		return v1.Result{Problem: v1.NewProblem(v1.ProblemMalformed, err.Error())}, func(*lb.Observed) {}
	}
	var result plan.Result
	apply := providers.CatchPanics(ctx, func() (err error) {
		result, err = a.Provider.Apply(ctx, view, step)
		return err
	})
	err = apply()
	_, waits := step.(plan.AwaitTargets)
	switch out := wire.EncodeResult("", result, err); {
	case err == nil:
		return out, func(seen *lb.Observed) { step.Do(seen, result) }
	case waits && errors.Is(err, providers.ErrPending):
		return out, func(*lb.Observed) {} // a wait for targets changes nothing
	default:
		return out, nil
	}
}

func (a *adapter) Targets(ctx context.Context, key, group string) ([]v1.TargetHealth, error) {
	health, err := a.Provider.Targets(a.in(ctx, key), lb.Key(key), lb.GroupID(group))
	return wire.EncodeHealth(health).Targets, problem(err)
}

func (a *adapter) SetTargets(ctx context.Context, key, group string, want []v1.Target) error {
	list := v1.TargetList{}
	for _, t := range want {
		list.Targets = append(list.Targets, v1.TargetHealth{Address: t.Address, Port: t.Port})
	}
	return problem(a.Provider.SetTargets(a.in(ctx, key), lb.Key(key), lb.GroupID(group), wire.DecodeTargets(list)))
}
