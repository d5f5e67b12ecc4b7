package cputime

import (
	"os/exec"
	"testing"
	"time"
)

func TestOver(t *testing.T) {
	for _, c := range []struct {
		name       string
		took, most time.Duration
		over       bool
	}{
		{"what is within the budget is so on any machine", time.Second, time.Second, false},
		{"a hundred budgets are too much on any machine", 100 * time.Second, time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if over := Over(t, c.took, c.most); over != c.over {
				t.Errorf("%s of %s: over is %t", c.took, c.most, over)
			}
		})
	}
}

func TestSlowness(t *testing.T) {
	if factor := slowness(t); factor < 1 || factor > 50 {
		t.Errorf("this machine is %.2f times as slow as a quiet one", factor)
	}
}

func TestTimeOfProcesses(t *testing.T) {
	before := Self(t)
	for Self(t)-before < 10*time.Millisecond {
	}
	command := exec.Command("sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
	if err := command.Run(); err != nil {
		t.Fatal(err)
	}
	if took := Of(command.ProcessState); took < 10*time.Millisecond {
		t.Errorf("a process that counts to 100,000 takes %s", took)
	}
}
