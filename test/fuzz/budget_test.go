package fuzz

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"fairlead.dev/fairlead/test/cputime"
)

// This file bounds what one input may cost. docs/explanation/security.md promises 2 s of CPU and 256 MiB for
// one Ingress; what is allocated in all is more than what is held at once, so the bound on it is
// the stricter one.

const (
	mostCPU       = 2 * time.Second
	mostAllocated = 256 << 20
)

// within runs a function and fails the test where it takes more CPU time or allocates more memory
// than one Ingress may.
func within(t *testing.T, run func()) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as in a command; make test-all has another GOGC
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := cputime.Self(t)
	run()
	took := cputime.Self(t) - start
	runtime.ReadMemStats(&after)
	if cputime.Over(t, took, mostCPU) {
		t.Errorf("it takes %s of CPU; the most is %s", took, mostCPU)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > mostAllocated {
		t.Errorf("it allocates %d MiB; the most is %d MiB", allocated>>20, mostAllocated>>20)
	}
}
