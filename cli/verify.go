package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/expect"
	"fairlead.dev/fairlead/model/routing/precedence"
)

const verifyHelp = `Decide whether all requests are answered as they must be. The files of
--expect have expectations: each names a set of requests, and says what must be true of every
request in it (docs/how-to/verify.md).

An expectation is decided for all requests, not for samples. One that is violated is printed with a
shortest request of each route as a curl command, with what is wrong, and with the Ingress that
answers. What takes more steps than the budget is printed as not decided, and never holds.

The load balancers are those of the Ingresses in files or directories; with --live, those of the
cluster as it is, or with the files applied. A Secret that is missing is assumed to exist, with a
certificate for the hosts that need it.

With --attestation, manifests that migrate --write has written are compared with what it attested: all
requests, and the settings of load balancers. Give it the Services and Secrets, too, that migrate had
and did not write. The report is that of diff.

Exit code 0: all expectations hold; 2: one is violated, or not decided; 1: an error, or no Ingress
is served, or directories are not searched, or a class is missing. An expectation about requests
that cannot exist is an error, and so is a field that does not exist. So is one that holds only
because no load balancer gets such requests, where an Ingress is refused.`

const verifyExamples = `  # The manifests of a repository
  fairlead verify --provider aws manifests/ --expect expectations.yaml

  # The cluster of the current kubeconfig, and the same with these files applied
  fairlead verify --live --expect expectations.yaml
  fairlead verify --live manifests/ --expect expectations.yaml

  # Manifests that were written by migrate, after edits
  fairlead verify --provider aws migrated/ --attestation attested.json

  # A comment on a pull request, annotations in GitHub Actions, and a report of tests for GitLab
  fairlead verify manifests/ --expect expectations.yaml -o markdown
  fairlead verify manifests/ --expect expectations.yaml -o github
  fairlead verify manifests/ --expect expectations.yaml -o junit > fairlead.xml`

// verified has the expectations and objects to verify.
type verified struct {
	source.Input
	expectations []string
	attestation  string // a file
	live         bool
	cluster      access.Cluster
}

func newVerify(with access.Clouds) *cobra.Command {
	var (
		in     verified
		format output.Format
	)
	cmd := &cobra.Command{
		Use:     "verify --expect FILE FILE|DIR... | --live --expect FILE",
		Short:   "Decide whether all requests are answered as they must be",
		Long:    verifyHelp,
		Example: verifyExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Files = append(in.Files, args...)
			if in.attestation != "" {
				if format == output.JUnitFile {
					return errors.New("--attestation: the report is that of diff, which has no junit")
				}
				return in.attested(cmd, with, format)
			}
			return runVerify(cmd, with, in, format)
		},
	}
	in.ManifestFlags(cmd)
	in.ProviderFlag(cmd, with)
	output.Flag(cmd, &format, output.Markdown, output.SARIFFile, output.GitHub, output.JUnitFile)
	htmlFlag(cmd)
	completeManifests(cmd)
	cmd.Flags().StringArrayVar(&in.expectations, "expect", nil, "`FILE` with expectations, or with "+
		"a ConfigMap that has them, - for standard input; can be repeated")
	flagvalue.Must(cmd.MarkFlagFilename("expect", "yaml", "yml", "json"))
	cmd.Flags().StringVar(&in.attestation, "attestation", "", "`FILE` with what migrate --write -o json "+
		"has printed: decide whether the files still do what their originals did")
	flagvalue.Must(cmd.MarkFlagFilename("attestation", "json", "yaml"))
	cmd.MarkFlagsMutuallyExclusive("attestation", "expect")
	cmd.Flags().BoolVar(&in.live, "live", false,
		"verify the cluster or, if there are files, the cluster in which they are applied")
	in.cluster.ConnectionFlags(cmd.Flags())
	return cmd
}

