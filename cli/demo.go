package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/clouds"
)

// samples is where the demo's manifests are in the source tree.
const samples = "config/samples"

func newDemo(with Providers) *cobra.Command {
	var (
		in   input
		once bool
	)
	cmd := &cobra.Command{
		Use:   "demo [-f DIR] [--once]",
		Short: "Serve Ingresses from this machine",
		Long: `Start a cloud on loopback addresses of this machine and pods for the Services in the
files, serve the Ingresses there, and follow the files as they change. Every step is one that a
real cloud would be given, and every request is routed by the rules that these steps made.`,
		Example: `  # The samples, with a curl line for each route
  fairlead demo

  # Your own manifests; edit them while it runs
  fairlead demo -f my-manifests/

  # Request every route, say pass or fail, and end
  fairlead demo --once`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cloud, err := in.provider.local(cmd.Context(), with)
			if err != nil {
				return err
			}
			defer cloud.Close()
			d := &demo{
				cloud: loopback{cloud}, input: in, stdin: cmd.InOrStdin(), out: cmd.OutOrStdout(), colour: colours(cmd.OutOrStdout()),
				shown: map[string]bool{},
			}
			defer d.pods.close()
			if once {
				return d.once(cmd.Context())
			}
			return d.serve(cmd.Context(), cmd.ErrOrStderr())
		},
	}
	in.manifestFlags(cmd, samples)
	in.provider.flags(cmd.Flags(), with.names(demonstrates), "that serves")
	cmd.Flags().BoolVar(&once, "once", false, "request every route, say pass or fail, and end")
	return cmd
}

// A demo is a cloud, pods and certificates on this machine, kept in step with files.
type demo struct {
	cloud   clouds.Local
	input   input
	stdin   io.Reader
	out     io.Writer
	colour  palette
	pods    backends
	secrets selfSigned

	seen     map[lb.Key]*lb.Observed // what the cloud has; nil before the first turn
	programs []program               // what it serves
	shown    map[string]bool         // the lines for curl that were printed
}

// once serves, visits every route and says how that went.
func (d *demo) once(ctx context.Context) error {
	if err := d.turn(ctx); err != nil {
		return err
	}
	visits, err := d.visits()
	if err != nil {
		return err
	}
	if len(visits) == 0 {
		return errors.New("there is nothing to request: no Ingress is served")
	}
	failed := 0
	for _, v := range visits {
		verdict := d.colour.good("pass")
		if err := v.send(ctx, &d.pods); err != nil {
			failed++
			verdict = d.colour.bad("FAIL") + " " + printable.Line(err.Error()) + ":"
		}
		fmt.Fprintf(d.out, "%s %s\n", verdict, printable.Line(v.URL+" is answered by "+v.foretold()))
	}
	fmt.Fprintf(d.out, "%d of %d requests answered as foretold\n", len(visits)-failed, len(visits))
	if failed > 0 {
		return fmt.Errorf("%d of %d requests were not answered as they should be", failed, len(visits))
	}
	return nil
}

// serve serves until it is interrupted. A file that cannot be used changes nothing of what is
// served.
func (d *demo) serve(ctx context.Context, complaints io.Writer) error {
	changes, err := watch(ctx, d.input.files)
	if err != nil {
		return err
	}
	if err := d.turnAndShow(ctx); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nWatching %s. Change a file to see the plan; Ctrl-C ends.\n", printable.Line(strings.Join(d.input.files, ", ")))
	for range changes {
		if err := d.turnAndShow(ctx); err != nil && ctx.Err() == nil {
			printError(complaints, err)
		}
	}
	return nil
}

func (d *demo) turnAndShow(ctx context.Context) error {
	if err := d.turn(ctx); err != nil {
		return err
	}
	return d.printVisits()
}

// turn makes the cloud serve what the files say now.
func (d *demo) turn(ctx context.Context) error {
	objects, err := d.load(ctx)
	if err != nil {
		return err
	}
	programs, diagnostics, err := compile(ctx, d.cloud, objects, d.input.options(objects), d.seen)
	if err != nil {
		return err
	}
	if err := d.printPlans(programs); err != nil {
		return err
	}
	if err := printDiagnostics(d.out, diagnostics, d.colour); err != nil {
		return err
	}
	return d.settle(ctx, programs)
}

