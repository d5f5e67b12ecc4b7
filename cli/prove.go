package cli

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/operator"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/providers/trials"
)

// This file is fairlead check --prove: it runs a provider on a real account, with load balancers of
// its own, and deletes them again.

// Limits of a trial, before it begins to delete and after.
const (
	proveCalls        = 1500
	proveWithin       = 40 * time.Minute
	proveClearing     = 15 * time.Minute
	provePause        = 2 * time.Second
	proveLag          = 8 // of the intervals below: two minutes
	proveReadInterval = 15 * time.Second
)

// A prover opens a cloud in the name of an installation.
type prover func(ctx context.Context, around clouds.Environment,
	installation string) (trials.Cloud, error)

// proving holds the flags of check for trials.
type proving struct {
	prove, clean, yes, names bool
	adopt                    bool
	target                   string
	readInterval             time.Duration // between two searches for leftovers
}

func (p *proving) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&p.prove, "prove", false, "create internal load balancers that accept no "+
		"connections, run the operator's steps on them, and delete them: this proves on the real cloud "+
		"what tests prove on a simulator")
	flags.BoolVar(&p.yes, "yes", false, "with --prove: do not ask first")
	flags.BoolVar(&p.adopt, "adopt", false, "with --prove: make a load balancer as the AWS Load Balancer Controller makes it, "+
		"take it over, change it, and give it back, in place of the other steps")
	flags.BoolVar(&p.clean, "clean", false, "with --prove: only delete what earlier trials have left")
	flags.StringVar(&p.target, "target", "", "with --prove: an `ADDRESS:PORT` that answers GET / "+
		"and /health of the load balancers with 200, so that targets become healthy; unset: target "+
		"groups are empty")
	flags.BoolVar(&p.names, "names", false,
		"with --prove: do not redact account IDs, roles and IDs of networks in the output")
}

// errDeclined ends a trial that was not confirmed.
var errDeclined = errors.New("nothing was made: answer yes, or give --yes")

// proveReport is the JSON form of a trial, to be attached to reports of bugs.
type proveReport struct {
	Version      string          `json:"version"`
	Provider     string          `json:"provider"`
	Region       string          `json:"region,omitempty"`
	Installation string          `json:"installation"`
	Findings     []check.Finding `json:"findings"`
	Left         []string        `json:"left,omitempty"`
	Calls        int             `json:"calls"`
	Seconds      int             `json:"seconds"`
}

// run proves a cloud, or deletes what earlier trials have left, and prints the report.
func (p *proving) run(
	cmd *cobra.Command, with access.Clouds, o *operator.Settings, format output.Format,
) error {
	cloud := with[o.Provider.First()]
	if cloud.Prove == nil {
		return fmt.Errorf("--prove: there is nothing to prove of provider %q", o.Provider.First())
	}
	redacted := cloud.Redact
	if p.names || redacted == nil {
		redacted = func(text string) string { return text }
	}
	report, err := p.report(cmd, cloud, o)
	if err != nil {
		return errors.New(redacted(err.Error()))
	}
	report.redact(redacted)
	if format != output.Text {
		err = format.Print(cmd.OutOrStdout(), report)
	} else if err = output.FindingLines(cmd.OutOrStdout(), report.Findings); err == nil {
		took := time.Duration(report.Seconds) * time.Second
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d calls in %s\n", report.Calls, took)
	}
	if err == nil && check.AnyWrong(report.Findings) {
		return errWrong
	}
	return err
}

