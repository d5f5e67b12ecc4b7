package kube

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// assets names the variable that other tools use, too, for a folder with the commands.
const assets = "KUBEBUILDER_ASSETS"

// findBinaries is the folder with the commands.
func findBinaries() (string, error) {
	if dir := os.Getenv(assets); dir != "" {
		return dir, complete(dir, "see "+assets)
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, ".cache", "controlplane")
	return dir, complete(dir, "`make controlplane` builds it, and `make test` does so first")
}

// complete reports a folder in which the API server or its store is missing. Not every collection
// has controllers: a test that wants them finds out.
func complete(dir, hint string) error {
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("finding a control plane to test on: %w: %s", err, hint)
		}
	}
	return nil
}

// moduleRoot is the folder of go.mod. A test runs in the folder of its package.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding go.mod: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding go.mod: no folder above this one has it")
		}
		dir = parent
	}
}
