package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	gcr "github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// trial is a release of this tree that nothing was compiled for.
func trial() release {
	at := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	return release{tree: "../..", version: "v1.2.3", commit: "abc", at: at, notes: "notes", downloads: "https://downloads.example/fairlead"}
}

func binaries() []binary {
	return []binary{
		{platform{"linux", "amd64"}, []byte("for amd64")},
		{platform{"linux", "arm64"}, []byte("for arm64")},
		{platform{"darwin", "arm64"}, []byte("for darwin")},
	}
}

// archiveOf makes the image of the Dockerfile, and returns it as a file.
func archiveOf(t *testing.T) string {
	t.Helper()
	how, err := readDockerfile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	image, err := trial().image(how, binaries())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), image.name)
	if err := os.WriteFile(path, image.data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestImageIsAnOCILayout: of one index, which has an image for each platform of Linux.
func TestImageIsAnOCILayout(t *testing.T) {
	dir := t.TempDir()
	input, err := os.Open(archiveOf(t))
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	for _, entry := range entries(t, input) {
		if entry.header.Typeflag == tar.TypeReg {
			writeFile(t, filepath.Join(dir, entry.header.Name), entry.text)
		}
	}
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(outer); err != nil {
		t.Error(err)
	}
	described, err := outer.IndexManifest()
	if err != nil || len(described.Manifests) != 1 {
		t.Fatalf("index.json has %v, %v; want one index", described, err)
	}
	if got := described.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; got != "v1.2.3" {
		t.Errorf("it is tagged %q, want the version", got)
	}
	index, err := outer.ImageIndex(described.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	platforms, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if got := platforms.Annotations["org.opencontainers.image.version"]; got != "v1.2.3" {
		t.Errorf("the index is annotated with the version %q", got)
	}
	var found []string
	for _, m := range platforms.Manifests {
		found = append(found, m.Platform.String())
	}
	if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(found, want) {
		t.Errorf("there are images for %v, want %v", found, want)
	}
}

// TestImageIsThatOfTheDockerfile reads the images as `docker load` does.
func TestImageIsThatOfTheDockerfile(t *testing.T) {
	archive := archiveOf(t)
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			tag, err := name.NewTag("fairlead:v1.2.3-" + arch)
			if err != nil {
				t.Fatal(err)
			}
			image, err := gcr.ImageFromPath(archive, &tag)
			if err != nil {
				t.Fatal(err)
			}
			if err := validate.Image(image); err != nil {
				t.Error(err)
			}
			config, err := image.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			checkConfig(t, config, arch)
			files := entries(t, mutate.Extract(image))
			var names []string
			for _, f := range files {
				names = append(names, fmt.Sprintf("%s %o", f.header.Name, f.header.Mode))
				if h := f.header; !h.ModTime.Equal(trial().at) || h.Uid != 0 || h.Uname != "" {
					t.Errorf("%s is of %s by %d %s", h.Name, h.ModTime, h.Uid, h.Uname)
				}
				switch f.header.Name {
				case "fairlead":
					if f.text != "for "+arch {
						t.Errorf("the binary is %q", f.text)
					}
				case "etc/ssl/certs/ca-certificates.crt":
					checkCertificates(t, f.text)
				}
			}
			slices.Sort(names)
			want := []string{
				"etc 755", "etc/ssl 755", "etc/ssl/certs 755", "etc/ssl/certs/ca-certificates.crt 644",
				"fairlead 755",
			}
			if !slices.Equal(names, want) {
				t.Errorf("it has %v, want %v", names, want)
			}
		})
	}
}

func checkConfig(t *testing.T, config *v1.ConfigFile, arch string) {
	t.Helper()
	if config.OS != "linux" || config.Architecture != arch || !config.Created.Equal(trial().at) {
		t.Errorf("it is for %s/%s, of %s", config.OS, config.Architecture, config.Created)
	}
	if c := config.Config; c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/fairlead"}) {
		t.Errorf("it runs %v as %s", c.Entrypoint, c.User)
	}
	for label, want := range map[string]string{
		"version": "v1.2.3", "revision": "abc", "licenses": "Apache-2.0", "created": "2026-11-24T09:00:00Z",
		"source": "https://fairlead.dev/fairlead", "title": "fairlead",
	} {
		if got := config.Config.Labels["org.opencontainers.image."+label]; got != want {
			t.Errorf("the label %s is %q, want %q", label, got, want)
		}
	}
}

// checkCertificates looks for the one that AWS has signed its endpoints with.
func checkCertificates(t *testing.T, text string) {
	t.Helper()
	var names []string
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, certificate.Subject.CommonName)
	}
	if !slices.Contains(names, "Amazon Root CA 1") || len(names) < 100 {
		t.Errorf("there are %d certificates: %v", len(names), names)
	}
}

type tarEntry struct {
	header tar.Header
	text   string
}

// entries returns what a tar archive has, in its order.
func entries(t *testing.T, archive io.Reader) []tarEntry {
	t.Helper()
	var out []tarEntry
	for r := tar.NewReader(archive); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		h := *header
		h.Name = strings.TrimSuffix(h.Name, "/")
		out = append(out, tarEntry{h, string(text)})
	}
}

func TestDockerfilesThatAReleaseCannotFollow(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ old, new, refused string }{
		"as it is":                        {},
		"an image that is not empty":      {"FROM scratch", "FROM alpine", "want a build and an image from scratch"},
		"an instruction that is not read": {"USER 65532:65532", "VOLUME /data", "VOLUME: a release does not know"},
		"a file under another name":       {"/fairlead /fairlead", "/fairlead /bin/fairlead", "want one file that keeps its name"},
		"a file that is not made":         {"COPY --from=build /fairlead /fairlead", "COPY --from=build /x /x", "copies /x"},
		"a build without an output":       {" -o /fairlead ", " ", "writes no file by -o"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "Dockerfile")
			writeFile(t, path, string(bytes.Replace(text, []byte(c.old), []byte(c.new), 1)))
			how, err := readDockerfile(path)
			if err == nil {
				_, err = trial().image(how, binaries())
			}
			if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("the error is %v, want %q", err, c.refused)
			}
		})
	}
}
