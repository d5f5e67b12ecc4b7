package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/settings"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/clouds"
)

const planHelp = `Compile the Ingresses in the files, compare the result with the load
balancers in the cloud (none, without --observed or --live), and print the difference as steps
in a safe order.

With --live, plan reads the load balancers from the cloud and, if no files are given, the Ingresses
from the cluster, with the operator's records. It prints the steps that the operator would apply.
It changes nothing, neither in the cluster nor in the cloud. The load balancers of the provider fake
are in the operator's memory: without --fake-state, they have no plan, and diagnostics are printed.

A TargetGroupBinding has no plan, since its target group is others'. Plan says whether it is
served, and why not; one that no class permits is left to the AWS Load Balancer Controller.

An object that cannot be read, or a file without Kubernetes objects, is reported with its file and
line, and the rest is planned. An object that is merely not among the files is no error: it may be
in the cluster.

Exit code 0: nothing to do; 2: something to do; 1: something could not be read, no file has an
Ingress or a TargetGroupBinding and --observed is unset, or there is a diagnostic of the severity of
--fail-on.`

const planExamples = `  # The steps that create everything for these manifests
  fairlead plan config/samples

  # What kubectl apply -k would apply, and fail on a warning
  fairlead plan -k overlays/production --fail-on warning

  # Under the limits of an AWS Application Load Balancer, for a program to read
  fairlead plan -f ingress.yaml --provider aws -o json

  # The steps from one version of the manifests to the next
  fairlead plan old/ -o json > old.json
  fairlead plan new/ --observed old.json

  # The steps that the operator would apply in the cluster of the current kubeconfig
  fairlead plan --provider aws --live --aws-region eu-west-1 --aws-vpc-id vpc-0123`

func newPlan(with access.Clouds) *cobra.Command {
	var (
		in   source.Input
		from sources
		show presentation
	)
	cmd := &cobra.Command{
		Use:     "plan [-f] FILE|DIR|URL... | -k DIR | --live",
		Short:   "Print the steps that would change the cloud",
		Long:    planHelp,
		Example: planExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Files = append(in.Files, args...) // -f *.yaml, as a shell expands it
			if err := in.RequireFiles(from.live); err != nil {
				return err
			}
			return runPlan(cmd, with, in, from, show)
		},
	}
	in.ManifestFlags(cmd)
	in.ProviderFlag(cmd, with)
	output.Flag(cmd, &show.format)
	htmlFlag(cmd)
	failOnFlag(cmd, &show.failOn, failOnError+", and "+failOnNever+
		" with --live, where the Ingresses of others are read, too")
	completeManifests(cmd)
	cmd.Flags().BoolVar(&show.priorities, "priorities", false, "print the priorities of rules, too")
	cmd.Flags().StringVar(&from.state, "observed", "",
		"`FILE` with the load balancers in the cloud: "+
			"what plan -o json has printed, or a state file of the fake provider")
	flagvalue.Must(cmd.MarkFlagFilename("observed", "json", "yaml"))
	cmd.Flags().BoolVar(&from.live, "live", false,
		"read the load balancers from the cloud; nothing is changed")
	from.home.Flags(cmd.Flags())
	with.Flags(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("observed", "live")
	return cmd
}

// sources has the source of the current state of load balancers.
type sources struct {
	state string // the file of --observed
	live  bool   // from the cloud itself
	home  access.Cluster
}

// A presentation has the format of the result of plan, and the conditions for its failure.
type presentation struct {
	format     output.Format
	failOn     string
	priorities bool
	about      string // what the plan is about
}

// planned is the result that plan prints.
type planned struct {
	side        side
	programs    []program.Program
	diagnostics []diag.Diagnostic
	problems    manifests.Problems // of objects that were left out
	unseen      error              // load balancers that cannot be read, and have no plan
	keyless     []string           // Secrets of spec.tls that are not among the files
}

