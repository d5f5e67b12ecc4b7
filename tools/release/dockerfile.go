package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// This file reads the Dockerfile: a release has the binary and the image that docker would build.

// recipe is how the Dockerfile makes the binary and the image.
type recipe struct {
	compile    string            // the command, which reads TARGETOS, TARGETARCH and VERSION
	compiled   string            // where the command writes the binary
	env        map[string]string // of the command
	copied     []string          // from the build into the image
	user       string
	entrypoint []string
}

func readDockerfile(name string) (recipe, error) {
	input, err := os.Open(name)
	if err != nil {
		return recipe{}, err
	}
	defer input.Close()
	parsed, err := parser.Parse(input)
	if err != nil {
		return recipe{}, fmt.Errorf("reading %s: %w", name, err)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return recipe{}, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(stages) != 2 || stages[1].BaseName != "scratch" {
		return recipe{}, fmt.Errorf("%s: want a build and an image from scratch", name)
	}
	r := recipe{env: map[string]string{}}
	r.readBuild(stages[0])
	if err := r.readImage(stages[1]); err != nil {
		return recipe{}, fmt.Errorf("%s: %w", name, err)
	}
	if _, after, found := strings.Cut(r.compile, " -o "); found {
		r.compiled, _, _ = strings.Cut(after, " ")
	}
	if r.compiled == "" {
		return recipe{}, fmt.Errorf("%s: the last command of the build writes no file by -o", name)
	}
	return r, nil
}

// readBuild takes the last command for the one that compiles: those before it fetch modules.
func (r *recipe) readBuild(stage instructions.Stage) {
	for _, c := range stage.Commands {
		switch c := c.(type) {
		case *instructions.EnvCommand:
			for _, pair := range c.Env {
				r.env[pair.Key] = pair.Value
			}
		case *instructions.RunCommand:
			r.compile = strings.Join(c.CmdLine, " ")
		}
	}
}

func (r *recipe) readImage(stage instructions.Stage) error {
	for _, c := range stage.Commands {
		switch c := c.(type) {
		case *instructions.CopyCommand:
			if len(c.SourcePaths) != 1 || c.SourcePaths[0] != c.DestPath {
				return fmt.Errorf("%s: want one file that keeps its name", c)
			}
			r.copied = append(r.copied, c.DestPath)
		case *instructions.UserCommand:
			r.user = c.User
		case *instructions.EntrypointCommand:
			r.entrypoint = c.CmdLine
		default:
			return fmt.Errorf("%s: a release does not know this instruction", c.Name())
		}
	}
	return nil
}
