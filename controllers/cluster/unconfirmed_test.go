package cluster

import (
	"testing"
	"time"

	"fairlead.dev/fairlead/model/endpoints"
)

func TestAPodIsWaitedForOnce(t *testing.T) {
	u := newUnseen()
	begin := time.Unix(0, 0)
	at := func(after time.Duration, pod, address string, vouched bool) bool {
		return u.isRecent(endpoints.Claim{Namespace: "shop", Pod: pod, Address: address}, vouched, begin.Add(after))
	}
	for _, step := range []struct {
		why     string
		after   time.Duration
		pod     string
		address string
		vouched bool
		want    bool
	}{
		{"it is new", 0, "a", "10.0.0.1", false, true},
		{"it is still new", Lag - 1, "a", "10.0.0.1", false, true},
		{"another name gives the address no more time", Lag, "b", "10.0.0.1", false, false},
		{"nor does it later", 2 * Lag, "a", "10.0.0.1", false, false},
		{"another address is another matter", 2 * Lag, "a", "10.0.0.2", false, true},
		{"a Pod vouches for it", 3 * Lag, "a", "10.0.0.1", true, false},
		{"and goes", 4 * Lag, "a", "10.0.0.1", false, true},
		{"it was forgotten", 4*Lag + rememberedFor, "a", "10.0.0.1", false, true},
	} {
		if got := at(step.after, step.pod, step.address, step.vouched); got != step.want {
			t.Errorf("%s: waited for is %v, want %v", step.why, got, step.want)
		}
	}
}

func TestNothingIsWaitedForWhereTooMuchIs(t *testing.T) {
	u := newUnseen()
	now := time.Now()
	for range mostUnseen {
		u.since[addressIn{"shop", time.Duration(len(u.since)).String()}] = now
	}
	c := endpoints.Claim{Namespace: "shop", Pod: "a", Address: "10.0.0.1"}
	if u.isRecent(c, false, now) {
		t.Error("one more is waited for")
	}
	if !u.isRecent(c, false, now.Add(rememberedFor)) || len(u.since) != 1 {
		t.Errorf("%d are remembered once all are over", len(u.since))
	}
}
