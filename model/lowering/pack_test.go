package lowering

import (
	"testing"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

func TestARuleNamesTheRoutesBehindItsOwnValues(t *testing.T) {
	var c routing.Config
	for i, text := range []string{"a.a.test /x", "b.a.test /x", "c.a.test /x", "d.a.test /x", "e.a.test /x"} {
		r := aRoute("one", routing.Host(text[:8]), routing.Path{Type: routing.Prefix, Value: text[9:]}, "A", i, 80)
		r.Source = diag.Source{Kind: "Ingress", Namespace: "test", Name: "one", Field: text}
		c.Routes = append(c.Routes, r)
	}
	lowered, _, _ := Lower(tableOf(c), lb.ALBGlob())
	named := 0
	for _, r := range lowered.Listeners[0].Rules {
		hosts := r.Condition("host").Values
		if len(r.Origin) != len(hosts) {
			t.Errorf("%s comes from %v", r, r.Origin)
			continue
		}
		for i, h := range hosts {
			named++
			if r.Origin[i].Field != h+" /x" {
				t.Errorf("%s comes from %v", r, r.Origin)
			}
		}
	}
	if named != 5 {
		t.Errorf("%d hosts, want 5%s", named, dump(lowered.Listeners[0]))
	}
}
