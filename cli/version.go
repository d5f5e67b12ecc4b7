package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is the version that whoever builds a release says it is: the Dockerfile sets it.
var release string

// kubernetes are the versions of its API server that the tests run on.
const kubernetes = "1.31 to 1.36"

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and those of Kubernetes that it is for",
		Example: "  fairlead version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "fairlead %s %s, for Kubernetes %s\n", source(), runtime.Version(), kubernetes)
			return err
		},
	}
}

// source is which version this is, and of which sources, as far as the Go tool recorded it.
func source() string {
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
