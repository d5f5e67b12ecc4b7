// Package cputime holds tests to budgets of CPU time on machines that are slower than the one that
// the budgets were written for.
//
// CPU time grows where cores are shared: one plan took 3 s of CPU on a quiet machine, and 7 s of the
// same code on a busy one. Over therefore measures how slow a machine is before it says that
// a budget is not kept.
package cputime

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// quiet is the CPU time of the work below on the machine that the budgets were written for, with
// no other process at work.
const quiet = 120 * time.Millisecond

// Over reports whether CPU time is over a budget for a quiet machine.
func Over(t testing.TB, took, most time.Duration) bool {
	t.Helper()
	return took > most && float64(took) > float64(most)*slowness(t)
}

// Of returns the CPU time of a process that has ended.
func Of(s *os.ProcessState) time.Duration { return s.UserTime() + s.SystemTime() }

// Self returns the CPU time of this process until now, with that of its garbage collector.
func Self(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// slowness measures how many times as long as on the quiet machine work takes now. It is 1 at least:
// a quick machine makes no budget smaller.
func slowness(t testing.TB) float64 {
	t.Helper()
	before := Self(t)
	for range 4 {
		var decoded any
		if err := json.Unmarshal([]byte(document), &decoded); err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(decoded); err != nil {
			t.Fatal(err)
		}
	}
	factor := max(1, float64(Self(t)-before)/float64(quiet))
	t.Logf("work takes %.2f times as long as on a quiet machine", factor)
	return factor
}

// document has what plans are made of: objects of short strings, which become maps and garbage.
var document = func() string {
	objects := make([]string, 8000)
	for i := range objects {
		objects[i] = fmt.Sprintf(`{"host":"h%d.example.com","paths":[{"path":"/p%d","port":%d}],"labels":{"a":"%d","b":"c"}}`,
			i, i, i, i)
	}
	return "[" + strings.Join(objects, ",") + "]"
}()
