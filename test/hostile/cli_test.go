package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/test/binary"
	"fairlead.dev/fairlead/test/cputime"
	"fairlead.dev/fairlead/test/request"
)

// This file runs the cases through the commands of a binary, each a process of its own.

var given = flag.String("fairlead", "", "the `BINARY` whose commands the cases run through; unset: one that is built from this tree")

// What one run of a command may take, whatever a tenant has written.
const (
	mostCPU    = 2 * time.Second
	mostMemory = 256 << 20
	patience   = time.Minute // on a busy machine
)

func TestCommandLine(t *testing.T) {
	command := fairlead(t)
	for _, c := range cases(t, "") {
		t.Run(c.name, func(t *testing.T) {
			ofOffline(t, c, func(t *testing.T, of contents) world { return planOf(t, command, c.options, of) })
		})
	}
}

// fairlead is the path of the binary.
func fairlead(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// built builds the binary once, where no other is given.
var built = sync.OnceValues(func() (string, error) {
	if *given != "" {
		return filepath.Abs(*given)
	}
	path := filepath.Join(scratch, "fairlead")
	return path, binary.Build(context.Background(), path)
})

// commands are a world that the command line tells of.
type commands struct {
	*testing.T
	command string
	options options
	file    string // with the objects
	foreign bool   // the class is among the objects and is another controller's
	plan    planned
}

// planned is what `fairlead plan -o json` prints, as far as it is read here.
type planned struct {
	LoadBalancers []struct {
		Key       string
		Listeners []struct {
			Port         int32
			Certificates []string
		}
	}
	Steps       []struct{ Op, ID, Detail string }
	Diagnostics []struct{ Severity, Reason, Source string }
}

func planOf(t *testing.T, command string, o options, of contents) *commands {
	t.Helper()
	w := &commands{T: t, command: command, options: o, file: filepath.Join(t.TempDir(), "objects.yaml")}
	var manifest bytes.Buffer
	for _, object := range of {
		if c, ok := object.(*networkingv1.IngressClass); ok && c.Name == o.class() {
			w.foreign = c.Spec.Controller != ingress.ControllerName
		}
		document, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&manifest, "---\n%s\n", document)
	}
	if err := os.WriteFile(w.file, manifest.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := w.run("plan", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &w.plan); err != nil {
		t.Fatal(err)
	}
	w.checkSummary()
	return w
}

// run runs a command over the objects. It has to end within the bounds, and with no more than
// something to do.
func (w *commands) run(name string, args ...string) ([]byte, error) {
	flags := []string{name, "-f", w.file, "--provider=" + w.options.provider()}
	if !w.foreign { // --class-name would take it for ours
		flags = append(flags, "--class-name="+w.options.class())
	}
	if name == "plan" {
		flags = append(flags, "--fail-on=never") // objects are refused on purpose
	}
	if w.options.WithoutClass {
		flags = append(flags, "--watch-ingress-without-class")
	}
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, w.command, append(flags, args...)...)
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	err := command.Run()
	if state := command.ProcessState; state != nil {
		w.checkUsage(name, state)
	}
	const somethingToDo = 2
	if failed := new(exec.ExitError); errors.As(err, &failed) && failed.ExitCode() == somethingToDo {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("fairlead %s: %w\n%s", name, err, said.Bytes())
	}
	return out.Bytes(), err
}

// checkUsage holds a process to the bounds. What Linux counts as its memory is never less than that
// of the process that started it, which is well within them.
func (w *commands) checkUsage(name string, state *os.ProcessState) {
	if cpu := cputime.Of(state); cputime.Over(w, cpu, mostCPU) {
		w.Errorf("fairlead %s takes %s of CPU, of at most %s", name, cpu, mostCPU)
	}
	if memory := state.SysUsage().(*syscall.Rusage).Maxrss << 10; memory > mostMemory {
		w.Errorf("fairlead %s takes %d MiB of memory, of at most %d", name, memory>>20, mostMemory>>20)
	}
}