// printPlans prints each plan, but of the first ones, which create everything, only the size.
func (d *demo) printPlans(programs []program) error {
	changed := false
	for _, p := range programs {
		switch {
		case d.seen == nil:
			fmt.Fprintf(d.out, "%s: %s\n", printable.Line(string(p.plan.Key)), p.plan.Counts())
		case !p.plan.Empty():
			if err := p.plan.Text(d.out, bool(d.colour)); err != nil {
				return err
			}
		}
		changed = changed || !p.plan.Empty()
	}
	if !changed && d.seen != nil {
		fmt.Fprintln(d.out, "The files changed; there is nothing to do.")
	}
	return nil
}

// load reads the files and adds what a cluster would have besides.
func (d *demo) load(ctx context.Context) (ingress.Objects, error) {
	objects, err := manifests.Load(d.input.files, d.stdin)
	if err != nil {
		return objects, err
	}
	made, err := d.secrets.join(&objects)
	if err != nil {
		return objects, err
	}
	for _, name := range made {
		fmt.Fprintf(d.out, "Secret %s is not among the files: made a certificate that signs itself\n", printable.Line(name))
	}
	return objects, d.pods.join(ctx, &objects)
}

// settle carries out the plans of all load balancers and remembers what is there then.
func (d *demo) settle(ctx context.Context, programs []program) error {
	seen := map[lb.Key]*lb.Observed{}
	kept := []program{}
	var errs []error
	for _, p := range programs {
		there, err := d.apply(ctx, p)
		errs = append(errs, err)
		if there != nil && there.Exists {
			seen[p.plan.Key], kept = there, append(kept, p)
		}
	}
	d.seen, d.programs = seen, kept
	return errors.Join(errs...)
}

// apply carries out a plan. Where the cloud is not ready for a step it observes, plans and goes
// on until nothing is left.
func (d *demo) apply(ctx context.Context, p program) (*lb.Observed, error) {
	const pause = 50 * time.Millisecond
	for {
		seen, err := d.cloud.Observe(ctx, p.plan.Key, false)
		if err != nil {
			return nil, fmt.Errorf("observing %s: %w", p.plan.Key, err)
		}
		todo := plan.Diff(seen, p.LoadBalancer, p.capabilities)
		if todo.Empty() {
			return seen, d.setTargets(ctx, p)
		}
		_, err = providers.Run(ctx, d.cloud, seen, todo, providers.Options{})
		if err != nil && !errors.Is(err, providers.ErrPending) {
			return seen, fmt.Errorf("changing %s: %w", p.plan.Key, err)
		}
		select {
		case <-ctx.Done():
			return seen, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// setTargets brings groups up to date that were registered by an earlier plan.
func (d *demo) setTargets(ctx context.Context, p program) error {
	for _, g := range p.LoadBalancer.TargetGroups {
		if err := d.cloud.SetTargets(ctx, p.plan.Key, g.ID, g.Targets); err != nil {
			return fmt.Errorf("setting targets of %s in %s: %w", g.ID, p.plan.Key, err)
		}
	}
	return nil
}

// visits are requests for everything that is served.
func (d *demo) visits() ([]visit, error) {
	var all []visit
	for _, p := range d.programs {
		visits, err := p.visits(d.seen[p.plan.Key])
		if err != nil {
			return nil, err
		}
		all = append(all, visits...)
	}
	return all, nil
}

// printVisits prints the table of routes, with a line to paste for each. It leaves out what was
// printed before.
func (d *demo) printVisits() error {
	visits, err := d.visits()
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	heading := lb.Key("")
	for _, v := range visits {
		line := fmt.Sprintf("  %s\t%s\n", printable.Line(v.Outcome.short()), printable.Line(v.curl()))
		if d.shown[line] {
			continue
		}
		d.shown[line] = true
		if heading != v.LoadBalancer {
			heading = v.LoadBalancer
			fmt.Fprintf(table, "\n%s\n", printable.Line(string(heading)))
		}
		fmt.Fprint(table, line)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("printing the routes: %w", err)
	}
	return nil
}