func runPlan(
	cmd *cobra.Command, with access.Clouds, in source.Input, from sources, show presentation,
) error {
	compiled := planFiles
	if from.live {
		compiled = planLive
	}
	result, err := compiled(cmd, with, in, from)
	if err != nil {
		return err
	}
	show.about = in.Of(from.home)
	var reasons []string
	if in.FromFiles() {
		if objects := result.side.objects; !from.live && len(objects.Ingresses)+len(result.programs) > 0 {
			reasons = notServed(&in, len(result.programs), result.diagnostics, "")
			result.keyless = program.MissingSecrets(slices.DeleteFunc(slices.Clone(result.diagnostics),
				func(d diag.Diagnostic) bool { return d.Reason != diag.CertificateMissing }))
		}
		result.diagnostics = program.AmongFiles(result.diagnostics)
	}
	result.diagnostics = diag.Sort(append(result.diagnostics,
		program.Bindings(result.side.objects, result.side.options, in.FromFiles())...))
	if err := result.show(cmd, with, show); err != nil {
		return err
	}
	if from.live {
		show.failOn = cmp.Or(show.failOn, failOnNever)
	}
	if err := result.verdict(show.failOn); err != nil && !errors.Is(err, errToDo) {
		return err
	} else if len(reasons) > 0 && show.failOn != failOnNever {
		return errNotServed(reasons)
	}
	return result.verdict(show.failOn)
}

// show prints the plans, and writes the file of --html. The report has what each step changes for requests, so that it is made
// for programs and pages alone.
func (p planned) show(cmd *cobra.Command, with access.Clouds, show presentation) error {
	out := cmd.OutOrStdout()
	var (
		report program.PlanReport
		err    error
	)
	if show.format != output.Text || cmd.Flag("html").Changed {
		_ = output.While(cmd.ErrOrStderr(), "finding what requests get after each step", func() error {
			report = program.Report(p.programs, p.diagnostics, p.problems)
			return nil
		})
	}
	if show.format != output.Text {
		if report.Routing, err = p.side.saved(cmd, with); err != nil {
			return err
		}
		err = show.format.Print(out, report)
	} else {
		err = printPlans(out, p, show.priorities)
	}
	return cmp.Or(err, writeHTML(cmd, "plan", show.about, report))
}

// verdict returns the error that stands for the exit code.
func (p planned) verdict(failOn string) error {
	if err := errors.Join(leftOut(p.problems), p.unseen); err != nil {
		return err
	}
	if slices.ContainsFunc(p.diagnostics, func(d diag.Diagnostic) bool { return failing(d, failOn) }) {
		return errWrong
	}
	if slices.ContainsFunc(p.programs, func(p program.Program) bool { return !p.Plan.Empty() }) {
		return errToDo
	}
	return nil
}

// compileAll compiles all objects, and plans from the observed load balancers.
func compileAll(
	cmd *cobra.Command, cloud clouds.Offline, objects ingress.Objects, options ingress.ClassOptions, seen map[lb.Key]*lb.Observed,
) (programs []program.Program, diagnostics []diag.Diagnostic, err error) {
	err = output.While(cmd.ErrOrStderr(), "compiling", func() (err error) {
		programs, diagnostics, err = program.CompileAll(cmd.Context(), cloud, objects, options, seen)
		return err
	})
	return programs, diagnostics, err
}

// planFiles plans from the state in a file.
func planFiles(
	cmd *cobra.Command, with access.Clouds, in source.Input, from sources,
) (planned, error) {
	cloud, err := in.Provider.Offline(cmd.Context(), with)
	if err != nil {
		return planned{}, err
	}
	before, err := source.ReadState(from.state)
	if err != nil {
		return planned{}, err
	}
	objects, _, err := in.Load(cmd, from.home.Namespace)
	problems, err := manifests.LeftOut(err)
	// The last Ingress may be deleted.
	if err = program.WithoutIngress(objects, err); err != nil && (len(before.Observed) == 0 || !errors.Is(err, manifests.ErrNoIngress)) {
		return planned{}, err
	}
	compiled := side{objects: objects, options: in.Options(objects).Once(), input: in, problems: problems}
	programs, diagnostics, err := compileAll(cmd, cloud, objects, compiled.options, before.Observed)
	for i, p := range programs {
		programs[i].Known = before.Settings[p.Plan.Key]
	}
	if err == nil && len(before.Observed) == 0 {
		compiled.made = &made{program.TablesOf(programs), diagnostics}
	}
	return planned{
		side: compiled, programs: programs, diagnostics: diagnostics, problems: problems,
	}, err
}

