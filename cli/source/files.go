package source

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// This file writes the blobs of a revision as files, and its symbolic links as links.

// The modes of entries (https://git-scm.com/docs/git-fast-import#_filemodify).
const (
	linkMode      = "120000"
	submoduleMode = "160000"
)

// entries are what a revision has.
type entries struct {
	files      []entry
	links      []entry
	submodules []string // paths
}

// An entry is a file, or a link whose content is where it leads to.
type entry struct{ object, path string }

// entriesOf returns the entries in the output of git ls-tree -r -z, without some paths. A path that
// is not one inside a directory is an error: git makes no such tree.
func entriesOf(list []byte, without map[string]bool) (out entries, err error) {
	for line := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if line == "" {
			continue
		}
		about, name, _ := strings.Cut(line, "\t")
		fields := strings.Fields(about) // mode, type and object
		const count = 3
		if len(fields) != count || !filepath.IsLocal(filepath.FromSlash(name)) {
			return out, fmt.Errorf("invalid path %q", name)
		}
		one := entry{fields[2], name}
		switch {
		case fields[0] == submoduleMode:
			out.submodules = append(out.submodules, filepath.FromSlash(name))
		case without[name]:
		case fields[0] == linkMode:
			out.links = append(out.links, one)
		default:
			out.files = append(out.files, one)
		}
	}
	return out, nil
}

// notCheckedOut returns the paths in the output of git ls-files -t -z that a sparse checkout leaves
// out.
func notCheckedOut(list []byte) map[string]bool {
	out := map[string]bool{}
	for line := range strings.SplitSeq(string(list), "\x00") {
		if name, skipped := strings.CutPrefix(line, "S "); skipped {
			out[name] = true
		}
	}
	return out
}

// write writes the entries of a repository into a directory, and nothing outside of it.
func (e entries) write(ctx context.Context, repository, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	all := slices.Concat(e.files, e.links)
	var names bytes.Buffer
	for _, one := range all {
		fmt.Fprintln(&names, one.object)
	}
	from, to := io.Pipe()
	defer from.Close()
	go func() {
		to.CloseWithError(gitTo(ctx, to, names.Bytes(), "-C", repository, "cat-file", "--batch"))
	}()
	blobs := bufio.NewReader(from)
	for _, one := range e.files {
		if err := writeBlob(root, one, blobs); err != nil {
			return err
		}
	}
	// A link comes after all files, so that no file is written through one.
	for _, one := range e.links {
		var target strings.Builder
		if err := readBlob(&target, one, blobs); err != nil {
			return err
		}
		if !staysInside(one.path, target.String()) {
			continue // it could lead to a file outside of the directory
		}
		name := filepath.FromSlash(one.path)
		err := errors.Join(root.MkdirAll(filepath.Dir(name), 0o700),
			root.Symlink(filepath.FromSlash(target.String()), name))
		if err != nil {
			return err
		}
	}
	return nil
}

// writeBlob writes the next blob as a file.
func writeBlob(root *os.Root, one entry, blobs *bufio.Reader) error {
	name := filepath.FromSlash(one.path)
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(readBlob(file, one, blobs), file.Close())
}

// readBlob writes the next blob in the output of git cat-file --batch
// (https://git-scm.com/docs/git-cat-file#_batch_output): its object, type and size, and its
// content.
func readBlob(to io.Writer, one entry, blobs *bufio.Reader) error {
	header, err := blobs.ReadString('\n')
	if err != nil {
		return fmt.Errorf("reading %s: %w", one.path, err)
	}
	fields := strings.Fields(header)
	const count = 3
	if len(fields) != count || fields[1] != "blob" {
		return fmt.Errorf("reading %s: git says %s", one.path, strings.TrimSpace(header))
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return fmt.Errorf("reading %s: %w", one.path, err)
	}
	if _, err := io.CopyN(to, blobs, size); err != nil {
		return fmt.Errorf("reading %s: %w", one.path, err)
	}
	_, err = blobs.Discard(1) // the end of the line
	return err
}

// staysInside reports whether a link leads to a path inside the tree, even if other links are on
// its way: it goes up first, by no more directories than it is in, and then down alone.
func staysInside(from, target string) bool {
	if target == "" || path.IsAbs(target) || !filepath.IsLocal(path.Join(path.Dir(from), target)) {
		return false
	}
	down := "/" + target + "/"
	for strings.HasPrefix(down, "/../") {
		down = strings.TrimPrefix(down, "/..")
	}
	return !strings.Contains(down, "/../")
}
