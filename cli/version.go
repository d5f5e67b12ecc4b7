package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/version"
)

// This file is fairlead version.

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and the versions of Kubernetes that it supports",
		Example: "  fairlead version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version.Line())
			return err
		},
	}
}
