package alb

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/iam"
)

// This file looks at what becomes of what has a name that we make and not our tags: it is somebody
// else's.

// TestWhatIsGivenAwayIsLeftAlone gives something of ours to another installation, by its tags, and
// changes all that is asked for. It stays as it was, also when nothing is asked for any more. Where
// it is the firewall, that is an error, too: its ports cannot be changed any more.
func TestWhatIsGivenAwayIsLeftAlone(t *testing.T) {
	const says = "belongs to another installation"
	for _, kind := range []string{"loadbalancer", "targetgroup", "security-group"} {
		for name, tagsAside := range map[string]bool{"AWS compares tags": false, "AWS does not": true} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				unguarded(t, tagsAside, func(w *world) {
					arn := w.arnOf(kind)
					w.tag(arn, "other")
					w.leavesAlone(arn, w.state(arn), says)
				})
			})
		}
	}
}

// TestANameThatSomebodyElseHasIsLeftAlone takes the names that things of ours would have.
func TestANameThatSomebodyElseHasIsLeftAlone(t *testing.T) {
	for kind, take := range map[string]func(w *world, like string) (arn string){
		"loadbalancer": func(w *world, like string) string { return w.take(strings.Split(like, "/")[2]) },
		"targetgroup": func(w *world, like string) string {
			return *must(elbapi.NewFromConfig(w.sim.OwnersConfig()).CreateTargetGroup(w.Context(), &elbapi.CreateTargetGroupInput{
				Name: sdk.String(strings.Split(like, "/")[1]), Protocol: elb.ProtocolEnumHttp, Port: sdk.Int32(8080), VpcId: sdk.String(albsim.VPC),
			})).TargetGroups[0].TargetGroupArn
		},
		"security-group": func(w *world, like string) string {
			name := w.securityGroup(like).GroupName
			w.Ingresses = nil
			w.settle() // which frees the name
			return "arn:aws:ec2:::security-group/" + *must(ec2.NewFromConfig(w.sim.OwnersConfig()).CreateSecurityGroup(w.Context(), &ec2.CreateSecurityGroupInput{
				GroupName: name, Description: sdk.String("by hand"), VpcId: sdk.String(albsim.VPC),
			})).GroupId
		},
	} {
		t.Run(kind, func(t *testing.T) {
			unguarded(t, false, func(w *world) {
				like, asked := w.arnOf(kind), w.Ingresses
				if kind != "security-group" {
					w.Ingresses = nil
					w.settle()
				}
				arn := take(w, like)
				w.Ingresses = asked
				w.leavesAlone(arn, w.state(arn), "installation")
			})
		})
	}
}

// unguarded tests with one Ingress that is served, where the policy lets the operator do anything.
func unguarded(t *testing.T, tagsAside bool, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, albsim.Options{TagsAside: tagsAside, Authorize: func(iam.Ask) bool { return true }})
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.settle()
		test(w)
	})
}

// leavesAlone starts anew, has more asked for, and then nothing, and expects something to be as
// before. What is said of it while it is in the way is an error, if there is one.
func (w *world) leavesAlone(arn, before, says string) {
	w.Helper()
	same := func(when string) {
		w.Helper()
		if diff := cmp.Diff(before, w.state(arn)); diff != "" {
			w.Errorf("%s (-before +now):\n%s", when, diff)
		}
	}
	w.restart()
	w.tries("the operator starts", says)
	same("after a start")
	w.service("web", 3)
	w.service("more", 1)
	w.serve("more", map[string]string{"/more": "more"})
	w.tries("more is asked for", says)
	same("after a change")
	w.Ingresses = nil
	w.restart()
	w.tries("nothing is asked for", "")
	time.Sleep(10 * time.Minute)
	w.tries("nothing is asked for still", "")
	same("when all else is gone")
}

