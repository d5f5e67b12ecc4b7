package providers_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// A namedCloud tells its name with all that it answers.
type namedCloud struct {
	providers.Provider
	name string
	keys []lb.Key
	err  error
}

func (c namedCloud) Capabilities(lb.Class) lb.Capabilities { return lb.Capabilities{Name: c.name} }
func (c namedCloud) Lookup(context.Context, lb.Questions) (lb.Facts, error) {
	return lb.Facts{NameTaken: c.name}, nil
}
func (c namedCloud) Observe(_ context.Context, key lb.Key, _ bool) (*lb.Observed, error) {
	return &lb.Observed{Key: key, Handle: c.name}, nil
}
func (c namedCloud) Active(context.Context, *lb.Observed) (bool, error) { return c.name == "edge", nil }
func (c namedCloud) Apply(context.Context, *lb.Observed, plan.Step) (plan.Result, error) {
	return plan.Result{Handle: c.name}, nil
}
func (c namedCloud) Targets(context.Context, lb.Key, lb.GroupID) ([]lb.TargetHealth, error) {
	return []lb.TargetHealth{{State: lb.HealthState(c.name)}}, nil
}
func (c namedCloud) SetTargets(context.Context, lb.Key, lb.GroupID, []lb.Target) error {
	return errors.New(c.name)
}
func (c namedCloud) List(context.Context) ([]lb.Key, error) { return c.keys, c.err }

func TestEachCallGoesToTheProviderOfItsLoadBalancer(t *testing.T) {
	all := providers.NewRouter("main", map[string]providers.Provider{"main": namedCloud{name: "main"}, "edge": namedCloud{name: "edge"}})
	ctx := t.Context()
	for key, name := range map[lb.Key]string{"shop/a/b/internal": "main", "shop/a/b/internal@edge": "edge", "shop/@all/internet-facing@edge=mine": "edge"} {
		seen, err := all.Observe(ctx, key, false)
		if err != nil || seen.Handle != name {
			t.Errorf("%s is observed by %v (%v), want %s", key, seen, err, name)
		}
		if r, err := all.Apply(ctx, &lb.Observed{Key: key}, plan.DeleteLoadBalancer{Key: key}); err != nil || r.Handle != name {
			t.Errorf("a step of %s is applied by %s (%v), want %s", key, r.Handle, err, name)
		}
		if active, err := all.Active(ctx, &lb.Observed{Key: key}); err != nil || active != (name == "edge") {
			t.Errorf("another one than %s says whether %s is active: %v", name, key, err)
		}
		if health, err := all.Targets(ctx, key, "g"); err != nil || health[0].State != lb.HealthState(name) {
			t.Errorf("the targets of %s are those of %v (%v), want %s", key, health, err, name)
		}
		if err := all.SetTargets(ctx, key, "g", nil); err == nil || err.Error() != name {
			t.Errorf("the targets of %s are set by %v, want %s", key, err, name)
		}
		if facts, err := all.Lookup(ctx, lb.Questions{Provider: key.Provider()}); err != nil || facts.NameTaken != name {
			t.Errorf("%s looks up for %s (%v), want %s", facts.NameTaken, key, err, name)
		}
		if c := all.Capabilities(lb.Class{Provider: key.Provider()}); c.Name != name {
			t.Errorf("%s has the capabilities of %s, want %s", key, c.Name, name)
		}
	}
}

func TestAProviderThatThereIsNotIsNamed(t *testing.T) {
	all := providers.NewRouter("main", map[string]providers.Provider{"main": namedCloud{name: "main"}})
	_, err := all.Observe(t.Context(), "shop/a/b/internal@edge", false)
	if !errors.Is(err, providers.ErrDenied) || !strings.Contains(err.Error(), `"edge"`) {
		t.Errorf("told %v", err)
	}
	if _, err := all.Lookup(t.Context(), lb.Questions{Provider: "edge"}); !errors.Is(err, providers.ErrDenied) {
		t.Errorf("looked up by %v", err)
	}
}

// TestAProviderListsItsOwnLoadBalancersAlone has one list those of another, and one that cannot be
// asked.
func TestAProviderListsItsOwnLoadBalancersAlone(t *testing.T) {
	all := providers.NewRouter("main", map[string]providers.Provider{
		"main": namedCloud{name: "main", keys: []lb.Key{"shop/a/b/internal", "shop/x/y/internal@edge"}},
		"edge": namedCloud{name: "edge", keys: []lb.Key{"shop/a/b/internal", "shop/a/b/internal@edge", "shop/a/b/internal@other"}},
		"away": namedCloud{name: "away", keys: []lb.Key{"shop/c/d/internal@away"}, err: errors.New("no answer")},
	})
	keys, err := all.List(t.Context())
	if want := []lb.Key{"shop/a/b/internal", "shop/a/b/internal@edge"}; !slices.Equal(keys, want) {
		t.Errorf("listed are %v, want %v", keys, want)
	}
	if _, ok := errors.AsType[*providers.ListError](err); !ok || !strings.Contains(err.Error(), "provider away: no answer") {
		t.Errorf("told %v of the one that cannot be asked", err)
	}
}
