package scale

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/test/kube"
)

// This file runs the operator in a process of its own, so that the memory and the processor time
// that are measured are nobody else's. The process is this test's program again, with the fake
// cloud plugged in: each call of the cloud is a line of the journal, which the test reads.

// asOperator makes this program the operator, with the folder for its profiles. It begins like no
// variable of the operator itself.
const asOperator = "SCALE_TEST_OPERATOR"

// A call is one that the operator made of the cloud.
type call struct {
	At     time.Time
	Method string
	Key    lb.Key
	What   string
}

// writes reports whether the call changes the cloud.
func (c call) writes() bool { return c.Method == "Apply" || c.Method == "SetTargets" }

// serve is the operator's process.
func serve(profiles string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if profiles != "" {
		defer profile(profiles)()
	}
	counted := fake.Plug()
	counted.Live = func(context.Context, clouds.Environment) (clouds.Live, error) {
		cloud, err := fake.New(fake.Options{})
		return clouds.SharedLocal{Local: &journalled{Cloud: cloud, to: json.NewEncoder(os.Stdout)}}, err
	}
	with := cli.Providers{Clouds: map[string]clouds.Cloud{"fake": counted, "aws": aws.Plug()}}
	return cli.Run(ctx, os.Args[1:], with, cli.Streams{Out: os.Stderr, Err: os.Stderr})
}

// profile starts profiling, and returns what ends it. SIGUSR1 writes what the heap holds by then.
func profile(folder string) (end func()) {
	rest := make(chan os.Signal, 1)
	signal.Notify(rest, syscall.SIGUSR1)
	go func() {
		for range rest {
			runtime.GC()
			write(folder, "heap", "rest")
		}
	}()
	cpu, err := os.Create(filepath.Join(folder, "cpu.pprof"))
	if err == nil {
		err = pprof.StartCPUProfile(cpu)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return func() {
		pprof.StopCPUProfile()
		_ = cpu.Close()
		runtime.GC()
		write(folder, "allocs", "allocs")
	}
}

// write writes a profile to a file of a folder.
func write(folder, profile, name string) {
	file, err := os.Create(filepath.Join(folder, name+".pprof"))
	if err == nil {
		err = errors.Join(pprof.Lookup(profile).WriteTo(file, 0), file.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// A journalled cloud says what it is asked to do.
type journalled struct {
	*fake.Cloud
	mu sync.Mutex
	to *json.Encoder
}

func (j *journalled) note(method string, key lb.Key, what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.to.Encode(call{time.Now(), method, key, what}) // where nobody reads, nobody misses it
}

func (j *journalled) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	j.note("Observe", key, "")
	return j.Cloud.Observe(ctx, key, deep)
}

func (j *journalled) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	j.note("Lookup", "", "")
	return j.Cloud.Lookup(ctx, q)
}

func (j *journalled) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	result, err := j.Cloud.Apply(ctx, seen, step)
	j.note("Apply", seen.Key, step.Op()+" "+step.ID()+" "+step.Detail())
	return result, err
}

func (j *journalled) Targets(ctx context.Context, key lb.Key, group lb.GroupID) ([]lb.TargetHealth, error) {
	j.note("Targets", key, string(group))
	return j.Cloud.Targets(ctx, key, group)
}

func (j *journalled) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	j.note("SetTargets", key, string(group))
	return j.Cloud.SetTargets(ctx, key, group, want)
}

func (j *journalled) List(ctx context.Context) ([]lb.Key, error) {
	j.note("List", "", "")
	return j.Cloud.List(ctx)
}

// An operator is that process, as the test sees it.
type operator struct {
	testing.TB
	command *exec.Cmd
	started time.Time
	logs    string
	metrics string // where they are scraped

	mu    sync.Mutex
	calls []call
	more  chan struct{} // closed at the next call
	ended chan struct{}
}

