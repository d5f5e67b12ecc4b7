package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// This file copies the data of etcd, goes back to a copy, and starts another cluster from one.

// A Backup is a copy of the data of etcd.
type Backup struct{ dir string }

// Backup copies all that the API server knows. The API server is away meanwhile.
func (c *Cluster) Backup(t testing.TB) Backup {
	t.Helper()
	b := Backup{filepath.Join(t.TempDir(), "etcd")}
	c.offline(t, func() error { return os.CopyFS(b.dir, os.DirFS(c.data())) })
	return b
}

// Restore has the API server know what it knew when the copy was made, and nothing that came after.
// The API server is away meanwhile.
func (c *Cluster) Restore(t testing.TB, b Backup) {
	t.Helper()
	c.offline(t, func() error {
		if err := os.RemoveAll(c.data()); err != nil {
			return err
		}
		return os.CopyFS(c.data(), os.DirFS(b.dir))
	})
}

// Clone starts another control plane, whose API server knows what that of this one knew when the
// copy was made. Its operators are the same command.
func (c *Cluster) Clone(t testing.TB, b Backup) *Cluster {
	t.Helper()
	o := c.options
	o.backup = b.dir
	clone, err := start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clone.stop)
	clone.commands[operator] = c.Command(t)
	return clone
}

// data is where etcd keeps its data.
func (c *Cluster) data() string { return filepath.Join(c.dir, "etcd") }

// offline stops the API server and etcd, and starts both again.
func (c *Cluster) offline(t testing.TB, do func() error) {
	t.Helper()
	c.StopServer()
	c.etcd.stop()
	if err := do(); err != nil {
		t.Fatalf("copying the data of etcd: %s", err)
	}
	if err := c.keep(); err != nil {
		t.Fatal(err)
	}
	c.StartServer(t)
}

// keep starts etcd, with the data of a backup if there is to be one.
func (c *Cluster) keep() (err error) {
	if from := c.options.backup; from != "" {
		c.options.backup = ""
		if err := os.CopyFS(c.data(), os.DirFS(from)); err != nil {
			return fmt.Errorf("copying the data of etcd: %w", err)
		}
	}
	c.etcd, err = c.command(etcd, c.etcdFlags())
	return err
}
