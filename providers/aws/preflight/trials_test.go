package preflight

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/test/awscalls"
)

// This file has the outcome of each trial, where AWS does as it documents and where it does not.

// A deviation is what is otherwise on a stand, and the outcome of a trial there.
type deviation struct {
	name   string
	change func(*stand)
	want   string
}

// outcomes compares the outcomes of a trial. None of them leaves anything.
func outcomes(t *testing.T, id string, all []deviation) {
	t.Helper()
	for _, d := range all {
		synctest.Test(t, func(t *testing.T) {
			s := newStand(t)
			if d.change != nil {
				d.change(s)
			}
			got := tested[id](s.trial, t.Context())
			if text := fmt.Sprintf("%s: %s", got.state, got.detail); text != d.want {
				t.Errorf("%s, %s:\n%s, want\n%s", id, d.name, text, d.want)
			}
			if len(s.rules) > 0 || len(s.tags) > 0 {
				t.Errorf("%s, %s: left are %v and %v", id, d.name, s.rules, s.tags)
			}
		})
	}
}

// values are those of a rule that is asked for.
func values(in *elbapi.CreateRuleInput) (out []string) {
	for _, c := range in.Conditions {
		switch {
		case c.HostHeaderConfig != nil:
			out = append(out, c.HostHeaderConfig.Values...)
		case c.SourceIpConfig != nil:
			out = append(out, c.SourceIpConfig.Values...)
		case c.PathPatternConfig != nil:
			out = append(append(out, c.PathPatternConfig.Values...), c.PathPatternConfig.RegexValues...)
		}
	}
	return out
}

// refusing refuses the rules that have a value; "" refuses all.
func refusing(value, code, message string) func(*stand) {
	return func(s *stand) {
		s.create = func(in *elbapi.CreateRuleInput) error {
			if value == "" || slices.Contains(values(in), value) {
				return awscalls.Refused(code, message)
			}
			return nil
		}
	}
}

// describedWith has rules described with other conditions.
func describedWith(change func(c *elb.RuleCondition)) func(*stand) {
	return func(s *stand) {
		s.described = func(r *elb.Rule) {
			r.Conditions = slices.Clone(r.Conditions)
			for i := range r.Conditions {
				change(&r.Conditions[i])
			}
		}
	}
}

func refused(call string) func(*stand) { return func(s *stand) { s.refuse[call] = internalFailure } }

const unknown = "unknown: not known: InternalFailure: no"

