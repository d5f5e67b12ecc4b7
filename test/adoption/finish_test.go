package adoption

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/controllers/adoption"
)

// finish finishes all takeovers.
func (s *site) finish() error {
	s.Helper()
	taker := s.taker(s.cloud())
	all, err := taker.Records.List(s.Context())
	if err != nil {
		return err
	}
	for _, r := range all {
		found, err := taker.Cloud.Found(s.Context(), r.Handle)
		if err != nil {
			return err
		}
		if out, err := taker.Finish(s.Context(), found, r); err != nil || !out.Done() {
			s.Logf("finishing: %+v %v", out, err)
			return errCut
		}
	}
	return nil
}

// TestFinishIsCutOffAnywhere: nothing is given back then of which former tags are deleted already, and finishing goes on.
func TestFinishIsCutOffAnywhere(t *testing.T) {
	t.Parallel() // it waits, most of its time
	for cut := 0; ; cut++ {
		s := newSite(t, base+service("web", 80, 8080, 30080)+theIngress("one", map[string]string{"target-type": "ip"}, "a.example.com / Prefix web 80"))
		s.startTheirs()
		s.learn(someRequests...)
		s.takeAll()
		s.wrote, s.left = nil, cut
		err := s.finish()
		s.left = -1
		if err == nil {
			if cut < 4 {
				t.Fatalf("it makes %d writes", cut)
			}
			return
		}
		forgot := strings.Contains(strings.Join(s.wrote, " "), "Tags")
		s.wrote = nil
		taker := s.taker(s.cloud())
		all, err := taker.Records.List(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		out, err := taker.ReleaseFound(t.Context(), all[0].Handle, all[0].Key, []string{"shop/one"}, true)
		if err != nil {
			t.Fatal(err)
		}
		if forgot && (out.State != adoption.Taken || len(out.Obstacles) != 1 || len(s.wrote) > 0) {
			t.Errorf("cut off at %d, it is given back: %+v %q", cut, out, s.wrote)
		}
		if len(out.Obstacles) == 0 {
			continue
		}
		if err := s.finish(); err != nil {
			t.Errorf("cut off at %d: %v", cut, err)
		}
		for _, line := range s.inventory() {
			if strings.Contains(line, "fairlead.dev/was/") {
				t.Errorf("cut off at %d, there is %s", cut, line)
			}
		}
		s.right("once it is finished")
	}
}