// tries reconciles a few times, whatever comes of it. An error, if one is to be expected, is for
// good, and says why; it may be remembered.
func (w *world) tries(when, says string) {
	w.Helper()
	var told error
	for range 5 {
		_, _, err := w.reconcile()
		told = errors.Join(told, err)
		time.Sleep(patience)
	}
	_, refused := w.split()
	for _, d := range refused {
		told = errors.Join(told, fmt.Errorf("%s: %w", d, providers.ErrRejected))
	}
	if says != "" && (!errors.Is(told, providers.ErrRejected) || !strings.Contains(told.Error(), says)) || says == "" && errors.Is(told, providers.ErrRejected) {
		w.Errorf("when %s it is said: %v, want %q", when, told, says)
	}
}

// tag says that something is another installation's.
func (w *world) tag(arn, installation string) {
	w.Helper()
	const name = "fairlead.dev/installation"
	if _, id, is := strings.Cut(arn, ":security-group/"); is {
		must(ec2.NewFromConfig(w.sim.OwnersConfig()).CreateTags(w.Context(), &ec2.CreateTagsInput{
			Resources: []string{id}, Tags: []ec2types.Tag{{Key: sdk.String(name), Value: &installation}},
		}))
		return
	}
	must(elbapi.NewFromConfig(w.sim.OwnersConfig()).AddTags(w.Context(), &elbapi.AddTagsInput{
		ResourceArns: []string{arn}, Tags: []elb.Tag{{Key: sdk.String(name), Value: &installation}},
	}))
}

func (w *world) securityGroup(arn string) ec2types.SecurityGroup {
	w.Helper()
	_, id, _ := strings.Cut(arn, ":security-group/")
	found, err := ec2.NewFromConfig(w.sim.OwnersConfig()).DescribeSecurityGroups(w.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
	if err != nil {
		w.Fatal(err)
	}
	return found.SecurityGroups[0]
}

// state is all that can be changed of something, and what lies inside it.
func (w *world) state(arn string) string {
	w.Helper()
	if strings.Contains(arn, ":security-group/") {
		return text(w.securityGroup(arn))
	}
	api := elbapi.NewFromConfig(w.sim.OwnersConfig())
	tags, err := api.DescribeTags(w.Context(), &elbapi.DescribeTagsInput{ResourceArns: []string{arn}})
	if err != nil {
		w.Fatal(err)
	}
	said := []any{tags.TagDescriptions}
	if strings.Contains(arn, ":targetgroup/") {
		about := must(api.DescribeTargetGroups(w.Context(), &elbapi.DescribeTargetGroupsInput{TargetGroupArns: []string{arn}}))
		about.TargetGroups[0].LoadBalancerArns = nil // which others decide
		said = append(said, about, must(api.DescribeTargetGroupAttributes(w.Context(), &elbapi.DescribeTargetGroupAttributesInput{TargetGroupArn: &arn})))
		health := must(api.DescribeTargetHealth(w.Context(), &elbapi.DescribeTargetHealthInput{TargetGroupArn: &arn}))
		for _, d := range health.TargetHealthDescriptions {
			said = append(said, d.Target)
		}
		return text(said)
	}
	listeners := must(api.DescribeListeners(w.Context(), &elbapi.DescribeListenersInput{LoadBalancerArn: &arn}))
	said = append(said, listeners.Listeners,
		must(api.DescribeLoadBalancers(w.Context(), &elbapi.DescribeLoadBalancersInput{LoadBalancerArns: []string{arn}})),
		must(api.DescribeLoadBalancerAttributes(w.Context(), &elbapi.DescribeLoadBalancerAttributesInput{LoadBalancerArn: &arn})))
	for _, l := range listeners.Listeners {
		said = append(said, must(api.DescribeRules(w.Context(), &elbapi.DescribeRulesInput{ListenerArn: l.ListenerArn})))
	}
	return text(said)
}

// must is an answer that comes without an error, for it is about what is there.
func must[T any](answer T, err error) T {
	if err != nil {
		panic(err)
	}
	return answer
}

// text is a value, one field a line.
func text(of any) string { return string(must(json.MarshalIndent(of, "", " "))) }
