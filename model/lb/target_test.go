package lb

import (
	"slices"
	"testing"
)

func TestNamesAreTargetsOnlyWhereTheCloudTakesThem(t *testing.T) {
	given := []Target{{Address: "10.0.0.1", Port: 80}, {Address: "db.example.test", Port: 80}, {Address: "fd00::1", Port: 80}}
	addresses := []Target{given[0], given[2]}
	for _, c := range []struct {
		caps       Capabilities
		targetType string
		want       []Target
	}{
		{Literal(), "ip", given},
		{ALB(), "ip", addresses},
		{ALBGlob(), "ip", addresses},
	} {
		if got := c.caps.Targets(c.targetType, given); !slices.Equal(got, c.want) {
			t.Errorf("targets of %s are %v, want %v", c.caps.Name, got, c.want)
		}
	}
	if given[1].Address != "db.example.test" {
		t.Error("what was given has changed")
	}
}
