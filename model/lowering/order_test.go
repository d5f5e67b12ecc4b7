package lowering

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// Rules without a host that come before those of many hosts take a rule each, not one for each host.
func TestEarlierRoutesForAnyHostTakeOneRuleEach(t *testing.T) {
	config := routing.Config{Precedence: routing.InOrder}
	for i := range 10 {
		path := routing.Path{Type: routing.Prefix, Value: fmt.Sprintf("/p%d", i)}
		config.Routes = append(config.Routes, aRoute("a", routing.Any, path, fmt.Sprintf("S%d", i), i, 80))
	}
	const hosts = 60
	for i := range hosts {
		host := routing.Host(fmt.Sprintf("h%d.example.com", i))
		config.Routes = append(config.Routes, aRoute("b", host, routing.Root, fmt.Sprintf("H%d", i), i, 80))
	}
	for _, c := range []lb.Capabilities{lb.ALB(), lb.ALBGlob(), lb.Literal()} {
		lowered, _, refused := Lower(tableOf(config), c)
		if got := len(lowered.Listeners[0].Rules); got != 10+hosts || len(refused) > 0 {
			t.Errorf("%s: %d rules, want %d; refused %v", c.Name, got, 10+hosts, refused)
		}
	}
}
