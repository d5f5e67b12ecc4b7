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

// This file routes calls to several providers. The key of a load balancer names its provider.

// A Router is a provider that passes each call to the provider of the load balancer. The first
// provider serves classes that name none.
type Router struct {
	first string
	named map[string]Provider
}

// NewRouter returns a Router for one or more providers, by name.
func NewRouter(first string, named map[string]Provider) *Router {
	return &Router{first: first, named: named}
}

// findProvider returns the provider with a name; "" is the first one.
func (s *Router) findProvider(name string) (Provider, error) {
	if name == "" {
		name = s.first
	}
	if p := s.named[name]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%w: this operator has no provider %q: it was started with --provider %s",
		ErrDenied, name, strings.Join(slices.Sorted(maps.Keys(s.named)), ", "))
}

// Capabilities implements Provider. A class whose provider is missing gets those of the
// first one; no load balancer is made with them.
func (s *Router) Capabilities(class lb.Class) lb.Capabilities {
	p, err := s.findProvider(class.Provider)
	if err != nil {
		p = s.named[s.first]
	}
	return p.Capabilities(class)
}

// Lookup implements Provider.
func (s *Router) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	p, err := s.findProvider(q.Provider)
	if err != nil {
		return lb.Facts{}, err
	}
	return p.Lookup(ctx, q)
}

// Observe implements Provider.
func (s *Router) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	p, err := s.findProvider(key.Provider())
	if err != nil {
		return nil, err
	}
	return p.Observe(ctx, key, deep)
}

// Active implements Provider.
func (s *Router) Active(ctx context.Context, seen *lb.Observed) (bool, error) {
	p, err := s.findProvider(seen.Key.Provider())
	if err != nil {
		return false, err
	}
	return p.Active(ctx, seen)
}

// Apply implements Provider.
func (s *Router) Apply(
	ctx context.Context, seen *lb.Observed, step plan.Step,
) (plan.Result, error) {
	p, err := s.findProvider(seen.Key.Provider())
	if err != nil {
		return plan.Result{}, err
	}
	return p.Apply(ctx, seen, step)
}

// Targets implements Provider.
func (s *Router) Targets(
	ctx context.Context, key lb.Key, group lb.GroupID,
) ([]lb.TargetHealth, error) {
	p, err := s.findProvider(key.Provider())
	if err != nil {
		return nil, err
	}
	return p.Targets(ctx, key, group)
}

// SetTargets implements Provider.
func (s *Router) SetTargets(
	ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target,
) error {
	p, err := s.findProvider(key.Provider())
	if err != nil {
		return err
	}
	return p.SetTargets(ctx, key, group, want)
}

// A ListError is the error of an incomplete list: it lacks the load balancers of some providers.
type ListError struct{ err error }

func (u *ListError) Error() string { return u.err.Error() }

// Unwrap returns the errors of these providers.
func (u *ListError) Unwrap() error { return u.err }

// List returns the keys of all providers. If some fail, it returns the keys of the others and a
// ListError. It leaves out a key if another provider than that of the key lists it.
func (s *Router) List(ctx context.Context) ([]lb.Key, error) {
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
		return keys, &ListError{errors.Join(errs...)}
	}
	return keys, nil
}