func runVerify(
	cmd *cobra.Command, with access.Clouds, in verified, format output.Format,
) error {
	if len(in.expectations) == 0 {
		return errors.New("no expectations are given: --expect names a file with what must be true of requests")
	}
	if err := source.OneStdin(in.expectations, in.Files); err != nil {
		return err
	}
	all, err := readExpectations(in.expectations, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if err := in.RequireFiles(in.live); err != nil {
		return err
	}
	found, places, err := in.read(cmd)
	if err != nil {
		return err
	}
	tables, notes, err := found.complete(cmd, with)
	if err != nil {
		return err
	}
	var report verifyReport
	_ = output.While(cmd.ErrOrStderr(), "deciding expectations", func() error { // it cannot fail
		report = checkExpectations(all, tables, places)
		return nil
	})
	if !in.live {
		report.NotChecked = append(notServed(&in.Input, len(tables), notes, ""),
			aboutNothing(&in.Input, report, notes)...)
	}
	reasons := errNotServed(report.NotChecked)
	for _, p := range found.problems {
		report.NotChecked = append(report.NotChecked, "not read: "+p.Error())
	}
	switch {
	case format == output.JUnitFile:
		err = output.JUnit(cmd.OutOrStdout(), "fairlead verify", report.testCases())
	case format.IsOfFindings():
		err = report.located(places, in.expectations[0]).Print(cmd.OutOrStdout(), format)
	default:
		err = format.PrintReport(cmd.OutOrStdout(), report, "the verification")
	}
	err = cmp.Or(err, writeHTML(cmd, "verify", in.Of(in.cluster), report))
	switch {
	case err != nil:
		return err
	case reasons != nil:
		return reasons
	case len(found.problems) > 0:
		return leftOut(found.problems)
	case !report.Holds():
		return errToDo
	}
	return nil
}

// aboutNothing returns a reason for each expectation that holds only because no load balancer gets
// its requests, where an Ingress is refused: another provider may serve it, and the cluster may still
// serve its last accepted version.
func aboutNothing(
	in *source.Input, report verifyReport, notes []diag.Diagnostic,
) (out []string) {
	refused := slices.DeleteFunc(program.AmongFiles(notes), func(d diag.Diagnostic) bool {
		return d.Severity != diag.Error || d.Source.Kind != "Ingress"
	})
	if len(refused) == 0 {
		return nil
	}
	why := fmt.Sprintf("Ingress %s is refused: %s", refused[0].Source.Object(), refused[0].Message)
	if in.Provider.IsDefault() {
		why += fmt.Sprintf(". The provider %s is assumed: --provider names that of the cluster, such as "+
			"aws", in.Provider.First())
	}
	for _, e := range report.Expectations {
		if e.Verdict == expect.Holds && !e.Applies {
			out = append(out, fmt.Sprintf("%s holds only because no load balancer gets such requests, and %s",
				e.Name, why))
		}
	}
	return out
}

// read reads the objects, and where those of files stand. Without Ingresses, there are no load
// balancers.
func (v verified) read(cmd *cobra.Command) (side, manifests.Places, error) {
	out := side{input: v.Input, live: v.live}
	var places manifests.Places
	var err error
	if v.FromFiles() {
		out.objects, places, err = v.Load(cmd, v.cluster.Namespace)
		out.problems, err = manifests.AllLeftOut(err)
		if out.options = v.Options(out.objects); err != nil || !v.live {
			return out, places, err
		}
	}
	cluster := v.OfCluster()
	there, options, err := cluster.Objects(cmd, v.cluster)
	if v.FromFiles() {
		there = source.Applied(there, out.objects)
	}
	out.objects, out.options = there, options
	return out, places, err
}

// complete compiles the objects with the Secrets that are missing. It complains about Ingresses
// that are not served.
func (s side) complete(
	cmd *cobra.Command, with access.Clouds,
) ([]*precedence.Table, []diag.Diagnostic, error) {
	tables, _, diagnostics, err := s.compileAssuming(cmd, with)
	if err != nil {
		return nil, nil, err
	}
	return tables, diagnostics, warnUnserved(cmd, s.live, diagnostics)
}
