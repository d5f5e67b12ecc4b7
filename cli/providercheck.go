package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/cli/demo"
	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/probe"
	"fairlead.dev/fairlead/providers/providertest"
	"fairlead.dev/fairlead/providers/remote"
)

// This file is fairlead provider check: it tests a provider that is another process, for the
// authors of providers.

func newProvider() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "provider",
		Short: "Test a provider that is another process",
		Example: `  # Does it implement the provider protocol?
  fairlead provider check http://127.0.0.1:9000`,
	}
	cmd.AddCommand(newProviderCheck())
	return cmd
}

// The parts of a check, in order.
const (
	wirePart     = "wire"
	contractPart = "contract"
	trafficPart  = "traffic"
)

var checkParts = []string{wirePart, contractPart, trafficPart}

// noTarget is the value of --target for empty target groups.
const noTarget = "none"

// A providerCheck holds the flags.
type providerCheck struct {
	endpoint        remote.Endpoint
	only            []string
	settings        string // a file
	target          string
	pause, patience time.Duration
	format          output.Format
}

const providerCheckHelp = `Test a provider in three parts, and print findings: ✓ is right, ✗ is
wrong, ? could not be tested. Advice follows on the same line.

The part wire sends the calls of the provider protocol, and calls that the provider has to refuse,
repeated calls, and calls that are cut off.

The part contract creates, changes and deletes load balancers through the client that the operator
uses: listeners, rules, target groups, targets and certificates, also with interrupted plans and
repeated steps.

The part traffic creates a load balancer with a rule of each kind, with targets on this machine, and
requests each rule; ? if the load balancer cannot be reached from here, or cannot reach the targets.

The check creates internal load balancers with keys that begin with ` + probe.Prefix + `, up to two at a
time, and deletes them again, also when it is interrupted. In a cloud they can cost money, and the
contract can take hours: --only wire,traffic leaves it out.

URL is https://host:port, http://127.0.0.1:port on this machine, or unix:///path of a socket.

Exit code 0: nothing is wrong; 1: something is wrong, or an error.`

const providerCheckExamples = `  # A provider on this machine
  fairlead provider check http://127.0.0.1:9000

  # A provider elsewhere, with a target for its health checks, for a program to read
  fairlead provider check https://edge.example.com:8443 --credentials ./edge \
    --target 10.0.0.9:8080 -o json

  # Only the answers of a load balancer
  fairlead provider check http://127.0.0.1:9000 --only traffic

  # Only the wire, with settings that the provider needs
  fairlead provider check http://127.0.0.1:9000 --only wire --settings settings.yaml`

func newProviderCheck() *cobra.Command {
	var c providerCheck
	cmd := &cobra.Command{
		Use:     "check URL",
		Short:   "Test that a provider implements the provider protocol",
		Long:    providerCheckHelp,
		Example: providerCheckExamples,
		Args:    cobra.ExactArgs(1),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&c.endpoint.Credentials, "credentials", "",
		"`DIRECTORY` with any of token, ca.crt, tls.crt and tls.key; unset: no credentials")
	flags.StringSliceVar(&c.only, "only", nil, "`PARTS` to test: wire, contract, traffic; unset: all")
	flags.StringVar(&c.settings, "settings", "",
		"`FILE`, YAML or JSON, with spec.provider of the load balancers; unset: none")
	flags.StringVar(&c.target, "target", "", "`ADDRESS:PORT` of a target that answers GET /, "+
		"/health and /healthz with 200; none: target groups stay empty; unset: a target on this "+
		"machine if the provider runs here and accepts it, else none")
	flags.DurationVar(&c.endpoint.Attempt, "timeout", 15*time.Second, "`TIME` that an answer may take")
	flags.DurationVar(&c.pause, "pause", time.Second,
		"`TIME` before a pending step is sent again, and at most before a failed call")
	flags.DurationVar(&c.patience, "patience", 5*time.Minute,
		"`TIME` that a step of the contract, and all steps of the traffic, may be pending, and that a list may lag")
	output.Flag(cmd, &c.format)
	flagvalue.Must(cmd.MarkFlagDirname("credentials"))
	flagvalue.Must(cmd.MarkFlagFilename("settings", "yaml", "yml", "json"))
	flagvalue.Complete(cmd, "only", checkParts...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c.endpoint.URL = args[0]
		return c.run(cmd)
	}
	return cmd
}

func (c *providerCheck) run(cmd *cobra.Command) error {
	findings, err := c.findings(cmd.Context(), cmd.ErrOrStderr())
	if err == nil {
		err = output.Findings(cmd.OutOrStdout(), findings, c.format)
	}
	switch {
	case err != nil:
		return err
	case cmd.Context().Err() != nil:
		return cmd.Context().Err()
	case check.AnyWrong(findings):
		return errWrong
	}
	return nil
}

