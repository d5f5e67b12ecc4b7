package check

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/providers/trials"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/moto"
)

// This file runs `fairlead check --prove --adopt` against accounts.

var takeovers = []string{
	"scenario/former", "assumption/tags-at-once", "assumption/taken-name", "scenario/take", "scenario/return", "scenario/take-again",
	"scenario/change", "scenario/return-changed", "left",
}

// TestProveTakesOver: a load balancer of another controller is taken over, changed and given back, in an account where AWS
// does what it is documented to do, also with reads that lag behind. All is deleted.
func TestProveTakesOver(t *testing.T) {
	for name, args := range map[string][]string{"without targets": nil, "with one": {"--target", "10.0.0.9:8080"}} {
		t.Run(name, func(t *testing.T) {
			sim, endpoint := serve(t, albsim.Options{})
			before := sim.Inventory()
			got := proved(t, opening(endpoint), "", append(args, "--adopt", "--yes", "-o", "json")...)
			want := map[check.State][]string{check.OK: takeovers}
			if diff := cmp.Diff(want, states(t, got.out)); diff != "" || got.code != 0 {
				t.Errorf("exit code %d, findings (-want +got):\n%s\n%s", got.code, diff, got.out)
			}
			if diff := cmp.Diff(before, sim.Inventory()); diff != "" {
				t.Errorf("what there is (-before +after):\n%s", diff)
			}
			if total, _ := sim.Cost(); total > 450 {
				t.Errorf("it takes %d calls", total)
			}
		})
	}
}

// TestProveNamesWhatTakingOverAssumes: where AWS takes fewer resources in a call that changes tags, or answers with a load
// balancer that has other tags, one line says so.
func TestProveNamesWhatTakingOverAssumes(t *testing.T) {
	for name, c := range map[string]struct {
		options albsim.Options
		refuse  func(in any) error
		says    string
	}{
		"few resources in a call": {
			refuse: func(in any) error {
				if in, is := in.(*elasticloadbalancingv2.AddTagsInput); is && len(in.ResourceArns) > 10 {
					return albsim.Refusal("ValidationError", "The number of resources in a call cannot exceed '10'")
				}
				return nil
			},
			says: "✗ One call changes the tags of 20 resources: AWS refuses AddTags for 20 resources: ValidationError: The number of resources",
		},
		"tags count for nothing": {
			options: albsim.Options{TagsAside: true},
			says:    "✗ A load balancer is not created under the name of one that has other tags: AWS answers with the load balancer that is there, which keeps its tags",
		},
	} {
		t.Run(name, func(t *testing.T) {
			sim, endpoint := serve(t, c.options)
			before := sim.Inventory()
			if c.refuse != nil {
				sim.Refuse(c.refuse)
			}
			got := proved(t, opening(endpoint), "", "--adopt", "--yes")
			if wrong := got.lines("✗"); got.code != 1 || len(wrong) != 1 || !strings.HasPrefix(wrong[0], c.says) || !strings.Contains(wrong[0], "please report it") {
				t.Errorf("exit code %d, it says\n%s%s", got.code, got.out, got.err)
			}
			if diff := cmp.Diff(before, sim.Inventory()); diff != "" {
				t.Errorf("what there is (-before +after):\n%s", diff)
			}
		})
	}
}

