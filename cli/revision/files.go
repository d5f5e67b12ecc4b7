package revision

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// This file turns what git has written for symbolic links into links.

// The modes of entries (https://git-scm.com/docs/git-fast-import#_filemodify).
const (
	linkMode      = "120000"
	submoduleMode = "160000"
)

// specialPaths returns the paths of symbolic links, and of submodules, in the output of git ls-tree
// -r -z.
func specialPaths(list []byte) (links, submodules []string) {
	for line := range strings.SplitSeq(string(list), "\x00") {
		about, path, _ := strings.Cut(line, "\t")
		switch mode, _, _ := strings.Cut(about, " "); mode {
		case linkMode:
			links = append(links, path)
		case submoduleMode:
			submodules = append(submodules, filepath.FromSlash(path))
		}
	}
	return links, submodules
}

// makeLinks replaces files, whose content is where a link leads to, by the links. One that could
// lead to a file outside of the directory is removed.
func makeLinks(dir string, links []string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	targets := map[string]string{}
	for _, link := range links {
		name := filepath.FromSlash(link)
		target, err := root.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) { // in a sparse checkout
			continue
		}
		if err = errors.Join(err, root.Remove(name)); err != nil {
			return err
		}
		if staysInside(link, string(target)) {
			targets[name] = filepath.FromSlash(string(target))
		}
	}
	for name, target := range targets {
		if err := root.Symlink(target, name); err != nil {
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
