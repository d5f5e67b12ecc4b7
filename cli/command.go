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
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/providers/clouds"
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

// Providers are the clouds that the commands can be asked for. The command line knows none of
// them by itself.
type Providers struct {
	// Clouds are those that there are, by the name that --provider gives them.
	Clouds map[string]clouds.Cloud
	// Apart is how long a proof waits between the two looks that have to find nothing of it; zero is
	// 15 seconds.
	Apart time.Duration
}

// names are those of the clouds that can do something.
func (p Providers) names(can func(clouds.Cloud) bool) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(p.Clouds)) {
		if can(p.Clouds[name]) {
			out = append(out, name)
		}
	}
	return out
}

// What a cloud can do.
func compiles(c clouds.Cloud) bool { return c.Offline != nil }
func serves(c clouds.Cloud) bool   { return c.Live != nil }
func checks(c clouds.Cloud) bool   { return c.Check != nil }

func demonstrates(c clouds.Cloud) bool { return c.Local != nil }

// flags adds the settings of all clouds.
func (p Providers) flags(flags *pflag.FlagSet) {
	for _, name := range slices.Sorted(maps.Keys(p.Clouds)) {
		if add := p.Clouds[name].Flags; add != nil {
			add(flags)
		}
	}
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
	printError(s.Err, err)
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

// printError prints one line for each error that was joined. An error is one line, whatever it
// quotes.
func printError(w io.Writer, err error) {
	for _, err := range joined(err) {
		fmt.Fprintf(w, "error: %s\n", printable.Line(strings.TrimSpace(err.Error())))
	}
}

// joined are the errors of which errors.Join made this one, or it alone.
func joined(err error) []error {
	all, ok := err.(interface{ Unwrap() []error })
	if !ok || errors.Join(all.Unwrap()...).Error() != err.Error() {
		return []error{err}
	}
	var out []error
	for _, err := range all.Unwrap() {
		out = append(out, joined(err)...)
	}
	return out
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
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd.Flags(), err) })
	root.AddCommand(newPlan(with), newExplain(with), newDemo(with), newRun(with), newCheck(with), newServeProvider(with), newProvider(), newVersion())
	return root
}

// input are the flags of the commands that compile files.
type input struct {
	files        []string
	className    string
	withoutClass string
	literal      string
	provider     selection
}

// manifestFlags say which Ingresses are meant.
func (in *input) manifestFlags(cmd *cobra.Command, files ...string) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&in.files, "filename", "f", files, "`FILE` or directory with manifests, - for standard input; can be repeated")
	in.className = bare
	flags.Var(className{&in.className, bare}, "class-name", "`NAME` of an IngressClass that is taken to exist and to be Fairlead's if the files hold none of this name; unset, or true: "+ingress.DefaultClass+", if the files hold no class of Fairlead's at all; false: none")
	flags.Var(className{&in.withoutClass, bare}, "watch-ingress-without-class", "serve Ingresses that name no class as if they named the IngressClass `NAME`; without a name, or true: that of --class-name")
	flags.Lookup("watch-ingress-without-class").NoOptDefVal = bare
	literalFlag(flags, &in.literal)
	must(cmd.MarkFlagFilename("filename", "yaml", "yml", "json"))
}

// providerFlag says which providers to compile for.
func (in *input) providerFlag(cmd *cobra.Command, with Providers) {
	names := with.names(compiles)
	in.provider.flags(cmd.Flags(), names, "to compile for")
	must(cmd.RegisterFlagCompletionFunc("provider", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)))
}

// options are the operator-wide choices that the flags stand for. Files without any class of ours
// are those of an author, who relies on the class that Fairlead ships.
func (in *input) options(objects ingress.Objects) ingress.Options {
	options := ingress.Options{WithoutClass: in.withoutClass, Literal: in.literal, AssumeClass: in.className, Providers: in.provider.names}
	if options.AssumeClass == bare {
		options.AssumeClass = ingress.DefaultClass
	}
	if options.WithoutClass == bare {
		options.WithoutClass = options.AssumeClass
	}
	ours := func(c *networkingv1.IngressClass) bool { return c.Spec.Controller == ingress.Controller }
	if in.className == bare && slices.ContainsFunc(objects.IngressClasses, ours) {
		options.AssumeClass = ""
	}
	return options
}

// givenUnless checks that files are given, unless the cluster is asked.
func (in *input) givenUnless(live bool) error {
	if len(in.files) == 0 && !live {
		return errors.New("which Ingresses? --filename names manifests, --live stands for those of the cluster")
	}
	return nil
}

// objects are what the files hold or, where none are given, the cluster.
func (in *input) objects(cmd *cobra.Command, cluster home) (ingress.Objects, ingress.Options, error) {
	if len(in.files) > 0 {
		objects, err := manifests.Load(in.files, cmd.InOrStdin())
		return objects, in.options(objects), err
	}
	objects, err := cluster.objects(cmd.Context())
	options := in.options(objects)
	options.AssumeClass = "" // a cluster knows its classes
	return objects, options, err
}

// outputFlag adds the choice between text for people and JSON for programs.
func outputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "text", "`FORMAT`: text or json")
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)))
}

// asJSON reads the output flag.
func asJSON(output string) (bool, error) {
	switch output {
	case "json":
		return true, nil
	case "text":
		return false, nil
	}
	return false, fmt.Errorf("--output: %q is neither text nor json", output)
}

// must is for wiring flags that this package has just defined.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
