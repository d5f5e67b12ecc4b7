package client

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTagsThatWereListed reads the list of tags as it was written before there were marks.
func TestTagsThatWereListed(t *testing.T) {
	tags := map[string]string{
		TagWrittenList: "idle_timeout.timeout_seconds tag:cost=20centre tag:gone tag:team", "team": "web", "cost centre": "42", "somebody": "else",
	}
	want := map[string]string{"team": "web", "cost centre": "42"}
	if diff := cmp.Diff(want, WrittenTags(tags)); diff != "" {
		t.Errorf("tags of the class (-want +got):\n%s", diff)
	}
	after := map[string]string{"team": "web"}
	MarkTags(after, maps.Clone(after))
	if got := SurplusTags(tags, after); !slices.Equal(got, []string{"cost centre", TagWrittenList}) {
		t.Errorf("what goes is %v", got)
	}
}
