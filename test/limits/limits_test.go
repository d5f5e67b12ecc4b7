// Package limits runs the command line on what one hostile Ingress can ask for, as a process of its
// own, and holds it to the memory and the time that one Ingress may take.
package limits

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/test/binary"
	"fairlead.dev/fairlead/test/cputime"
	"fairlead.dev/fairlead/test/nightly"
	"fairlead.dev/fairlead/test/objects"
)

// What one Ingress may take of plan, however it is written.
const (
	mostMemory = 256 << 20
	mostTime   = 2 * time.Second // of CPU, on a quiet machine
	// triesWithin is how often a row may be tried: CPU time grows while others share the cores. A row
	// that takes too much in every try does so by itself.
	triesWithin = 3
)

// command is the command line, as it is released.
func command(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fairlead")
	if err := binary.Build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// certificate is the manifest of a valid TLS Secret of namespace shop.
func certificate(t *testing.T, name string, hosts ...string) string {
	t.Helper()
	secret, err := objects.Secret("shop/"+name, hosts)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := yaml.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	return string(manifest)
}

func TestOneIngressTakesLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the binary on 70 of the largest Ingresses")
	}
	fairlead := command(t)
	var other, wild []string
	for i := range 2400 {
		other, wild = append(other, fmt.Sprintf("n%d.b.com", i)), append(wild, fmt.Sprintf("*.n%d.b.com", i))
	}
	all := rows(certificate(t, "t", "*.a.com"), certificate(t, "other", other...), certificate(t, "wild", wild...))
	for _, row := range nightly.Some(t, 8, all) {
		for _, provider := range nightly.Some(t, 1, []string{"aws", "fake"}) {
			t.Run(row.name+"/"+provider, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "ingress.yaml")
				if err := os.WriteFile(file, []byte(row.manifests), 0o600); err != nil {
					t.Fatal(err)
				}
				over := ""
				for range triesWithin {
					state, said := ran(t, fairlead, "plan", "--provider", provider, "-f", file)
					memory, spent := memoryOf(state), cputime.Of(state)
					t.Logf("%7d bytes: %.2f s of CPU, %d MiB", len(row.manifests), spent.Seconds(), memory>>20)
					if provider == "aws" && !strings.Contains(said, row.says) {
						t.Fatalf("nothing is said of %s: %.500s", row.says, said)
					}
					if !cputime.Over(t, spent, mostTime) && memory <= mostMemory {
						return
					}
					over = fmt.Sprintf("it took %s of CPU and %d MiB", spent, memory>>20)
				}
				t.Error(over)
			})
		}
	}
}

