package kube

import (
	"fmt"
	"os"
	"path/filepath"

	"fairlead.dev/fairlead/test/binary"
)

// assets names the variable that other tools use, too, for a folder with the commands.
const assets = "KUBEBUILDER_ASSETS"

// findCommands are the paths of commands by their names: those in the assets, and those that were
// built because the assets lack them, as the usual collection lacks the controllers.
func findCommands(names []string) (map[string]string, error) {
	root, err := binary.Root()
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
