package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	gcr "github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// This file makes the image without docker. The archive is an OCI image layout with one index of
// all platforms. manifest.json lists the images for a `docker load` that reads no OCI layout.

const (
	licence = "Apache-2.0"
	source  = "https://fairlead.dev/fairlead" // the module's path, where Go finds the repository
)

// image returns the archive of the image for the binaries that are for Linux.
func (r release) image(how recipe, binaries []binary) (file, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var loaded []loadable
	for _, b := range binaries {
		if b.os != "linux" {
			continue
		}
		image, err := r.imageOf(how, b)
		if err != nil {
			return file{}, fmt.Errorf("making the image for %s: %w", b.arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.os, Architecture: b.arch}},
		})
		one, err := r.loadable(image, b.arch)
		if err != nil {
			return file{}, err
		}
		loaded = append(loaded, one)
	}
	index = mutate.Annotations(index, r.labels()).(v1.ImageIndex)
	files, err := r.layout(index)
	if err != nil {
		return file{}, err
	}
	manifest, err := json.Marshal(loaded)
	if err != nil {
		return file{}, err
	}
	data, err := tarball(r.at, append(files, file{name: "manifest.json", data: manifest}))
	return file{name: "fairlead-" + r.version + "-image.tar", data: data}, err
}

// labels are those of the OCI image specification.
func (r release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    "fairlead",
		"org.opencontainers.image.version":  r.version,
		"org.opencontainers.image.revision": r.commit,
		"org.opencontainers.image.created":  r.at.Format("2006-01-02T15:04:05Z"),
		"org.opencontainers.image.licenses": licence,
		"org.opencontainers.image.source":   source,
	}
}

// imageOf returns the image for one platform: a layer for each file that the Dockerfile copies.
func (r release) imageOf(how recipe, b binary) (v1.Image, error) {
	certificates, err := certificates()
	if err != nil {
		return nil, err
	}
	contents := map[string]file{
		"/etc/ssl/certs/ca-certificates.crt": {data: certificates},
		how.compiled:                         {data: b.data, mode: 0o755},
	}
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	for _, name := range how.copied {
		content, known := contents[name]
		if !known {
			return nil, fmt.Errorf("the Dockerfile copies %s, which a release does not have", name)
		}
		content.name = strings.TrimPrefix(name, "/")
		archive, err := tarball(r.at, []file{content})
		if err != nil {
			return nil, err
		}
		open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }
		layer, err := gcr.LayerFromOpener(open, gcr.WithMediaType(types.OCILayer),
			gcr.WithCompressionLevel(gzip.DefaultCompression))
		if err != nil {
			return nil, err
		}
		image, err = mutate.Append(image, mutate.Addendum{
			Layer:   layer,
			History: v1.History{Created: v1.Time{Time: r.at}, CreatedBy: "COPY " + name},
		})
		if err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = b.os, b.arch, v1.Time{Time: r.at}
	config.Config = v1.Config{User: how.user, Entrypoint: how.entrypoint, Labels: r.labels()}
	return mutate.ConfigFile(image, config)
}

// layout returns the files of an image layout that has the index and nothing else.
func (r release) layout(index v1.ImageIndex) ([]file, error) {
	dir, err := os.MkdirTemp("", "fairlead-image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	written, err := layout.Write(dir, empty.Index)
	if err != nil {
		return nil, err
	}
	reference := map[string]string{"org.opencontainers.image.ref.name": r.version}
	if err := written.AppendIndex(index, layout.WithAnnotations(reference)); err != nil {
		return nil, err
	}
	var files []file
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		name, err = filepath.Rel(dir, name)
		files = append(files, file{name: filepath.ToSlash(name), data: data})
		return err
	})
	return files, err
}

// loadable is an image as docker lists it in the manifest.json of an archive.
type loadable struct {
	Config   string
	RepoTags []string
	Layers   []string
}

func (r release) loadable(image v1.Image, arch string) (loadable, error) {
	manifest, err := image.Manifest()
	if err != nil {
		return loadable{}, err
	}
	blob := func(d v1.Descriptor) string {
		return path.Join("blobs", d.Digest.Algorithm, d.Digest.Hex)
	}
	tag := "fairlead:" + r.version + "-" + arch
	out := loadable{Config: blob(manifest.Config), RepoTags: []string{tag}}
	for _, layer := range manifest.Layers {
		out.Layers = append(out.Layers, blob(layer))
	}
	return out, nil
}
