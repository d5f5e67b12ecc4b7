package cli

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/operator"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/version"
	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/providers/prove"
)

// This file runs a provider against a real account, in load balancers of its own that it deletes
// again.

// What a run may cost at most, before and after deleting begins.
const (
	proveCalls    = 1500
	proveWithin   = 40 * time.Minute
	proveClearing = 15 * time.Minute
	provePause    = 2 * time.Second
	proveApart    = 15 * time.Second
)

// A prover opens a cloud in the name of an installation.
type prover func(ctx context.Context, around clouds.Surroundings, installation string) (prove.Cloud, error)

// proving are the flags of check that make things.
type proving struct {
	prove, clean, yes, names bool
	target                   string
}

func (p *proving) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&p.prove, "prove", false, "make internal load balancers that nobody can connect to, run the operator's steps on them, and delete them: proves on the real cloud what tests prove on a simulator")
	flags.BoolVar(&p.yes, "yes", false, "with --prove: do not ask first")
	flags.BoolVar(&p.clean, "clean", false, "with --prove: delete what earlier runs have left, and do nothing else")
	flags.StringVar(&p.target, "target", "", "with --prove: an `ADDRESS:PORT` in the VPC that answers GET / and /health with 200 to the load balancers, so that targets become healthy; unset: target groups are empty")
	flags.BoolVar(&p.names, "names", false, "with --prove: leave account IDs, roles and IDs of the network in what is printed")
}

// errDeclined is what is said to those who do not want it.
var errDeclined = errors.New("nothing was made: answer yes, or give --yes")

// proveReport is what is printed for programs, and attached to reports of bugs.
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

// run proves, or cleans up.
func (p *proving) run(cmd *cobra.Command, with Providers, o *operator.Settings, json bool) error {
	open := with.Clouds[o.Provider.First()].Prove
	if open == nil {
		return fmt.Errorf("--prove: there is nothing to prove of provider %q", o.Provider.First())
	}
	options, err := p.options(cmd.ErrOrStderr())
	options.Apart = cmp.Or(with.Apart, proveApart)
	if err != nil {
		return err
	}
	var calls atomic.Int64
	around := o.Surroundings()
	around.Requested = func(string, string, string) { calls.Add(1) }
	around.Nodes = nodesOf(o)
	options.Spent = func() int { return int(calls.Load()) }
	ctx, began := cmd.Context(), time.Now()
	var report proveReport
	if p.clean {
		report.Left, err = p.cleanUp(ctx, open, around, options)
		report.Installation = prove.Prefix + "*"
	} else {
		report.Installation = newInstallation()
		if err := p.ask(cmd, report.Installation); err != nil {
			return err
		}
		var cloud prove.Cloud
		if cloud, err = open(ctx, around, report.Installation); err == nil {
			report.Findings, report.Left = prove.Run(ctx, cloud, options)
		}
	}
	if err != nil {
		return errors.New(p.redacted(err.Error()))
	}
	if len(report.Left) > 0 {
		report.Findings = append(report.Findings, check.Bad("prove/left", "what was made", fmt.Sprintf("%d are left: %s", len(report.Left), strings.Join(report.Left, ", ")), "delete them with --prove --clean"))
	} else {
		report.Findings = append(report.Findings, check.Good("prove/left", "what was made", "all of it is deleted"))
	}
	report.Version, report.Provider = version.String(), o.Provider.First()
	if place := with.Clouds[o.Provider.First()].Place; place != nil {
		report.Region = place()
	}
	report.Calls, report.Seconds = int(calls.Load()), int(time.Since(began).Seconds())
	p.redact(&report)
	if json {
		err = output.JSON(cmd.OutOrStdout(), report)
	} else if err = output.FindingLines(cmd.OutOrStdout(), report.Findings); err == nil {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d calls in %s\n", report.Calls, time.Since(began).Round(time.Second))
	}
	if err == nil && check.AnyWrong(report.Findings) {
		return errWrong
	}
	return err
}

// options are how far a run goes.
func (p *proving) options(say io.Writer) (prove.Options, error) {
	o := prove.Options{Calls: proveCalls, Within: proveWithin, Clearing: proveClearing, Pause: provePause}
	o.Say = func(what string) { fmt.Fprintf(say, "%s\n", what) }
	if p.target != "" {
		at, err := netip.ParseAddrPort(p.target)
		if err != nil {
			return o, fmt.Errorf("--target: %q is no address and port, such as 10.0.0.9:8080", p.target)
		}
		o.Target = &lb.Target{Address: at.Addr().String(), Port: int32(at.Port())}
	}
	return o, nil
}

// newInstallation is a name that no other run has.
func newInstallation() string {
	var random [6]byte
	_, _ = rand.Read(random[:]) // it never fails
	return prove.Prefix + hex.EncodeToString(random[:])
}

// ask says what will be made, and asks whether it may be.
func (p *proving) ask(cmd *cobra.Command, installation string) error {
	fmt.Fprintf(cmd.ErrOrStderr(), `This makes up to 2 internal load balancers, 5 target groups, 2 imported certificates and 3 security groups, all tagged
fairlead.dev/installation=%s, changes them and deletes them. Nothing can connect to them.
It takes at most %d calls and %s, and then what deleting takes. The load balancers are billed by the hour;
imported certificates count against the account's quota of a year.
`, installation, proveCalls, proveWithin)
	if p.yes {
		return nil
	}
	fmt.Fprint(cmd.ErrOrStderr(), "Type yes to go on: ")
	answered := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n') // what cannot be read is no yes
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

// cleanUp deletes what earlier runs have left.
func (p *proving) cleanUp(ctx context.Context, open prover, around clouds.Surroundings, o prove.Options) (left []string, err error) {
	cloud, err := open(ctx, around, prove.Prefix)
	if err != nil {
		return nil, err
	}
	runs, err := cloud.Proofs(ctx)
	if err != nil {
		return nil, err
	}
	for _, installation := range runs {
		o.Say("of " + installation)
		cloud, err := open(ctx, around, installation)
		if err != nil {
			return nil, err
		}
		left = append(left, prove.Clear(ctx, cloud, o)...)
	}
	return left, nil
}

// What tells one account from others.
var (
	accounts = regexp.MustCompile(`\b\d{12}\b`)
	persons  = regexp.MustCompile(`\b(assumed-role|role|user)/[^\s"',;]+`)
	network  = regexp.MustCompile(`\b(vpc|subnet|sg|i|eni|igw|rtb)-[0-9a-z]+\b`)
)

// redacted is a text without that.
func (p *proving) redacted(text string) string {
	if p.names {
		return text
	}
	text = accounts.ReplaceAllString(text, "ACCOUNT")
	text = persons.ReplaceAllString(text, "$1/NAME")
	return network.ReplaceAllString(text, "$1-ID")
}

// redact takes it out of a report.
func (p *proving) redact(r *proveReport) {
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Title, f.Detail, f.Advice = p.redacted(f.Title), p.redacted(f.Detail), p.redacted(f.Advice)
	}
	for i := range r.Left {
		r.Left[i] = p.redacted(r.Left[i])
	}
}
