package kube

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// assets names the variable that other tools use, too, for a folder with the commands.
const assets = "KUBEBUILDER_ASSETS"

// findCommands are the paths of commands by their names: those in the assets, and those that were
// built because the assets lack them, as the usual collection lacks the controllers.
func findCommands(names []string) (map[string]string, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	folders := []string{filepath.Join(root, ".cache", "controlplane")}
	if dir := os.Getenv(assets); dir != "" {
		folders = append([]string{dir}, folders...)
	}
	found := map[string]string{}
	for _, name := range names {
		if found[name] = firstFile(folders, name); found[name] == "" {
			return nil, fmt.Errorf("%s is in none of %q: `make setup` builds it", name, folders)
		}
	}
	return found, nil
}

// firstFile is the path of a file in the first folder that has it, or empty.
func firstFile(folders []string, name string) string {
	for _, folder := range folders {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// moduleRoot is the folder of the main module, in which main.go stands. A test runs in the folder
// of its package, which may be in a nested module.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding main.go: %w", err)
	}
	for {
		if firstFile([]string{dir}, "main.go") != "" && firstFile([]string{dir}, "go.mod") != "" {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding main.go: no folder above this one has it and go.mod")
		}
		dir = parent
	}
}
