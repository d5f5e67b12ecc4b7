package readiness

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
)

func TestVerdictsOnPodsThatWait(t *testing.T) {
	in := func(states ...string) []finding {
		var out []finding
		for i, s := range states {
			out = append(out, finding{lb.GroupKey{Key: lb.Key([]string{"a", "b"}[i]), ID: "shop/web:80"}, s})
		}
		return out
	}
	const waiting, served = v1alpha1.ReasonWaiting, v1alpha1.ReasonHealthy
	cases := map[string]struct {
		settled  bool
		findings []finding
		waited   time.Duration
		reason   string
		message  string
	}{
		"healthy in the only group":              {true, in(healthy), 2 * time.Second, served, "in shop/web:80 of a"},
		"healthy in all groups":                  {true, in(healthy, healthy), 2 * time.Second, served, "in shop/web:80 of a, shop/web:80 of b"},
		"healthy in one of two":                  {true, in(healthy, "initial"), time.Minute, waiting, "shop/web:80 of b: initial"},
		"unhealthy":                              {true, in("unhealthy"), time.Minute, waiting, "shop/web:80 of a: unhealthy"},
		"no rule leads to the group":             {true, in("unused"), time.Minute, waiting, "shop/web:80 of a: unused"},
		"nobody checks":                          {true, in("unavailable"), time.Minute, waiting, "shop/web:80 of a: unavailable"},
		"the group is yet to be made":            {true, in(stateMissing), time.Minute, waiting, "shop/web:80 of a: the target group is yet to be made"},
		"healthy, but there may be more groups":  {false, in(healthy), time.Minute, waiting, "which load balancers have it for a target is not known yet"},
		"nobody's":                               {true, nil, 4 * time.Second, v1alpha1.ReasonNotServed, "no load balancer has it for a target"},
		"nobody's, at the limit":                 {true, nil, unclaimedDelay, v1alpha1.ReasonNotServed, "no load balancer has it for a target"},
		"nobody's yet":                           {true, nil, 2 * time.Second, waiting, "which load balancers have it for a target is not known yet"},
		"nobody's, as far as is known":           {false, nil, time.Minute, waiting, "which load balancers have it for a target is not known yet"},
		"for too long: unhealthy":                {true, in("unhealthy"), 10 * time.Minute, v1alpha1.ReasonTimedOut, "it has waited for 10m0s: shop/web:80 of a: unhealthy"},
		"for too long: the cloud does not say":   {true, in(stateUnknown), time.Hour, v1alpha1.ReasonTimedOut, "it has waited for 10m0s: shop/web:80 of a: the cloud does not say"},
		"for too long: nothing can be compiled":  {false, nil, time.Hour, v1alpha1.ReasonTimedOut, "it has waited for 10m0s: which load balancers have it for a target is not known yet"},
		"for long, and healthy at the last look": {true, in(healthy), time.Hour, served, "in shop/web:80 of a"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := visit{c.settled, c.findings, c.waited, 10 * time.Minute}.verdict()
			if got.Reason != c.reason || got.Message != c.message {
				t.Errorf("%s: %q, want %s: %q", got.Reason, got.Message, c.reason, c.message)
			}
			if open := got.Status == corev1.ConditionTrue; open == (c.reason == waiting) {
				t.Errorf("it is open: %v", open)
			}
		})
	}
}

func TestAVerdictIsWrittenOnce(t *testing.T) {
	said := func(c corev1.PodCondition) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{c}}}
	}
	open, shut := gate(true, v1alpha1.ReasonHealthy, "in a"), gate(false, v1alpha1.ReasonWaiting, "a: initial")
	cases := map[string]struct {
		pod     *corev1.Pod
		verdict corev1.PodCondition
		waited  time.Duration
		want    bool
	}{
		"open at once":                   {&corev1.Pod{}, open, 0, true},
		"open after it was shut":         {said(shut), open, time.Minute, true},
		"open as it was":                 {said(gate(true, v1alpha1.ReasonTimedOut, "b")), open, time.Minute, false},
		"shut for a moment":              {&corev1.Pod{}, shut, 4 * time.Second, false},
		"shut for some time":             {&corev1.Pod{}, shut, 5 * time.Second, true},
		"shut as it was":                 {said(shut), shut, time.Minute, false},
		"shut for another reason":        {said(shut), gate(false, v1alpha1.ReasonWaiting, "a: unhealthy"), time.Minute, true},
		"never shut after it was opened": {said(open), shut, time.Minute, false},
	}
	for name, c := range cases {
		if got := (visit{waited: c.waited}).needsWrite(c.pod, c.verdict); got != c.want {
			t.Errorf("%s: it is written: %v, want %v", name, got, c.want)
		}
	}
}

