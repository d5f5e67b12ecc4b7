package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Tree is a temporary directory with all files of a repository at a revision.
type Tree struct {
	revision   string
	top        string // of the repository
	dir        string
	files      string   // the directory in it that has the files
	submodules []string // paths, of which the files are in another repository
}

// Checkout writes the files of a revision into a temporary directory, as the repository has them.
// In a sparse checkout (https://git-scm.com/docs/git-sparse-checkout), those that are not checked
// out are left out. The repository is that of the working directory, which stays as it is.
//
// It reads blobs, since git would run filters of its configuration when it checks out files or
// makes an archive of them (https://git-scm.com/docs/gitattributes#_filter), and an archive lacks
// those with the attribute export-ignore.
func Checkout(ctx context.Context, revision string) (*Tree, error) {
	if strings.HasPrefix(revision, "-") {
		return nil, fmt.Errorf("%q is not a git revision", revision)
	}
	top, err := topLevel(ctx)
	if err != nil {
		return nil, err
	}
	t := &Tree{revision: revision, top: top}
	list, err := git(ctx, "-C", t.top, "ls-tree", "-r", "-z", "--full-tree", revision)
	if err != nil {
		return nil, missing(ctx, revision, err)
	}
	if t.dir, err = os.MkdirTemp("", "fairlead-revision-"); err != nil {
		return nil, fmt.Errorf("making a directory for %s: %w", revision, err)
	}
	t.files = filepath.Join(t.dir, "files")
	if err := t.write(ctx, list); err != nil {
		return nil, errors.Join(fmt.Errorf("reading %s: %w", revision, err), t.Remove())
	}
	return t, nil
}

// topLevel returns the top of the working tree. A directory that looks like a repository without a
// working tree, which a change can add to another repository as files, is none
// (https://git-scm.com/docs/git-config#Documentation/git-config.txt-safebareRepository). Versions
// of git before 2.38 do not have the setting, so .git has to be there.
func topLevel(ctx context.Context) (string, error) {
	out, err := git(ctx, "rev-parse", "--show-toplevel")
	if err != nil && strings.Contains(err.Error(), "not a git repository") {
		return "", errors.New("this directory is in no git repository, so it has no revisions: run the " +
			"command in the directory that was cloned")
	}
	if err != nil {
		return "", err
	}
	top := strings.TrimRight(string(out), "\r\n")
	if _, err := os.Lstat(filepath.Join(top, ".git")); err != nil {
		return "", fmt.Errorf("%s is taken for a git repository, and has no .git: run the command "+
			"in the directory that was cloned", top)
	}
	return top, nil
}

// write writes the files of a revision that are checked out.
func (t *Tree) write(ctx context.Context, list []byte) error {
	if err := os.Mkdir(t.files, 0o700); err != nil {
		return err
	}
	skipped, err := git(ctx, "-C", t.top, "ls-files", "-t", "-z")
	if err != nil {
		return err
	}
	all, err := entriesOf(list, notCheckedOut(skipped))
	if err != nil {
		return err
	}
	t.submodules = all.submodules
	return all.write(ctx, t.top, t.files)
}

// Commit returns the revision with its commit, as a branch names others later. A revision that is a tree has none.
func (t *Tree) Commit(ctx context.Context) string {
	out, err := git(ctx, "-C", t.top, "rev-parse", "--verify", "--end-of-options", t.revision+"^{commit}")
	if err != nil {
		return t.revision
	}
	return fmt.Sprintf("%s (commit %s)", t.revision, strings.TrimSpace(string(out)))
}

// missing returns the error for a revision that cannot be read.
func missing(ctx context.Context, revision string, err error) error {
	if strings.Trim(revision, "0") == "" {
		return fmt.Errorf("there is no revision %s: CI systems write zeros where there is no earlier "+
			"commit, as at the first push of a branch. Name the branch that the change is for", revision)
	}
	is, shallow := git(ctx, "rev-parse", "--is-shallow-repository")
	if shallow == nil && strings.TrimSpace(string(is)) == "true" {
		return fmt.Errorf("there is no revision %[1]s here. This clone is shallow, and may lack "+
			"%[1]s: clone with the whole history (fetch-depth: 0, or GIT_DEPTH: 0), or fetch it", revision)
	}
	if !strings.Contains(err.Error(), "Not a valid object name") {
		return err
	}
	branch, isRemote := strings.CutPrefix(revision, "origin/")
	if isRemote {
		return fmt.Errorf("there is no revision %s here: if the branch exists, git fetch origin %s "+
			"brings it", revision, branch)
	}
	return fmt.Errorf("there is no revision %s here: git branch --all lists branches", revision)
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

// Name returns the name of a file of the tree in messages: the revision and the path in the
// repository, as git has it.
func (t *Tree) Name(path string) string {
	inside, err := filepath.Rel(t.files, path)
	if err != nil || !filepath.IsLocal(inside) {
		return path
	}
	return t.revision + ":" + filepath.ToSlash(inside)
}

// safely are the settings of every call. Nothing that a change contains is a repository or is
// executed (https://git-scm.com/docs/git-config).
var safely = []string{"-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=" + os.DevNull, "--no-pager", "--no-optional-locks"}

// git returns the output of a git command.
func git(ctx context.Context, args ...string) ([]byte, error) {
	var out bytes.Buffer
	if err := gitTo(ctx, &out, nil, args...); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// gitTo runs a git command with an input, and writes its output.
func gitTo(ctx context.Context, out io.Writer, input []byte, args ...string) error {
	//nolint:gosec // the revision cannot be a flag
	cmd := exec.CommandContext(ctx, "git", append(slices.Clone(safely), args...)...)
	var wrong bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), out, &wrong
	err := cmd.Run()
	if err == nil {
		return nil
	}
	said, _, _ := strings.Cut(strings.TrimSpace(wrong.String()), "\n")
	if said == "" {
		said = err.Error()
	}
	return fmt.Errorf("git %s: %s", strings.Join(args, " "), said)
}
