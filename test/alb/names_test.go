package alb

import (
	"errors"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim/iam"
)

// This file gives load balancers names of their own, and has others take them.

// alsoNamed allows what the policy of the guide does for names that begin with shop-, too.
func alsoNamed(t *testing.T) func(iam.Ask) bool {
	t.Helper()
	return guided(t, "shop-").Allows
}

// inNamedWorld tests with an Ingress that asks for a name, under the policies that the guide has
// for it.
func inNamedWorld(t *testing.T, name string, test func(w *world)) {
	t.Helper()
	o := usual()
	o.Authorize = alsoNamed(t)
	inBubble(t, o, func(w *world) {
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.ask("site", "load-balancer-name", name)
		w.key += lb.Key("=" + name)
		test(w)
	})
}

// take makes a load balancer of another installation's.
func (w *world) take(name string) (arn string) {
	w.Helper()
	made, err := elbapi.NewFromConfig(w.sim.OwnersConfig()).CreateLoadBalancer(w.Context(), &elbapi.CreateLoadBalancerInput{
		Name: sdk.String(name), Scheme: elb.LoadBalancerSchemeEnumInternal, Subnets: private(0, 1),
		Tags: []elb.Tag{{Key: sdk.String("fairlead.dev/installation"), Value: sdk.String("other")}},
	})
	if err != nil {
		w.Fatal(err)
	}
	return *made.LoadBalancers[0].LoadBalancerArn
}

// free deletes a load balancer.
func (w *world) free(arn string) {
	w.Helper()
	if _, err := elbapi.NewFromConfig(w.sim.OwnersConfig()).DeleteLoadBalancer(w.Context(), &elbapi.DeleteLoadBalancerInput{LoadBalancerArn: &arn}); err != nil {
		w.Fatal(err)
	}
}

func TestPolicyOfNamesOfOnesOwn(t *testing.T) {
	inNamedWorld(t, "shop-Edge", func(w *world) {
		w.propagated()
		if b, _, _ := w.balancer(); *b.LoadBalancerName != "shop-Edge" {
			t.Errorf("its name is %s", *b.LoadBalancerName)
		}
		if at := w.seen.Address.Hostname; at != strings.ToLower(at) {
			t.Errorf("its host name is %s, which Kubernetes does not take", at)
		}
		if a := w.request("site"); len(a.Forward) == 0 {
			t.Errorf("the Ingress is answered %+v", a)
		}
		w.rests("it was made")
		w.serve("more", map[string]string{"/more": "web"})
		w.ask("more", "load-balancer-name", "shop-Edge")
		w.remove("site")
		w.propagated()
		w.Ingresses = nil
		w.propagated()
		w.rests("it was deleted")
		if w.seen.Exists {
			t.Error("it is still there")
		}
	})
}

func TestANameOutsideThePolicyIsDenied(t *testing.T) {
	inNamedWorld(t, "edge", func(w *world) {
		if _, _, err := w.reconcile(); !errors.Is(err, providers.ErrDenied) {
			t.Errorf("a name that the policy does not allow gets: %v", err)
		}
	})
}

func TestANameThatIsTaken(t *testing.T) {
	for name, c := range map[string]struct {
		take func(w *world) (free func()) // before the load balancer is made
		says string
	}{
		"by another installation": {
			take: func(w *world) func() { arn := w.take("shop-edge"); return func() { w.free(arn) } },
			says: "a load balancer without this installation's tags has the name shop-edge",
		},
		"since it was looked at": {
			take: func(w *world) func() {
				if _, err := w.cloud.Lookup(w.Context(), model.Ask(w.snapshot())); err != nil {
					w.Fatal(err)
				}
				arn := w.take("shop-edge")
				if _, _, err := w.reconcile(); err == nil || !strings.Contains(err.Error(), "shop-edge was taken a moment ago") {
					w.Errorf("who comes too late gets: %v", err)
				}
				return func() { w.free(arn) }
			},
			says: "a load balancer without this installation's tags has the name shop-edge",
		},
		"by another load balancer of ours": {
			take: func(w *world) func() {
				key := w.key
				w.serve("first", map[string]string{"/": "web"})
				w.ask("first", "group", "first")
				w.ask("first", "load-balancer-name", "shop-edge")
				w.turn("fairlead/shop/@first/internal=shop-edge")
				w.settle()
				w.turn(key)
				return func() {
					w.remove("first")
					w.turn("fairlead/shop/@first/internal=shop-edge")
					w.settle()
					w.turn(key)
				}
			},
			says: "fairlead/shop/@first/internal=shop-edge has the name shop-edge",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inNamedWorld(t, "shop-edge", func(w *world) {
				free := c.take(w)
				w.propagated()
				w.restart()
				w.sim.Forget()
				told := w.about(diag.NameTaken)
				if len(told) != 1 || told[0].Severity != diag.Error || told[0].Source.Name != "site" || !strings.HasPrefix(told[0].Message, c.says) {
					t.Errorf("told: %v; want %q", told, c.says)
				}
				w.rests("it was told")
				if _, writes := w.sim.Cost(); writes > 0 {
					t.Errorf("%d writes: %v", writes, w.sim.Calls())
				}
				free()
				w.propagated()
				if a := w.request("site"); len(a.Forward) == 0 {
					t.Errorf("once the name is free, the Ingress is answered %+v", a)
				}
			})
		})
	}
}

// The one that has the name was made in this process a moment ago: what belongs to it is not
// missing here.
func TestANameThatWasTakenAMomentAgo(t *testing.T) {
	inNamedWorld(t, "shop-edge", func(w *world) {
		key := w.key
		w.serve("first", map[string]string{"/": "web"})
		w.ask("first", "group", "first")
		w.ask("first", "load-balancer-name", "shop-edge")
		w.turn("fairlead/shop/@first/internal=shop-edge")
		w.settle()
		w.key, w.seen = key, nil
		if _, _, err := w.reconcile(); err != nil {
			t.Fatal(err)
		}
		if told := w.about(diag.NameTaken); len(told) != 1 {
			t.Errorf("told: %v", told)
		}
	})
}

func TestAMoveNeedsAnotherName(t *testing.T) {
	inNamedWorld(t, "shop-edge", func(w *world) {
		w.propagated()
		w.ask("site", "scheme", "internet-facing")
		w.propagated()
		if a := w.request("site"); len(a.Forward) == 0 {
			t.Errorf("where it comes from it is answered %+v", a)
		}
		w.turn("fairlead/shop/@all/internet-facing=shop-edge")
		if told := w.about(diag.NameTaken); len(told) != 1 || !strings.HasPrefix(told[0].Message, "fairlead/shop/@all/internal=shop-edge has the name") {
			t.Errorf("told: %v", told)
		}
		w.ask("site", "load-balancer-name", "shop-public")
		w.turn("fairlead/shop/@all/internet-facing=shop-public")
		w.propagated()
		if a := w.request("site"); len(a.Forward) == 0 {
			t.Errorf("under another name it is answered %+v", a)
		}
	})
}
