// Package revision reads files as they are at a revision of a git repository.
package revision

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Tree is a temporary directory with all files of a repository at a revision.
type Tree struct {
	top string // of the repository
	dir string
}

// Checkout writes the files of a revision into a temporary directory. The repository is that of the
// working directory, which stays as it is.
func Checkout(ctx context.Context, revision string) (*Tree, error) {
	if strings.HasPrefix(revision, "-") {
		return nil, fmt.Errorf("%q is not a git revision", revision)
	}
	top, err := git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	// https://git-scm.com/docs/git-archive: at the top of the repository it has all files.
	t := &Tree{top: strings.TrimSpace(string(top))}
	archive, err := git(ctx, "-C", t.top, "archive", "--format=tar", revision)
	if err != nil {
		return nil, err
	}
	if t.dir, err = os.MkdirTemp("", "fairlead-revision-"); err != nil {
		return nil, fmt.Errorf("making a directory for %s: %w", revision, err)
	}
	if err := extract(t.dir, bytes.NewReader(archive)); err != nil {
		return nil, errors.Join(fmt.Errorf("reading %s: %w", revision, err), t.Remove())
	}
	return t, nil
}

// Remove removes the directory.
func (t *Tree) Remove() error { return os.RemoveAll(t.dir) }

// Path returns where a file or directory of the repository stands in the tree. It reports false if
// the revision does not have it.
func (t *Tree) Path(path string) (string, bool, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", path, err)
	}
	// git prints the top without symbolic links.
	if resolved, err := filepath.EvalSymlinks(absolute); err == nil {
		absolute = resolved
	}
	inside, err := filepath.Rel(t.top, absolute)
	if err != nil || !filepath.IsLocal(inside) {
		return "", false, fmt.Errorf("%s is not in the git repository %s", path, t.top)
	}
	there := filepath.Join(t.dir, inside)
	_, err = os.Lstat(there)
	return there, err == nil, nil
}

// git returns the output of a git command.
func git(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // the revision cannot be a flag
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		said, _, _ := strings.Cut(strings.TrimSpace(wrong.String()), "\n")
		if said == "" {
			said = err.Error()
		}
		return nil, fmt.Errorf("git %s: %s", strings.Join(args, " "), said)
	}
	return out.Bytes(), nil
}

// extract writes the files and directories of an archive. Links are left out: they could lead to
// files outside.
func extract(dir string, archive io.Reader) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for files := tar.NewReader(archive); ; {
		file, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case file.Typeflag == tar.TypeDir:
			err = root.MkdirAll(filepath.Clean(file.Name), 0o700)
		case file.Typeflag == tar.TypeReg:
			err = write(root, filepath.Clean(file.Name), files)
		}
		if err != nil {
			return err
		}
	}
}

// write writes one file.
func write(root *os.Root, name string, from io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}
