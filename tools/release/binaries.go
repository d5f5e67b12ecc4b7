package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// This file compiles the binaries, each in an archive of its own.

// binary is the program for one platform.
type binary struct {
	platform
	data []byte
}

// machine has the variables that change what is compiled. The Dockerfile leaves them to its image;
// a release sets them, because machines differ. `make release` asks for the toolchain of go.mod.
var machine = []string{"GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off"}

// fetching has the variables of the Dockerfile that say where Go gets modules and itself: those of
// the machine are used instead. The checksums are in go.sum either way.
var fetching = []string{"GOTOOLCHAIN", "GOSUMDB"}

// compile runs the command of the Dockerfile for each platform.
func (r release) compile(
	ctx context.Context, how recipe, platforms []platform,
) ([]binary, error) {
	dir, err := os.MkdirTemp("", "fairlead-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	output := filepath.Join(dir, "fairlead")
	script := strings.Replace(how.compile, " -o "+how.compiled+" ", ` -o "$OUTPUT" `, 1)
	var out []binary
	for _, p := range platforms {
		command := exec.CommandContext(ctx, "sh", "-c", script)
		command.Dir = r.tree
		command.Env = append(os.Environ(), machine...)
		for name, value := range how.env {
			if !slices.Contains(fetching, name) {
				command.Env = append(command.Env, name+"="+value)
			}
		}
		command.Env = append(command.Env, "OUTPUT="+output, "VERSION="+r.version,
			"TARGETOS="+p.os, "TARGETARCH="+p.arch)
		if said, err := command.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("compiling for %s/%s: %w\n%s", p.os, p.arch, err, said)
		}
		data, err := os.ReadFile(output)
		if err != nil {
			return nil, err
		}
		out = append(out, binary{p, data})
	}
	return out, nil
}

// archives returns an archive for each binary, with the licence that comes with every copy.
func (r release) archives(binaries []binary) ([]file, error) {
	licence, err := os.ReadFile(filepath.Join(r.tree, "LICENSE"))
	if err != nil {
		return nil, err
	}
	var out []file
	for _, b := range binaries {
		data, err := compressed(r.at, []file{
			{name: "fairlead", mode: 0o755, data: b.data},
			{name: "LICENSE", data: licence},
		})
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("fairlead-%s-%s-%s.tar.gz", r.version, b.os, b.arch)
		out = append(out, file{name: name, data: data})
	}
	return out, nil
}