// TestProveSeesThatMoreThanTagsChanged: where a change of tags changes a setting, too, the takeover fails.
func TestProveSeesThatMoreThanTagsChanged(t *testing.T) {
	sim, endpoint := serve(t, albsim.Options{})
	before, owner := sim.Inventory(), elasticloadbalancingv2.NewFromConfig(sim.OwnersConfig())
	done := false
	sim.Watch(func(c albsim.Call) {
		if c.Action != "RemoveTags" || done { // the last call of a takeover
			return
		}
		done = true
		all, err := owner.DescribeLoadBalancers(context.Background(), &elasticloadbalancingv2.DescribeLoadBalancersInput{})
		if err != nil || len(all.LoadBalancers) != 1 {
			t.Error(err, len(all.LoadBalancers))
			return
		}
		listeners, err := owner.DescribeListeners(context.Background(), &elasticloadbalancingv2.DescribeListenersInput{LoadBalancerArn: all.LoadBalancers[0].LoadBalancerArn})
		if err == nil {
			_, err = owner.ModifyListener(context.Background(), &elasticloadbalancingv2.ModifyListenerInput{ListenerArn: listeners.Listeners[0].ListenerArn,
				DefaultActions: []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: awssdk.String("503")}}}})
		}
		if err != nil {
			t.Error(err)
		}
	})
	got := proved(t, opening(endpoint), "", "--adopt", "--yes")
	if said := strings.Join(got.lines("✗"), "\n"); got.code != 1 || !strings.Contains(said, "only its tags change: more than its tags has changed") {
		t.Errorf("exit code %d, it says\n%s%s", got.code, got.out, got.err)
	}
	if diff := cmp.Diff(before, sim.Inventory()); diff != "" {
		t.Errorf("what there is (-before +after):\n%s", diff)
	}
}

// takeover are the options of a run with a takeover.
func takeover() trials.Options {
	o := quick(func() int { return 0 })
	o.Adopt = true
	return o
}

// Wherever a takeover is told to end, or the connection breaks, nothing is left behind, whose tags it may have then.
func TestProveOfATakeoverInterruptedAtEveryCall(t *testing.T) {
	if testing.Short() {
		t.Skip("it interrupts a trial many times")
	}
	t.Parallel()
	interruptEach(t, takeover(), 50, 8)
}

// What a takeover that was killed has left is found by another run, in each state that it may be in.
func TestProveCleansUpATakeover(t *testing.T) {
	whole, _, _ := interrupted(t, takeover(), 0, albsim.NoFault)
	for _, part := range []int{1, 2, 3} { // of four
		sim, endpoint := serve(t, albsim.Options{})
		before := sim.Inventory()
		killed := takeover()
		killed.CleanupTimeout = time.Nanosecond
		ctx, stop := context.WithCancel(t.Context())
		made := 0
		sim.Watch(func(albsim.Call) {
			if made++; made == len(whole)*part/4 {
				stop()
			}
		})
		if _, left := trials.Run(ctx, at(endpoint, trials.Prefix+"killed", func() {}), killed); len(left) == 0 || cmp.Equal(before, sim.Inventory()) {
			t.Fatalf("part %d: nothing is left: %v", part, left)
		}
		stop()
		got := proved(t, opening(endpoint), "", "--clean")
		if got.code != 0 || !strings.Contains(got.err, "of "+trials.Prefix+"killed") {
			t.Errorf("part %d: exit code %d, it says\n%s%s", part, got.code, got.out, got.err)
		}
		if diff := cmp.Diff(before, sim.Inventory()); diff != "" {
			t.Errorf("part %d: what there is (-before +after):\n%s", part, diff)
		}
	}
}

// TestProveOfATakeoverOnMoto: the scenarios pass in an emulator by others, too.
func TestProveOfATakeoverOnMoto(t *testing.T) {
	account := moto.Start(t).Account(t)
	got := proved(t, func(_ context.Context, o clouds.Environment, installation string) (trials.Cloud, error) {
		return onMoto(account, installation, func() { o.OnRequest("", "", "") }), nil
	}, "", "--adopt", "--yes", "-o", "json")
	if got.out == "" {
		t.Fatalf("exit code %d, it says\n%s", got.code, got.err)
	}
	found := states(t, got.out)
	if wrong := fmt.Sprint(found[check.Wrong]); len(found[check.OK])+len(found[check.Wrong]) != len(takeovers) || strings.Contains(wrong, "scenario/") || strings.Contains(wrong, "left") {
		t.Errorf("exit code %d, it says\n%s", got.code, got.out)
	}
}