func TestAPodIsVisitedLessOftenTheLongerItWaits(t *testing.T) {
	for waited, want := range map[time.Duration]time.Duration{
		0: time.Second, 4 * time.Second: time.Second, 20 * time.Second: 4 * time.Second, 5 * time.Minute: 15 * time.Second,
		10*time.Minute - 3*time.Second: 3 * time.Second, 10 * time.Minute: time.Second,
	} {
		if got := (visit{waited: waited, limit: 10 * time.Minute}).recheckAfter(); got != want {
			t.Errorf("after %s it is visited in %s, want %s", waited, got, want)
		}
	}
}

func TestHowAPodIsAmongTargets(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Status:     corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}}},
	}
	target := func(address string, port int32, state string) lb.TargetHealth {
		return lb.TargetHealth{Target: lb.Target{Address: address, Port: port}, State: lb.HealthState(state)}
	}
	cases := map[string]struct {
		among []lb.TargetHealth
		want  string
	}{
		"it is healthy":                            {[]lb.TargetHealth{target("10.0.0.2", 80, "unhealthy"), target("10.0.0.1", 80, "healthy")}, healthy},
		"it is not there":                          {[]lb.TargetHealth{target("10.0.0.2", 80, "healthy")}, stateUnregistered},
		"it is new":                                {[]lb.TargetHealth{target("10.0.0.1", 80, "initial")}, "initial"},
		"by its other address":                     {[]lb.TargetHealth{target("fd00::1", 80, "healthy")}, healthy},
		"on one of two ports":                      {[]lb.TargetHealth{target("10.0.0.1", 80, "healthy"), target("10.0.0.1", 81, "initial")}, "initial"},
		"who leaves is another":                    {[]lb.TargetHealth{target("10.0.0.1", 80, "draining")}, stateUnregistered},
		"who leaves is another, and it is healthy": {[]lb.TargetHealth{target("10.0.0.1", 81, "draining"), target("10.0.0.1", 80, "healthy")}, healthy},
	}
	for name, c := range cases {
		if got := stateOf(pod, c.among); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// What a Pod is told is written where it says something new, and never takes an opened gate back.
func TestNewsOfAGate(t *testing.T) {
	say := func(status corev1.ConditionStatus, reason, message string) corev1.PodCondition {
		return gate(status == corev1.ConditionTrue, reason, message)
	}
	shut := say(corev1.ConditionFalse, "Waits", "for a group")
	for name, c := range map[string]struct {
		said    *corev1.PodCondition
		verdict corev1.PodCondition
		want    bool
	}{
		"the same":                            {&shut, shut, false},
		"another reason":                      {&shut, say(corev1.ConditionFalse, "Drains", "for a group"), true},
		"another message":                     {&shut, say(corev1.ConditionFalse, "Waits", "for another"), true},
		"it opens, for the same reason":       {&shut, say(corev1.ConditionTrue, "Waits", "for a group"), true},
		"it would be shut again":              {new(say(corev1.ConditionTrue, "Healthy", "")), shut, false},
		"it is open, and there is more to it": {new(say(corev1.ConditionTrue, "Healthy", "")), say(corev1.ConditionTrue, "Healthy", "all"), false},
		"it opens at once":                    {nil, say(corev1.ConditionTrue, "Healthy", ""), true},
		"it waits since a moment ago":         {nil, shut, false},
	} {
		pod := &corev1.Pod{}
		if c.said != nil {
			pod.Status.Conditions = []corev1.PodCondition{*c.said}
		}
		if got := (visit{}).needsWrite(pod, c.verdict); got != c.want {
			t.Errorf("%s: it is news: %t", name, got)
		}
	}
}
