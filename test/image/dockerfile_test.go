// Package image tests what the Dockerfile makes, without docker: the file is read as docker reads
// it, its build is run as it stands, and the binary runs where there is nothing else.
package image

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"golang.org/x/mod/modfile"
)

// This file reads the Dockerfile.

// tree is the root of the repository.
const tree = "../.."

// stages are those of the Dockerfile.
func stages(t *testing.T) []instructions.Stage {
	t.Helper()
	file, err := os.Open(filepath.Join(tree, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	parsed, err := parser.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range parsed.Warnings {
		t.Errorf("docker warns: %s", w.Short)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	return stages
}

// commands are the instructions of one kind in a stage.
func commands[C instructions.Command](s instructions.Stage) []C {
	var out []C
	for _, c := range s.Commands {
		if typed, ok := c.(C); ok {
			out = append(out, typed)
		}
	}
	return out
}

// final checks that there are two stages, and returns the one that becomes the image.
func final(t *testing.T) (build, image instructions.Stage) {
	t.Helper()
	found := stages(t)
	if len(found) != 2 || found[0].Name != "build" {
		t.Fatalf("there are %d stages, and the first is called %q; want build and the image", len(found), found[0].Name)
	}
	return found[0], found[1]
}

func TestBuildIsOnTheGoThatTheModuleAsksFor(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(tree, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	module, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	build, _ := final(t)
	if module.Toolchain == nil {
		t.Fatal("go.mod names no toolchain")
	}
	if want := "golang:" + strings.TrimPrefix(module.Toolchain.Name, "go") + "${GO_IMAGE_DIGEST}"; build.BaseName != want {
		t.Errorf("the build is FROM %s, want %s", build.BaseName, want)
	}
	if !regexp.MustCompile(`^go\d+\.\d+\.\d+$`).MatchString(module.Toolchain.Name) {
		t.Errorf("the toolchain is %s: want a version to the last number", module.Toolchain.Name)
	}
	if build.Platform != "$BUILDPLATFORM" {
		t.Errorf("the build is on platform %q: another than the machine's is emulated", build.Platform)
	}
}

// TestBuildTakesNothingThatIsNotPinned: Go would fetch another version of itself, and other
// modules, by itself.
func TestBuildTakesNothingThatIsNotPinned(t *testing.T) {
	build, _ := final(t)
	got := environment(build)
	for name, want := range map[string]string{"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOSUMDB": "sum.golang.org"} {
		if got[name] != want {
			t.Errorf("%s is %q in the build, want %q", name, got[name], want)
		}
	}
	for _, run := range commands[*instructions.RunCommand](build) {
		line := strings.Join(run.CmdLine, " ")
		for _, fetches := range []string{"go get", "go install", "@latest", "curl", "wget", "apt"} {
			if strings.Contains(line, fetches) {
				t.Errorf("RUN %s: what it fetches is not pinned", line)
			}
		}
		if strings.Contains(line, "go mod download") && !strings.Contains(line, "go mod verify") {
			t.Errorf("RUN %s: want what was downloaded to be verified", line)
		}
	}
}

// environment are the variables of a stage.
func environment(stage instructions.Stage) map[string]string {
	out := map[string]string{}
	for _, c := range commands[*instructions.EnvCommand](stage) {
		for _, pair := range c.Env {
			out[pair.Key] = pair.Value
		}
	}
	return out
}

func TestImageIsEmptyButForTheBinary(t *testing.T) {
	_, image := final(t)
	if image.BaseName != "scratch" {
		t.Errorf("the image is FROM %s", image.BaseName)
	}
	var files []string
	for _, c := range image.Commands {
		switch c := c.(type) {
		case *instructions.CopyCommand:
			if c.From != "build" || len(c.SourcePaths) != 1 {
				t.Errorf("%s: want one file of the build", c)
			}
			files = append(files, c.DestPath)
		case *instructions.UserCommand, *instructions.EntrypointCommand:
		default:
			t.Errorf("%s: an empty image needs files, a user and an entry point", c.Name())
		}
	}
	// The first place that Go looks for certificates in.
	if want := []string{"/etc/ssl/certs/ca-certificates.crt", "/fairlead"}; !slices.Equal(files, want) {
		t.Errorf("in the image are %v, want %v", files, want)
	}
}

func TestImageRunsAsANumber(t *testing.T) {
	_, image := final(t)
	users := commands[*instructions.UserCommand](image)
	if len(users) != 1 {
		t.Fatalf("there are %d users, want one", len(users))
	}
	user, group, _ := strings.Cut(users[0].User, ":")
	for _, id := range []string{user, group} {
		if n, err := strconv.Atoi(id); err != nil || n == 0 {
			t.Errorf("USER %s: want numbers, and not root's", users[0].User)
		}
	}
	entry := commands[*instructions.EntrypointCommand](image)
	if len(entry) != 1 || entry[0].PrependShell || !slices.Equal(entry[0].CmdLine, []string{"/fairlead"}) {
		t.Errorf("ENTRYPOINT is %v: want the binary alone, for there is no shell", entry)
	}
}
