package cli

import (
	"fmt"
	"runtime"

	"fairlead.dev/fairlead/cli/version"
	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and those of Kubernetes that it is for",
		Example: "  fairlead version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "fairlead %s %s, for Kubernetes %s\n", version.String(), runtime.Version(), version.Kubernetes)
			return err
		},
	}
}
