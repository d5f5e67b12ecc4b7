package scale

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// This file measures a cold start and a burst of changes at several sizes, and beside them the cold
// starts of another revision, by that revision's own TestScale.

var (
	rows  = flag.String("rows", "40/2", "measure these `sizes`, separated by commas: Ingresses/groups or Ingresses/groups/classes")
	alone = flag.Bool("alone", false, "measure the caches and the writes on Ingresses alone, too, in another cluster")
	base  = flag.String("base", "", "the `folder` of another revision whose cold starts are measured, too")
)

// burst is how many Ingresses get one more path each.
const burst = 200

// A row is the size of a measurement.
type row struct{ ingresses, groups, classes int }

func (r row) String() string {
	return fmt.Sprintf("%d Ingresses, %d groups, %d classes, %s, shape %s",
		r.ingresses, r.groups, r.classes, *provider, *shapeName)
}

func parseRow(text string) (row, error) {
	r := row{classes: 2}
	if n, err := fmt.Sscanf(text, "%d/%d/%d", &r.ingresses, &r.groups, &r.classes); n < 2 {
		return r, fmt.Errorf("row %q is not like 2000/100 or 10000/500/100: %w", text, err)
	}
	return r, nil
}

// TestRows prints the numbers of each size.
//
//	make scale ROWS=2000/100,1000/1 BASE=v0.1.0
//	make scale ROWS=2000/100 PROVIDER=aws SHAPE=secrets
//	go test ./test/scale -v -timeout 2h -run TestRows -rows 200/10 -provider aws -write-time 1s
func TestRows(t *testing.T) {
	for text := range strings.SplitSeq(*rows, ",") {
		r, err := parseRow(text)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(text, func(t *testing.T) {
			r.measure(t)
			if *alone {
				r.measureAlone(t)
			}
			if *base != "" {
				r.measureBase(t, *base)
			}
		})
	}
}

// measure starts an operator in a cluster of its own, and then changes 200 Ingresses.
func (r row) measure(t *testing.T) {
	w := &world{server: newServer(t)}
	w.fleet = newFleet(t, w.server, r.ingresses, r.groups, r.classes)
	w.populate(t)
	w.operator = operate(t, w.Cluster)
	if *writeTime > 0 {
		defer func() {
			reads, read := w.made(false)
			writes, written := w.made(true)
			t.Logf("%s: %d calls that read, %v, and %d that write, of %s each, %v", r, reads, read, writes, *writeTime, written)
		}()
	}
	took := w.programmed(t).Sub(w.started)
	if *writeTime > 0 {
		t.Logf("%s: programmed after %.1f s", r, took.Seconds())
		return
	}
	w.calm(t)
	w.profileHeap(t)
	cold, worked, looked := w.asked(t), w.worked(), w.looked(t)
	t.Logf("%s: programmed after %.1f s, %.1f s of CPU, %d MiB at most, %d objects looked at, "+
		"%d reads and %d writes of the API server",
		r, took.Seconds(), worked.Seconds(), w.peak(), looked, cold.count("get", "list"), cold.writes())
	w.forgetPeak(t)
	w.changeSome(t)
	w.calm(t)
	since := w.asked(t).since(cold)
	t.Logf("%s: %d changes: %.1f s of CPU, %d MiB at most, %d objects looked at, "+
		"%d reads and %d writes of the API server",
		r, burst, (w.worked() - worked).Seconds(), w.peak(), w.looked(t)-looked,
		since.count("get", "list"), since.writes())
}

// made are the calls of the cloud so far: those that write or do not, and each by its name.
func (w *world) made(write bool) (calls int, names map[string]int) {
	names = map[string]int{}
	for _, c := range w.journal(0) {
		if c.writes() == write {
			calls++
			names[c.What]++
		}
	}
	return calls, names
}

// measureBase prints the numbers of a cold start that the TestScale of another revision measures. It
// may not have all flags of this one.
func (r row) measureBase(t *testing.T, folder string) {
	args := []string{"test", "-v", "-count", "1", "-timeout", "30m", "./test/scale", "-run", "TestScale/a_cold_start",
		"-ingresses", strconv.Itoa(r.ingresses), "-groups", strconv.Itoa(r.groups)}
	if r.classes > 2 {
		args = append(args, "-classes", strconv.Itoa(r.classes))
	}
	test := exec.CommandContext(t.Context(), "go", args...)
	test.Dir = folder
	said, err := test.CombinedOutput()
	found := false
	for line := range strings.Lines(string(said)) {
		if strings.Contains(line, "are programmed after") {
			t.Logf("base: %s", strings.TrimSpace(line))
			found = true
		}
	}
	if !found {
		t.Logf("base: no numbers for %s: %v: %.300s", r, err, said)
	}
}

// forgetPeak has the kernel forget the most memory that the process has had
// (https://man7.org/linux/man-pages/man5/proc_pid_clear_refs.5.html).
func (o *operator) forgetPeak(t *testing.T) {
	t.Helper()
	file := fmt.Sprintf("/proc/%d/clear_refs", o.command.Process.Pid)
	if err := os.WriteFile(file, []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

// changeSome adds a path to each of some Ingresses, eight at a time.
func (w *world) changeSome(t *testing.T) {
	var done sync.WaitGroup
	next := make(chan int)
	for range 8 {
		done.Go(func() {
			for n := range next {
				w.addPath(t, n*37%w.ingresses, fmt.Sprintf("/added-%d", n))
			}
		})
	}
	for n := range burst {
		next <- n
	}
	close(next)
	done.Wait()
}
