package alb

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file has AWS refuse what its documents do not agree on, or what it has not everywhere: rules
// are said otherwise then, and no Ingress is refused.

// manyValues is an Ingress whose rules have as many values in a condition as they can have.
func manyValues(w *world) {
	w.class(func(s *spec) { s.RegularExpressions = new(bool) })
	paths := map[string]string{}
	for n := range 9 {
		paths[fmt.Sprintf("/p%d", n)] = fmt.Sprintf("service-%d", n/5)
		paths[fmt.Sprintf("/exact-%d", n)] = fmt.Sprintf("service-%d", n/5)
	}
	w.serve("many", paths)
	w.change("many", func(ing *networkingv1.Ingress) {
		exact := networkingv1.PathTypeExact
		for i := range ing.Spec.Rules[0].HTTP.Paths {
			ing.Spec.Rules[0].HTTP.Paths[i].PathType = &exact
		}
		ing.Annotations["fairlead.dev/conditions"] = `[{"backend": "service-1", "method": ["GET", "PUT", "POST", "PATCH"]}]`
	})
}

// tagsOfBalancer are the tags of the load balancer.
func (w *world) tagsOfBalancer() map[string]string {
	w.Helper()
	out, err := elbapi.NewFromConfig(w.sim.OwnersConfig()).DescribeTags(w.Context(), &elbapi.DescribeTagsInput{ResourceArns: []string{w.seen.Handle}})
	if err != nil {
		w.Fatal(err)
	}
	tags := map[string]string{}
	for _, t := range out.TagDescriptions[0].Tags {
		tags[sdk.ToString(t.Key)] = sdk.ToString(t.Value)
	}
	return tags
}

// asks compares answers with what the Ingresses say.
func (w *world) asks() {
	w.Helper()
	s := w.snapshot()
	table := model.Compile(s, lb.Facts{}, w.caps(s)).Table
	for n := range 10 {
		for _, path := range []string{"/p%d", "/exact-%d", "/p%dx", "/exact-%d/x"} {
			for _, method := range []string{"GET", "PATCH", "DELETE"} {
				r := matching.Request{Port: 80, Method: method, Host: "many.example.com", Path: fmt.Sprintf(path, n), Source: "203.0.113.7"}
				if got, want := done(w.sim.Ask(w.seen.Address.Hostname, r, matching.Reading{})), expected(table, r); got != want {
					w.Errorf("%s %s is answered with %q, want %q", r.Method, r.Path, got, want)
				}
			}
		}
	}
}

// refusals counts the calls that are refused, by action.
func (w *world) refusals() func() int {
	n := 0
	w.sim.Watch(func(c albsim.Call) {
		if c.Write && strings.HasSuffix(c.Action, "Rule") && c.Error == "ValidationError" {
			n++
		}
	})
	return func() int { return n }
}

func TestThreeOrFiveValuesInACondition(t *testing.T) {
	for _, most := range []int{3, 5} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, albsim.Options{Limits: albsim.Limits{ValuesPerCondition: most}})
				w.service("service-0", 1)
				w.service("service-1", 1)
				manyValues(w)
				w.settle()
				if len(w.rejections) > 0 {
					t.Errorf("refused: %v", w.rejections)
				}
				w.asks()
				if got := w.tagsOfBalancer()["fairlead.dev/condition-values"]; (got == "3") != (most == 3) {
					t.Errorf("the tag says %q", got)
				}
				w.rests("it was made")
				refused := w.refusals()
				w.restart()
				w.settle()
				w.rests("a restart")
				w.change("many", func(ing *networkingv1.Ingress) {
					paths := &ing.Spec.Rules[0].HTTP.Paths
					for n := 10; n < 20; n++ {
						*paths = append(*paths, (*paths)[0])
						(*paths)[len(*paths)-1].Path = fmt.Sprintf("/more-%d", n)
					}
				})
				w.settle()
				w.asks()
				if refused() > 0 {
					t.Errorf("%d calls are refused after what was learnt", refused())
				}
			})
		})
	}
}

// A rule that is refused for something else is refused, whatever number of values it has.
func TestARuleThatIsRefusedForSomethingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, albsim.Options{})
		w.service("service-0", 1)
		w.service("service-1", 1)
		manyValues(w)
		w.settle()
		w.sim.Refuse(func(in any) error {
			if create, is := in.(*elbapi.CreateRuleInput); is && len(create.Conditions) > 0 {
				return albsim.Refusal("ValidationError", "The condition values are not welcome")
			}
			return nil
		})
		w.serve("other", map[string]string{"/a": "service-0", "/b": "service-0", "/c": "service-0", "/d": "service-0"})
		w.rest() //nolint:errcheck // it is refused
		if len(w.rejections) == 0 {
			t.Error("it is not refused")
		}
		if got := w.tagsOfBalancer()["fairlead.dev/condition-values"]; got != "" {
			t.Errorf("the tag says %q", got)
		}
	})
}

func TestAPartitionWithoutRegularExpressions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := albsim.Options{Limits: albsim.Limits{RulesPerLoadBalancer: 200}}
		o.Refuse = func(in any) error {
			var conditions []elb.RuleCondition
			switch call := in.(type) {
			case *elbapi.CreateRuleInput:
				conditions = call.Conditions
			case *elbapi.ModifyRuleInput:
				conditions = call.Conditions
			}
			for _, c := range conditions {
				if p := c.PathPatternConfig; p != nil && len(p.RegexValues) > 0 {
					return albsim.Refusal("ValidationError", "Unknown parameter in Conditions[0].PathPatternConfig: RegexValues")
				}
				if h := c.HostHeaderConfig; h != nil && len(h.RegexValues) > 0 {
					return albsim.Refusal("ValidationError", "Unknown parameter in Conditions[0].HostHeaderConfig: RegexValues")
				}
			}
			return nil
		}
		w := newWorld(t, o)
		w.service("web", 1)
		w.serve("site", map[string]string{"/a": "web", "/b": "web", "/c": "web", "/d": "web", "/e": "web", "/f": "web"})
		w.settle()
		if len(w.rejections) > 0 {
			t.Errorf("refused: %v", w.rejections)
		}
		if got := w.tagsOfBalancer()["fairlead.dev/regular-expressions"]; got != "none" {
			t.Errorf("the tag says %q", got)
		}
		s := w.snapshot()
		table := model.Compile(s, lb.Facts{}, w.caps(s)).Table
		for _, path := range []string{"/a", "/a/x", "/f/y", "/ax", "/"} {
			r := matching.Request{Port: 80, Host: "site.example.com", Path: path, Source: "203.0.113.7"}
			if got, want := done(w.sim.Ask(w.seen.Address.Hostname, r, matching.Reading{})), expected(table, r); got != want {
				t.Errorf("%s is answered with %q, want %q", path, got, want)
			}
		}
		refused := w.refusals()
		w.restart()
		w.settle()
		w.rests("a restart")
		if refused() > 0 {
			t.Errorf("%d calls are refused after what was learnt", refused())
		}
	})
}
