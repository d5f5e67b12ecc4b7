package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// This file lists what the binaries link, as Go recorded it in them: a CycloneDX SBOM.

// sbom lists each module that at least one of the binaries links.
func (r release) sbom(binaries []binary) (file, error) {
	linked := map[string]cyclonedx.Component{}
	var program cyclonedx.Component
	for _, b := range binaries {
		info, err := buildinfo.Read(bytes.NewReader(b.data))
		if err != nil {
			return file{}, fmt.Errorf("reading the binary for %s/%s: %w", b.os, b.arch, err)
		}
		std := debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}
		for _, module := range append(info.Deps, &std) {
			c, err := component(module)
			if err != nil {
				return file{}, err
			}
			linked[c.BOMRef] = c
		}
		if program, err = component(&debug.Module{Path: info.Main.Path, Version: r.version}); err != nil {
			return file{}, err
		}
	}
	program.Type = cyclonedx.ComponentTypeApplication
	program.Licenses = &cyclonedx.Licenses{{License: &cyclonedx.License{ID: licence}}}

	components := []cyclonedx.Component{}
	references := []string{}
	for _, reference := range slices.Sorted(maps.Keys(linked)) {
		components = append(components, linked[reference])
		references = append(references, reference)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.at.Format(time.RFC3339), Component: &program}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: program.BOMRef, Dependencies: &references}}
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return file{name: "fairlead-" + r.version + ".cdx.json", data: out.Bytes()}, err
}

// component returns a module with its checksum in go.sum, where it has one.
func component(module *debug.Module) (cyclonedx.Component, error) {
	if module.Replace != nil {
		module = module.Replace
	}
	reference := "pkg:golang/" + module.Path + "@" + url.QueryEscape(module.Version)
	c := cyclonedx.Component{
		BOMRef:     reference,
		Type:       cyclonedx.ComponentTypeLibrary,
		Name:       module.Path,
		Version:    module.Version,
		PackageURL: reference,
	}
	if sum, found := strings.CutPrefix(module.Sum, "h1:"); found {
		digest, err := base64.StdEncoding.DecodeString(sum)
		if err != nil {
			return c, fmt.Errorf("reading the checksum of %s: %w", module.Path, err)
		}
		hash := cyclonedx.Hash{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(digest)}
		c.Hashes = &[]cyclonedx.Hash{hash}
	}
	return c, nil
}
