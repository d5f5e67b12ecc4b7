// Package operator runs the operator as a process, on a real API server and against AWS as two others
// imitate it: the simulator of this project, which is strict, and moto, which others wrote.
package operator

import (
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/test/kube"
)

func TestMain(m *testing.M) { kube.Main(m, kube.Options{}) }

// TestIngressesAreServedFromAWS follows an Ingress from its creation to its end.
func TestIngressesAreServedFromAWS(t *testing.T) {
	for name, account := range map[string]func(*testing.T) account{"albsim": simulated, "moto": emulated} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, account(t))
			w.environment(t)
			w.replace(t)
			w.ask(t, path("/", "web"))
			kube.Eventually(t, "the Ingress says where it is reached", func() bool {
				b := w.balancer(t)
				return b != nil && w.hostname(t) == aws.ToString(b.DNSName)
			})
			kube.Eventually(t, "both Pods are targets", func() bool {
				return slices.Equal(w.targets(t, "web"), []string{"10.0.0.10:8080", "10.0.0.11:8080"})
			})
			if got := w.hosts(t); !slices.Equal(got, []string{"shop.example.com", ""}) {
				t.Errorf("the rules are for %q", got)
			}
			first := w.balancer(t)

			w.ask(t, path("/", "web")+", "+path("/api", "api"))
			kube.Eventually(t, "another path has its rule", func() bool { return len(w.rules(t)) == 2+1 })
			w.replica.Kill()
			w.ask(t, path("/api", "api"))
			w.replace(t)
			kube.Eventually(t, "what was asked for while nobody worked is done", func() bool { return len(w.targets(t, "web")) == 0 })
			if now := w.balancer(t); aws.ToString(now.LoadBalancerArn) != aws.ToString(first.LoadBalancerArn) {
				t.Errorf("the load balancer was %s, and is %s", *first.LoadBalancerArn, *now.LoadBalancerArn)
			}

			w.delete(t)
			kube.Eventually(t, "the Ingress and its load balancer are gone", func() bool { return w.gone(t) && w.balancer(t) == nil })
		})
	}
}

// balancer is the load balancer of the account, or nil.
func (w *world) balancer(t *testing.T) *elb.LoadBalancer {
	t.Helper()
	out, err := w.elb.DescribeLoadBalancers(t.Context(), &elbapi.DescribeLoadBalancersInput{})
	if err != nil {
		t.Fatal(err)
	}
	switch len(out.LoadBalancers) {
	case 0:
		return nil
	case 1:
		return &out.LoadBalancers[0]
	}
	t.Fatalf("there are %d load balancers", len(out.LoadBalancers))
	return nil
}

// rules are those of the listener on port 80, the last of them its default.
func (w *world) rules(t *testing.T) []elb.Rule {
	t.Helper()
	listeners, err := w.elb.DescribeListeners(t.Context(), &elbapi.DescribeListenersInput{LoadBalancerArn: w.balancer(t).LoadBalancerArn})
	if err != nil || len(listeners.Listeners) != 1 || *listeners.Listeners[0].Port != 80 {
		t.Fatalf("error %v, listeners %+v", err, listeners)
	}
	out, err := w.elb.DescribeRules(t.Context(), &elbapi.DescribeRulesInput{ListenerArn: listeners.Listeners[0].ListenerArn})
	if err != nil {
		t.Fatal(err)
	}
	return out.Rules
}

// hosts are those that rules are for, "" for any.
func (w *world) hosts(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, r := range w.rules(t) {
		host := ""
		for _, c := range r.Conditions {
			if c.HostHeaderConfig != nil {
				host = strings.Join(append(c.HostHeaderConfig.Values, c.HostHeaderConfig.RegexValues...), " ")
			}
		}
		out = append(out, host)
	}
	return out
}

// targets are the members of a Service's target group; none where there is no such group.
func (w *world) targets(t *testing.T, service string) []string {
	t.Helper()
	groups, err := w.elb.DescribeTargetGroups(t.Context(), &elbapi.DescribeTargetGroupsInput{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, g := range groups.TargetGroups {
		if !strings.Contains(*g.TargetGroupName, "-"+service+"-") || len(g.LoadBalancerArns) == 0 {
			continue
		}
		members, err := w.elb.DescribeTargetHealth(t.Context(), &elbapi.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn})
		if gone := new(elb.TargetGroupNotFoundException); errors.As(err, &gone) {
			continue // deleted since it was listed
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range members.TargetHealthDescriptions {
			out = append(out, net.JoinHostPort(*d.Target.Id, strconv.Itoa(int(*d.Target.Port))))
		}
	}
	slices.Sort(out)
	return out
}
