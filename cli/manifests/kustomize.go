package manifests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
)

// This file builds kustomizations, with the command that the machine has for it: kubectl or
// kustomize. Both print the manifests that `kubectl apply -k` applies
// (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/kustomization/).

// builders are the commands that build a kustomization, in the order in which they are tried.
var builders = [][]string{{"kubectl", "kustomize"}, {"kustomize", "build"}}

// build returns the manifests of a kustomization.
func build(ctx context.Context, dir string) ([]byte, error) {
	for _, builder := range builders {
		program, err := exec.LookPath(builder[0])
		if err != nil {
			continue
		}
		var out, problem bytes.Buffer
		cmd := exec.CommandContext(ctx, program, builder[1], "--", dir) //nolint:gosec // one of builders
		cmd.Stdout, cmd.Stderr = &out, &problem
		if err := cmd.Run(); err != nil {
			said := OneLine(problem.String())
			return nil, fmt.Errorf("running %s %s: %w: %s", builder[0], builder[1], err, said)
		}
		return limited(&out)
	}
	return nil, errors.New("building a kustomization " +
		"needs kubectl or kustomize, and neither is in PATH")
}
