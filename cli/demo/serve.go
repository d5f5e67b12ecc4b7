// Package demo serves Ingresses on this machine, and requests every route.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/settings"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/clouds"
)

// A Demo is a cloud, pods and certificates on this machine that follow files.
type Demo struct {
	cloud   clouds.Local
	input   source.Input
	stdin   io.Reader
	out     io.Writer
	colour  output.Palette
	pods    backends
	secrets source.Secrets

	seen     map[lb.Key]*lb.Observed // the load balancers in the cloud; nil before the first turn
	programs []program.Program       // as they are served
	shown    map[string]bool         // the command lines for curl that were printed
	made     map[lb.Key]bool         // the load balancers that were changed: true if the demo made them

	diagnostics []diag.Diagnostic // of the last turn
}

// New returns a demo on a cloud of this machine.
func New(cloud clouds.Local, in source.Input, stdin io.Reader, out io.Writer) *Demo {
	return &Demo{
		cloud: loopback{cloud}, input: in, stdin: stdin, out: out, colour: output.PaletteOf(out),
		pods: backends{each: usualPods}, shown: map[string]bool{}, made: map[lb.Key]bool{},
	}
}

// Stop stops the pods.
func (d *Demo) Stop() { d.pods.close() }

// Once serves the files, requests every route and prints the results.
func (d *Demo) Once(ctx context.Context) error {
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
		verdict := d.colour.Good("pass")
		if err := v.ask(ctx, &d.pods).err; err != nil {
			failed++
			verdict = d.colour.Bad("FAIL") + " " + printable.Line(err.Error()) + ":"
		}
		fmt.Fprintf(d.out, "%s %s\n", verdict,
			printable.Line(v.String()+" is answered by "+v.Outcome.String()))
	}
	fmt.Fprintf(d.out, "%d of %d requests answered as expected\n", len(visits)-failed, len(visits))
	if failed > 0 {
		return fmt.Errorf("%d of %d requests were not answered as they should be", failed, len(visits))
	}
	return nil
}

// Serve serves the files until it is interrupted, and follows their changes. A file with errors
// changes nothing. The address of the page that shows them is printed.
func (d *Demo) Serve(ctx context.Context, complaints io.Writer, page string) error {
	changes, err := source.WatchFiles(ctx, d.input.Files)
	if err != nil {
		return err
	}
	if err := d.turnAndShow(ctx); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nRoutes, reasons and plans in a browser: %s\n", page)
	fmt.Fprintf(d.out, "Watching %s. Change a file to see the plan; Ctrl-C ends.\n",
		printable.Line(strings.Join(d.input.Files, ", ")))
	for range changes {
		if err := d.turnAndShow(ctx); err != nil && ctx.Err() == nil {
			output.Error(complaints, err)
		}
	}
	return nil
}

func (d *Demo) turnAndShow(ctx context.Context) error {
	if err := d.turn(ctx); err != nil {
		return err
	}
	return d.printVisits()
}

// turn makes the cloud serve the files as they are now.
func (d *Demo) turn(ctx context.Context) error {
	objects, err := d.load(ctx)
	if err != nil {
		return err
	}
	programs, diagnostics, err := program.CompileAll(ctx, d.cloud, objects, d.input.Options(objects),
		d.seen)
	if err != nil {
		return err
	}
	if err := d.printPlans(programs); err != nil {
		return err
	}
	d.diagnostics = diagnostics
	if len(diagnostics) > 0 {
		fmt.Fprintln(d.out)
	}
	if err := output.Diagnostics(d.out, diagnostics, d.colour); err != nil {
		return err
	}
	return d.settle(ctx, programs)
}

// printPlans prints each plan. It prints only the size of the first plans, which create everything.
func (d *Demo) printPlans(programs []program.Program) error {
	changed := false
	for _, p := range programs {
		switch {
		case d.seen == nil:
			fmt.Fprintf(d.out, "%s: %s\n", printable.Line(string(p.Plan.Key)), p.Plan.Counts())
		case !p.Plan.Empty():
			form := plan.Form{Colour: bool(d.colour), Before: d.before(p.Plan.Key),
				HealthCheck: settings.DefaultHealthCheck}
			if err := p.Plan.Text(d.out, form); err != nil {
				return err
			}
		}
		changed = changed || !p.Plan.Empty()
	}
	if !changed && d.seen != nil {
		fmt.Fprintln(d.out, "The files changed; there is nothing to do.")
	}
	return nil
}

