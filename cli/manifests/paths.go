package manifests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// This file finds and reads the files behind paths: files, directories, URLs and standard input.

// maxManifest limits the size of a manifest.
const maxManifest = 8 << 20

// StandardInput is the path for it.
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
	Stdin     io.Reader
}

// list returns the files behind the paths, each once.
func (f Files) list() ([]string, error) {
	var files []string
	for _, path := range f.Paths {
		if path == StandardInput || IsURL(path) {
			files = append(files, path)
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, withoutPath(err))
		}
		if !info.IsDir() {
			files = append(files, filepath.Clean(path))
			continue
		}
		inside, err := f.inside(path)
		if err != nil {
			return nil, err
		}
		files = append(files, inside...)
	}
	var once []string
	for _, file := range files {
		if !slices.Contains(once, file) {
			once = append(once, file)
		}
	}
	return once, nil
}

// inside returns the manifests of a directory by name. Hidden directories are not searched. A
// directory inside it that cannot be read is returned like a file, so that it is told as one.
func (f Files) inside(dir string) ([]string, error) {
	var files []string
	root := dir + string(filepath.Separator) // which follows a link
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return fmt.Errorf("%s: %w", dir, withoutPath(err))
		case err != nil:
			files = append(files, filepath.Clean(path))
			return fs.SkipDir
		case entry.IsDir() && path != root && (!f.Recursive || strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case !entry.IsDir() && IsManifest(entry.Name()):
			files = append(files, filepath.Clean(path))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, f.noneInside(dir)
	}
	return files, nil
}

// noneInside returns the error for a directory without manifests.
func (f Files) noneInside(dir string) error {
	if kustomization(dir) {
		return fmt.Errorf("%s: it has a kustomization and no manifests: give -k %s in place of -f",
			dir, dir)
	}
	if f.Recursive {
		return fmt.Errorf("%s: no .yaml, .yml or .json file there", dir)
	}
	return fmt.Errorf("%s: no .yaml, .yml or .json file there (directories inside it are not "+
		"searched; -R searches them)", dir)
}

// kustomizations are the names of the file that makes a directory a kustomization
// (https://kubectl.docs.kubernetes.io/references/kustomize/glossary/#kustomization).
var kustomizations = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// kustomization reports whether a directory has such a file.
func kustomization(dir string) bool {
	return slices.ContainsFunc(kustomizations, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	})
}

// IsManifest reports whether a file name is that of a manifest. A kustomization is not one.
func IsManifest(name string) bool {
	ext := filepath.Ext(name)
	return slices.Contains([]string{".yaml", ".yml", ".json"}, ext) &&
		!strings.EqualFold(strings.TrimSuffix(name, ext), "kustomization") &&
		!strings.HasPrefix(name, ".")
}

// IsURL reports whether a path is the URL of a manifest.
func IsURL(path string) bool {
	return strings.HasPrefix(path, "https://") || strings.HasPrefix(path, "http://")
}

// text reads a file, up to the limit.
func (f Files) text(ctx context.Context, file string) ([]byte, error) {
	switch {
	case file == StandardInput:
		return limited(f.Stdin)
	case IsURL(file):
		return fetched(ctx, file)
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer func() { _ = in.Close() }() // it was only read
	return limited(in)
}

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
	return limited(response.Body)
}

func limited(in io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxManifest+1))
	if err != nil {
		return nil, withoutPath(err)
	}
	if len(text) > maxManifest {
		return nil, fmt.Errorf("larger than %d MiB, too large for a manifest", maxManifest>>20)
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
