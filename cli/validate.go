package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/operator"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/printable"
)

const validateHelp = `Check manifests as the API server and the compiler do, and plan nothing.
Each finding has its file and the line of its field. It needs no cluster and no cloud.

An object that is merely not among the files is no error: it may be in the cluster.

Exit code 0: nothing of the severity of --fail-on was found; 1: something was, or could not be
read, or no Ingress is served, or directories are not searched, or a class is missing.`

const validateExamples = `  # In a pipeline, on all manifests of a repository
  fairlead validate -R manifests/

  # What kubectl apply -k would apply; warnings fail, too
  fairlead validate -k overlays/production --fail-on warning

  # For a program to read
  fairlead validate ingress.yaml -o json

  # For code scanning on GitHub, and for a workflow of GitHub Actions
  fairlead validate -R manifests/ -o sarif > fairlead.sarif
  fairlead validate -R manifests/ -o github`

func newValidate(with access.Clouds) *cobra.Command {
	var (
		in        source.Input
		format    output.Format
		failOn    string
		namespace string
	)
	cmd := &cobra.Command{
		Use:     "validate [-f] FILE|DIR|URL... | -k DIR",
		Short:   "Check manifests, each finding with its file and line",
		Long:    validateHelp,
		Example: validateExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Files = append(in.Files, args...)
			if !in.FromFiles() {
				return errors.New("no manifests are given: name files or directories")
			}
			return runValidate(cmd, with, &in, namespace, format, failOn)
		},
	}
	in.ManifestFlags(cmd)
	in.ProviderFlag(cmd, with)
	output.Flag(cmd, &format, output.SARIFFile, output.GitHub)
	failOnFlag(cmd, &failOn, failOnError)
	completeManifests(cmd)
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "",
		"check only the Ingresses of this `NAMESPACE`, "+
			"which is also that of objects that name none; unset: those of all namespaces")
	return cmd
}

