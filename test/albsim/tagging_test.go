package albsim_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"

	"fairlead.dev/fairlead/test/albsim"
)

// This file turns the pages of what is found by its tags.

func TestPagesCountTagsOrResources(t *testing.T) {
	a := newAccount(t, albsim.Options{}) // whose load balancer has a tag
	var tags []elb.Tag
	for i := range 40 {
		tags = append(tags, elb.Tag{Key: aws.String(fmt.Sprint("k", i)), Value: aws.String("v")})
	}
	for i := range 5 {
		must(a.elb.AddTags(t.Context(), &elbv2.AddTagsInput{ResourceArns: []string{a.group(fmt.Sprint("g", i))}, Tags: tags}))
	}
	client := resourcegroupstaggingapi.NewFromConfig(a.sim.Config())
	for name, c := range map[string]struct {
		resources, tags *int32
		pages           int // none if it is refused
	}{
		"as usual":                                 {pages: 1},
		"two resources a page":                     {resources: aws.Int32(2), pages: 3},
		"room for the tags of two":                 {tags: aws.Int32(100), pages: 3},
		"room for all of them":                     {tags: aws.Int32(500), pages: 1},
		"more resources than a page has":           {resources: aws.Int32(101)},
		"more tags than a page has":                {tags: aws.Int32(501)},
		"both, which nobody says what it would be": {resources: aws.Int32(100), tags: aws.Int32(500)},
	} {
		t.Run(name, func(t *testing.T) {
			found, turned := 0, 0
			pages := resourcegroupstaggingapi.NewGetResourcesPaginator(client, &resourcegroupstaggingapi.GetResourcesInput{
				ResourceTypeFilters: []string{"elasticloadbalancing"}, ResourcesPerPage: c.resources, TagsPerPage: c.tags,
			})
			for pages.HasMorePages() {
				page, err := pages.NextPage(t.Context())
				if c.pages == 0 && code(err) == "InvalidParameterException" {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				turned, found = turned+1, found+len(page.ResourceTagMappingList)
			}
			if turned != c.pages || found != 6 {
				t.Errorf("%d resources on %d pages, want 6 on %d", found, turned, c.pages)
			}
		})
	}
}

// found are the ARNs of the target groups that are found by a tag.
func (a *account) found(value string) []string {
	a.Helper()
	out := must(resourcegroupstaggingapi.NewFromConfig(a.sim.Config()).GetResources(a.Context(), &resourcegroupstaggingapi.GetResourcesInput{
		ResourceTypeFilters: []string{"elasticloadbalancing:targetgroup"},
		TagFilters:          []tagging.TagFilter{{Key: aws.String("k"), Values: []string{value}}},
	}))
	var arns []string
	for _, m := range out.ResourceTagMappingList {
		arns = append(arns, aws.ToString(m.ResourceARN))
	}
	return arns
}

func TestTheIndexFollowsEachResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, albsim.Options{Indexing: time.Minute, Ghosts: time.Hour})
		write := func(arn, value string) {
			must(a.elb.AddTags(t.Context(), &elbv2.AddTagsInput{ResourceArns: []string{arn}, Tags: []elb.Tag{{Key: aws.String("k"), Value: aws.String(value)}}}))
		}
		expect := func(when, value string, want ...string) {
			t.Helper()
			if got := a.found(value); !slices.Equal(got, want) {
				t.Errorf("%s, %q finds %v, want %v", when, value, got, want)
			}
		}
		one, two := a.group("one"), a.group("two")
		write(one, "v")
		expect("at once", "v")
		time.Sleep(40 * time.Second)
		write(two, "v")
		time.Sleep(30 * time.Second)
		expect("a minute after the first", "v", one)
		write(one, "w")
		time.Sleep(30 * time.Second)
		expect("a minute after the second", "v", one, two)
		expect("half a minute after its tags changed", "w")
		must(a.elb.DeleteTargetGroup(t.Context(), &elbv2.DeleteTargetGroupInput{TargetGroupArn: &two}))
		time.Sleep(31 * time.Second)
		expect("a minute after its tags changed", "w", one)
		expect("half a minute after it was deleted", "v", two)
		time.Sleep(time.Hour)
		expect("more than an hour after it was deleted", "v")
	})
}
