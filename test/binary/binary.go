// Package binary builds fairlead for tests that run it as people do, as a process of its own.
package binary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Build puts fairlead at a path, built from this tree with flags of `go build`. Linking takes about ten seconds of CPU, so
// what was built stays in .cache, where go build finds out whether it is still up to date.
func Build(ctx context.Context, to string, flags ...string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	built := filepath.Join(root, ".cache", "tests", "fairlead"+strings.Join(flags, ""))
	if err := os.MkdirAll(filepath.Dir(built), 0o755); err != nil {
		return fmt.Errorf("building fairlead: %w", err)
	}
	lock, err := os.OpenFile(built+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("building fairlead: %w", err)
	}
	defer lock.Close() // which unlocks it
	if err := exclusive(lock); err != nil {
		return fmt.Errorf("building fairlead: waiting for another test to build it: %w", err)
	}
	build := exec.CommandContext(ctx, "go", append(append([]string{"build", "-o", built}, flags...), ".")...)
	build.Dir = root
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building fairlead: %w\n%s", err, said)
	}
	return link(built, to)
}

// Root is the folder of the main module, in which main.go stands. A test runs in the folder
// of its package.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding main.go: %w", err)
	}
	for {
		if isFile(filepath.Join(dir, "main.go")) && isFile(filepath.Join(dir, "go.mod")) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding main.go: no folder above this one has it and go.mod")
		}
		dir = parent
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func exclusive(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// link gives a file one more path, which keeps what it leads to when the file is replaced. On another file system it is copied.
func link(from, to string) error {
	if err := os.Remove(to); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("replacing %s: %w", to, err)
	}
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copying fairlead: %w", err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return fmt.Errorf("copying fairlead: %w", err)
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copying fairlead: %w", err)
	}
	return nil
}
