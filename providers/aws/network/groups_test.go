package network

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file creates, finds and deletes security groups.

func ours(tags ...string) map[string]string {
	out := map[string]string{client.TagInstallation: "test"}
	for i := 0; i+1 < len(tags); i += 2 {
		out[tags[i]] = tags[i+1]
	}
	return out
}

// A group that is there gets the tags that it lacks, and loses those that it is not to have.
func TestASecurityGroupIsEnsured(t *testing.T) {
	for name, c := range map[string]struct {
		there  map[string]string // tags of the one that is there; nil for none
		refuse map[string]error
		want   map[string]string
		id     string
		class  error
		calls  []string
	}{
		"new":                 {want: ours("team", "web", "empty", ""), id: "sg-new1", calls: []string{"CreateSecurityGroup"}},
		"as it is":            {there: ours("team", "web", "empty", ""), want: ours("team", "web", "empty", ""), id: "sg-1", calls: []string{"CreateSecurityGroup", "DescribeSecurityGroups"}},
		"a tag is missing":    {there: ours("team", "web"), want: ours("team", "web", "empty", ""), id: "sg-1", calls: []string{"CreateSecurityGroup", "DescribeSecurityGroups", "CreateTags"}},
		"another value":       {there: ours("team", "api", "empty", ""), want: ours("team", "web", "empty", ""), id: "sg-1", calls: []string{"CreateSecurityGroup", "DescribeSecurityGroups", "CreateTags"}},
		"a tag too many":      {there: ours("team", "web", "empty", "", client.TagDigest, "v1"), want: ours("team", "web", "empty", ""), id: "sg-1", calls: []string{"CreateSecurityGroup", "DescribeSecurityGroups", "DeleteTags"}},
		"somebody else's":     {there: map[string]string{}, want: map[string]string{}, class: providers.ErrRejected, calls: []string{"CreateSecurityGroup", "DescribeSecurityGroups", "DescribeSecurityGroups"}},
		"denied":              {refuse: map[string]error{"CreateSecurityGroup": denied}, class: providers.ErrDenied, calls: []string{"CreateSecurityGroup"}},
		"reading is denied":   {there: ours(), want: ours(), refuse: map[string]error{"DescribeSecurityGroups": denied}, class: providers.ErrDenied, calls: []string{"CreateSecurityGroup", "DescribeSecurityGroups"}},
		"tagging is denied":   {there: ours(), want: ours("team", "web", "empty", ""), id: "sg-1", refuse: map[string]error{"CreateTags": denied}, class: providers.ErrDenied, calls: []string{"CreateSecurityGroup", "DescribeSecurityGroups", "CreateTags"}},
		"untagging is denied": {there: ours(client.TagDigest, "v1"), want: ours(), id: "sg-1", refuse: map[string]error{"DeleteTags": denied}, class: providers.ErrDenied, calls: []string{"CreateSecurityGroup", "DescribeSecurityGroups", "DeleteTags"}},
		"not listed yet":      {refuse: map[string]error{"CreateSecurityGroup": awscalls.Refused("InvalidGroup.Duplicate", "no")}, class: providers.ErrPending, calls: []string{"CreateSecurityGroup", "DescribeSecurityGroups", "DescribeSecurityGroups"}},
	} {
		c2 := newTrial()
		if c.refuse != nil {
			c2.refuse = c.refuse
		}
		if c.there != nil {
			c2.addGroup("sg-1", "web", c.there)
		}
		c2.addGroup("sg-2", "other", ours())
		id, err := c2.security.ensure(t.Context(), "web", "about", "", ours("team", "web", "empty", ""))
		awscalls.ExpectError(t, name, err, c.class)
		awscalls.Expect(t, name, id, c.id)
		awscalls.Expect(t, name+": calls", c2.aws.Calls(), c.calls)
		for _, g := range c2.groups {
			if aws.ToString(g.GroupName) == "web" {
				awscalls.Expect(t, name+": tags", TagsIn(g), c.want)
			}
		}
	}
}

