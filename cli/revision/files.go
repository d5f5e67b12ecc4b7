package revision

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// This file writes the files of a revision.

// An entry is a file or a symbolic link of a revision.
type entry struct {
	path string
	link bool
}

// The modes of entries (https://git-scm.com/docs/git-fast-import#_filemodify).
const (
	linkMode      = "120000"
	submoduleMode = "160000"
)

// entries returns the entries in the output of git ls-tree -r -z, and the input with which git
// cat-file --batch --filters returns their contents. Submodules have none here, and a path with a
// newline cannot be asked for.
func entries(list []byte) (all []entry, asked []byte) {
	for line := range strings.SplitSeq(string(list), "\x00") {
		about, path, found := strings.Cut(line, "\t")
		fields := strings.Fields(about) // mode, kind and object
		if !found || len(fields) != 3 || fields[0] == submoduleMode || strings.Contains(path, "\n") {
			continue
		}
		all = append(all, entry{path, fields[0] == linkMode})
		asked = fmt.Appendf(asked, "%s %s\n", fields[2], path)
	}
	return all, asked
}

// extract writes entries with their contents, as git cat-file --batch prints them. Links are
// written last, and only those that cannot lead to files outside.
func extract(dir string, all []entry, contents io.Reader) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	from := bufio.NewReader(contents)
	links := map[string]string{}
	for _, e := range all {
		content, err := next(from)
		if err != nil {
			return fmt.Errorf("%s: %w", e.path, err)
		}
		name := filepath.Clean(filepath.FromSlash(e.path))
		switch {
		case !e.link:
			err = write(root, name, content)
		case staysInside(e.path, string(content)):
			links[name] = filepath.FromSlash(string(content))
		}
		if err != nil {
			return err
		}
	}
	for name, target := range links {
		err := root.MkdirAll(filepath.Dir(name), 0o700)
		if err = errors.Join(err, root.Symlink(target, name)); err != nil {
			return err
		}
	}
	return nil
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

var errUnreadable = errors.New("git cat-file does not have it")

// next returns the content of the next object.
func next(from *bufio.Reader) ([]byte, error) {
	head, err := from.ReadString('\n')
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(head) // object, kind and size
	size := 0
	if len(fields) != 3 || fields[1] != "blob" {
		return nil, errUnreadable
	}
	if _, err := fmt.Sscanf(fields[2], "%d", &size); err != nil || size < 0 {
		return nil, errUnreadable
	}
	content := make([]byte, size+1) // and a newline
	if _, err := io.ReadFull(from, content); err != nil {
		return nil, err
	}
	return content[:size], nil
}

// write writes one file.
func write(root *os.Root, name string, content []byte) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return root.WriteFile(name, content, 0o600)
}
