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
	first := draw(t)
	for n := range uint64(8) {
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
