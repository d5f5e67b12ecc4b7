package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/comparison"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/placeholder"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/revision"
	"fairlead.dev/fairlead/cli/selection"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/classes"
	"fairlead.dev/fairlead/model/ingress/objects"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing/precedence"
)

const diffHelp = `Compare two configurations by what requests get. Every class of requests that is
answered differently is one entry: a shortest request of the class as a curl command, and the answer
before and after. Settings that decide about exposure are compared, too: scheme, ports, inbound
ranges, mutual TLS, web ACL and certificates.

The comparison is about all requests, not about samples. If it takes more steps than the budget,
the report lists the hosts that are not decided, and never says that they are the same.

The two configurations are two directories or files; with --base, the same files at a git revision
and as they are; with --live, the cluster as it is, and with the files applied.

A Secret that both configurations lack is assumed to exist, the same in both. Weights of targets,
Pods and health checks are not compared.

Exit code 0: no request is answered differently; 2: some are, or it is not decided; 3: something is
less protected, or may be; 1: error.`

const diffExamples = `  # Two directories
  fairlead diff before/ after/

  # A pull request: the main branch, and the files as they are
  fairlead diff --base origin/main manifests/

  # The same as a comment on the pull request
  fairlead diff --base origin/main manifests/ -o markdown

  # The cluster of the current kubeconfig, and the same with these files applied
  fairlead diff --live manifests/`

// opposite says with what the files are compared.
type opposite struct {
	base    string // a git revision
	live    bool
	cluster access.Cluster
}

func newDiff(with selection.Clouds) *cobra.Command {
	var (
		in     source.Input
		from   opposite
		format output.Format
	)
	cmd := &cobra.Command{
		Use:     "diff OLD NEW | --base REVISION FILE|DIR... | --live FILE|DIR...",
		Short:   "Compare two configurations by what requests get",
		Long:    diffHelp,
		Example: diffExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDiff(cmd, with, in, from, args, format)
		},
	}
	in.ManifestFlags(cmd)
	in.ProviderFlag(cmd, with)
	output.Flag(cmd, &format, output.Markdown)
	completeManifests(cmd)
	cmd.Flags().StringVar(&from.base, "base", "", "compare with the same files at this git `REVISION`")
	cmd.Flags().BoolVar(&from.live, "live", false,
		"compare the cluster with the cluster in which the files are applied")
	from.cluster.ConnectionFlags(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("base", "live")
	return cmd
}

func runDiff(
	cmd *cobra.Command, with selection.Clouds, in source.Input, from opposite, args []string,
	format output.Format,
) error {
	before, after, err := from.sides(cmd, in, args)
	problems := slices.Concat(before.problems, after.problems)
	if err != nil {
		return err
	}
	report, err := compareSides(cmd, with, &before, &after)
	if err != nil {
		return err
	}
	if err := printComparison(cmd.OutOrStdout(), report, format); err != nil {
		return err
	}
	switch {
	case len(problems) > 0:
		return leftOut(problems)
	case report.LessProtected():
		return errLessProtected
	case !report.Empty():
		return errToDo
	}
	return nil
}

// A side is one of two configurations that are compared.
type side struct {
	objects  objects.Objects
	options  classes.Options
	input    source.Input
	problems manifests.Problems
}

// sides reads the two configurations.
func (o opposite) sides(
	cmd *cobra.Command, in source.Input, args []string,
) (before, after side, err error) {
	if o.base == "" && !o.live {
		if len(args) != 2 || in.FromFiles() {
			return before, after, errors.New("which two configurations? " +
				"diff takes two directories or files, or --base or --live with the files of one")
		}
		old, now := in, in
		old.Files, now.Files = args[:1], args[1:]
		before, errBefore := o.read(cmd, old)
		after, errAfter := o.read(cmd, now)
		return before, after, errors.Join(errBefore, errAfter)
	}
	in.Files = append(in.Files, args...)
	if !in.FromFiles() {
		return before, after, errors.New(
			"which files? diff takes those that are compared with --base or --live")
	}
	if after, err = o.read(cmd, in); err != nil {
		return before, after, err
	}
	if o.live {
		if before, err = o.read(cmd, in.OfCluster()); err != nil {
			return before, after, err
		}
		after.objects, after.options = source.Applied(before.objects, after.objects), before.options
		return before, after, nil
	}
	before, err = o.readBase(cmd, in)
	return before, after, err
}

// readBase reads the files at the git revision.
func (o opposite) readBase(cmd *cobra.Command, in source.Input) (out side, err error) {
	tree, err := revision.Checkout(cmd.Context(), o.base)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, tree.Remove()) }()
	old, err := in.OfRevision(tree)
	if err != nil {
		return out, err
	}
	if !old.FromFiles() { // the files are new
		return side{options: in.Options(objects.Objects{}), input: in}, nil
	}
	return o.read(cmd, old)
}

// read reads one configuration. One without Ingresses is empty.
func (o opposite) read(cmd *cobra.Command, in source.Input) (side, error) {
	found, options, err := in.Objects(cmd, o.cluster)
	problems, err := manifests.LeftOut(err)
	if errors.Is(err, manifests.ErrNoIngress) {
		err = nil
	}
	return side{found, options, in, problems}, err
}

// compareSides compiles both configurations and compares them. Where both lack a Secret, they are
// compiled once more with the same one.
func compareSides(
	cmd *cobra.Command, with selection.Clouds, before, after *side,
) (comparison.Report, error) {
	old, told, err := before.tables(cmd, with)
	if err != nil {
		return comparison.Report{}, err
	}
	now, more, err := after.tables(cmd, with)
	if err != nil {
		return comparison.Report{}, err
	}
	if missing := program.MissingSecrets(append(told, more...)); len(missing) > 0 {
		if err := placeholder.AddToBoth(&before.objects, &after.objects, missing); err != nil {
			return comparison.Report{}, err
		}
		if old, _, err = before.tables(cmd, with); err != nil {
			return comparison.Report{}, err
		}
		if now, _, err = after.tables(cmd, with); err != nil {
			return comparison.Report{}, err
		}
	}
	return comparison.ReportOf(compare.Tables(old, now, requests.Steps)), nil
}

// tables compiles a configuration. It returns the table of each load balancer.
func (s side) tables(
	cmd *cobra.Command, with selection.Clouds,
) ([]*precedence.Table, []diag.Diagnostic, error) {
	programs, diagnostics, err := s.programs(cmd, with, nil)
	var out []*precedence.Table
	for _, p := range programs {
		out = append(out, p.Table)
	}
	return out, diagnostics, err
}

// programs compiles a configuration, for load balancers that were seen.
func (s side) programs(
	cmd *cobra.Command, with selection.Clouds, seen map[lb.Key]*lb.Observed,
) ([]program.Program, []diag.Diagnostic, error) {
	cloud, err := s.input.Provider.Offline(cmd.Context(), with)
	if err != nil {
		return nil, nil, err
	}
	return program.CompileAll(cmd.Context(), cloud, s.objects, s.options, seen)
}

func printComparison(w io.Writer, report comparison.Report, format output.Format) error {
	var text string
	switch format {
	case output.Text:
		text = report.Text(output.PaletteOf(w))
	case output.Markdown:
		text = report.Markdown()
	default:
		return format.Print(w, report)
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("printing the comparison: %w", err)
	}
	return nil
}
