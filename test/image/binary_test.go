package image

import (
	"bytes"
	"debug/elf"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// This file runs the build of the Dockerfile for both platforms, and what it made for this one.

const version = "v1.2.3-test"

// machines are the platforms that there are images for.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// sources copies what docker would be sent of the tree.
func sources(t *testing.T) string {
	t.Helper()
	file, err := os.Open(filepath.Join(tree, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	patterns, err := ignorefile.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	err = filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(tree, path)
		if err != nil {
			return err
		}
		skip, err := ignored.MatchesOrParentMatches(name)
		switch {
		case err != nil || name == ".":
			return err
		case skip && entry.IsDir() && !strings.Contains(name, "/"):
			return fs.SkipDir
		case skip || entry.IsDir():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// build runs the command that compiles, as the Dockerfile has it, and returns the binary's path.
func build(t *testing.T, dir, arch string) string {
	t.Helper()
	stage, _ := final(t)
	runs := commands[*instructions.RunCommand](stage)
	line := strings.Join(runs[len(runs)-1].CmdLine, " ")
	binary := filepath.Join(t.TempDir(), "fairlead")
	if !strings.Contains(line, "-o /fairlead ") {
		t.Fatalf("%s: want it to write /fairlead", line)
	}
	command := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(line, "-o /fairlead ", "-o "+binary+" ", 1))
	command.Dir = dir
	command.Env = append(os.Environ(), "TARGETOS=linux", "TARGETARCH="+arch, "VERSION="+version, "GOWORK=off")
	for name, value := range environment(stage) {
		if name != "GOSUMDB" { // modules are in this machine's cache already, from where its owner has them fetched
			command.Env = append(command.Env, name+"="+value)
		}
	}
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%s", err, out)
	}
	return binary
}

// TestBinaries compiles for each platform once, which takes minutes, and links the one for this
// machine twice.
func TestBinaries(t *testing.T) {
	here := sources(t)
	for arch, machine := range machines {
		t.Run(arch, func(t *testing.T) {
			binary := build(t, here, arch)
			t.Run("IsStatic", func(t *testing.T) { static(t, binary, machine) })
			if arch != runtime.GOARCH {
				return
			}
			t.Run("IsReproducible", func(t *testing.T) {
				if !bytes.Equal(read(t, binary), read(t, build(t, sources(t), arch))) {
					t.Error("built in another folder it is another binary")
				}
			})
			t.Run("NeedsNothing", func(t *testing.T) { runAlone(t, binary) })
		})
	}
}

// static checks that a binary is for a machine, and asks for no other file of it.
func static(t *testing.T, binary string, machine elf.Machine) {
	file, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if file.Machine != machine {
		t.Errorf("it is for %s, want %s", file.Machine, machine)
	}
	if libraries, err := file.ImportedLibraries(); len(libraries) > 0 || slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Errorf("it needs %v, %v: there is nothing in the image", libraries, err)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// runAlone runs a binary where there is nothing but itself and its certificates, as the user of the
// image, who can write nowhere.
func runAlone(t *testing.T, binary string) {
	root := t.TempDir()
	install(t, binary, filepath.Join(root, "fairlead"), 0o555)
	certificates := filepath.Join(root, "etc/ssl/certs/ca-certificates.crt")
	if err := os.MkdirAll(filepath.Dir(certificates), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(certificates, nil, 0o444); err != nil {
		t.Fatal(err)
	}
	before := listing(t, root)

	samples := read(t, filepath.Join(tree, "config/samples/shop.yaml"))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"version"}, 0, version},
		{[]string{"run", "--help"}, 0, "--leader-elect"},
		{[]string{"plan", "-f", "-"}, 2, "to create"},
		{[]string{"run"}, 1, "finding the cluster: this process is not in a cluster"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			command := inside(t, root, c.args)
			command.Stdin = bytes.NewReader(samples)
			out, err := command.CombinedOutput()
			if command.ProcessState == nil {
				t.Fatal(err)
			}
			if code := command.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.says) {
				t.Errorf("exit code %d, want %d and %q:\n%s", code, c.code, c.says, out)
			}
		})
	}
	if after := listing(t, root); !slices.Equal(before, after) {
		t.Errorf("it left something: %v, before %v", after, before)
	}
}

// inside is a command in an empty root, as the image's user: by this machine's root, or else in a
// namespace where this user is that one.
func inside(t *testing.T, root string, args []string) *exec.Cmd {
	const id = 65532
	command := exec.CommandContext(t.Context(), "/fairlead", args...)
	command.Env = []string{}
	command.Dir = "/"
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if os.Geteuid() == 0 {
		command.SysProcAttr.Credential = &syscall.Credential{Uid: id, Gid: id}
		return command
	}
	command.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
	command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: id, HostID: os.Geteuid(), Size: 1}}
	command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: id, HostID: os.Getegid(), Size: 1}}
	return command
}

func install(t *testing.T, from, to string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(to, read(t, from), mode); err != nil {
		t.Fatal(err)
	}
}

// listing is everything in a folder, with its size and its mode.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		out = append(out, path+" "+info.Mode().String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
