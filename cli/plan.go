package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/selection"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/providers"
)

const planHelp = `Compile the Ingresses in the files, compare the result with the load
balancers in the cloud (none, without --observed or --live), and print the difference as steps
in a safe order.

With --live, plan reads the load balancers from the cloud and, if no files are given, the Ingresses
from the cluster, with the operator's records. It prints the steps that the operator would apply.
It changes nothing, neither in the cluster nor in the cloud.

Exit code 0: nothing to do; 2: something to do; 1: error.`

const planExamples = `  # The steps that create everything for these manifests
  fairlead plan -f config/samples

  # Under the limits of an AWS Application Load Balancer, for a program to read
  fairlead plan -f ingress.yaml --provider aws -o json

  # The steps that change an earlier state
  fairlead plan -f config/samples --observed state.json

  # The steps that the operator would apply in the cluster of the current kubeconfig
  fairlead plan --provider aws --live --aws-region eu-west-1 --aws-vpc-id vpc-0123`

func newPlan(with selection.Clouds) *cobra.Command {
	var (
		in     source.Input
		from   sources
		format string
	)
	cmd := &cobra.Command{
		Use:     "plan -f FILE|DIR... | --live",
		Short:   "Print the steps that would change the cloud",
		Long:    planHelp,
		Example: planExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := in.RequireFiles(from.live); err != nil {
				return err
			}
			in.Files = append(in.Files, args...) // -f *.yaml, as a shell expands it
			return runPlan(cmd, with, in, from, format)
		},
	}
	in.ManifestFlags(cmd)
	in.ProviderFlag(cmd, with)
	output.Flag(cmd, &format)
	cmd.Flags().StringVar(&from.state, "observed", "", "JSON `FILE` with the load balancers in the cloud, by key: a state file of the fake provider, or one like it")
	flagvalue.Must(cmd.MarkFlagFilename("observed", "json"))
	cmd.Flags().BoolVar(&from.live, "live", false, "read the load balancers from the cloud; nothing is changed")
	from.home.Flags(cmd.Flags())
	with.Flags(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("observed", "live")
	return cmd
}

// sources say where the present state of load balancers is read from.
type sources struct {
	state string // the file of --observed
	live  bool   // from the cloud itself
	home  access.Cluster
}

func runPlan(
	cmd *cobra.Command, with selection.Clouds, in source.Input, from sources, format string,
) error {
	json, err := output.IsJSON(format)
	if err != nil {
		return err
	}
	compiled := planFiles
	if from.live {
		compiled = planLive
	}
	programs, diagnostics, err := compiled(cmd, with, in, from)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if json {
		err = output.JSON(out, program.Report(programs, diagnostics))
	} else {
		err = printPlans(out, programs, diagnostics)
	}
	if err != nil {
		return err
	}
	for _, p := range programs {
		if !p.Plan.Empty() {
			return errToDo
		}
	}
	return nil
}

// planFiles plans from the state in a file.
func planFiles(
	cmd *cobra.Command, with selection.Clouds, in source.Input, from sources,
) ([]program.Program, []diag.Diagnostic, error) {
	cloud, err := in.Provider.Offline(cmd.Context(), with)
	if err != nil {
		return nil, nil, err
	}
	seen, err := source.ReadObserved(from.state)
	if err != nil {
		return nil, nil, err
	}
	objects, err := manifests.Load(in.Files, cmd.InOrStdin())
	// The last Ingress may be gone.
	if err != nil && (len(seen) == 0 || !errors.Is(err, manifests.ErrNoIngress)) {
		return nil, nil, err
	}
	return program.CompileAll(cmd.Context(), cloud, objects, in.Options(objects), seen)
}

// planLive plans from the state in the cloud.
func planLive(
	cmd *cobra.Command, with selection.Clouds, in source.Input, from sources,
) ([]program.Program, []diag.Diagnostic, error) {
	ctx := cmd.Context()
	objects, options, err := in.Objects(cmd, from.home)
	if err != nil && !errors.Is(err, manifests.ErrNoIngress) {
		return nil, nil, err
	}
	opened, err := in.Provider.Live(ctx, with, from.home.Surroundings())
	if err != nil {
		return nil, nil, err
	}
	defer opened.Close()
	cloud := providers.ReadOnly(opened.Term())
	seen, err := source.Observe(ctx, cloud, objects, options)
	if err != nil {
		return nil, nil, err
	}
	return program.CompileAll(ctx, cloud, objects, options, seen)
}

// printPlans prints the plans and diagnostics for people.
func printPlans(w io.Writer, programs []program.Program, diagnostics []diag.Diagnostic) error {
	colour := output.PaletteOf(w)
	if len(programs) == 0 {
		fmt.Fprintln(w, "nothing to do")
	}
	for _, p := range programs {
		if err := p.Plan.Text(w, bool(colour)); err != nil {
			return err
		}
	}
	return output.Diagnostics(w, diagnostics, colour)
}
