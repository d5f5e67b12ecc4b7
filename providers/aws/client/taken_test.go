package client

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/providers"
)

// Tags that AWS would refuse are refused by name; those of AWS itself do not count.
func TestTagsThatAWSDoesNotTake(t *testing.T) {
	many := map[string]string{}
	for i := range 49 {
		many["team-"+strings.Repeat("x", i+1)] = "shop"
	}
	ofAWS := maps.Clone(many)
	ofAWS["aws:cloudformation:stack-name"] = "shop"
	for name, c := range map[string]struct {
		before, add map[string]string
		says        string
	}{
		"fifty":               {many, map[string]string{"a": "b"}, ""},
		"fifty besides AWS's": {ofAWS, map[string]string{"a": "b"}, ""},
		"one in its place":    {many, map[string]string{"team-x": "b", "a": "b"}, ""},
		"too many":            {many, map[string]string{"a": "b", "c": "d"}, "would have 51 tags"},
		"a long name":         {nil, map[string]string{strings.Repeat("n", 129): ""}, "more than 128 characters"},
		"a long value":        {nil, map[string]string{"a": strings.Repeat("ä", 257)}, "or its value more than 256"},
		"the longest":         {nil, map[string]string{strings.Repeat("ä", 128): strings.Repeat("ä", 256)}, ""},
		"a character":         {nil, map[string]string{"a": "b,c"}, "the tag a=b,c"},
		"one in its name":     {nil, map[string]string{"a*": "b"}, "the tag a*=b"},
	} {
		err := CheckTags("arn:1", c.before, c.add)
		if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, providers.ErrRejected) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "arn:1")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is claimed and given back has the tags of before, also if either was cut off between its two calls.
func TestTagsAreGivenBack(t *testing.T) {
	before := map[string]string{theirCluster: "prod", theirStack: "all", "same": "1", "other": "theirs", "own": "x"}
	ofClass := map[string]string{"same": "1", "other": "ours", "new": "2"}
	ours := map[string]string{TagInstallation: "test", tagKey: "key", TagShape: "a.b"}
	maps.Copy(ours, ofClass)
	now := maps.Clone(before)
	both := func(add map[string]string, gone []string) {
		maps.Copy(now, add)
		for _, name := range gone {
			delete(now, name)
		}
	}
	add, _ := Claim(now, ours, ofClass, true)
	both(add, nil)
	if _, gone := Claim(now, ours, ofClass, true); len(gone) != 1 || gone[0] != theirCluster {
		t.Errorf("cut off, it removes %v", gone)
	}
	both(Claim(now, ours, ofClass, true))
	if add, gone := Claim(now, ours, ofClass, true); len(add)+len(gone) > 0 || now[theirCluster] != "" || now["other"] != "ours" || !WasOthers(now) {
		t.Errorf("it is not done: %v %v %v", add, gone, now)
	}
	add, _ = Return(now)
	both(add, nil)
	both(Return(now))
	if diff := cmp.Diff(before, now); diff != "" {
		t.Errorf("(-before +after): %s", diff)
	}
}
