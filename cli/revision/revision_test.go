package revision

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// This file tests that an archive stays inside its directory.

func TestAnArchiveStaysInsideItsDirectory(t *testing.T) {
	outside := t.TempDir()
	for name, files := range map[string][]tar.Header{
		"a path upwards":     {{Name: "../evil", Typeflag: tar.TypeReg}},
		"an absolute path":   {{Name: outside + "/evil", Typeflag: tar.TypeReg}},
		"behind a link":      {{Name: "link", Typeflag: tar.TypeSymlink, Linkname: outside}, {Name: "link/evil", Typeflag: tar.TypeReg}},
		"a link to the file": {{Name: "evil", Typeflag: tar.TypeSymlink, Linkname: outside + "/evil"}, {Name: "evil", Typeflag: tar.TypeReg}},
	} {
		t.Run(name, func(t *testing.T) {
			var archive bytes.Buffer
			w := tar.NewWriter(&archive)
			for _, f := range files {
				if f.Typeflag == tar.TypeReg {
					f.Size = 4
				}
				f.Mode = 0o600
				if err := w.WriteHeader(&f); err != nil {
					t.Fatal(err)
				}
				if f.Typeflag == tar.TypeReg {
					if _, err := w.Write([]byte("evil")); err != nil {
						t.Fatal(err)
					}
				}
			}
			top := t.TempDir()
			dir := filepath.Join(top, "tree")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			err := extract(dir, &archive) // an error is as good as a file inside
			for _, place := range []string{filepath.Join(outside, "evil"), filepath.Join(top, "evil")} {
				if _, found := os.Lstat(place); found == nil {
					t.Errorf("%s was written, with the error %v", place, err)
				}
			}
		})
	}
}
