package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRunRefusesWhatItCannotDo(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"a cloud that it cannot run":    {[]string{"--provider", "azure"}, `--provider: "azure": it can be aws or fake`},
		"a format of logs":              {[]string{"--log-format", "xml"}, `--log-format: "xml": it can be console or json`},
		"a mode of Secrets":             {[]string{"--secrets", "some"}, `--secrets: "some": it can be all, labelled or none`},
		"a number of workers":           {[]string{"--workers", "0"}, `--workers: "0": it has to be a whole number of at least 1`},
		"a rate of calls":               {[]string{"--cloud-rate", "-1"}, `--cloud-rate: "-1": it has to be a number that is not below 0`},
		"a rate that is no number":      {[]string{"--cloud-rate", "NaN"}, `--cloud-rate: "NaN": it has to be a number that is not below 0`},
		"a name of a class":             {[]string{"--manage-ingress-class=Fair Lead"}, `--manage-ingress-class: "Fair Lead": a lowercase RFC 1123 subdomain must`},
		"addresses that are no network": {[]string{"--fake-addresses", "192.0.2.1"}, `--fake-addresses: "192.0.2.1": `},
		"a cluster that is not to find": {[]string{"--kubeconfig", filepath.Join(t.TempDir(), "none")}, "finding the cluster: "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := fairlead(t, append([]string{"run"}, c.args...)...)
			if got.code != exitFail || !strings.Contains(got.err, c.want) {
				t.Errorf("exit code %d, %q; want %q", got.code, got.err, c.want)
			}
		})
	}
}

func TestOperatorsThatMayWorkBesideEachOtherHaveLeasesOfTheirOwn(t *testing.T) {
	known := map[string]running{}
	for _, o := range []running{
		{}, {readOnly: true},
		{home: home{namespace: "shop"}}, {home: home{namespace: "shop"}, readOnly: true},
		{home: home{namespace: "read-only"}},
	} {
		if other, taken := known[o.leaseName()]; taken {
			t.Errorf("%+v and %+v hold one lease", o, other)
		}
		known[o.leaseName()] = o
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
			err := untilTold(ctx, c.run, func() bool { return c.filled }, time.Millisecond)
			if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil && got != c.want {
				t.Errorf("ends with %v, want %q: %s", err, c.want, c.reason)
			}
		})
	}
}
