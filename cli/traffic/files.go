// Package traffic reads access logs from files, has them replayed, and prints what came of it.
package traffic

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// This file finds and opens files with logs.

// Stdin is the name of standard input.
const Stdin = "-"

// nameOf returns the name of a file in reports: its path, except for standard input.
func nameOf(file string) string {
	if file == Stdin {
		return "standard input"
	}
	return file
}

// Expand returns the files that patterns and directories stand for, in order. A directory stands
// for all files in it and below it, and the name of a file for the file, even if it has a * or a [.
func Expand(patterns []string) ([]string, error) {
	var out []string
	for _, pattern := range patterns {
		found := []string{pattern}
		_, err := os.Stat(pattern)
		if err != nil && pattern != Stdin && strings.ContainsAny(pattern, "*?[") {
			if found, err = filepath.Glob(pattern); err != nil {
				return nil, fmt.Errorf("%s: %w", pattern, err)
			}
			if len(found) == 0 {
				return nil, fmt.Errorf("%s: there is no such file", pattern)
			}
		}
		for _, path := range found {
			files, err := filesIn(path)
			if err != nil {
				return nil, err
			}
			out = append(out, files...)
		}
	}
	return unique(out), nil
}

// unique leaves out files that are named again.
func unique(files []string) []string {
	var out []string
	for _, f := range files {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// filesIn returns a file, or the files in a directory. A directory inside it that cannot be read is
// returned like a file, so that it is reported as one.
func filesIn(path string) ([]string, error) {
	about, err := os.Stat(path)
	if path == Stdin || err == nil && !about.IsDir() {
		return []string{path}, nil
	}
	root := path + string(filepath.Separator) // which follows a link
	var out []string
	if err != nil {
		return nil, fmt.Errorf("reading logs: %s: %w", path, withoutPath(err))
	}
	err = filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && file == root:
			return err
		case err != nil:
			out = append(out, filepath.Clean(file))
			return fs.SkipDir
		case !e.IsDir():
			out = append(out, filepath.Clean(file))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading logs: %w", err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: there are no files in it", path)
	}
	slices.Sort(out)
	return out, nil
}

// withoutPath returns a file system's error without the path, which is printed in front of it.
func withoutPath(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// gzipMark begins what gzip has compressed (RFC 1952, 2.3.1).
const gzipMark = "\x1f\x8b"

// open opens a file. What gzip has compressed is recognised by its content, and decompressed.
func open(file string, stdin io.Reader) (io.Reader, io.Closer, error) {
	raw, closer := stdin, io.Closer(io.NopCloser(nil))
	if file != Stdin {
		f, err := os.Open(file)
		if err != nil {
			return nil, nil, err
		}
		raw, closer = f, f
	}
	buffered := bufio.NewReaderSize(raw, 1<<18)
	begin, err := buffered.Peek(len(gzipMark))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, errors.Join(err, closer.Close())
	}
	if string(begin) != gzipMark {
		return buffered, closer, nil
	}
	text, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, nil, errors.Join(err, closer.Close())
	}
	return text, closer, nil
}

// EachLine reads files line by line, in constant memory. It ends at the first error.
func EachLine(files []string, stdin io.Reader, do func(file string, number int, line []byte) error) error {
	for _, file := range files {
		if err := eachLineOf(file, stdin, do); err != nil {
			return err
		}
	}
	return nil
}

func eachLineOf(file string, stdin io.Reader, do func(file string, number int, line []byte) error) error {
	text, closer, err := open(file, stdin)
	if err != nil {
		return fmt.Errorf("reading logs: %s: %w", nameOf(file), withoutPath(err))
	}
	defer closer.Close()
	lines := bufio.NewScanner(text)
	lines.Buffer(make([]byte, chunkSize), longestLine)
	for number := 1; lines.Scan(); number++ {
		if err := do(nameOf(file), number, lines.Bytes()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading logs: %s: %w", nameOf(file), err)
	}
	return nil
}
