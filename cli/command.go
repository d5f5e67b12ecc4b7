// Package cli is the command line. Its commands drive the compiler over files instead of a cluster:
// plan prints what would be done, explain says where a request goes and why, demo does it to a
// cloud on this machine. Run is the operator; check looks at the cloud and the cluster that it
// would have; serve-provider lends a cloud to an operator elsewhere.
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

	"fairlead.dev/fairlead/cli/configuration"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/selection"
)

// Exit codes. A script can tell a plan with steps from one without, and both from a failure.
const (
	exitDone = 0
	exitFail = 1
	exitToDo = 2
)

// columns is how wide help is: what flags do takes more than a line.
const columns = 120

// errToDo is how plan says that there is something to do, and explain --all that something is not
// served as asked.
var errToDo = errors.New("there is something to do")

// Providers are the clouds that the commands can be asked for.
type Providers struct {
	Clouds selection.Clouds
	// Apart is how long a proof waits between the two looks that have to find nothing of it; zero is
	// 15 seconds.
	Apart time.Duration
}

// Streams are where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs one command line and returns the exit code. Every problem is one line.
func Run(ctx context.Context, args []string, with Providers, s Streams) int {
	root := newRoot(with)
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
	case errors.Is(err, errWrong):
		return exitFail
	}
	output.Error(s.Err, err)
	return exitFail
}

// Lasts reports whether a command line is one of a command that goes on until it is told to end,
// and then puts things in order.
func Lasts(args []string) bool {
	cmd, _, err := newRoot(Providers{}).Find(args)
	if err != nil {
		return false
	}
	switch strings.TrimPrefix(cmd.CommandPath(), "fairlead ") {
	case "run", "demo", "serve-provider", "provider check":
		return true
	case "check":
		return slices.ContainsFunc(args, makes)
	}
	return false
}

// makes reports whether an argument has check make things, which it deletes when it is told to end.
func makes(arg string) bool {
	return strings.HasPrefix(arg, "--prove") || strings.HasPrefix(arg, "--clean")
}

func newRoot(with Providers) *cobra.Command {
	root := &cobra.Command{
		Use:   "fairlead",
		Short: "Turn Ingresses into cloud load balancers, and say beforehand what will happen",
		Long: `Fairlead compiles Kubernetes Ingresses to a load balancer, compares it with what the
cloud has, and prints the difference as an ordered list of steps, each of them safe.`,
		Example: `  fairlead demo
  fairlead plan -f config/samples
  fairlead explain http://shop.example.com/cart -f config/samples`,
		SilenceErrors: true, // Run prints them
		SilenceUsage:  true, // a wrong manifest is not a wrong usage

		DisableSuggestions: true, // of commands, they take lines; there are few
	}
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", columns)))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return configuration.FlagError(cmd.Flags(), err) })
	root.AddCommand(newPlan(with), newExplain(with), newDemo(with), newRun(with), newCheck(with), newServeProvider(with), newProvider(), newVersion())
	return root
}
