package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/cli/status"
)

const statusHelp = `Print which load balancers, hosts and routes there are, and what is wrong with them.
Counts come first, then the load balancers, those that need attention before others, then errors and
warnings. -o json has the routes of each host, too, with their answers, Ingresses and lines.

With --live, the Ingresses and the reports of the operator are those of the cluster: addresses,
conditions, the last change. Without it, they are those of the files, and the rest is said to be not
known. Status asks nothing of the cloud, and changes nothing.

fairlead ui shows the same in a browser.`

const statusExamples = `  # What is degraded in the cluster of the current kubeconfig?
  fairlead status --live

  # Which routes do these files make?
  fairlead status -f config/samples -o json`

func newStatus(with access.Clouds) *cobra.Command {
	var (
		in      source.Input
		cluster access.Cluster
		live    bool
		format  output.Format
	)
	cmd := &cobra.Command{
		Use:     "status -f FILE|DIR... | --live",
		Short:   "Print load balancers, hosts and routes, and what is wrong with them",
		Long:    statusHelp,
		Example: statusExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Files = append(in.Files, args...)
			if err := in.RequireFiles(live); err != nil {
				return err
			}
			compiled, err := compileFor(cmd, &in, with, cluster)
			if err != nil {
				return err
			}
			report, err := compiled.status(cmd, &in, cluster)
			if err != nil {
				return err
			}
			if format == output.Text {
				err = report.Print(cmd.OutOrStdout())
			} else {
				err = format.Print(cmd.OutOrStdout(), report)
			}
			if err == nil {
				err = leftOut(compiled.problems)
			}
			return err
		},
	}
	in.ManifestFlags(cmd)
	cmd.Flags().BoolVar(&live, "live", false, "read the Ingresses and the operator's reports from the cluster")
	cluster.ConnectionFlags(cmd.Flags())
	in.ProviderFlag(cmd, with)
	output.Flag(cmd, &format)
	completeManifests(cmd)
	return cmd
}

// status returns the report on a compilation, with what the operator of a cluster says.
func (c compilation) status(cmd *cobra.Command, from *source.Input, cluster access.Cluster) (status.Report, error) {
	in := status.Input{Objects: c.objects, Programs: c.programs, Diagnostics: slices.Concat(c.diagnostics, c.bindings),
		Problems: c.problems, Places: c.places, Known: c.knowsEndpoints, Provider: from.Provider.First()}
	if c.live {
		kube, err := cluster.Client()
		if err != nil {
			return status.Report{}, err
		}
		var records v1alpha1.LoadBalancerList
		if err := kube.List(cmd.Context(), &records); err != nil {
			return status.Report{}, fmt.Errorf("listing LoadBalancers: %w", err)
		}
		in.Records = records.Items
	}
	return status.Of(in), nil
}
