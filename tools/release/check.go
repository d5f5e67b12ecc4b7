package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// This file checks that a release can be made: of a commit, as a version that the changelog has.

// release is a version of the tree at a commit.
type release struct {
	tree    string
	version string // with a v
	commit  string
	at      time.Time // of the commit, for every timestamp in the release
	notes   string
	// downloads is the address below which the files are published, each version in a folder of its own. Without it, there is no
	// manifest for krew, which could install nothing.
	downloads string
}

// check returns the release to be made. It refuses a version that is not semantic, a tree with
// changes, and a version without notes.
func check(ctx context.Context, tree, version string) (release, error) {
	if semver.Canonical(version) != version || version == "" {
		return release{}, fmt.Errorf("%q is not a semantic version such as v1.2.3", version)
	}
	changes, err := git(ctx, tree, "status", "--porcelain", "--untracked-files=normal")
	if err != nil {
		return release{}, err
	}
	if changes != "" {
		return release{}, fmt.Errorf("the tree has changes that are not committed:\n%s", changes)
	}
	changelog, err := os.ReadFile(filepath.Join(tree, "CHANGELOG.md"))
	if err != nil {
		return release{}, err
	}
	notes, err := notesOf(string(changelog), version)
	if err != nil {
		return release{}, err
	}
	line, err := git(ctx, tree, "log", "-1", "--format=%H %ct")
	if err != nil {
		return release{}, err
	}
	commit, seconds, _ := strings.Cut(line, " ")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return release{}, fmt.Errorf("reading the time of commit %s: %w", commit, err)
	}
	return release{tree, version, commit, time.Unix(at, 0).UTC(), notes, ""}, nil
}

// git returns the output of a git command in the tree, without the line break at its end.
func git(ctx context.Context, tree string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", tree}, args...)...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