// A group that this process made a moment ago may not be found by its name yet.
func TestASecurityGroupThatIsNotFoundYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial()
		id, err := c.security.ensure(t.Context(), "web", "about", "", ours())
		awscalls.ExpectError(t, "creating", err, nil)
		_, err = c.security.ensure(t.Context(), "web", "about", id, ours("team", "web"))
		awscalls.ExpectError(t, "where it is found", err, nil)
		awscalls.Expect(t, "it has the tags", TagsIn(c.groups[0])["team"], "web")
		made := c.groups
		c.groups = nil
		c.refuse["CreateSecurityGroup"] = awscalls.Refused("InvalidGroup.Duplicate", "no")
		again, err := c.security.ensure(t.Context(), "web", "about", id, ours())
		awscalls.ExpectError(t, "at once", err, nil)
		awscalls.Expect(t, "at once", again, id)
		_, err = c.security.ensure(t.Context(), "web", "about", "", ours())
		awscalls.ExpectError(t, "of another process", err, providers.ErrPending)
		_, err = c.security.ensure(t.Context(), "web", "about", "sg-other", ours())
		awscalls.ExpectError(t, "another one was made", err, providers.ErrPending)
		c.refuse = map[string]error{"DescribeSecurityGroups": awscalls.Refused("InvalidGroup.NotFound", "no")}
		_, err = c.security.Describe(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
		awscalls.ExpectError(t, "reading it", err, providers.ErrPending)
		c.aws.Calls()
		again, err = c.security.ensure(t.Context(), "web", "about", id, ours())
		awscalls.ExpectError(t, "after it was not found", err, nil)
		awscalls.Expect(t, "after it was not found", []any{again, len(c.aws.Calls())}, []any{id, 0})
		time.Sleep(client.DefaultLag)
		c.refuse, c.groups = map[string]error{}, made
		again, err = c.security.ensure(t.Context(), "web", "about", id, ours())
		awscalls.ExpectError(t, "later", err, nil)
		awscalls.Expect(t, "later", again, id)
	})
}

// A name may be taken by a group that is ours, and is not listed as such yet.
func TestConflictsOfNames(t *testing.T) {
	c := newTrial()
	awscalls.ExpectError(t, "not listed", c.security.explainConflict(t.Context(), "web"), providers.ErrPending)
	c.addGroup("sg-1", "web", ours())
	awscalls.ExpectError(t, "ours", c.security.explainConflict(t.Context(), "web"), providers.ErrPending)
	c.groups[0].Tags = nil
	awscalls.ExpectError(t, "theirs", c.security.explainConflict(t.Context(), "web"), providers.ErrRejected)
	c.refuse["DescribeSecurityGroups"] = denied
	awscalls.ExpectError(t, "denied", c.security.explainConflict(t.Context(), "web"), providers.ErrDenied)
	_, err := c.security.readID(t.Context(), "web")
	awscalls.ExpectError(t, "the ID is denied", err, providers.ErrDenied)
}

func TestSecurityGroupsByName(t *testing.T) {
	for name, c := range map[string]struct {
		names []string
		err   error
		want  []string
		said  string
		calls int
	}{
		"none":           {nil, nil, nil, "", 0},
		"by ID":          {[]string{"sg-2", "sg-1", "sg-2"}, nil, []string{"sg-1", "sg-2"}, "", 1},
		"by name":        {[]string{"web"}, nil, []string{"sg-1"}, "", 1},
		"by a tag":       {[]string{"tagged"}, nil, []string{"sg-2"}, "", 1},
		"by another tag": {[]string{"test"}, nil, nil, "none has the ID or the name test", 1},
		"denied":         {[]string{"web"}, denied, nil, "reading security groups", 1},
	} {
		c2 := newTrial()
		c2.addGroup("sg-1", "web", ours())
		c2.addGroup("sg-2", "other", ours("Name", "tagged"))
		c2.refuse["DescribeSecurityGroups"] = c.err
		got, err := c2.security.FindIDs(t.Context(), c.names)
		if (err != nil) != (c.said != "") || err != nil && !strings.Contains(err.Error(), c.said) {
			t.Errorf("%s: %v, want %q", name, err, c.said)
		}
		awscalls.Expect(t, name, []any{got, len(c2.aws.Calls())}, []any{c.want, c.calls})
	}
}

// Groups are read page by page, but for those that are asked for by ID: AWS takes no size of a page
// with them (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSecurityGroups.html).
func TestSecurityGroupsAreReadPageByPage(t *testing.T) {
	c := newTrial()
	awscalls.On(&c.aws, func(in *ec2.DescribeSecurityGroupsInput) (*ec2.DescribeSecurityGroupsOutput, error) {
		out := &ec2.DescribeSecurityGroupsOutput{}
		if in.NextToken == nil {
			out.NextToken = aws.String("more")
		}
		return out, nil
	})
	for name, w := range map[string]struct {
		ids  []string
		want int
	}{"all": {nil, 2}, "by ID": {[]string{"sg-1"}, 1}} {
		_, err := c.security.Describe(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: w.ids})
		awscalls.ExpectError(t, name, err, nil)
		awscalls.Expect(t, name, len(c.aws.Calls()), w.want)
	}
}

func TestASecurityGroupIsDeleted(t *testing.T) {
	for name, c := range map[string]struct{ err, class error }{
		"there": {nil, nil}, "gone": {awscalls.Refused("InvalidGroup.NotFound", "no"), nil}, "in use": {awscalls.Refused("DependencyViolation", "no"), providers.ErrPending},
	} {
		c2 := newTrial()
		c2.refuse["DeleteSecurityGroup"] = c.err
		awscalls.ExpectError(t, name, c2.security.Delete(t.Context(), "sg-1"), c.class)
	}
}
