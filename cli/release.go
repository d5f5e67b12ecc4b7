package cli

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/controllers/adoption"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

const releaseHelp = `Give load balancers back to the controller that they were taken over from: the tags of their
resources are again as they were and, once their Ingresses have their former class, so are the finalizers
and TargetGroupBindings of the controller. Fairlead's are removed. Then the controller can be started.

Without --yes, nothing is changed: the command says what is given back, what cannot be restored, and what
the controller will change when it starts. That is nothing if nothing has changed since; otherwise, no
request gets another answer by it, except that what the controller makes anew has no targets for some
seconds.

With --yes, the load balancer of --key, or all, are given back as far as that is possible now. The command
can end anywhere, and be run again. The operator leaves a load balancer as it is from the first step on.

Exit code 0: all is given back; 2: something is left to do; 1: an error.`

const releaseExamples = `  # What would be given back?
  fairlead release --provider aws

  # Give one load balancer back
  fairlead release --provider aws --key k8s-all-be6a96a135 --yes`

// releasing has the load balancers that are given back.
type releasing struct {
	migrating
	chosen
}

func newRelease(with access.Clouds) *cobra.Command {
	with = with.Only(access.Adopts)
	var (
		in     releasing
		format output.Format
	)
	cmd := &cobra.Command{
		Use:     "release",
		Short:   "Give load balancers back to the controller that they were taken over from",
		Long:    releaseHelp,
		Example: releaseExamples,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return in.run(cmd, with, format) },
	}
	in.ProviderFlag(cmd, with)
	output.Flag(cmd, &format, output.Markdown)
	in.chosen.flags(cmd, "give back: change the cluster and the cloud")
	in.cluster.Flags(cmd.Flags())
	with.Flags(cmd.Flags())
	return cmd
}

func (r *releasing) run(cmd *cobra.Command, with access.Clouds, format output.Format) error {
	if err := r.chosen.check(); err != nil {
		return err
	}
	ctx := cmd.Context()
	opened, err := r.Provider.Live(ctx, with, r.cluster.Environment())
	if err != nil {
		return err
	}
	defer opened.Close()
	cloud := opened.Term()
	taker, err := r.taker(cloud)
	if err != nil {
		return err
	}
	found, err := taker.Releasable(ctx, cloud)
	if err != nil {
		return err
	}
	report := standing{LoadBalancers: []progress{}}
	for i := range found {
		var did *progress
		if did, err = r.one(ctx, taker, cloud, &found[i]); err != nil {
			break
		}
		if did != nil {
			report.LoadBalancers = append(report.LoadBalancers, *did)
		}
	}
	return errors.Join(format.PrintReport(cmd.OutOrStdout(), report, "what is given back"), unfinished(report.LoadBalancers, err))
}

// one gives one load balancer back, or says what that would be; nil if it is not taken over.
func (r *releasing) one(ctx context.Context, taker *adoption.Taker, cloud providers.Provider, found *lb.Other) (*progress, error) {
	record, err := taker.Owned(ctx, found)
	key := record.Key
	if err != nil || key == "" || !r.covers(key, found.Name) {
		return nil, err
	}
	did := &progress{Key: key, Name: found.Name, byHand: record.ByHand()}
	members, err := r.members(ctx, taker, record)
	if err != nil {
		return did, err
	}
	if !r.yes {
		seen, err := cloud.Observe(ctx, key, false)
		if err != nil {
			return did, err
		}
		did.State, did.Lost, did.Changes = record.State, adoption.Lost(record), adopt.Changed(seen, found.Tags, record.ByHand())
		anew, err := taker.Anew(ctx, found, record, members)
		if err != nil {
			return did, err
		}
		did.Changes = append(did.Changes, anew...)
		command := "fairlead release --yes --key " + found.Name
		switch did.State {
		case adoption.Released:
			did.Left, did.Next = adoption.LeftOf(record), "once the controller has started, "+command+" deletes what is left"
		case adoption.Releasing, adoption.Returned:
			did.Next = nextOf(record)
		default:
			did.Next = command + " gives it back"
		}
		return did, nil
	}
	if did.Outcome, err = taker.ReleaseFound(ctx, found.Handle, key, members, r.accepts(key, found.Name)); err != nil {
		return did, err
	}
	switch {
	case len(did.Switch) > 0:
		did.Next = "give these Ingresses their former class, and run this command again"
		did.FormerClasses = classesOf(record)
	case did.Done() && record.ByHand():
		did.Next = "get it back into Terraform by the import blocks that adopt has printed"
	case did.Done():
		did.Next = "the controller can be started"
	}
	return did, nil
}

// members returns the Ingresses of a load balancer, sorted: those that it was taken over with, and those that joined since.
func (r *releasing) members(ctx context.Context, taker *adoption.Taker, of adoption.Record) ([]string, error) {
	remembered, err := records.Remembered(ctx, taker.Kube, r.cluster.Namespace)
	out := map[string]bool{}
	for name := range of.Finalizers {
		out[name] = true
	}
	for name := range remembered[of.Key].Members {
		out[name] = true
	}
	return slices.Sorted(maps.Keys(out)), err
}

// classesOf returns the recorded IngressClasses, each in one line of JSON, which kubectl applies as it is.
func classesOf(record adoption.Record) (out []string) {
	for _, class := range record.Classes {
		text, err := json.Marshal(class)
		if err != nil {
			return out // API types always marshal
		}
		out = append(out, string(text))
	}
	return out
}
