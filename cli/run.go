package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/operator"
)

// This file is fairlead run: the operator.

const runHelp = `Watch the Ingresses of a cluster, keep a load balancer for each Ingress or
group, and write its address into the status of the Ingresses.

Each flag is also an environment variable (--drift-interval is FAIRLEAD_DRIFT_INTERVAL) and a key of
the file that --config names (drift-interval: 10h). A flag wins over the environment, which wins
over the file.`

const runExamples = `  # In a cluster, with two replicas of which one works
  fairlead run --leader-elect

  # Beside another controller, to see the plans
  fairlead run --read-only

  # On this machine, with the cluster of the current kubeconfig
  fairlead run --provider fake --fake-state fairlead.state.json --log-format console`

func newRun(with access.Clouds) *cobra.Command {
	var o operator.Settings
	cmd := &cobra.Command{
		Use:     "run",
		Short:   "Run the operator: serve the Ingresses of a cluster",
		Long:    runHelp,
		Example: runExamples,
		Args:    cobra.NoArgs,
	}
	settings := o.Flags(with)
	addSettings(cmd, settings)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		from, err := resolveSettings(cmd, settings, os.Environ())
		if err != nil {
			return err
		}
		if show, err := cmd.Flags().GetBool("print-config"); err != nil || show {
			return errors.Join(err, printSettings(cmd.OutOrStdout(), settings, from))
		}
		return o.Run(cmd.Context(), with, cmd.ErrOrStderr())
	}
	return cmd
}
