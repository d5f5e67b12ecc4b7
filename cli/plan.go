package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/model/diag"
)

func newPlan(with Providers) *cobra.Command {
	var (
		in     input
		state  string
		output string
	)
	cmd := &cobra.Command{
		Use:   "plan -f FILE|DIR...",
		Short: "Print what would be done to the cloud",
		Long: `Compile the Ingresses in the files, compare the result with what the cloud is said to
have (nothing, without --observed) and print the difference as steps in a safe order.

Exit code 0: nothing to do; 2: something to do; 1: error.`,
		Example: `  # What would it take to serve these manifests from nothing?
  fairlead plan -f config/samples

  # Under the limits of an AWS Application Load Balancer, for a program to read
  fairlead plan -f ingress.yaml --provider aws -o json

  # What would change, given what is there?
  fairlead plan -f config/samples --observed state.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.files = append(in.files, args...) // -f *.yaml, as a shell expands it
			return runPlan(cmd, with, in, state, output)
		},
	}
	in.manifestFlags(cmd)
	in.providerFlag(cmd, with)
	outputFlag(cmd, &output)
	cmd.Flags().StringVar(&state, "observed", "", "JSON `FILE` with what the cloud has, by load balancer: the fake's state file or one like it")
	must(cmd.MarkFlagFilename("observed", "json"))
	return cmd
}

func runPlan(cmd *cobra.Command, with Providers, in input, state, output string) error {
	json, err := asJSON(output)
	if err != nil {
		return err
	}
	cloud, err := in.cloud(with)
	if err != nil {
		return err
	}
	seen, err := observed(state)
	if err != nil {
		return err
	}
	objects, err := load(in.files, cmd.InOrStdin())
	if err != nil && (len(seen) == 0 || !errors.Is(err, errNoIngress)) { // the last Ingress may be gone
		return err
	}
	programs, diagnostics, err := compile(cmd.Context(), cloud, objects, in.options(), seen)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if json {
		err = printJSON(out, reportPlan(programs, diagnostics))
	} else {
		err = printPlans(out, programs, diagnostics)
	}
	if err != nil {
		return err
	}
	for _, p := range programs {
		if !p.plan.Empty() {
			return errToDo
		}
	}
	return nil
}

// printPlans prints what a person reads in a pull request.
func printPlans(w io.Writer, programs []program, diagnostics []diag.Diagnostic) error {
	colour := colours(w)
	if len(programs) == 0 {
		fmt.Fprintln(w, "nothing to do")
	}
	for _, p := range programs {
		if err := p.plan.Text(w, bool(colour)); err != nil {
			return err
		}
	}
	return printDiagnostics(w, diagnostics, colour)
}

// printDiagnostics prints findings under a heading.
func printDiagnostics(w io.Writer, diagnostics []diag.Diagnostic, colour palette) error {
	if len(diagnostics) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w, "\nDiagnostics:"); err != nil {
		return err
	}
	for _, d := range diagnostics {
		if _, err := fmt.Fprintf(w, "  %s %s %s: %s\n", colour.severity(d.Severity), d.Reason, d.Source, d.Message); err != nil {
			return err
		}
	}
	return nil
}
