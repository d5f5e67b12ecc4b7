package alb

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/albsim"
)

// This file gives a class tags, and looks for them on everything that is made for it.

// kinds are what a load balancer with one HTTPS listener is made of, as ARNs tell them apart.
var kinds = []string{"certificate", "listener", "loadbalancer", "security-group", "targetgroup"}

// tagged are the tags of everything of ours but rules, by ARN.
func (w *world) tagged() map[string]map[string]string {
	w.Helper()
	found, err := resourcegroupstaggingapi.NewFromConfig(w.sim.OwnersConfig()).GetResources(w.Context(), &resourcegroupstaggingapi.GetResourcesInput{})
	if err != nil {
		w.Fatal(err)
	}
	out := map[string]map[string]string{}
	for _, m := range found.ResourceTagMappingList {
		tags := map[string]string{}
		for _, t := range m.Tags {
			tags[*t.Key] = *t.Value
		}
		if tags["fairlead.dev/installation"] != "" && !strings.Contains(*m.ResourceARN, ":listener-rule/") { // rules have no other tags
			out[*m.ResourceARN] = tags
		}
	}
	return out
}

// arnOf is the ARN of what belongs to the load balancer, by its kind.
func (w *world) arnOf(kind string) string {
	w.Helper()
	for arn, tags := range w.tagged() {
		if tags["fairlead.dev/key"] != "" && strings.Contains(arn, ":"+kind+"/") {
			return arn
		}
	}
	w.Fatalf("there is no %s", kind)
	return ""
}

// carries expects tags, and no others besides our own, on everything that belongs to the load
// balancer, and none on what all load balancers share.
func (w *world) carries(want map[string]string) {
	w.Helper()
	seen := map[string]bool{}
	for arn, tags := range w.tagged() {
		expected := want
		if tags["fairlead.dev/key"] == "" {
			expected = nil
		}
		head, _, _ := strings.Cut(arn, "/")
		kind := head[strings.LastIndex(head, ":")+1:]
		seen[kind] = true
		maps.DeleteFunc(tags, func(name, _ string) bool { return strings.HasPrefix(name, "fairlead.dev/") })
		if diff := cmp.Diff(expected, tags, equateEmpty); diff != "" {
			w.Errorf("%s (-want +got):\n%s", arn, diff)
		}
	}
	if diff := cmp.Diff(kinds, slices.Sorted(maps.Keys(seen))); diff != "" {
		w.Errorf("kinds (-want +got):\n%s", diff)
	}
}

// equateEmpty takes no tags for no tags.
var equateEmpty = cmp.Transformer("empty", func(tags map[string]string) map[string]string {
	if len(tags) == 0 {
		return nil
	}
	return tags
})

// secureSite is one Ingress that is served over HTTPS alone, with a Secret.
func secureSite(w *world) {
	w.service("web", 1)
	w.secret("site", 0, "site.example.com")
	w.secured(w.serve("site", map[string]string{"/": "web"}), "site")
	w.class(func(s *spec) { s.ListenPorts = []v1alpha1.ListenPort{{Protocol: "HTTPS", Port: 443}} })
}

func TestTagsOfAClassStandOnAllThatIsMadeForIt(t *testing.T) {
	all := []string{"modify certificate", "modify listener", "modify load balancer", "modify target group"}
	for name, c := range map[string]struct {
		first, then map[string]string
		steps       []string
	}{
		"from the start":             {map[string]string{"team": "web"}, map[string]string{"team": "web"}, nil},
		"later":                      {nil, map[string]string{"team": "web", "cost centre": "4=2"}, all},
		"with other values":          {map[string]string{"team": "web"}, map[string]string{"team": "shop"}, all},
		"others":                     {map[string]string{"team": "web", "stage": "one"}, map[string]string{"stage": "one", "cost centre": ""}, all},
		"not any more":               {map[string]string{"team": "web", "cost centre": "4=2"}, nil, all},
		"as many and long as can be": {nil, most("a"), all},
		"as many others":             {most("a"), most("b"), all},
		"as many no more":            {most("a"), map[string]string{"team": "web"}, all},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, usual(), func(w *world) {
				secureSite(w)
				w.class(func(s *spec) { s.Tags = c.first })
				w.settle()
				w.carries(c.first)
				before := slices.Sorted(maps.Keys(w.tagged()))
				w.class(func(s *spec) { s.Tags = c.then })
				todo, _, err := w.reconcile()
				if err != nil {
					t.Fatal(err)
				}
				var steps []string
				for _, s := range todo.Steps {
					steps = append(steps, s.Step.Op())
				}
				slices.Sort(steps)
				if diff := cmp.Diff(c.steps, steps); diff != "" {
					t.Errorf("steps (-want +got):\n%s", diff)
				}
				w.carries(c.then)
				w.rests("a change")
				if diff := cmp.Diff(before, slices.Sorted(maps.Keys(w.tagged()))); diff != "" {
					t.Errorf("it is made of others than before:\n%s", diff)
				}
			})
		})
	}
}

