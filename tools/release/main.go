// Command release makes a release of the commit that is checked out: binaries, an image, the chart,
// an SBOM, a manifest for krew, release notes, and checksums of them all. Two releases of one commit are the same bytes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

// This file puts a release together from its parts.

func main() {
	tree := flag.String("tree", "../..", "the repository")
	version := flag.String("version", "", "the version, such as v1.2.3")
	from := flag.String("downloads", "", "the address below which the files are published; unset: without a manifest for krew")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *tree, *version, *from)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// platforms are those of the binaries. The image has those of Linux.
var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"},
}

type platform struct{ os, arch string }

func run(ctx context.Context, tree, version, from string) error {
	r, err := check(ctx, tree, version)
	if err != nil {
		return err
	}
	r.downloads = from
	files, err := r.files(ctx, platforms)
	if err != nil {
		return err
	}
	return write(filepath.Join(tree, "dist", version), files)
}

// files returns the files of a release that has binaries for these platforms.
func (r release) files(ctx context.Context, platforms []platform) ([]file, error) {
	recipe, err := readDockerfile(filepath.Join(r.tree, "Dockerfile"))
	if err != nil {
		return nil, err
	}
	binaries, err := r.compile(ctx, recipe, platforms)
	if err != nil {
		return nil, err
	}
	files, err := r.archives(binaries)
	if err != nil {
		return nil, err
	}
	plugin, err := r.krew(binaries, files)
	if err != nil {
		return nil, err
	}
	image, err := r.image(recipe, binaries)
	if err != nil {
		return nil, err
	}
	chart, err := r.chart(ctx)
	if err != nil {
		return nil, err
	}
	sbom, err := r.sbom(binaries)
	if err != nil {
		return nil, err
	}
	files = append(append(files, image, chart, sbom), append(plugin, r.releaseNotes())...)
	return append(files, checksums(files)), nil
}

// write writes files to a directory that takes the place of an older one once it is complete.
func write(dir string, files []file) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(filepath.Dir(dir), ".partial-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(partial)
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(partial, f.name), f.data, 0o644); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.Chmod(partial, 0o755); err != nil {
		return err
	}
	return os.Rename(partial, dir)
}