func TestSourceOfParking(t *testing.T) {
	const documented = "; 255.255.255.255/32, which AWS documents as forbidden: "
	const source = `host ["warm.invalid"] and source ["192.0.2.1/32"] at 40001`
	outcomes(t, "source-of-parking", []deviation{
		{"as documented", refusing("255.255.255.255/32", "ValidationError", "The Source-IP is not valid"), "ok: taken" + documented + "refused: ValidationError: The Source-IP is not valid"},
		{"the other one is taken", nil, "ok: taken" + documented + "taken"},
		{"it is refused by its value", refusing("192.0.2.1/32", "ValidationError", "'192.0.2.1/32' is not valid"), "wrong: refused: ValidationError: '192.0.2.1/32' is not valid" + documented + "taken"},
		{"it is refused for something else", refusing("", "ValidationError", "the status is not valid"), "unknown: not known: ValidationError: the status is not valid" + documented + "not known: ValidationError: the status is not valid"},
		{"there is no room for it", refusing("192.0.2.1/32", "TooManyRules", "no room for 192.0.2.1/32"), "unknown: not known: TooManyRules: no room for 192.0.2.1/32" + documented + "taken"},
		{
			"it is described with another one", describedWith(func(c *elb.RuleCondition) {
				if c.SourceIpConfig != nil {
					c.SourceIpConfig = &elb.SourceIpConditionConfig{Values: []string{"0.0.0.0/0"}}
				}
			}),
			"wrong: asked for " + source + `, and described as host ["warm.invalid"] and source ["0.0.0.0/0"] at 40001` + documented + `asked for host ["warm.invalid"] and source ["255.255.255.255/32"] at 40002, and described as host ["warm.invalid"] and source ["0.0.0.0/0"] at 40002`,
		},
		{
			"it is at another place", func(s *stand) {
				s.described = func(r *elb.Rule) { r.Priority = aws.String(strings.Replace(*r.Priority, "40001", "7", 1)) }
			},
			"wrong: asked for " + source + `, and described as host ["warm.invalid"] and source ["192.0.2.1/32"] at 7` + documented + "taken",
		},
		{"it is found after a while, among others", func(s *stand) {
			s.shown, s.others = 2*time.Second, []elb.Rule{{RuleArn: aws.String("arn:other")}}
		}, "ok: taken" + documented + "taken"},
		{"it is found at the end", func(s *stand) { s.shown = lag }, "ok: taken" + documented + "taken"},
		{"it is not found", func(s *stand) { s.shown = time.Hour }, "wrong: created, and not found for 5s" + documented + "created, and not found for 5s"},
		{"it cannot be read", refused("DescribeRules"), "unknown: not known: InternalFailure: no" + documented + "not known: InternalFailure: no"},
		{"the answer has none", func(s *stand) {
			s.created = func(out *elbapi.CreateRuleOutput) { out.Rules = nil; clear(s.rules) }
		}, "unknown: not known: AWS answered CreateRule without a rule" + documented + "not known: AWS answered CreateRule without a rule"},
		{"the answer has no ARN", func(s *stand) {
			s.created = func(out *elbapi.CreateRuleOutput) { out.Rules[0].RuleArn = nil; clear(s.rules) }
		}, "unknown: not known: AWS answered CreateRule without an ARN" + documented + "not known: AWS answered CreateRule without an ARN"},
	})
}

func TestValuesOfACondition(t *testing.T) {
	outcomes(t, "values-of-a-condition", []deviation{
		{"as documented", nil, "ok: taken"},
		{"three are taken", refusing("v4.prove.invalid", "ValidationError", "A rule can have 3 condition values"), "wrong: five are refused: ValidationError: A rule can have 3 condition values; three are taken"},
		{"none is known", refusing("", "TooManyRules", "no"), "unknown: not known: TooManyRules: no"},
		{"of three, nothing is known", func(s *stand) {
			s.create = func(in *elbapi.CreateRuleInput) error {
				if len(values(in)) == 3 {
					return internalFailure
				}
				return awscalls.Refused("ValidationError", "too many values in a condition")
			}
		}, "wrong: five are refused: ValidationError: too many values in a condition; three are not known: InternalFailure: no"},
	})
}

func TestLimitsAndExpressions(t *testing.T) {
	const five = "/*a/*a/*a/*a/*a/"
	outcomes(t, "account-limits", []deviation{
		{"as documented", nil, "ok: a rule with 5 wildcards: taken"},
		{"fewer are taken", refusing(five, "ValidationError", "too many WILDCARDS"), "wrong: a rule with 5 wildcards: refused: ValidationError: too many WILDCARDS"},
	})
	outcomes(t, "regular-expressions", []deviation{
		{"as documented", nil, "ok: taken"},
		{"absent", refusing("", "InvalidConfigurationRequest", "a regex is not supported"), "wrong: refused: InvalidConfigurationRequest: a regex is not supported"},
		{"absent in the partition", func(s *stand) {
			refusing("", "Validation", "'^/prove/[0-9]+$' is not valid")(s)
			s.balancer = strings.Replace(balancerARN, "aws", "aws-cn", 1)
		}, "unknown: absent in this partition, so rules have none, which takes more of them: refused: Validation: '^/prove/[0-9]+$' is not valid"},
		{"not known", refusing("", "InternalFailure", "no"), unknown},
	})
}

