package cli

import (
	"cmp"
	"fmt"
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
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return fmt.Errorf("this binary was built without its build information")
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version(info))
			return err
		},
	}
}

// version is one line of what the Go tool recorded at the build.
func version(info *debug.BuildInfo) string {
	setting := map[string]string{}
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	line := "fairlead " + cmp.Or(release, info.Main.Version)
	if revision := setting["vcs.revision"]; revision != "" {
		line += " " + revision
	}
	if setting["vcs.modified"] == "true" {
		line += " with uncommitted changes"
	}
	return line + " " + info.GoVersion + ", for Kubernetes " + kubernetes
}
