package plan

import (
	"testing"

	"fairlead.dev/fairlead/model/lb"
)

// This file tests what steps say of themselves.

func TestTheMovesOfRulesAreListedInOrder(t *testing.T) {
	if got := (RespaceRules{To: map[int]int{30: 3, 2: 20, 100: 1}}).Detail(); got != "2→20 30→3 100→1" {
		t.Errorf("it says %s", got)
	}
}

func TestFourTargetsAreNamedAndTheOthersCounted(t *testing.T) {
	const four = "10.0.0.1:80, 10.0.0.2:80, 10.0.0.3:80, 10.0.0.4:80"
	var targets []lb.Target
	for _, a := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"} {
		targets = append(targets, lb.Target{Address: a, Port: 80})
	}
	for n, want := range map[int]string{0: "", 1: "10.0.0.1:80", 4: four, 5: four + ", and 1 more"} {
		if got := (RegisterTargets{Targets: targets[:n]}).Detail(); got != want {
			t.Errorf("of %d targets it says %q, want %q", n, got, want)
		}
	}
}
