package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/comparison"
	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/operator"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/saved"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/model/settings"
)

const diffHelp = `Compare two configurations by what requests get. Each route that changes is one
entry: a shortest request of those that are answered differently, as a curl command, and the answer
before and after. Settings that decide about exposure are compared, too: scheme, ports, inbound
ranges, mutual TLS, web ACL and certificates. The answer names a sign-in, and a request that loses
its sign-in is less protected.

The comparison is about all requests, not about samples. If it takes more steps than the budget,
the report lists the hosts that are not decided, and never says that they are the same.

The two configurations are two directories or files; with --base, the same files at a git revision
and as they are; with --live, the cluster as it is, and with the files applied.

In place of OLD or NEW, --old-state or --new-state names a file with the output of plan -o json. It
has no secrets of clients, so a change of one is not compared.

A document that is no Kubernetes object, and that neither this command nor kubectl can read, is a
note if both configurations have it. So is a kustomization that -k does not name, if every file below
its directory is the same. --exclude leaves out files and directories.

--accept names a file with findings that are accepted: less protected on purpose. Each finding has
an id, which is printed with it.

A Secret that both configurations lack is assumed to exist, the same in both. Pods, health checks
and attributes are not compared. Weights are: pay/blue:80*90 is a Service with weight 90.

Exit code 0: no request is answered differently; 2: some are; 3: something is less protected, or it
is not decided; 1: an error, or no Ingress is served, or directories are not searched, or a class is
missing.`

const diffExamples = `  # Two directories
  fairlead diff before/ after/

  # What was planned before, and the files as they are
  fairlead plan manifests/ -o json > before.json
  fairlead diff --old-state before.json manifests/

  # A pull request: the main branch, and the files as they are
  fairlead diff --base origin/main manifests/

  # The same as a comment on the pull request
  fairlead diff --base origin/main manifests/ -o markdown

  # The same beside the lines of the files, in a workflow of GitHub Actions
  fairlead diff --base origin/main manifests/ -o github

  # The same, where findings that the main branch accepts do not fail
  fairlead diff --base origin/main --accept accepted.yaml manifests/

  # The cluster of the current kubeconfig, and the same with these files applied
  fairlead diff --live manifests/`

// An opposite is the configuration that the files are compared with.
type opposite struct {
	base    string // a git revision
	old     string // a file with a saved state
	new     string // likewise
	live    bool
	accept  string // a file of accepted findings
	cluster access.Cluster
	// acceptances are those that count, and accepting says how the file differs from them.
	acceptances []comparison.Acceptance
	accepting   string
	// names are those of the configurations before and after.
	names [2]string
}

func newDiff(with access.Clouds) *cobra.Command {
	var (
		in     source.Input
		from   opposite
		format output.Format
	)
	cmd := &cobra.Command{
		Use: "diff OLD NEW | --old-state FILE NEW | --base REVISION FILE|DIR... | " +
			"--live FILE|DIR...",
		Short:   "Compare two configurations by what requests get",
		Long:    diffHelp,
		Example: diffExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDiff(cmd, with, in, from, args, format)
		},
	}
	in.ManifestFlags(cmd)
	in.ProviderFlag(cmd, with)
	output.Flag(cmd, &format, output.Markdown, output.SARIFFile, output.GitHub)
	htmlFlag(cmd)
	completeManifests(cmd)
	cmd.Flags().StringVar(&from.base, "base", "", "compare with the same files at this git `REVISION`")
	cmd.Flags().BoolVar(&from.live, "live", false,
		"compare the cluster with the cluster in which the files are applied")
	from.cluster.ConnectionFlags(cmd.Flags())
	cmd.Flags().StringVar(&from.old, "old-state", "",
		"`FILE` with what plan -o json has printed, in place of OLD")
	cmd.Flags().StringVar(&from.new, "new-state", "",
		"`FILE` with what plan -o json has printed, in place of NEW")
	cmd.Flags().StringVar(&from.accept, "accept", "", "`FILE` with findings that are accepted: "+
		"id, reason and date of each. With --base, the file of that revision counts, and a change of it "+
		"is a difference")
	flagvalue.Must(cmd.MarkFlagFilename("accept", "yaml", "yml", "json"))
	for _, state := range []string{"old-state", "new-state"} {
		flagvalue.Must(cmd.MarkFlagFilename(state, "json", "yaml"))
		cmd.MarkFlagsMutuallyExclusive("base", "live", state)
	}
	return cmd
}

