package manifests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	pathpkg "path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// This file finds and reads the files behind paths: files, directories, URLs and standard input.

// maxManifest limits the size of a manifest.
const maxManifest = 8 << 20

// StandardInput is the path that stands for standard input.
const StandardInput = "-"

// NameOf returns the name of a file in messages: its path, except for standard input.
func NameOf(path string) string {
	if path == StandardInput {
		return "standard input"
	}
	return path
}

// patience is how long a server may take to send a manifest.
const patience = 30 * time.Second

// Files name the objects to read.
type Files struct {
	// Paths are files, directories and URLs; "-" is standard input.
	Paths []string
	// Kustomizations are directories, or URLs, that are built first.
	Kustomizations []string
	// Recursive has directories inside directories searched.
	Recursive bool
	// Namespace is that of objects which name none; empty is the namespace default. If it is set,
	// Ingresses of other namespaces are left out.
	Namespace string
	// Exclude are patterns of files and directories inside the directories of Paths that are left out.
	Exclude []string
	// Remote permits kustomizations inside directories to name files and directories of other
	// machines.
	Remote bool
	// Budget is shared by all files of a command; nil for one of its own.
	Budget *Budget
	// Shown returns the name of a path in messages; nil for the path itself.
	Shown func(path string) string
	Stdin io.Reader
}

// shown returns the name of a path in messages.
func (f Files) shown(path string) string {
	if f.Shown != nil && path != StandardInput {
		return f.Shown(path)
	}
	return NameOf(path)
}

// list returns the files behind the paths, each once.
func (f Files) list(l *loader) ([]string, error) {
	var files []string
	for _, path := range f.Paths {
		if path == StandardInput || IsURL(path) {
			files = append(files, path)
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.shown(path), withoutPath(err))
		}
		if !info.IsDir() {
			files = append(files, filepath.Clean(path))
			continue
		}
		inside, err := f.inside(l, path)
		if err != nil {
			return nil, err
		}
		files = append(files, inside...)
	}
	var once []string
	there := map[string]bool{}
	for _, file := range files {
		if !there[file] {
			once = append(once, file)
		}
		there[file] = true
	}
	return once, nil
}

// inside returns the manifests of a directory by name: those that kubectl reads, which are hidden
// ones, too. A directory inside it that cannot be read is returned like a file, so that it is reported
// as one.
func (f Files) inside(l *loader, dir string) ([]string, error) {
	var files, unsearched, unbuilt []string
	root := dir + string(filepath.Separator) // which follows a link
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		leftOut, wrong := f.excludes(root, path)
		switch {
		case wrong != nil:
			return wrong
		case err != nil && path == root:
			return fmt.Errorf("%s: %w", f.shown(dir), withoutPath(err))
		case leftOut && entry.IsDir():
			return fs.SkipDir
		case leftOut:
		case err != nil:
			files = append(files, filepath.Clean(path))
			return fs.SkipDir
		case entry.IsDir() && path != root && !f.Recursive && entry.Name()[0] == '.':
			return fs.SkipDir // .git and .github have files of tools
		case entry.IsDir() && path != root && !f.Recursive:
			unsearched = append(unsearched, path)
			return fs.SkipDir
		case !entry.IsDir() && IsManifest(entry.Name()):
			files = append(files, filepath.Clean(path))
		case !entry.IsDir() && entry.Name() == "Kustomization": // kubectl reads it with -k alone
			unbuilt = append(unbuilt, filepath.Clean(path))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, f.noneInside(dir)
	}
	for _, path := range unbuilt {
		l.notBuilt(f, path)
	}
	for _, path := range unsearched {
		l.unsearched(f, root, path)
	}
	return files, nil
}

// unsearched records a problem for a directory with manifests that is not searched.
func (l *loader) unsearched(f Files, root, dir string) {
	manifests := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if leftOut, _ := f.excludes(root, path); leftOut && err == nil && entry.IsDir() {
			return fs.SkipDir
		} else if err == nil && !leftOut && !entry.IsDir() && IsManifest(entry.Name()) {
			manifests++
		}
		return nil // what cannot be read has no manifests to search
	})
	if err != nil || manifests == 0 {
		return
	}
	count := "1 .yaml, .yml or .json file"
	if manifests > 1 {
		count = fmt.Sprintf("%d .yaml, .yml or .json files", manifests)
	}
	l.problem(Problem{Place: Place{File: f.shown(filepath.Clean(dir))}, Message: count +
		" in this directory: not searched, as -R is not given; --exclude=" + filepath.Base(dir) +
		" leaves the directory out"})
}

