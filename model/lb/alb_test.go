package lb

import "testing"

func TestDefaultsAreValuesThatAttributesCanHave(t *testing.T) {
	for kind, rows := range map[string]map[string]attributeRow{
		"load balancer": albBalancerAttributes(), "target group": albGroupAttributes(),
		"listener": albListenerAttributes(),
	} {
		for name, row := range rows {
			if row.usual != "" && !row.Takes(row.usual) {
				t.Errorf("%s of a %s is %q by default, and cannot be: it has to be %s", name, kind, row.usual, row.Attribute)
			}
			if row.usual == "" && !row.Text {
				t.Errorf("%s of a %s has no default", name, kind)
			}
		}
	}
}