func TestRulesAreReadBack(t *testing.T) {
	const sent = "host = z.Prove.invalid | a.prove.invalid & header X-Prove = Two & source = "
	const names = `host ["a.prove.invalid" "z.Prove.invalid"] and header ["Two"] and source `
	outcomes(t, "read-back", []deviation{
		{"as it was sent", nil, "ok: described as it was sent"},
		{"in another order", describedWith(func(c *elb.RuleCondition) {
			if c.SourceIpConfig != nil {
				values := slices.Clone(c.SourceIpConfig.Values)
				slices.Reverse(values)
				c.SourceIpConfig = &elb.SourceIpConditionConfig{Values: values}
			}
		}), "ok: sent as " + sent + "2001:db8::/32 | 192.0.2.1/32, and described as " + sent + "192.0.2.1/32 | 2001:db8::/32, which says the same"},
		{"with another value", describedWith(func(c *elb.RuleCondition) {
			if c.SourceIpConfig != nil {
				c.SourceIpConfig = &elb.SourceIpConditionConfig{Values: []string{"192.0.2.1/32"}}
			}
		}), "wrong: asked for " + names + `["192.0.2.1/32" "2001:db8::/32"] at 40001, and described as ` + names + `["192.0.2.1/32"] at 40001`},
	})
}

func TestPrioritiesAreSwapped(t *testing.T) {
	outcomes(t, "priorities-at-once", []deviation{
		{"as documented", nil, "ok: taken"},
		{"it is refused", func(s *stand) { s.refuse["SetRulePriorities"] = awscalls.Refused("PriorityInUse", "no") }, "wrong: refused: PriorityInUse: no"},
		{"it fails", refused("SetRulePriorities"), unknown},
		{"there is no first rule", refusing("one.prove.invalid", "InternalFailure", "no"), unknown},
		{"there is no second rule", refusing("two.prove.invalid", "InternalFailure", "no"), unknown},
		{"rules cannot be read", refused("DescribeRules"), unknown},
		{"nothing is done", func(s *stand) { s.swapped = 0 }, "wrong: asked for 40002 and 40001, and described as 40001 and 40002 for 5s"},
		{"the first one is moved", func(s *stand) { s.swapped = 1 }, "wrong: asked for 40002 and 40001, and described as 40002 and 40002 for 5s"},
		{"the second one is moved", func(s *stand) { s.swapped = -1 }, "wrong: asked for 40002 and 40001, and described as 40001 and 40001 for 5s"},
	})
}

func TestLagsAreMeasured(t *testing.T) {
	outcomes(t, "reads-lag", []deviation{
		{"at once", nil, "ok: a rule is seen after 0s, a tag is seen after 0s"},
		{"after a while", func(s *stand) { s.shown, s.tagged = 2*time.Second, 3*time.Second }, "ok: a rule is seen after 2s, a tag is seen after 3s"},
		{"the rule is not seen", func(s *stand) { s.shown = time.Hour }, "wrong: a rule is not seen for 5s, a tag is seen after 0s"},
		{"the tag is not seen", func(s *stand) { s.tagged = time.Hour }, "wrong: a rule is seen after 0s, a tag is not seen for 5s"},
		{"there is no rule", refusing("", "InternalFailure", "no"), unknown},
		{"the rule cannot be read", refused("DescribeRules"), "unknown: not known: InternalFailure: no"},
		{"there is no tag", refused("AddTags"), unknown},
		{"tags cannot be read", refused("DescribeTags"), unknown},
		{"the tag cannot be removed", refused("RemoveTags"), unknown},
	})
	outcomes(t, "index-of-tags", []deviation{
		{"at once", nil, "ok: a load balancer is seen after 0s"},
		{"after a while", func(s *stand) { s.found = 3 * time.Second }, "ok: a load balancer is seen after 3s"},
		{"not at all", func(s *stand) { s.found = time.Hour }, "unknown: a load balancer is not seen for 5s"},
		{"it cannot be read", refused("GetResources"), unknown},
	})
}

