package cli

import (
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/probe"
	"fairlead.dev/fairlead/providers/remote"
)

// This file tries a provider that is another process, before an operator uses it: for those that write one.

func newProvider() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "provider",
		Short: "Try a provider that is another process",
		Example: `  # Whether it keeps to the provider protocol
  fairlead provider check http://127.0.0.1:9000`,
	}
	cmd.AddCommand(newProviderCheck())
	return cmd
}

func newProviderCheck() *cobra.Command {
	var (
		e      remote.Endpoint
		output string
		pause  time.Duration
	)
	cmd := &cobra.Command{
		Use:   "check URL",
		Short: "Try whether a provider keeps to the provider protocol, on a load balancer that is deleted again",
		Long: `Send a provider the calls of the provider protocol, also those that it has to refuse, that come twice or that
are cut off, and say what holds: ✓ is as it has to be, ✗ is wrong, ? could not be tried; what to do follows.

It makes an internal load balancer of the key ` + probe.Prefix + `..., with a target group and a certificate, and
deletes them again, also when it is interrupted. In a cloud, these can cost money.

URL is https://host:port, http://127.0.0.1:port on this machine, or unix:///path of a socket.

Exit code 0: nothing is wrong; 1: something is, or an error.`,
		Example: `  # A provider on this machine
  fairlead provider check http://127.0.0.1:9000

  # One elsewhere, for a program to read
  fairlead provider check https://edge.example.com:8443 --credentials ./edge -o json`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&e.Credentials, "credentials", "", "`DIRECTORY` with any of token, ca.crt, tls.crt and tls.key; unset: none are sent")
	cmd.Flags().DurationVar(&e.Attempt, "timeout", 15*time.Second, "how `LONG` an answer may take")
	cmd.Flags().DurationVar(&pause, "pause", time.Second, "how `LONG` to wait before a step that is pending is sent again")
	outputFlag(cmd, &output)
	must(cmd.MarkFlagDirname("credentials"))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		json, err := asJSON(output)
		if err != nil {
			return err
		}
		if e.Credentials != "" {
			e.Credentials = filepath.Clean(e.Credentials)
		}
		e.URL = args[0]
		base, send, err := remote.Raw(e) //nolint:bodyclose // package probe closes it
		if err != nil {
			return err
		}
		findings := probe.Run(cmd.Context(), probe.Provider{Base: base, Send: send, Pause: pause})
		if json {
			err = printJSON(cmd.OutOrStdout(), checkReport{findings, check.Count(findings, check.Wrong), check.Count(findings, check.Unknown)})
		} else {
			err = printFindings(cmd.OutOrStdout(), findings)
		}
		switch {
		case err != nil:
			return err
		case cmd.Context().Err() != nil:
			return cmd.Context().Err()
		case check.AnyWrong(findings):
			return errWrong
		}
		return nil
	}
	return cmd
}
