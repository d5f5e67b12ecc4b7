package providers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file combines several providers. The key of a load balancer names its provider.

// Several is a provider that passes each call to the provider of the load balancer. The first
// provider serves classes that name none.
type Several struct {
	first string
	named map[string]Provider
}

// NewSeveral combines one or more providers, by name.
func NewSeveral(first string, named map[string]Provider) *Several {
	return &Several{first: first, named: named}
}

// of returns the provider of a name; "" is the first.
func (s *Several) of(name string) (Provider, error) {
	if name == "" {
		name = s.first
	}
	if p := s.named[name]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%w: this operator has no provider %q: it was started with --provider %s",
		ErrDenied, name, strings.Join(slices.Sorted(maps.Keys(s.named)), ", "))
}

// Capabilities is for the Provider interface. A class whose provider is missing gets those of the
// first one; no load balancer is made with them.
func (s *Several) Capabilities(class lb.Class) lb.Capabilities {
	p, err := s.of(class.Provider)
	if err != nil {
		p = s.named[s.first]
	}
	return p.Capabilities(class)
}

// Lookup is for the Provider interface.
func (s *Several) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	p, err := s.of(q.Provider)
	if err != nil {
		return lb.Facts{}, err
	}
	return p.Lookup(ctx, q)
}

// Observe is for the Provider interface.
func (s *Several) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	p, err := s.of(key.Provider())
	if err != nil {
		return nil, err
	}
	return p.Observe(ctx, key, deep)
}

// Active is for the Provider interface.
func (s *Several) Active(ctx context.Context, seen *lb.Observed) (bool, error) {
	p, err := s.of(seen.Key.Provider())
	if err != nil {
		return false, err
	}
	return p.Active(ctx, seen)
}

// Apply is for the Provider interface.
func (s *Several) Apply(
	ctx context.Context, seen *lb.Observed, step plan.Step,
) (plan.Result, error) {
	p, err := s.of(seen.Key.Provider())
	if err != nil {
		return plan.Result{}, err
	}
	return p.Apply(ctx, seen, step)
}

// Targets is for the Provider interface.
func (s *Several) Targets(
	ctx context.Context, key lb.Key, group lb.GroupID,
) ([]lb.TargetHealth, error) {
	p, err := s.of(key.Provider())
	if err != nil {
		return nil, err
	}
	return p.Targets(ctx, key, group)
}

// SetTargets is for the Provider interface.
func (s *Several) SetTargets(
	ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target,
) error {
	p, err := s.of(key.Provider())
	if err != nil {
		return err
	}
	return p.SetTargets(ctx, key, group, want)
}

// An Unlisted is the error of a list without the load balancers of some providers, but with all
// others.
type Unlisted struct{ err error }

func (u *Unlisted) Error() string { return u.err.Error() }

// Unwrap returns the errors of these providers.
func (u *Unlisted) Unwrap() error { return u.err }

// List returns the keys of all providers. If some fail, it returns the keys of the others and an
// Unlisted. It leaves out keys that belong to another provider than the one that lists them.
func (s *Several) List(ctx context.Context) ([]lb.Key, error) {
	var keys []lb.Key
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.named)) {
		listed, err := s.named[name].List(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("provider %s: %w", name, err))
			continue
		}
		for _, key := range listed {
			if owner := key.Provider(); owner == name || owner == "" && name == s.first {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	if len(errs) > 0 {
		return keys, &Unlisted{errors.Join(errs...)}
	}
	return keys, nil
}
