// Package revision reads files at a revision of a git repository.
package revision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Tree is a temporary directory with all files of a repository at a revision.
type Tree struct {
	top        string // of the repository
	dir        string
	files      string   // the directory in it that has the files
	submodules []string // paths, of which the files are in another repository
}

// Checkout writes the files of a revision into a temporary directory, as git writes them into a
// working tree, with the filters for line ends and others. In a sparse checkout
// (https://git-scm.com/docs/git-sparse-checkout) they are the same part of all. The repository is
// that of the working directory, which stays as it is.
//
// It does not use git archive, which leaves out files with the attribute export-ignore
// (https://git-scm.com/docs/git-archive#ATTRIBUTES), nor git cat-file --filters, which prints the
// size that a file has before the filters.
func Checkout(ctx context.Context, revision string) (*Tree, error) {
	if strings.HasPrefix(revision, "-") {
		return nil, fmt.Errorf("%q is not a git revision", revision)
	}
	top, err := git(ctx, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	t := &Tree{top: strings.TrimSpace(string(top))}
	list, err := git(ctx, nil, "-C", t.top, "ls-tree", "-r", "-z", "--full-tree", revision)
	if err != nil {
		return nil, errors.Join(err, shallowError(ctx, revision))
	}
	if t.dir, err = os.MkdirTemp("", "fairlead-revision-"); err != nil {
		return nil, fmt.Errorf("making a directory for %s: %w", revision, err)
	}
	t.files = filepath.Join(t.dir, "files")
	if err := t.write(ctx, revision, list); err != nil {
		return nil, errors.Join(fmt.Errorf("reading %s: %w", revision, err), t.Remove())
	}
	return t, nil
}

// write writes the files of a revision, by an index and into a working tree of their own
// (https://git-scm.com/docs/git-read-tree).
func (t *Tree) write(ctx context.Context, revision string, list []byte) error {
	if err := os.Mkdir(t.files, 0o700); err != nil {
		return err
	}
	own := []string{"GIT_INDEX_FILE=" + filepath.Join(t.dir, "index"), "GIT_WORK_TREE=" + t.files}
	_, err := git(ctx, own, "-C", t.top, "-c", "core.symlinks=false", "-c", "core.fsmonitor=false",
		"read-tree", "--no-recurse-submodules", "-m", "-u", revision)
	if err != nil {
		return err
	}
	links, submodules := specialPaths(list)
	t.submodules = submodules
	return makeLinks(t.files, links)
}

// shallowError returns the error for a shallow clone, which may lack a revision; nil for any other
// clone.
func shallowError(ctx context.Context, revision string) error {
	is, err := git(ctx, nil, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(is)) != "true" {
		return nil
	}
	return fmt.Errorf("this clone is shallow, and may lack %s: clone with the whole history "+
		"(fetch-depth: 0, or GIT_DEPTH: 0), or fetch it", revision)
}

// Remove removes the directory.
func (t *Tree) Remove() error { return os.RemoveAll(t.dir) }

// Path returns the path of a file or directory of the repository in the tree. It reports false if
// the revision does not have it.
func (t *Tree) Path(path string) (string, bool, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", path, err)
	}
	absolute = resolveLinks(absolute)
	inside, err := filepath.Rel(t.top, absolute)
	if err != nil || !filepath.IsLocal(inside) {
		return "", false, fmt.Errorf("%s is not in the git repository %s", path, t.top)
	}
	for _, submodule := range t.submodules {
		if isWithin(submodule, inside) || isWithin(inside, submodule) {
			return "", false, fmt.Errorf("%s is a submodule, whose files are not in the revision", submodule)
		}
	}
	there := filepath.Join(t.files, inside)
	_, err = os.Lstat(there)
	return there, err == nil, nil
}

// isWithin reports whether a path is another one, or is inside it.
func isWithin(path, other string) bool {
	inside, err := filepath.Rel(other, path)
	return err == nil && filepath.IsLocal(inside)
}

// resolveLinks returns a path without symbolic links, as git prints the top. A file that does not
// exist any more cannot be one.
func resolveLinks(path string) string {
	if out, err := filepath.EvalSymlinks(path); err == nil {
		return out
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(resolveLinks(dir), filepath.Base(path))
}

// git returns the output of a git command, with some variables besides those of this process.
func git(ctx context.Context, variables []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // the revision cannot be a flag
	var out, wrong bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), variables...), &out, &wrong
	if err := cmd.Run(); err != nil {
		said, _, _ := strings.Cut(strings.TrimSpace(wrong.String()), "\n")
		if said == "" {
			said = err.Error()
		}
		return nil, fmt.Errorf("git %s: %s", strings.Join(args, " "), said)
	}
	return out.Bytes(), nil
}
