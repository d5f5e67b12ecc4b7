package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// krewTool runs a command of krew, with a folder of its own.
func krewTool(t *testing.T, root string, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", append([]string{"-C", "../krew", "tool"}, args...)...)
	command.Env = append(os.Environ(), "KREW_ROOT="+root, "KREW_NO_UPGRADE_CHECK=1")
	out, err := command.CombinedOutput()
	return string(out), err
}

// TestKrewInstallsTheBinary has krew validate the manifest, and install the archive of this machine, whose checksum it checks.
func TestKrewInstallsTheBinary(t *testing.T) {
	r := trial()
	made := []binary{{platform{runtime.GOOS, runtime.GOARCH}, []byte("#!/bin/sh\necho it is $0\n")}}
	for _, p := range platforms {
		if p != made[0].platform {
			made = append(made, binary{p, []byte("for another platform")})
		}
	}
	archives, err := r.archives(made)
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := r.krew(made, archives)
	if err != nil {
		t.Fatal(err)
	}
	manifest := manifests[0]
	r.downloads = ""
	if none, err := r.krew(made, archives); err != nil || len(none) > 0 {
		t.Errorf("without an address of archives: %v, %v", none, err)
	}
	dir, root := t.TempDir(), t.TempDir()
	for _, f := range []file{manifest, archives[0], {name: "another.tar.gz", data: archives[1].data}} {
		writeFile(t, filepath.Join(dir, f.name), string(f.data))
	}
	path := filepath.Join(dir, manifest.name)
	if out, err := krewTool(t, root, "validate-krew-manifest", "-skip-install", "-manifest", path); err != nil || strings.Contains(out, "exceeds") {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := krewTool(t, root, "krew", "install", "--manifest="+path, "--archive="+filepath.Join(dir, "another.tar.gz")); err == nil || !strings.Contains(out, "checksum") {
		t.Errorf("an archive with another checksum: %v\n%s", err, out)
	}
	if out, err := krewTool(t, root, "krew", "install", "--manifest="+path, "--archive="+filepath.Join(dir, archives[0].name)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	plugin := filepath.Join(root, "bin", "kubectl-fairlead")
	if out, err := exec.CommandContext(t.Context(), plugin).Output(); err != nil || !strings.HasPrefix(string(out), "it is "+plugin) {
		t.Errorf("%v: %s", err, out)
	}
	if want := "https://downloads.example/fairlead/v1.2.3/" + archives[0].name; !strings.Contains(string(manifest.data), want) {
		t.Errorf("the manifest does not name %s:\n%s", want, manifest.data)
	}
}
