package operator

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// release is the version of a release. The Dockerfile sets it.
var release string

// KubernetesVersions are the versions of its API server that the tests run on.
const KubernetesVersions = "1.31 to 1.36"

// VersionLine describes the binary in a line.
func VersionLine() string {
	return fmt.Sprintf("fairlead %s %s, for Kubernetes %s", Version(), runtime.Version(), KubernetesVersions)
}

// Version returns the version, and the revision of the sources as far as the Go tool recorded it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return cmp.Or(release, "(unknown)")
	}
	setting := map[string]string{}
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	out := cmp.Or(release, info.Main.Version)
	if revision := setting["vcs.revision"]; revision != "" {
		out += " " + revision
	}
	if setting["vcs.modified"] == "true" {
		out += " with uncommitted changes"
	}
	return out
}
