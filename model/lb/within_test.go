package lb

import "testing"

// This file counts targets out.

func TestHowManyTargetsTheCloudTakes(t *testing.T) {
	targets := func(names string) (out []Target) {
		for _, name := range names {
			out = append(out, Target{Address: string(name), Port: 80})
		}
		return out
	}
	cases := map[string]struct {
		reason                string
		perGroup, perBalancer int
		elsewhere             int
		have, want, takes     string
	}{
		"no limit":                     {reason: "all get in", want: "abc", takes: "abc"},
		"room for all":                 {reason: "all get in", perGroup: 3, perBalancer: 5, elsewhere: 2, want: "abc", takes: "abc"},
		"a group that is full":         {reason: "the first get in", perGroup: 2, want: "abc", takes: "ab"},
		"those that are there":         {reason: "what is served stays", perGroup: 2, have: "bc", want: "abcd", takes: "bc"},
		"one leaves":                   {reason: "another one takes its place", perGroup: 2, have: "xc", want: "abcd", takes: "ac"},
		"a load balancer that is full": {reason: "the others are counted", perGroup: 3, perBalancer: 5, elsewhere: 3, want: "abc", takes: "ab"},
		"no room at all":               {reason: "the cloud is to refuse it", perBalancer: 5, elsewhere: 7, want: "abc", takes: "a"},
		"a limit that was lowered":     {reason: "what is served stays", perGroup: 1, have: "ab", want: "abc", takes: "ab"},
		"nobody":                       {reason: "there is nobody to leave out", perGroup: 1, have: "ab"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			caps := Capabilities{TargetsPerGroup: c.perGroup, TargetsPerLoadBalancer: c.perBalancer}
			got := ""
			for _, target := range caps.ChooseTargets(targets(c.want), targets(c.have), c.elsewhere) {
				got += target.Address
			}
			if got != c.takes {
				t.Errorf("it takes %q, want %q: %s", got, c.takes, c.reason)
			}
		})
	}
}
