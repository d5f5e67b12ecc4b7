package loadbalancer

import (
	"testing"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// A default backend that answers for the hosts of its Ingress alone, because the class does not let its namespace serve any
// host, is for no port in particular. It is in the table of what is served as long as it answers.
func TestADefaultForItsOwnHostsStaysInTheTable(t *testing.T) {
	backend := diag.Source{Kind: "Ingress", Namespace: "shop", Name: "web", Field: "spec.defaultBackend"}
	path := diag.Source{Kind: "Ingress", Namespace: "shop", Name: "web", Field: "spec.rules[0].http.paths[0]"}
	for name, c := range map[string]struct {
		changed map[diag.Source]*lb.Action
		want    int // the status for what no path of the host matches
	}{
		"another route is closed": {map[diag.Source]*lb.Action{path: &unavailable}, 418},
		"it is closed":            {map[diag.Source]*lb.Action{backend: &unavailable}, 503},
		"it is left out":          {map[diag.Source]*lb.Action{backend: nil}, 404},
	} {
		t.Run(name, func(t *testing.T) {
			owner := routing.Owner{Namespace: "shop", Name: "web"}
			teapot := routing.Action{Fixed: &routing.Fixed{Status: 418}}
			table := precedence.New(routing.Config{
				Listeners: []routing.Listener{{Port: 80, Protocol: routing.HTTP}}, Members: []routing.Owner{owner},
				Names: []routing.Name{{Host: "a.test", Owner: owner, Ports: []int32{80}}},
				Routes: []routing.Route{{Host: "a.test", Path: routing.NewPath(routing.Exact, "/x"), Action: teapot, Ports: []int32{80},
					Owner: owner, Source: path}},
				Defaults: []routing.Default{{Action: teapot, Owner: owner, Source: backend}},
			})
			a := newAnswers()
			for source, action := range c.changed {
				a.add(80, []diag.Source{source}, action)
			}
			got := a.table(table).Match(routing.Request{Port: 80, Host: "a.test", Path: "/miss", Method: "GET"}).Action
			if got.Fixed == nil || got.Fixed.Status != c.want {
				t.Errorf("it is answered %+v, not %d", got, c.want)
			}
		})
	}
}