// planLive plans from the state in the cloud.
func planLive(
	cmd *cobra.Command, with access.Clouds, in source.Input, from sources,
) (planned, error) {
	ctx := cmd.Context()
	objects, options, err := in.Objects(cmd, from.home)
	problems, err := manifests.LeftOut(err)
	if err != nil && !errors.Is(err, manifests.ErrNoIngress) {
		return planned{}, err
	}
	opened, err := in.Provider.Live(ctx, with, from.home.Environment())
	if err != nil {
		return planned{}, err
	}
	defer opened.Close()
	cloud := providers.ReadOnly(opened.Term())
	var seen map[lb.Key]*lb.Observed
	if err := output.While(cmd.ErrOrStderr(), "reading load balancers", func() (err error) {
		seen, err = source.Observe(ctx, cloud, objects, options, true)
		return err
	}); err != nil {
		return planned{}, err
	}
	programs, diagnostics, err := compileAll(cmd, cloud, objects, options, seen)
	if err != nil {
		return planned{}, err
	}
	compiled := side{objects: objects, options: options, input: in, problems: problems}
	result := planned{
		side: compiled, programs: programs, diagnostics: diagnostics, problems: problems,
	}
	result.leaveOut(in.Provider.First(), in.Provider.Unseen(with))
	return result, nil
}

// leaveOut removes the plans for load balancers that cannot be read: they would begin with nothing.
func (p *planned) leaveOut(first string, unseen map[string]string) {
	left := map[string]int{}
	p.programs = slices.DeleteFunc(p.programs, func(one program.Program) bool {
		provider := cmp.Or(one.Provider, first)
		if unseen[provider] == "" {
			return false
		}
		left[provider]++
		return true
	})
	var out []error
	for _, provider := range slices.Sorted(maps.Keys(left)) {
		out = append(out, fmt.Errorf("%s of the provider %s cannot be read, so nothing is planned: %s. "+
			"kubectl get loadbalancers prints their conditions. If the operator has another provider, "+
			"name it with --provider", output.Number(left[provider], "load balancer"), provider,
			unseen[provider]))
	}
	p.unseen = errors.Join(out...)
}

// printPlans prints the plans and diagnostics for people, and a summary.
func printPlans(w io.Writer, p planned, priorities bool) error {
	colour := output.PaletteOf(w)
	if len(p.programs) == 0 && p.unseen == nil {
		fmt.Fprintln(w, "nothing to do")
	}
	for _, one := range p.programs {
		form := plan.Form{Colour: bool(colour), Priorities: priorities, Before: one.Known,
			HealthCheck: settings.DefaultHealthCheck}
		if err := one.Plan.Text(w, form); err != nil {
			return err
		}
		if verdict := one.Proof(); verdict.Result != proof.Proven {
			fmt.Fprintf(w, "  the plan is %s: %s\n", verdict.Result, printable.Line(verdict.Why))
		}
	}
	if len(p.diagnostics) > 0 {
		fmt.Fprintln(w)
	}
	if err := output.Diagnostics(w, p.diagnostics, colour); err != nil {
		return err
	}
	if names := slices.Compact(slices.Sorted(slices.Values(p.keyless))); len(names) > 0 {
		const shown = 5
		if more := len(names) - shown; more > 0 {
			names = append(names[:shown:shown], fmt.Sprintf("%d more", more))
		}
		fmt.Fprintf(w, "\nNot in this plan: HTTPS with the certificates of these Secrets, which are not "+
			"among the files: %s. Add them to the files, or plan with --live.\n",
			printable.Line(strings.Join(names, ", ")))
	}
	_, err := fmt.Fprintf(w, "\n%s\n", program.Summarise(p.programs, p.diagnostics, len(p.problems)))
	return err
}
