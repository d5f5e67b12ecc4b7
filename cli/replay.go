package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/cli/traffic"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

const replayHelp = `Replay the access logs of Application Load Balancers: say which Ingress path
answered each line, count requests and errors for each path, and compare what was logged with what
is predicted. Every line whose answer is not possible is a disagreement, and is printed with
examples (docs/how-to/replay.md).

Lines do not have headers other than User-Agent. Where these decide, each of several paths is
possible, and the line disagrees with none of them.

The configuration is that of the time of the logs: files or directories, a saved state (--state,
with what plan -o json has printed), a git revision of files (--base), or the cluster (--live). The
priorities of rules and the target groups are those of the load balancers in the saved state or in
--observed, or with --live in the cloud. Without these, they are not compared. Those of a plan for
load balancers that are not there yet are compared only if --observed says that they are.

With a second configuration, replay says what share of the requests a change alters, and which: the
files of --change, the files as they are after --base, or the files applied to the cluster with
--live.

Exit code 0: every line that was read agrees; 2: some disagree; 1: error. A line or a file that
cannot be read is left out, reported with its file and number, and an error.`

const replayExamples = `  # A day of logs, and the manifests of that day
  fairlead replay --provider aws --logs logs/2026/07/02/ manifests/

  # The same, against the state that was saved on that day by plan --live -o json
  fairlead replay --provider aws --logs logs/2026/07/02/ --state state.json

  # What a pull request would have changed for these requests
  fairlead replay --provider aws --logs 'logs/*.log.gz' --base origin/main manifests/

  # The cluster, and the priorities of the rules in the cloud
  fairlead replay --provider aws --logs logs/ --live --aws-region eu-west-1 --aws-vpc-id vpc-0123

  # Lines from another program
  zcat logs/*.gz | grep ' 50[0-9] ' | fairlead replay --provider aws --logs - manifests/`

// replayed has the logs to replay, and the configurations for them.
type replayed struct {
	source.Input
	logs     []string
	base     string
	state    string
	change   []string
	live     bool
	observed string
	names    []string
	home     access.Cluster
	top      int
	since    string
	until    string
}

// loadBalancerUsage describes the flag that names a load balancer in logs.
const loadBalancerUsage = "`NAME=KEY` of a load balancer: its name in logs, such as shop, " +
	"app/shop/50dc6c495c0c9188 or 'shop-*', and its key here; can be repeated"

// topShown is the default number of printed paths, disagreements and changes.
const topShown = 10

func newReplay(with access.Clouds) *cobra.Command {
	var (
		in     replayed
		format output.Format
	)
	cmd := &cobra.Command{
		Use:     "replay --logs FILE|DIR FILE|DIR... | --live --logs FILE|DIR",
		Short:   "Say which Ingress path answered each line of access logs",
		Long:    replayHelp,
		Example: replayExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(in.logs) == 0 {
				return errors.New("no logs are given: --logs names a file or a directory of access logs")
			}
			in.Files = append(in.Files, args...)
			return runReplay(cmd, with, in, format)
		},
	}
	in.ManifestFlags(cmd)
	in.ProviderFlag(cmd, with)
	output.Flag(cmd, &format)
	htmlFlag(cmd)
	completeManifests(cmd)
	in.flags(cmd)
	in.home.Flags(cmd.Flags())
	with.Flags(cmd.Flags())
	return cmd
}