func runDiff(
	cmd *cobra.Command, with access.Clouds, in source.Input, from opposite, args []string,
	format output.Format,
) error {
	before, after, err := from.sides(cmd, in, args)
	if err != nil {
		return err
	}
	if from.base == "" && from.accept != "" {
		if from.acceptances, err = acceptancesIn(from.accept, from.accept); err != nil {
			return err
		}
	}
	var same manifests.Problems
	before.problems, after.problems, same = manifests.Unchanged(before.problems, after.problems)
	problems := slices.Concat(before.problems, after.problems)
	noteUnchanged(cmd.ErrOrStderr(), same)
	report, err := compareSides(cmd, with, &before, &after)
	if err != nil {
		return err
	}
	report.Accept(from.acceptances)
	report.AcceptancesChange = from.accepting
	if err := after.print(cmd, report, format); err != nil {
		return err
	}
	if err := writeHTML(cmd, "diff", fmt.Sprintf("Before: %s. After: %s.", from.names[0], from.names[1]), report); err != nil {
		return err
	}
	switch {
	case len(report.NotCompared) > 0:
		return errNotServed(report.NotCompared)
	case len(problems) > 0: // which the report has
		return fmt.Errorf("not everything was read: %s", output.Number(len(problems), "problem"))
	case report.LessProtected():
		return errLessProtected
	case report.Differs():
		return errToDo
	}
	return nil
}

// noteUnchanged prints where documents and kustomizations are that are not read, and that are the
// same in both configurations.
func noteUnchanged(w io.Writer, same manifests.Problems) {
	const most = 5
	if len(same) == 0 {
		return
	}
	var places []string
	for _, p := range same[:min(most, len(same))] {
		places = append(places, p.String())
	}
	text := strings.Join(places, ", ")
	if more := len(same) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	fmt.Fprintf(w, "note: not read, and the same in both configurations: %s\n",
		printable.Line(text))
}

// sides reads the two configurations.
func (o *opposite) sides(
	cmd *cobra.Command, in source.Input, args []string,
) (before, after side, err error) {
	if o.base == "" && !o.live {
		return o.two(cmd, in, args)
	}
	in.Files = append(in.Files, args...)
	if !in.FromFiles() {
		return before, after, errors.New(
			"no files are given: name those to compare with --base or --live")
	}
	if !o.live {
		return o.sinceBase(cmd, in)
	}
	if after, err = o.read(cmd, in); err != nil {
		return before, after, err
	}
	if before, err = o.read(cmd, in.OfCluster()); err != nil {
		return before, after, err
	}
	there := strings.TrimSuffix(new(source.Input).Of(o.cluster), ".")
	o.names = [2]string{there, "the same with " + source.Listed(in.Paths()) + " applied"}
	after.objects, after.options = source.Applied(before.objects, after.objects), before.options
	after.live = true
	return before, after, nil
}

// two reads two configurations, each from files or from a saved state.
func (o *opposite) two(
	cmd *cobra.Command, in source.Input, args []string,
) (before, after side, err error) {
	if err := o.wantTwo(in, args); err != nil {
		return before, after, err
	}
	states := []string{o.old, o.new}
	if err := source.OneStdin(args[:min(1, len(args))], args[min(1, len(args)):]); err != nil {
		return before, after, err
	}
	var errs [2]error
	for i, one := range []*side{&before, &after} {
		if states[i] != "" {
			o.names[i] = "the state in " + manifests.NameOf(states[i])
			*one, errs[i] = ofState(states[i])
			continue
		}
		files := in
		files.Files, args = args[:1], args[1:]
		o.names[i] = source.Listed(files.Files)
		*one, errs[i] = o.read(cmd, files)
	}
	return before, after, errors.Join(errs[:]...)
}

