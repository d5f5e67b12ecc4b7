package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"path"
	"time"
)

// This file writes archives that depend on nothing but their contents and the time of the commit.

// file is a file of a release, or of an archive.
type file struct {
	name string
	mode int64 // 0: 0644
	data []byte
}

// tarball returns files as a tar archive: owned by root, each after the directories that it is in.
func tarball(at time.Time, files []file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	written := map[string]bool{".": true}
	var directory func(name string) error
	directory = func(name string) error {
		if written[name] {
			return nil
		}
		written[name] = true
		if err := directory(path.Dir(name)); err != nil {
			return err
		}
		header := tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: at}
		return w.WriteHeader(&header)
	}
	for _, f := range files {
		if err := directory(path.Dir(f.name)); err != nil {
			return nil, err
		}
		mode := f.mode
		if mode == 0 {
			mode = 0o644
		}
		header := tar.Header{Name: f.name, Mode: mode, Size: int64(len(f.data)), ModTime: at}
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// compressed returns a tar archive of files, in gzip's format.
func compressed(at time.Time, files []file) ([]byte, error) {
	archive, err := tarball(at, files)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(archive); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}