func (r *replayed) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	logsFlag(cmd, &r.logs)
	flags.StringVar(&r.base, "base", "",
		"replay against the files at this git `REVISION`, and compare with the files as they are")
	flags.StringVar(&r.state, "state", "", "`FILE` with the configuration and its load balancers: "+
		"what plan -o json has printed, in place of manifests")
	flagvalue.Must(cmd.MarkFlagFilename("state", "json", "yaml"))
	flags.StringArrayVar(&r.change, "change", nil, "`FILE` or directory with the manifests after a "+
		"change, whose effect is printed; can be repeated")
	flagvalue.Must(cmd.MarkFlagFilename("change", "yaml", "yml", "json"))
	flags.BoolVar(&r.live, "live", false, "replay against the cluster and, if there are files, "+
		"compare with the cluster in which they are applied")
	flags.StringVar(&r.observed, "observed", "", "`FILE` with the load balancers in the cloud: what "+
		"plan -o json has printed; unset: those of a saved state or, with --live, those in the cloud")
	flagvalue.Must(cmd.MarkFlagFilename("observed", "json", "yaml"))
	flags.StringArrayVar(&r.names, "load-balancer", nil, loadBalancerUsage)
	flags.Var(flagvalue.AtLeastOne(&r.top, topShown), "top",
		"`NUMBER` of paths, disagreements and changes to print")
	flags.StringVar(&r.since, "since", "", "leave out lines before this `TIME`, such as 2026-07-02, "+
		"2026-07-02T10:30:00Z or, before now, 90m")
	flags.StringVar(&r.until, "until", "", "leave out lines at this `TIME` and after it")
	cmd.MarkFlagsMutuallyExclusive("base", "live", "change")
	cmd.MarkFlagsMutuallyExclusive("base", "live", "state")
}

// logsFlag adds the flag that names access logs.
func logsFlag(cmd *cobra.Command, logs *[]string) {
	cmd.Flags().StringArrayVar(logs, "logs", nil, "`FILE`, pattern or directory with access logs, "+
		"compressed or not, - for standard input; can be repeated")
	flagvalue.Must(cmd.MarkFlagFilename("logs", "log", "gz"))
}

// timeOf returns the time of a flag: a day or a moment, or a duration before now. A day begins at
// midnight UTC, as the lines have UTC.
func timeOf(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("--%s %s: it must be a day such as 2026-07-02, a time such as "+
		"2026-07-02T10:30:00Z, or a duration before now such as 90m", flag, text)
}

// read returns the logs to read.
func (r replayed) read(cmd *cobra.Command) (traffic.Logs, error) {
	out := traffic.Logs{Stdin: cmd.InOrStdin()}
	now := time.Now()
	var problems [3]error
	out.Since, problems[0] = timeOf("since", r.since, now)
	out.Until, problems[1] = timeOf("until", r.until, now)
	if !out.Until.IsZero() && !out.Since.Before(out.Until) {
		problems[2] = errors.New("--until must be after --since")
	}
	if err := errors.Join(problems[:]...); err != nil {
		return out, err
	}
	var err error
	out.Files, err = traffic.Expand(r.logs)
	return out, err
}

// about says what is compared.
func (r *replayed) about() string {
	of := "State: " + r.state + "."
	if r.state == "" {
		of = r.Of(r.home)
	}
	switch of += " Logs: " + source.Listed(r.logs) + "."; {
	case r.base != "":
		of += " The change: since revision " + r.base + "."
	case len(r.change) > 0:
		of += " The change: " + source.Listed(r.change) + "."
	}
	return of
}

func runReplay(
	cmd *cobra.Command, with access.Clouds, in replayed, format output.Format,
) error {
	if err := source.OneStdin(in.logs, in.Files, in.change); err != nil {
		return err
	}
	logs, err := in.read(cmd)
	if err != nil {
		return err
	}
	if in.state != "" && in.FromFiles() {
		return errors.New("--state stands in place of files: give one of them")
	}
	if err := in.RequireFiles(in.live || in.state != ""); err != nil {
		return err
	}
	before, after, err := in.sides(cmd)
	if err != nil {
		return err
	}
	configurations, err := in.compile(cmd, with, before, after)
	if err != nil {
		return err
	}
	setup, err := configurations.Setup()
	if err != nil {
		return err
	}
	var report traffic.Report
	if err := output.While(cmd.ErrOrStderr(), "replaying requests", func() (err error) {
		report, err = logs.Replay(cmd.Context(), setup)
		return err
	}); err != nil {
		return fmt.Errorf("replaying logs: %w", err)
	}
	if err := printReplay(cmd.OutOrStdout(), report, format, in.top); err != nil {
		return err
	}
	if err := writeHTML(cmd, "replay", in.about(), report); err != nil {
		return err
	}
	var left []error
	for _, s := range []*side{before, after} {
		if s != nil {
			left = append(left, leftOut(s.problems))
		}
	}
	return in.verdict(report, left)
}