// wantTwo returns an error unless a command line names two configurations.
func (o opposite) wantTwo(in source.Input, args []string) error {
	names := slices.Clone(args)
	for flag, state := range map[string]string{"--old-state ": o.old, "--new-state ": o.new} {
		if state != "" {
			names = append(names, flag+state)
		}
	}
	switch {
	case in.FromFiles():
		return errors.New("-f and -k name one configuration, which --base or --live compare with " +
			"another one: name two directories or files as arguments instead")
	case len(names) == 0:
		return errors.New("no configurations are given: name two directories or files, or one with " +
			"--base REVISION or --live; --old-state or --new-state stands for one of two")
	case len(names) == 1:
		return fmt.Errorf("%s is one configuration, and diff compares two: name a second directory "+
			"or file, or add --base REVISION or --live", names[0])
	case len(names) > 2:
		return fmt.Errorf("%d configurations are named, and diff compares two", len(names))
	}
	return nil
}

// sinceBase reads the files at the git revision, and their current versions. Each side lacks the
// files that do not exist there: they are new, or deleted.
func (o *opposite) sinceBase(cmd *cobra.Command, in source.Input) (before, after side, err error) {
	tree, err := source.Checkout(cmd.Context(), o.base)
	if err != nil {
		return before, after, err
	}
	defer func() { err = errors.Join(err, tree.Remove()) }()
	if err := o.acceptancesOf(tree); err != nil {
		return before, after, err
	}
	files := source.Listed(in.Paths())
	o.names = [2]string{files + " at revision " + tree.Commit(cmd.Context()), files}
	old, errOld := in.OfRevision(tree)
	now, errNow := in.WithoutGone(tree)
	if err := errors.Join(errOld, errNow); err != nil {
		return before, after, err
	}
	if after, err = o.readThere(cmd, now); err != nil {
		return before, after, err
	}
	before, err = o.readThere(cmd, old)
	return before, after, err
}

// acceptancesOf reads the accepted findings of a git revision: an author accepts none of their own.
func (o *opposite) acceptancesOf(tree *source.Tree) error {
	if o.accept == "" {
		return nil
	}
	there, found, err := tree.Path(o.accept)
	if err != nil {
		return err
	}
	if found {
		if o.acceptances, err = acceptancesIn(there, tree.Name(there)); err != nil {
			return err
		}
	}
	now, err := acceptancesIn(o.accept, o.accept)
	if errors.Is(err, fs.ErrNotExist) && found {
		now, err = nil, nil
	}
	if err != nil {
		return err
	}
	if !slices.Equal(now, o.acceptances) {
		o.accepting = fmt.Sprintf("the accepted findings in %s differ from those of %s, which count",
			o.accept, o.base)
	}
	return nil
}

// acceptancesIn reads a file of accepted findings, which messages call by another name.
func acceptancesIn(file, shown string) ([]comparison.Acceptance, error) {
	const most = 1 << 20
	text, err := manifests.ReadFile(file, most)
	if err != nil {
		return nil, fmt.Errorf("--accept %s: %w", shown, err)
	}
	all, err := comparison.ReadAcceptances(text)
	if err != nil {
		return nil, fmt.Errorf("--accept %s: %w", shown, err)
	}
	return all, nil
}

// readThere reads a configuration, which is empty without files.
func (o opposite) readThere(cmd *cobra.Command, in source.Input) (side, error) {
	if !in.FromFiles() {
		return side{options: in.Options(ingress.Objects{}), input: in}, nil
	}
	return o.read(cmd, in)
}

// ofState reads the saved state in a file.
func ofState(file string) (side, error) {
	state, err := saved.Load(file)
	if err != nil {
		return side{}, err
	}
	return side{state: state, problems: state.Problems}, nil
}

// read reads one configuration, which is empty without Ingresses.
func (o opposite) read(cmd *cobra.Command, in source.Input) (side, error) {
	found, options, places, err := in.Located(cmd, o.cluster)
	problems, err := manifests.AllLeftOut(err)
	return side{objects: found, options: options, input: in, problems: problems, places: places,
		live: !in.FromFiles()}, err
}

// A side is a configuration: objects, or a saved state.
type side struct {
	objects  ingress.Objects
	options  ingress.ClassOptions
	input    source.Input
	problems manifests.Problems
	places   manifests.Places // of the objects in files
	state    *saved.State     // nil for objects
	live     bool             // with the objects of a cluster
	made     *made            // of the objects as they are, if they were compiled
}