// before returns the settings of a load balancer as they are served.
func (d *Demo) before(key lb.Key) plan.KnownSettings {
	for _, p := range d.programs {
		if p.Plan.Key == key {
			return plan.SettingsOfWanted(p.LoadBalancer)
		}
	}
	return plan.KnownSettings{}
}

// load reads the files, and adds pods and Secrets as a cluster would have them.
func (d *Demo) load(ctx context.Context) (ingress.Objects, error) {
	objects, _, err := d.input.Manifests(d.stdin, "").Load(ctx)
	if err != nil {
		return objects, err
	}
	made, err := d.secrets.Add(&objects)
	if err != nil {
		return objects, err
	}
	for _, name := range made {
		fmt.Fprintf(d.out, "Secret %s is not among the files: made a self-signed certificate\n",
			printable.Line(name))
	}
	return objects, d.pods.join(ctx, &objects)
}

// settle applies the plans of all load balancers, and stores the load balancers that exist then.
func (d *Demo) settle(ctx context.Context, programs []program.Program) error {
	seen := map[lb.Key]*lb.Observed{}
	kept := []program.Program{}
	var errs []error
	for _, p := range programs {
		there, err := d.apply(ctx, p)
		errs = append(errs, err)
		if there != nil && there.Exists {
			seen[p.Plan.Key], kept = there, append(kept, p)
		}
	}
	d.seen, d.programs = seen, kept
	return errors.Join(errs...)
}

// pause is the time between two plans for one load balancer.
const pause = 50 * time.Millisecond

// apply applies a plan. Where the cloud is not ready for a step, it observes, plans and continues
// until no step is left.
func (d *Demo) apply(ctx context.Context, p program.Program) (*lb.Observed, error) {
	var (
		rounds rounds
		last   error
	)
	for {
		seen, err := d.cloud.Observe(ctx, p.Plan.Key, false)
		if err != nil {
			return nil, fmt.Errorf("observing %s: %w", p.Plan.Key, err)
		}
		if _, known := d.made[p.Plan.Key]; !known {
			d.made[p.Plan.Key] = isGone(seen)
		}
		todo := planner.Diff(seen, p.LoadBalancer, p.Capabilities)
		if todo.Empty() {
			return seen, d.setTargets(ctx, p)
		}
		if err := rounds.check(seen, todo); err != nil {
			return seen, fmt.Errorf("changing %s: %w", p.Plan.Key, err)
		}
		_, last = providers.Run(ctx, d.cloud, seen, todo, providers.Options{Done: rounds.did})
		if last != nil && !errors.Is(last, providers.ErrPending) {
			return seen, fmt.Errorf("changing %s: %w", p.Plan.Key, last)
		}
		select {
		case <-ctx.Done():
			return seen, errors.Join(last, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// setTargets updates the target groups that an earlier plan registered.
func (d *Demo) setTargets(ctx context.Context, p program.Program) error {
	for _, g := range p.LoadBalancer.TargetGroups {
		if err := d.cloud.SetTargets(ctx, p.Plan.Key, g.ID, g.Targets); err != nil {
			return fmt.Errorf("setting targets of %s in %s: %w", g.ID, p.Plan.Key, err)
		}
	}
	return nil
}

// visits returns requests for everything that is served.
func (d *Demo) visits() ([]visit, error) {
	var all []visit
	for _, p := range d.programs {
		visits, err := visitsOf(p, d.seen[p.Plan.Key])
		if err != nil {
			return nil, err
		}
		all = append(all, visits...)
	}
	return all, nil
}

// printVisits prints the table of routes, each with a command line for curl. It leaves out those
// printed before.
func (d *Demo) printVisits() error {
	visits, err := d.visits()
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	heading := lb.Key("")
	for _, v := range visits {
		line := fmt.Sprintf("  %s\t%s\n", printable.Line(v.Outcome.Short()), printable.Line(v.curl()))
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
