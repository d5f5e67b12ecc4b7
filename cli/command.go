// Package cli is the command line, with a file for each command. Commands drive the compiler over
// files or over a cluster: plan prints the steps, explain prints which Service answers a request,
// and demo applies the steps to a cloud on this machine. Command run is the operator, check looks
// at its cloud and its cluster, and serve-provider serves a cloud to an operator elsewhere.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/operator"
	"fairlead.dev/fairlead/cli/output"
)

// Providers are the clouds of the binary.
type Providers struct {
	Clouds access.Clouds
	// Apart is the time between the two sweeps after a trial, which have to find nothing; zero is 15 seconds.
	Apart time.Duration
}

// Streams are the standard input and output of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs one command line and returns the exit code. Every problem is one line.
func Run(ctx context.Context, args []string, with Providers, s Streams) int {
	root := newRoot(with)
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd {
		unquoteUsages(root)
	}
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errToDo):
		return exitToDo
	case errors.Is(err, errLessProtected), errors.Is(err, errRefused):
		return exitLess
	case errors.Is(err, errWrong):
		return exitFail
	}
	if _, _, missing := root.Find(args); missing != nil {
		err = meant(root, args, missing)
	}
	output.Error(s.Err, err)
	return exitFail
}

// meant adds the most similar command to an error about arguments that name none.
func meant(parent *cobra.Command, args []string, err error) error {
	var names []string
	for _, c := range parent.Commands() {
		names = append(names, c.Name())
	}
	named := func(arg string) bool { return !strings.HasPrefix(arg, "-") }
	if at := slices.IndexFunc(args, named); err != nil && at >= 0 {
		return fmt.Errorf("%w%s", err, meantAmong("", names, args[at]))
	}
	return err
}

// subcommands is a check that there are no arguments, which would name no command.
func subcommands(cmd *cobra.Command, args []string) error {
	return meant(cmd, args, cobra.NoArgs(cmd, args))
}

// unquoteUsages removes the back quotes around the names of values, which the help of flags is made
// from and a shell would show.
func unquoteUsages(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) })
	for _, below := range cmd.Commands() {
		unquoteUsages(below)
	}
}

// RunsUntilInterrupted reports whether a command line runs until it is interrupted, and then cleans up.
func RunsUntilInterrupted(args []string) bool {
	cmd, _, err := newRoot(Providers{}).Find(args)
	if err != nil {
		return false
	}
	switch strings.TrimPrefix(cmd.CommandPath(), "fairlead ") {
	case "run", "demo", "ui", "serve-provider", "provider check":
		return true
	case "check":
		return slices.ContainsFunc(args, makes)
	}
	return false
}

// makes reports whether an argument has check create load balancers, which it deletes at its end.
func makes(arg string) bool {
	return strings.HasPrefix(arg, "--prove") || strings.HasPrefix(arg, "--clean")
}

// Command returns the command line, for what documents it.
func Command(with Providers) *cobra.Command {
	return newRoot(with)
}

func newRoot(with Providers) *cobra.Command {
	root := &cobra.Command{
		Use:   "fairlead",
		Short: "Turn Ingresses into cloud load balancers, and print the plan before it happens",
		Long: `Fairlead compiles Kubernetes Ingresses to load balancers, compares them with those in the
cloud, and plans the difference as an ordered list of steps, each of them safe.`,
		Version: operator.VersionLine(),
		Example: `  fairlead demo
  fairlead plan -f config/samples
  fairlead explain http://shop.example.com/cart -f config/samples`,
		SilenceErrors: true, // Run prints them
		SilenceUsage:  true, // a wrong manifest is not a wrong usage

		DisableSuggestions: true, // meant makes them, in one line
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return FlagError(cmd.Flags(), err)
	})
	addGroup(root, "About files or a cluster:", newPlan(with.Clouds), newDiff(with.Clouds),
		newVerify(with.Clouds), newReplay(with.Clouds), newExplain(with.Clouds), newStatus(with.Clouds),
		newValidate(with.Clouds), newMigrate(with.Clouds), newAdopt(with.Clouds), newRelease(with.Clouds),
		newUI(with.Clouds), newDemo(with.Clouds))
	addGroup(root, "The operator and its clouds:", newRun(with.Clouds),
		newCheck(with.Clouds, with.Apart), newServeProvider(with.Clouds), newProvider())
	root.AddCommand(newVersion())
	fitHelp(root)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args, cmd.Example = commandOf(root), "  fairlead help plan"
		case "completion":
			cmd.Example = "  source <(fairlead completion bash)"
			needsCommand(cmd)
		case "provider":
			needsCommand(cmd)
		}
	}
	return root
}

// addGroup adds commands, which help lists under a title.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
		root.AddCommand(cmd)
	}
}

// commandOf returns a check that arguments name a command.
func commandOf(root *cobra.Command) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		found, rest, err := root.Find(args)
		if err == nil && found.HasSubCommands() {
			return subcommands(found, rest)
		}
		return meant(root, args, err)
	}
}

// needsCommand has a command that only has commands below it refuse an argument that names none of
// them. Cobra prints the help then, and ends with 0.
func needsCommand(cmd *cobra.Command) {
	cmd.Args, cmd.DisableFlagsInUseLine = subcommands, true
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and the versions of Kubernetes that it supports",
		Example: "  fairlead version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), operator.VersionLine())
			return err
		},
	}
}