// excludes reports whether a pattern leaves out a path inside a directory. A pattern without a
// slash is one of names, at any depth; another one is of paths inside the directory.
func (f Files) excludes(root, path string) (bool, error) {
	inside, err := filepath.Rel(root, path)
	if err != nil || inside == "." {
		return false, err
	}
	inside = filepath.ToSlash(inside)
	for _, pattern := range f.Exclude {
		of := inside
		if !strings.Contains(strings.TrimSuffix(pattern, "/"), "/") {
			of = filepath.Base(path)
		}
		found, err := pathpkg.Match(strings.TrimSuffix(pattern, "/"), of)
		if err != nil {
			return false, fmt.Errorf("--exclude: %q: %w", pattern, err)
		}
		if found {
			return true, nil
		}
	}
	return false, nil
}

// noneInside returns the error for a directory without manifests.
func (f Files) noneInside(dir string) error {
	if slices.ContainsFunc(kustomizations, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}) {
		return onlyKustomization(f.shown(dir))
	}
	if f.Recursive {
		return fmt.Errorf("%s: no .yaml, .yml or .json file there", f.shown(dir))
	}
	return fmt.Errorf("%s: no .yaml, .yml or .json file there (directories inside it are not "+
		"searched; -R searches them)", f.shown(dir))
}

func onlyKustomization(dir string) error {
	return fmt.Errorf("%s: it has a kustomization and no manifests: give -k %s in place of -f",
		dir, dir)
}

// IsManifest reports whether kubectl reads a file of this name in a directory
// (https://github.com/kubernetes/kubernetes/blob/v1.37.0/staging/src/k8s.io/cli-runtime/pkg/resource/builder.go).
func IsManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

// IsURL reports whether a path is the URL of a manifest.
func IsURL(path string) bool {
	return strings.HasPrefix(path, "https://") || strings.HasPrefix(path, "http://")
}

// text reads a file, up to the limit.
func (f Files) text(ctx context.Context, file string) ([]byte, error) {
	switch {
	case file == StandardInput:
		return limited(f.Stdin, maxManifest)
	case IsURL(file):
		return fetched(ctx, file)
	}
	return ReadFile(file, maxManifest)
}

// ReadFile reads a regular file of at most so many bytes. A device or a named pipe, which may have
// no end, is refused, also behind a link; one under /dev that is named itself is read, as a shell
// names those of <(…).
func ReadFile(file string, most int64) ([]byte, error) {
	about, err := os.Stat(file)
	if err != nil {
		return nil, withoutPath(err)
	}
	if !strings.HasPrefix(file, "/dev/") && !(about.Mode().IsRegular() && onDisk(file)) {
		return nil, errIrregular
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer func() { _ = in.Close() }() // it was only read
	return limited(in, most)
}

// onDisk reports whether a file is none that the system makes when it is read. Some of them are
// regular and have no end (https://man7.org/linux/man-pages/man5/proc_kmsg.5.html).
func onDisk(file string) bool {
	target, err := filepath.EvalSymlinks(file)
	if absolute, wrong := filepath.Abs(target); err == nil && wrong == nil {
		target = absolute
	}
	return !strings.HasPrefix(target, "/proc/") && !strings.HasPrefix(target, "/sys/")
}

var errIrregular = errors.New("not a regular file; - reads standard input")

// fetched reads a manifest from a server.
func fetched(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("reading the URL: %w", errors.Unwrap(err))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetching it: %w", errors.Unwrap(err)) // the outer error repeats the URL
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetching it: the server answers %s", response.Status)
	}
	return limited(response.Body, maxManifest)
}

func limited(in io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return nil, withoutPath(err)
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("larger than %d MiB, which is the limit for it", most>>20)
	}
	return text, nil
}

// withoutPath returns a file system's error without the path, which is printed in front of it.
func withoutPath(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}