// completeManifests has the shell complete arguments with manifests and directories.
func completeManifests(cmd *cobra.Command) {
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string,
		cobra.ShellCompDirective) {
		return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// A validation is what validate found. It is the JSON that validate prints: keys may be added, and
// none may change.
type validation struct {
	Findings []validationFinding `json:"findings"`
	Summary  output.Tally        `json:"summary"`
}

// A validationFinding is a diagnostic, or a problem of an object that could not be read, with its
// place.
type validationFinding struct {
	File     string        `json:"file"`
	Line     int           `json:"line"`
	Severity diag.Severity `json:"severity"`
	Reason   diag.Reason   `json:"reason"`
	Source   string        `json:"source"`
	Message  string        `json:"message"`
}

// runValidate compiles the files, and prints what is found.
func runValidate(
	cmd *cobra.Command, with access.Clouds, in *source.Input, namespace string,
	format output.Format, failOn string,
) error {
	cloud, err := in.Provider.Offline(cmd.Context(), with)
	if err != nil {
		return err
	}
	objects, places, err := in.Load(cmd, namespace)
	if namespace != "" && errors.Is(err, manifests.ErrNoIngress) {
		return err
	}
	problems, err := manifests.AllLeftOut(err)
	if err != nil {
		return err
	}
	programs, diagnostics, err := compileAll(cmd, cloud, objects, in.Options(objects), nil)
	if err != nil {
		return err
	}
	var reasons []string
	if failOn != failOnNever {
		reasons = notServed(in, len(programs), diagnostics, "")
	}
	diagnostics = program.AmongFiles(diagnostics)
	v := validation{findingsOf(problems, diagnostics, places), output.TallyOf(diagnostics,
		len(problems))}
	switch {
	case format == output.Text:
		err = v.print(cmd.OutOrStdout())
	case format.IsOfFindings():
		err = v.located(in).Print(cmd.OutOrStdout(), format)
	default:
		err = format.Print(cmd.OutOrStdout(), v)
	}
	fails := func(d diag.Diagnostic) bool { return failing(d, failOn) }
	if err == nil && (len(problems) > 0 || slices.ContainsFunc(diagnostics, fails)) {
		return errWrong
	}
	return errors.Join(err, errNotServed(reasons))
}

// findingsOf returns problems and diagnostics by file and line.
func findingsOf(
	problems manifests.Problems, diagnostics []diag.Diagnostic, places manifests.Places,
) []validationFinding {
	out := []validationFinding{}
	for _, p := range problems {
		out = append(out, validationFinding{p.File, p.Line, diag.Error, diag.Invalid, p.Object,
			p.Message})
	}
	for _, d := range diagnostics {
		object := diag.Source{Kind: d.Source.Kind, Namespace: d.Source.Namespace, Name: d.Source.Name}
		at, _ := places.Of(object.String(), d.Source.Field)
		out = append(out, validationFinding{at.File, at.Line, d.Severity, d.Reason, d.Source.String(),
			d.Message})
	}
	slices.SortStableFunc(out, func(a, b validationFinding) int {
		if a.File != b.File {
			return strings.Compare(a.File, b.File)
		}
		return a.Line - b.Line
	})
	return out
}

// located returns the findings for pipelines.
func (v validation) located(in *source.Input) output.FileFindings {
	out := output.FileFindings{Rules: output.Reasons(), Version: operator.Version(), Otherwise: in.FirstFile()}
	for _, f := range v.Findings {
		out.All = append(out.All, output.Located{Rule: string(f.Reason), Severity: f.Severity, File: f.File, Line: f.Line,
			Object: f.Source, Message: f.Message})
	}
	return out
}

// print prints the findings for people: a line for each, in the form of compilers, and a summary. Warnings
// that say the same have one line together, and so have notes that differ only in what they name.
func (v validation) print(w io.Writer) error {
	type same struct {
		severity diag.Severity
		reason   diag.Reason
		message  string
	}
	keyOf := func(f validationFinding) same {
		key := same{f.Severity, f.Reason, f.Message}
		if f.Severity == diag.Info {
			key.message = output.Outline(f.Message)
		}
		return key
	}
	others := map[same][]string{}
	for _, f := range v.Findings {
		key := keyOf(f)
		others[key] = append(others[key], f.Source+" "+inBrackets(f.place()))
	}
	colour := output.PaletteOf(w)
	for _, f := range v.Findings {
		key := keyOf(f)
		alike := others[key]
		if f.Severity != diag.Error {
			others[key] = nil
		}
		if len(alike) == 0 {
			continue // it has a line
		}
		place := printable.Line(f.place())
		text := strings.TrimSpace(fmt.Sprintf("%s %s", f.Reason, f.Source)) + ": " + f.Message
		text = output.Wrap(w, printable.Line(text), len(place)+len(":  ")+len(f.Severity))
		if _, err := fmt.Fprintf(w, "%s: %s %s\n", place, colour.Severity(f.Severity), text); err != nil {
			return err
		}
		if more := alike[1:]; len(more) > 0 && f.Severity != diag.Error {
			like := "the same in %d more"
			if f.Severity == diag.Info {
				like = "%d more like it"
			}
			if err := printAlike(w, like, more); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(w, "Summary: %s\n", v.Summary)
	return err
}

// printAlike prints where else findings like the one above were made.
func printAlike(w io.Writer, like string, names []string) error {
	const most = 3
	text := fmt.Sprintf(like+": %s", len(names), strings.Join(names[:min(most, len(names))], ", "))
	if len(names) > most {
		text += ", …; -o json has all"
	}
	_, err := fmt.Fprintf(w, "  %s\n", printable.Line(text))
	return err
}

// place returns the file and line of a finding; - for none.
func (f validationFinding) place() string {
	if f.File == "" {
		return "-"
	}
	return manifests.Place{File: f.File, Line: f.Line}.String()
}
