package providers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// slow is a cloud whose changes take until somebody says so.
type slow struct {
	providers.Provider
	begun, end chan struct{}
}

func (s slow) change() error {
	close(s.begun)
	<-s.end
	return nil
}

func (s slow) Apply(context.Context, *lb.Observed, plan.Step) (plan.Result, error) {
	return plan.Result{}, s.change()
}

func (s slow) SetTargets(context.Context, lb.Key, lb.GroupID, []lb.Target) error {
	return s.change()
}

func TestARevokedProviderChangesNothing(t *testing.T) {
	seen := &lb.Observed{Key: "fairlead/ns/shop/internal"}
	for name, change := range map[string]func(providers.Provider) error{
		"a step": func(p providers.Provider) error {
			_, err := p.Apply(t.Context(), seen, plan.DeleteLoadBalancer{})
			return err
		},
		"targets": func(p providers.Provider) error { return p.SetTargets(t.Context(), seen.Key, "ns/web:80", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			cloud := slow{begun: make(chan struct{}), end: make(chan struct{})}
			revocable, underWay, back := providers.NewRevocable(cloud, nil), make(chan error, 1), make(chan struct{})
			go func() { underWay <- change(revocable) }()
			<-cloud.begun
			go func() {
				if err := revocable.Revoke(time.Minute); err != nil {
					t.Error(err)
				}
				close(back)
			}()
			select {
			case <-back:
				t.Error("the cloud is back while a change is under way")
			case <-time.After(10 * time.Millisecond):
			}
			close(cloud.end)
			if err := <-underWay; err != nil {
				t.Errorf("a change that was under way is answered %v", err)
			}
			<-back
			if change(revocable) == nil {
				t.Error("the cloud was changed after Revoke")
			}
		})
	}
}

// A stuck cloud is one whose changes end only with their context.
type stuck struct {
	providers.Provider
	begun chan struct{}
}

func (s stuck) Apply(ctx context.Context, _ *lb.Observed, _ plan.Step) (plan.Result, error) {
	close(s.begun)
	<-ctx.Done()
	return plan.Result{}, context.Cause(ctx)
}

func TestAChangeThatTakesTooLongIsEnded(t *testing.T) {
	cloud := stuck{begun: make(chan struct{})}
	revocable, ended := providers.NewRevocable(cloud, nil), make(chan error, 1)
	go func() {
		_, err := revocable.Apply(context.Background(), &lb.Observed{Key: "fairlead/ns/shop/internal"}, plan.DeleteLoadBalancer{})
		ended <- err
	}()
	<-cloud.begun
	err := revocable.Revoke(10 * time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "delete load balancer") || !strings.Contains(err.Error(), "fairlead/ns/shop/internal") {
		t.Errorf("Revoke returned %v", err)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the change was ended without an error")
		}
	case <-time.After(time.Minute):
		t.Error("the change goes on")
	}
}

func TestNothingIsChangedWithoutTheLease(t *testing.T) {
	lost := errors.New("the lease is lost")
	var holds error
	changes := 0
	revocable := providers.NewRevocable(counted{changes: &changes}, func() error { return holds })
	change := func() error { return revocable.SetTargets(t.Context(), "fairlead/ns/shop/internal", "ns/web:80", nil) }
	if err := change(); err != nil {
		t.Error(err)
	}
	holds = lost
	if err := change(); !errors.Is(err, lost) {
		t.Errorf("without the lease: %v", err)
	}
	if changes != 1 {
		t.Errorf("%d changes", changes)
	}
}

// A change that has begun asks again before each call that it makes: the lease may be lost in
// between. Outside of a revocable provider nothing is asked.
func TestAChangeAsksAgainWhetherItMayGoOn(t *testing.T) {
	lost := errors.New("the lease is lost")
	asked, changes := 0, 0
	revocable := providers.NewRevocable(counted{changes: &changes}, func() error {
		if asked++; asked > 1 {
			return lost
		}
		return nil
	})
	if err := revocable.SetTargets(t.Context(), "fairlead/ns/shop/internal", "ns/web:80", nil); changes != 1 || !errors.Is(err, lost) {
		t.Errorf("%d changes have begun, and the last one ends with %v", changes, err)
	}
	if err := providers.MayWrite(t.Context()); err != nil {
		t.Errorf("outside of a revocable provider: %v", err)
	}
}

// What a change is given ends with it: contexts that stay would pile up below the operator's own.
func TestWhatAChangeIsGivenEndsWithIt(t *testing.T) {
	var given <-chan struct{}
	revocable := providers.NewRevocable(keeping{given: &given}, nil)
	if err := revocable.SetTargets(t.Context(), "fairlead/ns/shop/internal", "ns/web:80", nil); err != nil {
		t.Fatal(err)
	}
	select {
	case <-given:
	default:
		t.Error("the context of a change that has ended goes on")
	}
}

// A keeping cloud keeps the end of the context of the last change.
type keeping struct {
	providers.Provider
	given *<-chan struct{}
}

func (k keeping) SetTargets(ctx context.Context, _ lb.Key, _ lb.GroupID, _ []lb.Target) error {
	*k.given = ctx.Done()
	return nil
}

func TestAnIdleProviderIsRevokedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := 0
		revocable := providers.NewRevocable(counted{changes: &changes}, nil)
		for range 2 {
			if err := revocable.SetTargets(t.Context(), "fairlead/ns/shop/internal", "ns/web:80", nil); err != nil {
				t.Error(err)
			}
		}
		began := time.Now()
		for range 2 {
			if err := revocable.Revoke(time.Minute); err != nil || time.Since(began) > 0 {
				t.Errorf("Revoke took %s and returned %v", time.Since(began), err)
			}
		}
	})
}

// Changes that had to be ended are named in order.
func TestChangesThatWereEndedAreNamedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		revocable := providers.NewRevocable(waiting{}, nil)
		for _, group := range []lb.GroupID{"d", "b", "a", "c", "f", "e"} {
			go func() { _ = revocable.SetTargets(t.Context(), "key", group, nil) }()
		}
		synctest.Wait()
		err := revocable.Revoke(time.Second)
		var at []int
		for _, group := range []string{"a", "b", "c", "d", "e", "f"} {
			at = append(at, strings.Index(fmt.Sprint(err), "targets of "+group+" of key"))
		}
		if !slices.IsSorted(at) || at[0] < 0 {
			t.Errorf("it says %v", err)
		}
	})
}

// A waiting cloud changes targets until it is told to stop.
type waiting struct{ providers.Provider }

func (waiting) SetTargets(ctx context.Context, _ lb.Key, _ lb.GroupID, _ []lb.Target) error {
	<-ctx.Done()
	return ctx.Err()
}

// A counted cloud counts changes of targets, and may make them.
type counted struct {
	providers.Provider
	changes *int
}

func (c counted) SetTargets(ctx context.Context, _ lb.Key, _ lb.GroupID, _ []lb.Target) error {
	*c.changes++
	return providers.MayWrite(ctx)
}
