package kube

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// A process is one command of the control plane, from its start to its end.
type process struct {
	name string
	path string
	log  string
	pid  int
	kill context.CancelFunc
	done chan struct{} // closed when it has ended
	code int           // what it ended with, then

	watchdog *exec.Cmd
	leash    io.Closer
}

// startProcess appends what the command says to a log, and to its environment what it is given. The
// command ends at the latest when this test does, however that ends.
func startProcess(path, log string, environment, flags []string) (*process, error) {
	p := &process{name: filepath.Base(path), path: path, log: log, done: make(chan struct{})}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.name, err)
	}
	defer out.Close()

	ctx, kill := context.WithCancel(context.Background())
	p.kill = kill
	command := exec.CommandContext(ctx, path, flags...)
	command.Stdout, command.Stderr = out, out
	command.Env = append(os.Environ(), environment...)
	if err := command.Start(); err != nil {
		kill()
		return nil, fmt.Errorf("starting %s: %w", p.name, err)
	}
	p.pid = command.Process.Pid
	go func() {
		defer close(p.done)
		_ = command.Wait() // why it ended is in its log
		p.code = command.ProcessState.ExitCode()
	}()
	if err := p.guard(ctx, command.Process.Pid); err != nil {
		p.stop()
		return nil, fmt.Errorf("watching over %s: %w", p.name, err)
	}
	return p, nil
}

// guard ends the process when the test dies without a word, of a timeout or a signal: its end of
// the pipe closes then, whatever happens, and the shell behind it has been waiting for that. It
// outlives a signal to all of them, for an API server that is asked to end waits for ever for an
// etcd that has ended.
func (p *process) guard(ctx context.Context, pid int) (err error) {
	p.watchdog = exec.CommandContext(ctx, "sh", "-c", `trap "" TERM INT HUP; read -r _; kill -9 "$0"`, strconv.Itoa(pid))
	if p.leash, err = p.watchdog.StdinPipe(); err != nil {
		return err
	}
	return p.watchdog.Start()
}

// stop may be called again, and of a process that never started.
func (p *process) stop() {
	if p == nil {
		return
	}
	p.kill() // the watchdog too
	<-p.done
	if p.watchdog != nil && p.watchdog.Process != nil && p.watchdog.ProcessState == nil {
		_ = p.watchdog.Wait()
	}
}

// race is the first report of a data race in the log, or "".
func (p *process) race() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	_, report, _ := strings.Cut(string(text), "WARNING: DATA RACE")
	report, _, _ = strings.Cut(report, "==================")
	return report
}

// tail is the end of the log: why a command failed is in its last lines.
func (p *process) tail() string {
	const lines = 15
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