// report proves a cloud, or deletes what earlier trials have left.
func (p *proving) report(
	cmd *cobra.Command, cloud clouds.Cloud, o *operator.Settings,
) (*proveReport, error) {
	options, err := p.options(cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	var calls atomic.Int64
	around := o.Environment()
	around.OnRequest = func(string, string, string) { calls.Add(1) }
	around.Nodes = o.Cluster.KnownInstances
	options.Adopt = p.adopt
	options.CallsMade = func() int { return int(calls.Load()) }
	ctx, began := cmd.Context(), time.Now()
	r := &proveReport{Version: operator.Version(), Provider: o.Provider.First()}
	if p.clean {
		r.Installation = trials.Prefix + "*"
		r.Left, err = p.cleanUp(ctx, cloud.Prove, around, options)
	} else {
		r.Installation = newInstallation()
		if err := p.ask(cmd, cloud, r.Installation); err != nil {
			return nil, err
		}
		var opened trials.Cloud
		if opened, err = cloud.Prove(ctx, around, r.Installation); err == nil {
			r.Findings, r.Left = trials.Run(ctx, opened, options)
		}
	}
	if err != nil {
		return nil, err
	}
	left := check.Good("prove/left", "what was made", "all of it is deleted")
	if len(r.Left) > 0 {
		detail := fmt.Sprintf("%d are left: %s", len(r.Left), strings.Join(r.Left, ", "))
		left = check.Bad("prove/left", "what was made", detail, "delete them with --prove --clean")
	}
	r.Findings = append(r.Findings, left)
	if cloud.Place != nil {
		r.Region = cloud.Place()
	}
	r.Calls, r.Seconds = int(calls.Load()), int(time.Since(began).Round(time.Second).Seconds())
	return r, nil
}

// options returns the limits of a trial.
func (p *proving) options(say io.Writer) (trials.Options, error) {
	o := trials.Options{Calls: proveCalls, Timeout: proveWithin, CleanupTimeout: proveClearing,
		Pause: provePause}
	o.SweepPause, o.ReadLag = p.readInterval, proveLag*p.readInterval
	o.OnProgress = func(line string) { fmt.Fprintf(say, "%s\n", line) }
	if p.target != "" {
		at, err := netip.ParseAddrPort(p.target)
		if err != nil {
			return o, fmt.Errorf("--target: %q is no address and port, such as 10.0.0.9:8080", p.target)
		}
		o.Target = &lb.Target{Address: at.Addr().String(), Port: int32(at.Port())}
	}
	return o, nil
}

// newInstallation returns a random name.
func newInstallation() string {
	var random [6]byte
	_, _ = rand.Read(random[:]) // it never fails
	return trials.Prefix + hex.EncodeToString(random[:])
}

// ask prints what will be made, and asks for confirmation.
func (p *proving) ask(cmd *cobra.Command, cloud clouds.Cloud, installation string) error {
	fmt.Fprintf(cmd.ErrOrStderr(), `This makes %s, all tagged
fairlead.dev/installation=%s, changes them and deletes them. Nothing can connect to them.
It takes at most %d calls and %s, and then what deleting takes. %s
`, cloud.TrialMakes, installation, proveCalls, proveWithin, cloud.TrialCosts)
	if p.yes {
		return nil
	}
	fmt.Fprint(cmd.ErrOrStderr(), "Type yes to go on: ")
	answered := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n') // an error is no yes
		answered <- strings.TrimSpace(answer)
	}()
	select {
	case answer := <-answered:
		if answer == "yes" {
			return nil
		}
	case <-cmd.Context().Done():
	}
	return errDeclined
}

// cleanUp deletes what earlier trials have left, and returns what is left all the same.
func (p *proving) cleanUp(
	ctx context.Context, open prover, around clouds.Environment, o trials.Options,
) (left []string, err error) {
	cloud, err := open(ctx, around, trials.Prefix)
	if err != nil {
		return nil, err
	}
	runs, err := cloud.Installations(ctx)
	if err != nil {
		return nil, err
	}
	for _, installation := range runs {
		o.OnProgress("of " + installation)
		cloud, err := open(ctx, around, installation)
		if err != nil {
			return nil, err
		}
		left = append(left, trials.Clear(ctx, cloud, o)...)
	}
	return left, nil
}

// redact replaces the values in a report that identify an account.
func (r *proveReport) redact(redacted func(string) string) {
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Title, f.Detail, f.Advice = redacted(f.Title), redacted(f.Detail), redacted(f.Advice)
	}
	for i := range r.Left {
		r.Left[i] = redacted(r.Left[i])
	}
}
