package cli

import (
	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/demo"
	"fairlead.dev/fairlead/cli/source"
)

// samples is the directory of the samples in the source tree.
const samples = "config/samples"

const demoHelp = `Start a cloud on loopback addresses of this machine and pods for the Services
in the files, serve the Ingresses there, and follow changes of the files. The steps are those
for a real cloud, and requests are routed by the rules that these steps made.

With a provider that is another process (--provider NAME=URL), the load balancers are there.
The demo deletes those that it made when it ends.

A page on this machine shows routes, reasons and plans, as fairlead ui does.`

const demoExamples = `  # The samples, with a command line for curl for each route
  fairlead demo

  # Your own manifests; edit them while the demo runs
  fairlead demo -f my-manifests/

  # Request every route, print pass or fail, and end
  fairlead demo --once`

func newDemo(with access.Clouds) *cobra.Command {
	var (
		in   source.Input
		once bool
	)
	cmd := &cobra.Command{
		Use:     "demo [-f DIR] [--once]",
		Short:   "Serve Ingresses on this machine",
		Long:    demoHelp,
		Example: demoExamples,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cloud, err := in.Provider.Local(cmd.Context(), with)
			if err != nil {
				return err
			}
			defer cloud.Close()
			d := demo.New(cloud, in, cmd.InOrStdin(), cmd.OutOrStdout())
			defer d.Stop()
			if len(in.Provider.Others()) > 0 {
				defer d.Remove(cmd.Context())
			}
			if once {
				return d.Once(cmd.Context())
			}
			shown := &pageSource{cmd: cmd, with: with, in: in, changed: make(chan struct{})}
			address, stop, err := shown.start(cmd.Context(), 0)
			if err != nil {
				return err
			}
			defer stop()
			return d.Serve(cmd.Context(), cmd.ErrOrStderr(), address+"/now")
		},
	}
	in.ManifestFlags(cmd, samples)
	in.Provider.Flags(cmd.Flags(), with, access.Demonstrates, "that serves")
	cmd.Flags().BoolVar(&once, "once", false, "request every route, print pass or fail, and end")
	return cmd
}