// made is what compiling objects makes, if no load balancer exists.
type made struct {
	tables []*precedence.Table
	notes  []diag.Diagnostic
}

// print prints a report on what changes with this configuration.
func (s side) print(cmd *cobra.Command, report comparison.Report, format output.Format) error {
	if !format.IsOfFindings() {
		return format.PrintReport(cmd.OutOrStdout(), report, "the comparison")
	}
	found := output.FileFindings{All: report.Findings(s.places), Rules: comparison.Rules, Version: operator.Version(),
		Otherwise: s.input.FirstFile()}
	return found.Print(cmd.OutOrStdout(), format)
}

// compareSides compiles both configurations and compares them. If both lack a Secret, they are
// compiled again with the same one.
func compareSides(
	cmd *cobra.Command, with access.Clouds, before, after *side,
) (comparison.Report, error) {
	old, now, notes, err := bothTables(cmd, with, before, after)
	if err != nil {
		return comparison.Report{}, err
	}
	problems := comparison.ProblemsOf(before.problems, after.problems)
	found := compareTables(cmd, old, now)
	unfollowed, err := after.unfollowed(cmd, with, before, old, now)
	if err != nil {
		return comparison.Report{}, err
	}
	found.Exposures = append(found.Exposures, unfollowed...)
	report := comparison.ReportOf(found, len(old)+len(now), problems)
	in := after.input
	if after.state != nil {
		in = before.input
	}
	if before.live || after.live {
		notes = nil // classes of a cluster that do not exist are no omission of the caller
	}
	report.NotCompared = notServed(&in, len(old)+len(now), notes, " in either configuration")
	return report, nil
}

// compareTables compares what requests get.
func compareTables(cmd *cobra.Command, old, now []*precedence.Table) (found compare.Report) {
	_ = output.While(cmd.ErrOrStderr(), "comparing requests", func() error { // it cannot fail
		found = compare.Tables(old, now, requests.OfCommand)
		return nil
	})
	return found
}

func bothTables(
	cmd *cobra.Command, with access.Clouds, before, after *side,
) (old, now []*precedence.Table, notes []diag.Diagnostic, err error) {
	err = errors.Join(before.addRecordedSecrets(after), after.addRecordedSecrets(before))
	if err != nil {
		return nil, nil, nil, err
	}
	old, notes, err = before.tables(cmd, with)
	if err != nil {
		return nil, nil, nil, err
	}
	now, more, err := after.tables(cmd, with)
	if err != nil {
		return nil, nil, nil, err
	}
	assumed := slices.Concat(before.assumed(), after.assumed())
	if missing := program.MissingSecrets(append(notes, more...)); len(missing) > 0 {
		known := []int{len(before.objects.Secrets), len(after.objects.Secrets)}
		source.AddToBoth(&before.objects, &after.objects, missing)
		assumed = append(assumed, namesOf(before.objects.Secrets[known[0]:])...)
		if old, notes, err = before.tables(cmd, with); err != nil {
			return nil, nil, nil, err
		}
		if now, more, err = after.tables(cmd, with); err != nil {
			return nil, nil, nil, err
		}
	}
	notes = append(notes, more...)
	if err := warnUnserved(cmd, before.live || after.live, notes); err != nil {
		return nil, nil, nil, err
	}
	saved.MakeAlike(assumed, old, now)
	if before.state != nil || after.state != nil {
		old, now = saved.WithoutClientSecrets(old), saved.WithoutClientSecrets(now)
	}
	return old, now, notes, nil
}

// warnUnserved prints a warning about Ingresses that are not served.
func warnUnserved(cmd *cobra.Command, live bool, diagnostics []diag.Diagnostic) error {
	notes := program.Unserved(diagnostics, live)
	return output.Diagnostics(cmd.ErrOrStderr(), notes, output.PaletteOf(cmd.ErrOrStderr()))
}