// checkSummary holds `explain --all` to what `plan` says: all is not well where something is
// refused.
func (w *commands) checkSummary() {
	out, err := w.run("explain", "--all")
	if err != nil {
		w.Error(err)
	}
	for _, d := range w.plan.Diagnostics {
		if d.Severity == "error" && (!bytes.Contains(out, []byte(d.Reason)) || bytes.Contains(out, []byte("No conflicts"))) {
			w.Errorf("plan tells %s %s, and explain --all says: %s", d.Reason, d.Source, out)
			return
		}
	}
}

func (w *commands) answer(r request.Request) (string, error) {
	args := []string{r.URL, "-o", "json", "-X", r.Method}
	for name, values := range r.Routing.Header {
		args = append(args, "-H", name+": "+strings.Join(values, ", "))
	}
	if r.Routing.Source.IsValid() {
		return "", errors.New("explain takes no address that a request comes from")
	}
	out, err := w.run("explain", args...)
	if err != nil {
		return "", err
	}
	var said struct {
		LoadBalancer string
		Named        bool
		Ingress, Why string
		Outcome      struct {
			Kind, Service, Location string
			Port                    any
			Status                  int
		}
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return "", err
	}
	switch {
	case !said.Named && said.Ingress == "":
		return nothing, nil
	case r.On != "" && said.LoadBalancer != string(r.On):
		return "", fmt.Errorf("explain says what becomes of it on %s", said.LoadBalancer)
	case strings.HasPrefix(said.Why, "there is no listener on port"):
		return request.Refused, nil
	case said.Outcome.Kind == "service":
		return fmt.Sprintf("%s:%v", said.Outcome.Service, said.Outcome.Port), nil
	case said.Outcome.Kind == "redirect":
		return fmt.Sprintf("redirect %d %s", said.Outcome.Status, said.Outcome.Location), nil
	}
	return fmt.Sprint(said.Outcome.Status), nil
}

func (w *commands) told() ([]string, error) {
	var all []string
	for _, d := range w.plan.Diagnostics {
		all = append(all, d.Severity+" "+d.Reason+" "+d.Source)
	}
	return all, nil
}

// presented reads which Secrets the certificates are from, and for which hosts, in the steps that
// import them.
func (w *commands) presented(port int32, host string) ([]string, error) {
	imported := map[string]string{}
	for _, s := range w.plan.Steps {
		if s.Op == "import certificate" {
			imported[s.ID] = s.Detail
		}
	}
	var all []string
	for _, b := range w.plan.LoadBalancers {
		for _, l := range b.Listeners {
			if l.Port != port {
				continue
			}
			for _, id := range l.Certificates {
				detail, ours := imported[id]
				hosts, secrets, found := strings.Cut(detail, " from Secret ")
				switch {
				case !ours:
					all = append(all, discovered(id, host)...)
				case !found:
					return nil, fmt.Errorf("the certificate %s is imported %q", id, detail)
				case coversAny(strings.Split(hosts, ", "), host):
					all = append(all, strings.Split(secrets, ", ")...)
				}
			}
		}
	}
	return all, nil
}

func (w *commands) targets(service string) ([]string, error) {
	var all []string
	for _, s := range w.plan.Steps {
		// The name of a target group may go on behind that of its port.
		if s.Op == "register targets" && (s.ID == service || strings.HasPrefix(s.ID, service+" ")) {
			all = append(all, strings.Split(s.Detail, ", ")...)
		}
	}
	return all, nil
}

func (w *commands) loadBalancers() ([]string, error) {
	var all []string
	for _, b := range w.plan.LoadBalancers {
		all = append(all, b.Key)
	}
	return slices.Sorted(slices.Values(all)), nil
}

func (w *commands) printed() (string, error) {
	var all []string
	for _, args := range [][]string{{"plan"}, {"plan", "-o", "json"}, {"explain", "--all"}} {
		out, err := w.run(args[0], args[1:]...)
		if err != nil {
			return "", err
		}
		all = append(all, string(out))
	}
	return strings.Join(all, "\n"), nil
}
