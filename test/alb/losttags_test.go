package alb

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
)

// This file takes Fairlead's own tags away. Nothing is made a second time, and what has lost them
// is reported with the command that puts them back, which the account's owner has to run: the
// operator's role may not.

var (
	command = regexp.MustCompile(`aws elbv2 add-tags --resource-arns (\S+) --tags((?: 'Key=[^']*,Value=[^']*')+)`)
	asPairs = regexp.MustCompile(`'Key=([^']*),Value=([^']*)'`)
)

// strip takes all tags of Fairlead from what belongs to the load balancer.
func (w *world) strip(kinds ...string) {
	w.Helper()
	for _, kind := range kinds {
		arn := w.arnOf(kind)
		var names []string
		for name := range w.tagged()[arn] {
			if strings.HasPrefix(name, "fairlead.dev/") {
				names = append(names, name)
			}
		}
		w.elsewhere(func(api *elbapi.Client) error {
			_, err := api.RemoveTags(w.Context(), &elbapi.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: names})
			return err
		})
	}
}

// obey runs the commands that are reported, as the account's owner, and says how many there were.
func (w *world) obey(told string) int {
	w.Helper()
	all := command.FindAllStringSubmatch(told, -1)
	for _, words := range all {
		var tags []elb.Tag
		for _, pair := range asPairs.FindAllStringSubmatch(words[2], -1) {
			tags = append(tags, elb.Tag{Key: sdk.String(pair[1]), Value: sdk.String(pair[2])})
		}
		w.elsewhere(func(api *elbapi.Client) error {
			_, err := api.AddTags(w.Context(), &elbapi.AddTagsInput{ResourceArns: []string{words[1]}, Tags: tags})
			return err
		})
	}
	return len(all)
}

func TestWhatLostItsTagsIsKeptOnceTheyArePutBack(t *testing.T) {
	for name, kinds := range map[string][]string{
		"the load balancer": {"loadbalancer"}, "a target group": {"targetgroup"}, "a listener": {"listener"},
		"all of these": {"loadbalancer", "listener", "targetgroup"},
	} {
		for when, restarts := range map[string]bool{"while the operator runs": false, "before the operator starts": true} {
			t.Run(name+" "+when, func(t *testing.T) {
				inBubble(t, unjudged(usual()), func(w *world) {
					w.service("web", 1)
					w.serve("site", map[string]string{"/": "web"})
					w.settle()
					time.Sleep(10 * time.Minute)
					w.settle()
					inventory, address, group := w.sim.Inventory(), w.seen.Address.Hostname, w.seen.TargetGroups[0].Handle
					w.strip(kinds...)
					time.Sleep(10 * time.Hour)
					if restarts {
						w.restart()
					}
					obeyed := 0
					for range 12 {
						if !restarts || obeyed > 0 {
							seen, err := w.cloud.Observe(w.Context(), w.key, true)
							if err != nil {
								t.Fatal(err)
							}
							w.seen, w.have = seen, map[lb.GroupID][]lb.Target{}
						}
						_, built, err := w.reconcile()
						told := fmt.Sprint(errors.Join(err), built.Diagnostics)
						if there := w.sim.Inventory(); there["load balancers"] != 1 || there["target groups"] != inventory["target groups"] {
							t.Fatalf("there is %v, and was %v", there, inventory)
						}
						obeyed += w.obey(told)
						time.Sleep(15 * time.Minute)
					}
					if obeyed == 0 {
						t.Error("it is not told that tags are lost")
					}
					w.settle()
					if got := w.seen.Address.Hostname; got != address {
						t.Errorf("the address is %s, and was %s", got, address)
					}
					if got := w.seen.TargetGroups[0].Handle; got != group {
						t.Errorf("the target group is %s, and was %s", got, group)
					}
					time.Sleep(10 * time.Minute)
					w.rests("the tags were put back")
				})
			})
		}
	}
}

// A rule that has lost its tags may not be changed. It is reported, with the command, once it is to
// change.
func TestARuleThatLostItsTagsIsChangedOnceTheyArePutBack(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"another action": func(w *world) { w.serve("site", map[string]string{"/": "other"}) },
		"none":           func(w *world) { w.serve("site", map[string]string{"/elsewhere": "other"}) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, unjudged(usual()), func(w *world) {
				w.service("web", 1)
				w.service("other", 1)
				w.serve("site", map[string]string{"/": "web"})
				w.settle()
				rule := w.seen.Listeners[0].Rules[0].Handle
				w.elsewhere(func(api *elbapi.Client) error {
					_, err := api.RemoveTags(w.Context(), &elbapi.RemoveTagsInput{ResourceArns: []string{rule}, TagKeys: []string{"fairlead.dev/installation"}})
					return err
				})
				w.remove("site")
				change(w)
				obeyed := 0
				for range 12 {
					_, _, err := w.reconcile()
					for _, r := range w.rejections {
						err = errors.Join(err, r.Err)
					}
					w.rejections = nil
					obeyed += w.obey(fmt.Sprint(err))
					time.Sleep(15 * time.Minute)
				}
				if obeyed == 0 {
					t.Error("it is not told that tags are lost")
				}
				w.settle()
			})
		})
	}
}