// TestAChangeOfOneIngressTakesLittle compares each of the Ingresses with the same one before another
// Service, and checks it against two expectations. Of those with more combinations than can be
// searched, this is not decided.
func TestAChangeOfOneIngressTakesLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the binary twice on 70 of the largest Ingresses")
	}
	fairlead := command(t)
	expectations := filepath.Join(t.TempDir(), "expectations.yaml")
	if err := os.WriteFile(expectations, []byte(`expectations:
- name: no-admin
  requests: {paths: [{prefix: /admin, decoded: true}]}
  must: {answered: false}
- name: no-metrics
  requests: {paths: [{prefix: /metrics}, {prefix: /debug}, {prefix: /actuator}]}
  must: {answered: false}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	all := append(rows(certificate(t, "t", "*.a.com"), certificate(t, "other", "b.com"), certificate(t, "wild", "*.b.com")), tangled()...)
	for _, row := range nightly.Some(t, 6, all) {
		t.Run(row.name, func(t *testing.T) {
			before, after := filepath.Join(t.TempDir(), "before.yaml"), filepath.Join(t.TempDir(), "after.yaml")
			for file, text := range map[string]string{before: strings.ReplaceAll(row.manifests, "service: {name: web,", "service: {name: was,"), after: row.manifests} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range []struct {
				args   []string
				memory int64
				time   time.Duration
			}{
				// two such files are read and compiled
				{[]string{"diff", "--provider", "aws", before, after}, 2 * mostMemory, 2 * mostTime},
				{[]string{"verify", "--provider", "aws", after, "--expect", expectations}, mostMemory, mostTime},
			} {
				over := ""
				for range triesWithin {
					state, said := ran(t, fairlead, c.args...)
					memory, spent := memoryOf(state), cputime.Of(state)
					t.Logf("%s, %7d bytes: %.2f s of CPU, %d MiB", c.args[0], len(row.manifests), spent.Seconds(), memory>>20)
					if row.says != "" && strings.HasPrefix(row.name, "tangled") && !strings.Contains(said, row.says) {
						t.Fatalf("nothing is said of %s: %.500s", row.says, said)
					}
					if over = ""; !cputime.Over(t, spent, c.time) && memory <= c.memory {
						break
					}
					over = fmt.Sprintf("%s took %s of CPU and %d MiB", c.args[0], spent, memory>>20)
				}
				if over != "" {
					t.Error(over)
				}
			}
		})
	}
}

// tangled are Ingresses whose globs and conditions requests can match in any combination.
func tangled() []row {
	var out []row
	for _, n := range []int{12, 15, 20, 40, 80} {
		var conditions []string
		paths := times(n, func(i int) string {
			letters := fmt.Sprintf("%c%c", 'a'+i%26, 'a'+i/26)
			conditions = append(conditions, fmt.Sprintf("{path: \"/*%s*\", header: {x-0: [\"*h%s*\"]}}", letters, letters))
			return path("/*"+letters+"*", "ImplementationSpecific")
		})
		ingress := annotated("conditions", "["+strings.Join(conditions, ", ")+"]", host("a.com", paths))
		says := "namespace shop"
		if n < 20 {
			says = ""
		}
		out = append(out, row{fmt.Sprintf("tangled globs: %d", n), ingress, says})
	}
	return out
}

// ran runs the command line, and returns how the process ended and what it printed.
func ran(t *testing.T, fairlead string, args ...string) (*os.ProcessState, string) {
	t.Helper()
	command := exec.Command(fairlead, args...)
	command.Env = append(os.Environ(), "GOGC=") // which this test may have, and who plans has not
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := time.AfterFunc(time.Minute, func() { _ = command.Process.Kill() }) // it would never end
	err := command.Wait()
	ended.Stop()
	var status *exec.ExitError
	if errors.As(err, &status); err != nil && (status == nil || status.ExitCode() < 0) {
		t.Fatalf("%s after %s of CPU", err, cputime.Of(command.ProcessState))
	}
	return command.ProcessState, out.String()
}

// memoryOf is the most memory that a process had. Linux counts it in KiB, and others in bytes:
// getrusage(2).
func memoryOf(s *os.ProcessState) int64 {
	usage, ok := s.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "linux":
		return usage.Maxrss << 10
	}
	return usage.Maxrss
}

// TestPlanEndsWhenItIsTold sends plan the signal of a user, or of a system that shuts down, while
// it waits for manifests.
func TestPlanEndsWhenItIsTold(t *testing.T) {
	if testing.Short() {
		t.Skip("it links the binary")
	}
	fairlead := command(t)
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		command := exec.Command(fairlead, "plan", "-f", "-")
		manifests, err := command.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- command.Wait() }()
		// More than a pipe holds: when all of it is written the process has started to read, and waits
		// for more.
		if _, err := manifests.Write(bytes.Repeat([]byte("# nothing\n"), 1<<17)); err != nil {
			t.Fatal(err)
		}
		if err := command.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if err == nil {
				t.Errorf("%s: it ends as if there were nothing to do", signal)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: it goes on", signal)
			_ = command.Process.Kill()
			t.Log(<-ended)
		}
	}
}
