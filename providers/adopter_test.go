package providers_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// everyCallOfAnAdopter makes each call of an Adopter once and returns their errors: first of those that change something.
func everyCallOfAnAdopter(ctx context.Context, a providers.Adopter) (changing []error, read error) {
	_, read = a.Found(ctx, "handle")
	dismiss := func() error {
		_, err := a.Dismiss(ctx, nil, "key")
		return err
	}
	return []error{
		a.Retag(ctx, "key", lb.TagChange{}), a.Admit(ctx, nil, lb.Takeover{Want: lb.LoadBalancer{Key: "key"}}),
		dismiss(), a.Discard(ctx, "key", nil),
	}, read
}

// adopter is a provider that takes over load balancers. Calls that are not made here panic.
type adopter struct {
	providers.Provider
	providers.Adopter
}

func (adopter) Found(context.Context, string) (*lb.Other, error) { return nil, nil }

// TestAWrapperSeesEveryCallOfAnAdopter refuses each of them: a call that reached the provider behind would panic.
func TestAWrapperSeesEveryCallOfAnAdopter(t *testing.T) {
	refused := errors.New("refused")
	var seen []providers.Call
	cloud := providers.Intercept(adopter{}, func(_ context.Context, c providers.Call, _ providers.Next) error {
		seen = append(seen, c)
		return refused
	})
	a, ok := providers.AdopterOf(cloud, "")
	if !ok {
		t.Fatal("it is no Adopter")
	}
	changing, read := everyCallOfAnAdopter(t.Context(), a)
	for i, err := range append(changing, read) {
		if !errors.Is(err, refused) {
			t.Errorf("call %d is answered %v", i, err)
		}
	}
	want := []providers.Call{{Method: "Found"}, {Method: "Retag", Key: "key"}, {Method: "Admit", Key: "key"}, {Method: "Dismiss", Key: "key"}, {Method: "Discard", Key: "key"}}
	if !slices.Equal(seen, want) {
		t.Errorf("it saw %v, not %v", seen, want)
	}
}

// TestNothingIsTakenOverWithoutPermission: neither read-only, nor after the lease was lost.
func TestNothingIsTakenOverWithoutPermission(t *testing.T) {
	lost := errors.New("the lease is lost")
	for name, c := range map[string]struct {
		cloud providers.Provider
		why   error
	}{
		"read-only": {providers.ReadOnly(adopter{}), providers.ErrDenied},
		"revoked":   {providers.NewRevocable(adopter{}, func() error { return lost }), lost},
		"a revoked one of several": {
			providers.NewRevocable(providers.NewRouter("aws", map[string]providers.Provider{"aws": adopter{}}), func() error { return lost }), lost},
	} {
		a, ok := providers.AdopterOf(c.cloud, "")
		if !ok {
			t.Fatalf("%s: it is no Adopter", name)
		}
		changing, read := everyCallOfAnAdopter(t.Context(), a)
		for i, err := range changing {
			if !errors.Is(err, c.why) {
				t.Errorf("%s: change %d is answered %v", name, i, err)
			}
		}
		if read != nil {
			t.Errorf("%s: reading is answered %v", name, read)
		}
	}
}

// TestAdopterOfSeveralProviders finds the one of a name.
func TestAdopterOfSeveralProviders(t *testing.T) {
	cloud := providers.ReadOnly(providers.NewRouter("aws", map[string]providers.Provider{"aws": adopter{}, "other": listsHalf{}}))
	for name, want := range map[string]bool{"": true, "aws": true, "other": false, "missing": false} {
		if _, ok := providers.AdopterOf(cloud, name); ok != want {
			t.Errorf("%q is an Adopter: %t, want %t", name, ok, want)
		}
	}
}
