package operator

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"fairlead.dev/fairlead/cli/access"
)

func TestOperatorsThatMayWorkBesideEachOtherHaveLeasesOfTheirOwn(t *testing.T) {
	known := map[string]Settings{}
	for _, o := range []Settings{
		{}, {readOnly: true},
		{Cluster: access.Cluster{Namespace: "shop"}}, {Cluster: access.Cluster{Namespace: "shop"}, readOnly: true},
		{Cluster: access.Cluster{Namespace: "read-only"}},
	} {
		if other, taken := known[o.LeaseName()]; taken {
			t.Errorf("%+v and %+v hold one lease", o, other)
		}
		known[o.LeaseName()] = o
	}
}

func TestRunEndsOnceItIsTold(t *testing.T) {
	boom := errors.New("boom")
	forever := func(context.Context) error { select {} }
	cases := map[string]struct {
		reason string
		told   bool
		run    func(context.Context) error
		filled bool
		want   string
	}{
		"a failure":           {"nobody has to tell it to stop", false, func(context.Context) error { return boom }, false, "boom"},
		"a graceful end":      {"what is under way is finished", true, func(ctx context.Context) error { <-ctx.Done(); return nil }, true, ""},
		"caches never filled": {"the manager does not return, and has nothing under way", true, forever, false, ""},
		"a step that hangs":   {"it has had its time", true, forever, true, "stopping: what was under way is not done after 1ms"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, tell := context.WithCancel(t.Context())
			defer tell()
			if c.told {
				tell()
			}
			err := runUntilStopped(ctx, c.run, func() bool { return c.filled }, time.Millisecond)
			if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil && got != c.want {
				t.Errorf("ends with %v, want %q: %s", err, c.want, c.reason)
			}
		})
	}
}