// addRecordedSecrets adds to a saved state the Secrets that it was compiled with, so that they do
// not count as missing. The assumed ones depend on the other side.
func (s *side) addRecordedSecrets(other *side) error {
	if s.state == nil {
		return nil
	}
	there := namesOf(other.objects.Secrets)
	if other.state != nil {
		there = append(there, other.state.Secrets...)
	} else if err := s.state.CheckProviders(other.input.Provider.Names); err != nil {
		return err
	}
	state, err := s.state.ComparableWith(there)
	if err != nil {
		return err
	}
	s.state = &state
	for _, name := range state.Secrets {
		var empty corev1.Secret
		empty.Namespace, empty.Name, _ = strings.Cut(name, "/")
		s.objects.Secrets = append(s.objects.Secrets, &empty)
	}
	return nil
}

// assumed returns the Secrets that a saved state assumes.
func (s side) assumed() []string {
	if s.state == nil {
		return nil
	}
	return s.state.Assumed
}

func namesOf(all []*corev1.Secret) []string {
	var out []string
	for _, s := range all {
		out = append(out, s.Namespace+"/"+s.Name)
	}
	return out
}

// tables compiles a configuration. It returns the table of each load balancer.
func (s side) tables(
	cmd *cobra.Command, with access.Clouds,
) ([]*precedence.Table, []diag.Diagnostic, error) {
	if s.state != nil {
		tables, err := s.state.Read()
		return tables, nil, err
	}
	if s.made != nil {
		return s.made.tables, s.made.notes, nil
	}
	programs, diagnostics, err := s.programs(cmd, with)
	return program.TablesOf(programs), diagnostics, err
}

// programs compiles a configuration, without plans.
func (s side) programs(cmd *cobra.Command, with access.Clouds) (programs []program.Program, found []diag.Diagnostic, err error) {
	cloud, err := s.input.Provider.Offline(cmd.Context(), with)
	if err != nil {
		return nil, nil, err
	}
	err = output.While(cmd.ErrOrStderr(), "compiling", func() (err error) {
		programs, found, err = program.BuildAll(cmd.Context(), cloud, s.objects, s.options)
		return err
	})
	return programs, found, err
}

// compileAssuming compiles the objects with the Secrets that are missing, and returns their names.
func (s side) compileAssuming(
	cmd *cobra.Command, with access.Clouds,
) (tables []*precedence.Table, assumed []string, notes []diag.Diagnostic, err error) {
	tables, notes, err = s.tables(cmd, with)
	missing := program.MissingSecrets(notes)
	if err != nil || len(missing) == 0 {
		return tables, nil, notes, err
	}
	known := len(s.objects.Secrets)
	source.AddToBoth(&s.objects, &ingress.Objects{}, missing)
	s.made = nil
	tables, notes, err = s.tables(cmd, with)
	return tables, namesOf(s.objects.Secrets[known:]), notes, err
}

// saved returns the configuration as a state, with the missing Secrets and without them.
func (s side) saved(cmd *cobra.Command, with access.Clouds) (saved.State, error) {
	bare, notes, err := s.tables(cmd, with)
	if err != nil {
		return saved.State{}, err
	}
	s.made = &made{bare, notes}
	tables, assumed, _, err := s.compileAssuming(cmd, with)
	if err != nil {
		return saved.State{}, err
	}
	saved.MakeAlike(assumed, tables)
	out := saved.StateOf(s.named(), assumed)
	out.Providers = s.input.Provider.Names
	if out.Tables = saved.TablesOf(tables); len(assumed) == 0 {
		return out, nil
	}
	out.TablesWithoutAssumed = saved.TablesOf(bare)
	return out, nil
}

// named returns the existing Secrets that an Ingress or a Backend names.
func (s side) named() []string {
	var out []string
	add := func(namespace, name string) {
		if name != "" {
			out = append(out, namespace+"/"+name)
		}
	}
	for _, i := range s.objects.Ingresses {
		for _, t := range i.Spec.TLS {
			add(i.Namespace, t.SecretName)
		}
		for _, own := range settings.BackendsOf(i.Annotations) {
			add(i.Namespace, ingress.SecretOf(own))
		}
	}
	for _, b := range s.objects.Backends {
		add(b.Namespace, ingress.SecretOf(&b.Spec))
	}
	slices.Sort(out)
	there := namesOf(s.objects.Secrets)
	return slices.DeleteFunc(slices.Compact(out), func(name string) bool {
		return !slices.Contains(there, name)
	})
}