// operate starts an operator as it is deployed: with a lease, looking after all namespaces.
func operate(t testing.TB, cluster *kube.Cluster) *operator {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := &operator{TB: t, started: time.Now(), logs: filepath.Join(t.TempDir(), "log"), metrics: freeAddress(t),
		more: make(chan struct{}), ended: make(chan struct{})}
	logs, err := os.Create(o.logs)
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	o.command = exec.Command(program, "run", "--kubeconfig", cluster.Kubeconfig, "--leader-elect", "--leader-elect-namespace", "default",
		"--metrics-bind-address", o.metrics, "--health-probe-bind-address", "0")
	o.command.Env = append(os.Environ(), asOperator+"="+*profiles)
	if *limit != "" {
		o.command.Env = append(o.command.Env, "GOMEMLIMIT="+*limit)
	}
	if *provider == "aws" {
		simulateAWS(t, o)
	}
	o.command.Stderr = logs
	journal, err := o.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := o.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.stop)
	go o.read(bufio.NewScanner(journal))
	return o
}

// read follows the journal to its end.
func (o *operator) read(journal *bufio.Scanner) {
	defer close(o.ended)
	for journal.Scan() {
		var c call
		if err := json.Unmarshal(journal.Bytes(), &c); err != nil {
			o.Errorf("reading the journal: %s", err)
		}
		o.add(c)
	}
}

// add adds a call to the journal.
func (o *operator) add(c call) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, c)
	close(o.more)
	o.more = make(chan struct{})
}

func (o *operator) stop() {
	_ = o.command.Process.Signal(syscall.SIGTERM) // it may have been stopped before
	<-o.ended
	_ = o.command.Wait()
	if o.Failed() {
		logs, _ := os.ReadFile(o.logs)
		lines := bytes.Split(logs, []byte("\n"))
		o.Logf("the operator said at the end:\n%s", bytes.Join(lines[max(0, len(lines)-20):], []byte("\n")))
	}
}

// journal is every call so far from the given one on.
func (o *operator) journal(from int) []call {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[from:len(o.calls):len(o.calls)]
}

// await waits for a call that comes at or after the given one.
func (o *operator) await(from int, what string, is func(call) bool) call {
	o.Helper()
	deadline := time.After(patience)
	for {
		o.mu.Lock()
		calls, more := o.calls, o.more
		o.mu.Unlock()
		for ; from < len(calls); from++ {
			if is(calls[from]) {
				return calls[from]
			}
		}
		select {
		case <-more:
		case <-o.ended:
			o.Fatalf("waiting for %s: the operator has ended", what)
		case <-deadline:
			o.Fatalf("waiting for %s: it has not come in %s", what, patience)
		}
	}
}

// freeAddress returns an address at which nothing listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// looked returns how many objects the operator has read from its caches.
func (o *operator) looked(t testing.TB) int {
	t.Helper()
	answer, err := http.Get("http://" + o.metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if count, is := strings.CutPrefix(line, "fairlead_objects_read_total "); is {
			n, err := strconv.ParseFloat(strings.TrimSpace(count), 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
	}
	t.Fatal("the operator does not say how many objects it has read")
	return 0
}

// profileHeap has the operator write what its heap holds.
func (o *operator) profileHeap(t *testing.T) {
	if *profiles == "" {
		return
	}
	if err := o.command.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Error(err)
	}
	time.Sleep(3 * time.Second)
}

// peak is the most memory that the process has had, in MiB.
func (o *operator) peak() int {
	o.Helper()
	for line := range strings.Lines(o.proc("status")) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				o.Fatal(err)
			}
			return kib / 1024
		}
	}
	o.Fatal("the system does not say how much memory the operator takes")
	return 0
}

// worked is the processor time that the process has had.
func (o *operator) worked() time.Duration {
	o.Helper()
	const ticks = 100 // a second, on every Linux
	_, fields, _ := strings.Cut(o.proc("stat"), ") ")
	var sum time.Duration
	for _, field := range strings.Fields(fields)[11:13] { // in user mode, and in the kernel's
		n, err := strconv.Atoi(field)
		if err != nil {
			o.Fatal(err)
		}
		sum += time.Duration(n) * time.Second / ticks
	}
	return sum
}

func (o *operator) proc(file string) string {
	o.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", o.command.Process.Pid, file))
	if err != nil {
		o.Fatal(err)
	}
	return string(text)
}