// findings runs the selected parts. If the provider does not answer, it runs no further part.
func (c *providerCheck) findings(ctx context.Context, say io.Writer) ([]check.Finding, error) {
	for _, part := range c.only {
		if !slices.Contains(checkParts, part) {
			return nil, fmt.Errorf("--only: there is no part %q; there are %s", part,
				strings.Join(checkParts, ", "))
		}
	}
	if c.endpoint.Credentials != "" {
		c.endpoint.Credentials = filepath.Clean(c.endpoint.Credentials)
	}
	subject := providertest.Subject{Prefix: probe.Prefix, StepTimeout: c.patience,
		CleanupTimeout: 5 * time.Minute}
	subject.OnClause = func(promise string) { fmt.Fprintf(say, "trying whether %s\n", promise) }
	var err error
	if subject.Settings, err = readProviderSettings(c.settings); err != nil {
		return nil, err
	}
	base, send, err := remote.Raw(c.endpoint) //nolint:bodyclose // package probe closes it
	if err != nil {
		return nil, err
	}
	stop, err := c.targets(&subject)
	if err != nil {
		return nil, err
	}
	defer stop()

	var findings []check.Finding
	if c.tries(wirePart) {
		findings = probe.Run(ctx,
			probe.Provider{Base: base, Send: send, Settings: []byte(subject.Settings), Pause: c.pause})
	}
	if ctx.Err() != nil || len(findings) == 1 {
		return findings, nil
	}
	return append(findings, c.throughClient(ctx, subject)...), nil
}

// tries reports whether a part is selected.
func (c *providerCheck) tries(part string) bool {
	return len(c.only) == 0 || slices.Contains(c.only, part)
}

// throughClient runs the parts that use the client of the operator.
func (c *providerCheck) throughClient(
	ctx context.Context, s providertest.Subject,
) (findings []check.Finding) {
	part := contractPart
	switch {
	case c.tries(contractPart):
	case c.tries(trafficPart):
		part = trafficPart
	default:
		return nil
	}
	e := c.endpoint
	e.Name, e.Log = e.URL, logr.Discard()
	e.LeastWait, e.MostWait = min(c.pause, time.Second/2), c.pause
	p, err := remote.Open(ctx, e)
	if err != nil {
		return []check.Finding{check.Bad(part+"/open", "the operator can use the provider",
			err.Error(), "correct what it says")}
	}
	defer p.Close()
	s.Provider = p
	if c.tries(contractPart) {
		findings = providertest.Check(ctx, s)
	}
	if c.tries(trafficPart) && ctx.Err() == nil {
		findings = append(findings, c.traffic(ctx, p, s)...)
	}
	return findings
}

// traffic requests the rules of a load balancer, unless its targets cannot be on this machine.
func (c *providerCheck) traffic(
	ctx context.Context, p *remote.Provider, s providertest.Subject,
) []check.Finding {
	why := ""
	switch {
	case c.target == noTarget:
		why = "--target none says that target groups stay empty"
	case !c.here():
		why = "the provider is on another machine, and the targets are on this one"
	}
	if why != "" {
		return []check.Finding{check.Unsure("traffic/served", "the answers of a load balancer",
			"skipped: "+why, demo.Elsewhere)}
	}
	s.OnClause("a load balancer answers requests as its rules say")
	return demo.Check(ctx, demo.Subject{Provider: p, Settings: s.Settings,
		OtherTargets: c.target != "", StepTimeout: s.StepTimeout, CleanupTimeout: s.CleanupTimeout})
}

// here reports whether the provider is on this machine.
func (c *providerCheck) here() bool {
	// remote.CheckURL permits only https to other machines.
	u, err := url.Parse(c.endpoint.URL)
	return err == nil && (u.Scheme != "https" || u.Hostname() == "localhost" ||
		net.ParseIP(u.Hostname()).IsLoopback())
}

// targets sets the targets of the contract. They answer until stop is called.
func (c *providerCheck) targets(s *providertest.Subject) (stop func(), err error) {
	switch {
	case c.target == noTarget || c.target == "" && !c.here():
		return func() {}, nil
	case c.target != "":
		at, err := netip.ParseAddrPort(c.target)
		if err != nil {
			return nil, fmt.Errorf("--target: %q is neither an address and port, such as "+
				"10.0.0.9:8080, nor %s", c.target, noTarget)
		}
		s.Target = &lb.Target{Address: at.Addr().String(), Port: int32(at.Port())}
		s.Spare = &lb.Target{Address: at.Addr().String(), Port: int32(at.Port()%65535 + 1)}
		return func() {}, nil
	}
	first, stopFirst, err := providertest.Listen()
	if err != nil {
		return nil, err
	}
	second, stopSecond, err := providertest.Listen()
	if err != nil {
		stopFirst()
		return nil, err
	}
	s.Target, s.Spare, s.TargetOptional = &first, &second, true
	return func() { stopFirst(); stopSecond() }, nil
}

// readProviderSettings reads settings from a file and returns them as JSON; "" for no file.
func readProviderSettings(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return "", fmt.Errorf("--settings: %w", err)
	}
	json, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return "", fmt.Errorf("--settings: reading %s: %w", file, err)
	}
	if !bytes.HasPrefix(json, []byte("{")) {
		return "", fmt.Errorf("--settings: %s is no object: spec.provider has fields", file)
	}
	return string(json), nil
}