// A trial that is told to end while it waits ends.
func TestATrialThatIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t)
		s.shown = time.Hour
		ctx, stop := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer stop()
		began := time.Now()
		got := tested["reads-lag"](s.trial, ctx)
		if took := time.Since(began); took != 1500*time.Millisecond || got.state != "unknown" || !strings.Contains(got.detail, "deadline exceeded") || len(s.rules) > 0 {
			t.Errorf("after %s it ends with %+v, and leaves %v", took, got, slices.Collect(maps.Keys(s.rules)))
		}
	})
}

// An error ends the wait as well.
func TestAnErrorEndsATrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t)
		s.refuse["GetResources"] = internalFailure
		began := time.Now()
		if got := tested["index-of-tags"](s.trial, t.Context()); time.Since(began) > 0 || got.state != "unknown" {
			t.Errorf("after %s it ends with %+v", time.Since(began), got)
		}
	})
}

func TestThingsAreMadeAgain(t *testing.T) {
	const group, rule = "a target group: ", "; a rule: "
	const there, inUse = "AWS answers with the one that is there", "refused: PriorityInUse: no"
	again := func(arn string, err error) func(*stand) {
		return func(s *stand) {
			s.again = func() (*elbapi.CreateTargetGroupOutput, error) {
				out := &elbapi.CreateTargetGroupOutput{}
				if arn != "" {
					out.TargetGroups = []elb.TargetGroup{{TargetGroupArn: aws.String(arn)}}
				}
				return out, err
			}
		}
	}
	taken := false // the priority of the last rule
	documented := func(s *stand) {
		taken = false
		s.create = func(*elbapi.CreateRuleInput) error {
			if taken {
				return awscalls.Refused("PriorityInUse", "no")
			}
			taken = true
			return nil
		}
	}
	with := func(changes ...func(*stand)) func(*stand) {
		return func(s *stand) {
			documented(s)
			for _, change := range changes {
				change(s)
			}
		}
	}
	outcomes(t, "create-again", []deviation{
		{"as documented", with(), "ok: " + group + there + rule + inUse},
		{"a group is refused", with(again("", awscalls.Refused("DuplicateTargetGroupName", "no"))), "ok: " + group + "AWS refuses it by the code that says so: DuplicateTargetGroupName: no" + rule + inUse},
		{"a group is refused otherwise", with(again("", internalFailure)), unknown[:9] + group + "not known: InternalFailure: no" + rule + inUse},
		{"a group is not answered", with(again("", nil)), unknown[:9] + group + "not known: AWS answered CreateTargetGroup without a target group" + rule + inUse},
		{"a second group is made", with(again("arn:second", nil)), "wrong: " + group + "AWS answers with arn:second, but arn:targetgroup exists" + rule + inUse},
		{"no group is there", with(func(s *stand) { s.groups = nil }), unknown[:9] + group + "not known: there is none" + rule + inUse},
		{"groups cannot be read", with(refused("DescribeTargetGroups")), unknown[:9] + group + "not known: InternalFailure: no" + rule + inUse},
		{"tags cannot be read", with(refused("DescribeTags")), unknown[:9] + group + "not known: InternalFailure: no" + rule + inUse},
		{"a second rule is made", nil, "wrong: " + group + there + rule + "AWS makes a second one at the same priority"},
		{"a second rule, and no group is known", again("", internalFailure), "wrong: " + group + "not known: InternalFailure: no" + rule + "AWS makes a second one at the same priority"},
		{"there is no rule", refusing("", "InternalFailure", "no"), unknown[:9] + group + there + rule + "not known: InternalFailure: no"},
		{"the second rule fails", with(func(s *stand) {
			s.create = func(*elbapi.CreateRuleInput) error {
				if len(s.made) > 0 {
					return internalFailure
				}
				return nil
			}
		}), unknown[:9] + group + there + rule + "not known: InternalFailure: no"},
	})
}
