package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
)

// This file writes the manifest with which krew installs the binary as a plugin of kubectl:
// https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/.

// krewPlugin is a manifest. JSON is YAML, too.
type krewPlugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       krewSpec          `json:"spec"`
}

type krewSpec struct {
	Version     string         `json:"version"`
	Homepage    string         `json:"homepage"`
	Short       string         `json:"shortDescription"`
	Description string         `json:"description"`
	Platforms   []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	Selector map[string]map[string]string `json:"selector"`
	URI      string                       `json:"uri"`
	SHA256   string                       `json:"sha256"`
	Bin      string                       `json:"bin"`
}

// krew returns the manifest for the archives of binaries, or none without an address of downloads. Its name is that of the plugin, as
// krew wants it.
func (r release) krew(binaries []binary, archives []file) ([]file, error) {
	if r.downloads == "" {
		return nil, nil
	}
	plugin := krewPlugin{"krew.googlecontainertools.github.com/v1alpha2", "Plugin", map[string]string{"name": "fairlead"},
		krewSpec{Version: r.version, Homepage: source, Short: "Explain and plan what Ingresses do to load balancers",
			Description: "Prints which Ingress answers a request and why, the load balancers and what is\n" +
				"wrong with them, and which requests a change answers differently. It reads the\n" +
				"cluster with your own rights, and changes nothing unless a command says so.\n"}}
	for i, b := range binaries {
		uri, err := url.JoinPath(r.downloads, path.Join(r.version, archives[i].name))
		if err != nil {
			return nil, fmt.Errorf("the address of downloads: %w", err)
		}
		plugin.Spec.Platforms = append(plugin.Spec.Platforms, krewPlatform{
			Selector: map[string]map[string]string{"matchLabels": {"os": b.os, "arch": b.arch}},
			URI:      uri, SHA256: fmt.Sprintf("%x", sha256.Sum256(archives[i].data)), Bin: "fairlead",
		})
	}
	data, err := json.MarshalIndent(plugin, "", "  ")
	return []file{{name: "fairlead.yaml", data: append(data, '\n')}}, err
}
