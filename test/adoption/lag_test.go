package adoption

import (
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/nightly"
)

// This file gives load balancers back while reads lag behind the writes of the takeover.

// lag is how far.
const lag = time.Minute

// persist repeats a step of a command after temporary errors, as its user does, until it is done.
func (s *site) persist(step func() (bool, error), class string) {
	s.Helper()
	for range 60 {
		done, err := step()
		switch {
		case errors.Is(err, providers.ErrPending):
			time.Sleep(2 * time.Second)
		case err != nil:
			s.Fatal(err)
		case done:
			return
		default:
			s.replaceClass(class)
		}
	}
	s.Fatal("it is never done")
}

// TestAReleaseRightAfterATakeover: nothing has a tag of Fairlead afterwards, although some reads still show what was before
// the takeover.
func TestAReleaseRightAfterATakeover(t *testing.T) {
	first, runs := draw(t), uint64(8)
	if testing.Short() {
		runs = 2
	}
	for n := range runs {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(first, n))
			o := albsim.Real(r.Uint64(), lag)
			s := newSiteWith(t, base+service("web", 80, 8080, 30080)+theIngress("one", map[string]string{"target-type": "ip"}, "a.example.com / Prefix web 80"),
				albsim.Options{Lag: lag, Past: o.Past})
			for range 20 {
				s.asTheirs(func() error { _ = s.theirs(); return nil }) // it tries again what is not read yet
				time.Sleep(lag)
			}
			before := s.inventory()
			s.persist(func() (bool, error) { return s.take(false) }, ingress.ControllerName)
			s.persist(s.release, "ingress.k8s.aws/alb")
			time.Sleep(2 * lag)
			if diff := cmp.Diff(before, s.inventory(ourShared)); diff != "" {
				t.Errorf("run %d, given back\n%s", n, diff)
			}
		})
	}
}

// newLagging is a site with one load balancer of the controller, in an account whose reads lag.
func newLagging(t *testing.T, r *rand.Rand) *site {
	t.Helper()
	o := albsim.Real(r.Uint64(), lag)
	s := newSiteWith(t, base+service("web", 80, 8080, 30080)+theIngress("one", map[string]string{"target-type": "ip"}, "a.example.com / Prefix web 80"),
		albsim.Options{Lag: lag, Past: o.Past})
	for range 20 {
		s.asTheirs(func() error { _ = s.theirs(); return nil }) // it tries again what is not read yet
		time.Sleep(lag)
	}
	return s
}

// TestCutOffWhileReadsLag: what was cut off a moment ago is gone on with, or given back, to the same end, and a takeover
// right after a return is as any other.
func TestCutOffWhileReadsLag(t *testing.T) {
	first := draw(t)
	runs := uint64(8)
	switch {
	case nightly.Is():
		runs = 48
	case testing.Short():
		runs = 4
	}
	for n := range runs {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(first, n))
			s := newLagging(t, r)
			before := s.inventory()
			take, release := func() (bool, error) { return s.take(false) }, s.release
			cut := func(step func() (bool, error), class string) {
				s.left = r.IntN(12)
				for range 30 {
					done, err := step()
					if done || err != nil && !errors.Is(err, providers.ErrPending) {
						break
					}
					if err == nil {
						s.replaceClass(class)
					}
					time.Sleep(2 * time.Second)
				}
				s.left = -1
			}
			way := []string{"take over", "cut off"}
			cut(take, ingress.ControllerName)
			if r.IntN(2) == 0 {
				way = append(way, "take over")
				s.persist(take, ingress.ControllerName)
			}
			if r.IntN(2) == 0 {
				way = append(way, "give back, cut off")
				cut(release, "ingress.k8s.aws/alb")
			}
			s.persist(release, "ingress.k8s.aws/alb")
			way = append(way, "give back", "take over", "give back")
			s.persist(take, ingress.ControllerName)
			time.Sleep(2 * lag)
			if steps := s.plan(); len(steps) > 0 {
				t.Errorf("run %d, %q: once it is taken over, the plan is %q", n, way, steps)
			}
			s.persist(release, "ingress.k8s.aws/alb")
			time.Sleep(2 * lag)
			if diff := cmp.Diff(before, s.inventory(ourShared)); diff != "" {
				t.Errorf("run %d, %q\n%s", n, way, diff)
			}
		})
	}
}