// verdict returns the error that stands for the exit code.
func (r replayed) verdict(report traffic.Report, left []error) error {
	if err := errors.Join(append(left, comparedAll(report))...); err != nil {
		return err
	}
	if report.Summary.Disagreements > 0 {
		return errToDo
	}
	return nil
}

// comparedAll returns an error if lines could not be read, or if none was compared.
func comparedAll(report traffic.Report) error {
	switch err := errors.Join(report.Errors()...); {
	case err != nil:
		return err
	case report.Summary.Lines > 0 && report.Summary.Compared == 0:
		return errors.New("no line is a request to these load balancers; " +
			"--load-balancer says which name one has in logs")
	case report.Summary.Lines == 0 && report.Summary.Untimely > 0:
		return errors.New("no line is of the time between --since and --until")
	case report.Summary.Lines == 0:
		return errors.New("the logs have no line")
	}
	return nil
}

// sides reads the configuration of the logs, and that after the change; nil if there is none.
func (r replayed) sides(cmd *cobra.Command) (before, after *side, err error) {
	from := opposite{base: r.base, live: r.live, cluster: r.home}
	if r.base != "" || r.live && r.FromFiles() {
		old, now, err := from.sides(cmd, r.Input, nil)
		return &old, &now, err
	}
	old, err := r.then(cmd, from)
	if err != nil || len(r.change) == 0 {
		return &old, nil, err
	}
	changed := r.OfCluster()
	changed.Files = r.change
	now, err := from.read(cmd, changed)
	return &old, &now, err
}

// then reads the configuration of the time of the logs: a saved state, files, or the cluster.
func (r replayed) then(cmd *cobra.Command, from opposite) (side, error) {
	if r.state == "" {
		return from.read(cmd, r.Input)
	}
	return ofState(r.state)
}

// compile compiles the configurations.
func (r replayed) compile(
	cmd *cobra.Command, with access.Clouds, before, after *side,
) (traffic.Configurations, error) {
	out := traffic.Configurations{Names: r.names, Change: after != nil, Assumed: r.observed != ""}
	if r.From == v1alpha1.DialectALB {
		out.Naming = albNaming(before)
	}
	state, err := r.loadBalancers(cmd, with, before)
	if err != nil {
		return out, err
	}
	out.Observed, out.Foreign = state.Observed, state.ForeignRules
	if after == nil {
		out.Before, _, err = before.complete(cmd, with)
		return out, err
	}
	out.Before, out.After, _, err = bothTables(cmd, with, before, after)
	return out, err
}

// loadBalancers returns the load balancers of --observed, of the saved state or, with --live, in
// the cloud.
func (r replayed) loadBalancers(
	cmd *cobra.Command, with access.Clouds, before *side,
) (source.State, error) {
	var out source.State
	switch {
	case r.observed != "":
		return source.ReadState(r.observed)
	case before.state != nil:
		return source.ReadState(r.state)
	case !r.live:
		return out, nil
	}
	ctx := cmd.Context()
	opened, err := r.Provider.Live(ctx, with, r.home.Environment())
	if err != nil {
		return out, err
	}
	defer opened.Close()
	cloud := providers.ReadOnly(opened.Term())
	out.Observed, err = source.Observe(ctx, cloud, before.objects, before.options, false)
	if err != nil {
		return out, err
	}
	programs, _, err := program.CompileAll(ctx, cloud, before.objects, before.options, out.Observed)
	out.ForeignRules = map[lb.Key]map[int32][]int{}
	for _, p := range programs {
		if seen := out.Observed[p.Plan.Key]; seen != nil {
			out.ForeignRules[p.Plan.Key] = p.ForeignRules(seen)
		}
	}
	return out, err
}

func printReplay(w io.Writer, report traffic.Report, format output.Format, top int) error {
	if format != output.Text {
		return format.Print(w, report)
	}
	if _, err := io.WriteString(w, report.Text(output.PaletteOf(w), top)); err != nil {
		return fmt.Errorf("printing the replay: %w", err)
	}
	return nil
}
