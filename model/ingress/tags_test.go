package ingress

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/settings"
)

// The class decides about its tags, then the oldest Ingress about each name, and there is room for
// as many as a class can have.
func TestTagsOfMembers(t *testing.T) {
	many := func(prefix string, n int) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf("%s%02d=x", prefix, i))
		}
		return strings.Join(out, ",")
	}
	tags := func(text string) map[string]string { return map[string]string{settings.Tags: text} }
	leaving := asking(t, "leaving", true, tags("b=9"))
	leaving.Leaving = true
	s := Snapshot{Members: []Member{
		asking(t, "of-another-namespace", false, tags("b=1,c=9")), asking(t, "oldest", true, tags("b=1,"+many("x", 30))),
		asking(t, "younger", true, tags("b=2,"+many("a", 9))), leaving,
	}}
	class := map[string]string{"team": "edge", "env": ""}
	got, found := WithMemberTags(s, class)
	if len(got) != settings.MostTags || got["b"] != "1" || got["team"] != "edge" || got["a06"] != "x" || got["x29"] != "x" {
		t.Errorf("%d tags: %v", len(got), got)
	}
	if len(class) != 2 {
		t.Errorf("the tags of the class were changed: %v", class)
	}
	told := map[string]int{}
	for _, d := range found {
		told[d.Source.Name+" "+string(d.Reason)]++
	}
	compare(t, "told", told, map[string]int{"of-another-namespace NotGroupOwner": 1, "younger SettingConflict": 3})
	if got, found := WithMemberTags(Snapshot{}, nil); got != nil || found != nil {
		t.Errorf("without any: %v, %v", got, found)
	}
}