// most are as many tags as a class can have, with names and values as long as they can be.
func most(begin string) map[string]string {
	out := map[string]string{}
	for i := range 40 {
		name := fmt.Sprintf("%s%d", begin, i)
		out[name+strings.Repeat("n", 128-len(name))] = strings.Repeat("v", 256)
	}
	return out
}

// A Secret that is renewed while the class gets other tags keeps its ARN, and has these alone.
func TestARenewedCertificateHasTheTagsOfItsClass(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		secureSite(w)
		w.class(func(s *spec) { s.Tags = map[string]string{"team": "web", "stage": "one"} })
		w.settle()
		before := w.arnOf("certificate")
		w.secret("site", 1, "site.example.com")
		w.class(func(s *spec) { s.Tags = map[string]string{"team": "shop"} })
		w.settle()
		if after := w.arnOf("certificate"); after != before {
			t.Errorf("it is %s, and was %s", after, before)
		}
		w.carries(map[string]string{"team": "shop"})
		w.rests("a rotation")
	})
}

// An import whose answer was lost is found again, and has the tags that its class has by then.
func TestALostImportHasTheTagsOfItsClass(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		secureSite(w)
		w.class(func(s *spec) { s.Tags = map[string]string{"team": "web"} })
		lost := false
		w.sim.Break(func(c albsim.Call) albsim.Fault {
			switch {
			case c.Action == "ImportCertificate":
				lost = true
				return albsim.LostAfter
			case lost && c.Action == "GetResources": // nor is it found
				return albsim.Unavailable
			}
			return albsim.NoFault
		})
		if _, _, err := w.reconcile(); err == nil {
			t.Fatal("nothing was lost")
		}
		w.sim.Break(nil)
		w.class(func(s *spec) { s.Tags = map[string]string{"stage": "one"} })
		w.settle()
		w.carries(map[string]string{"stage": "one"})
		w.rests("a lost answer")
	})
}

func TestADeepLookFindsTagsThatSomebodyElseTookAway(t *testing.T) {
	for kind, step := range map[string]string{
		"certificate": "modify certificate", "listener": "modify listener", "loadbalancer": "modify load balancer",
		"security-group": "modify load balancer", "targetgroup": "modify target group",
	} {
		t.Run(kind, func(t *testing.T) {
			inBubble(t, usual(), func(w *world) {
				secureSite(w)
				tags := map[string]string{"team": "web", "stage": "one"}
				w.class(func(s *spec) { s.Tags = tags })
				w.settle()
				w.takeAway(kind, "team")
				if todo := w.look(false); !todo.Empty() {
					t.Errorf("a look at the digests finds %v", todo.Print())
				}
				todo := w.look(true)
				if len(todo.Steps) != 1 || todo.Steps[0].Step.Op() != step {
					t.Errorf("a deep look finds %v, want a step to %s", todo.Print(), step)
				}
				w.settle()
				w.carries(tags)
				time.Sleep(time.Minute)
				w.rests("it was put right")
			})
		})
	}
}

// takeAway removes a tag from what belongs to the load balancer, as somebody else does.
func (w *world) takeAway(kind, tag string) {
	w.Helper()
	config, arn := w.sim.Config(), w.arnOf(kind)
	var err error
	switch kind {
	case "certificate":
		_, err = acm.NewFromConfig(config).RemoveTagsFromCertificate(w.Context(), &acm.RemoveTagsFromCertificateInput{
			CertificateArn: &arn, Tags: []acmtypes.Tag{{Key: &tag}},
		})
	case "security-group":
		_, err = ec2.NewFromConfig(config).DeleteTags(w.Context(), &ec2.DeleteTagsInput{
			Resources: []string{arn[strings.LastIndex(arn, "/")+1:]}, Tags: []ec2types.Tag{{Key: sdk.String(tag)}},
		})
	default:
		_, err = elbapi.NewFromConfig(config).RemoveTags(w.Context(), &elbapi.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: []string{tag}})
	}
	if err != nil {
		w.Fatal(err)
	}
}

// Tags come with what is made, and cost no call of their own.
func TestTagsCostNothing(t *testing.T) {
	cost := func(tags map[string]string) (total, writes int) {
		inBubble(t, usual(), func(w *world) {
			secureSite(w)
			w.class(func(s *spec) { s.Tags = tags })
			w.settle()
			total, writes = w.sim.Cost()
			w.sim.Forget()
			w.restart()
			w.settle()
			if _, again := w.sim.Cost(); again != 0 {
				t.Errorf("%d writes after a restart with tags %v", again, tags)
			}
		})
		return total, writes
	}
	total, writes := cost(nil)
	if t2, w2 := cost(map[string]string{"team": "web"}); t2 != total || w2 != writes {
		t.Errorf("%d calls and %d writes with tags, %d and %d without", t2, w2, total, writes)
	}
}
