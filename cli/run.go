package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/configuration"
	"fairlead.dev/fairlead/cli/operator"
	"fairlead.dev/fairlead/cli/selection"
)

// This file is fairlead run: the operator.

func newRun(with selection.Clouds) *cobra.Command {
	var o operator.Settings
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Be the operator: serve the Ingresses of a cluster",
		Long: `Watch the Ingresses of a cluster, keep a load balancer for each of them or for each group,
and write where it is reached into their status.

Each flag can also be a variable of the environment, --drift-interval as
FAIRLEAD_DRIFT_INTERVAL, or a line of the file that --config names, drift-interval: 10h. A flag
wins over the environment, which wins over the file.`,
		Example: `  # In a cluster, two replicas of which one works
  fairlead run --leader-elect

  # Beside another controller, to see what would be done
  fairlead run --read-only

  # On this machine, against the cluster of the current kubeconfig
  fairlead run --provider fake --fake-state fairlead.state.json --log-format console`,
		Args: cobra.NoArgs,
	}
	settings := o.Flags(with)
	configuration.AddTo(cmd, settings)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		from, err := configuration.Resolve(cmd, settings, os.Environ())
		if err != nil {
			return err
		}
		if show, err := cmd.Flags().GetBool("print-config"); err != nil || show {
			return errors.Join(err, configuration.Print(cmd.OutOrStdout(), settings, from))
		}
		return o.Run(cmd.Context(), with, cmd.ErrOrStderr())
	}
	return cmd
}
