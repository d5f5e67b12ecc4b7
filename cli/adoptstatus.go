package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/controllers/adoption"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/providers"
)

// This file says how far load balancers are, and finishes those that are taken over.

// A standing is the JSON of adopt --status, adopt --finish and release: keys may be added, and none may change.
type standing struct {
	LoadBalancers []progress `json:"loadBalancers"`
}

// Text implements output.Report.
func (s standing) Text(output.Palette) string {
	if len(s.LoadBalancers) == 0 {
		return "No load balancer is taken over, or was prepared for it.\n"
	}
	var b strings.Builder
	for _, p := range s.LoadBalancers {
		for _, text := range p.lines() {
			b.WriteString(printable.Line(text) + "\n")
		}
	}
	return b.String()
}

// Markdown implements output.Report.
func (s standing) Markdown() string { return "```\n" + s.Text(false) + "```\n" }

// about says how far load balancers are, or finishes those that were chosen.
func (a *adopting) about(cmd *cobra.Command, cloud providers.Provider, format output.Format) error {
	ctx := cmd.Context()
	taker, err := a.taker(cloud)
	if err != nil {
		return err
	}
	all, err := taker.Records.List(ctx)
	if err != nil {
		return err
	}
	report := standing{LoadBalancers: []progress{}}
	for _, r := range all {
		if r.Cluster != a.theirCluster && a.theirCluster != "" || !a.covers(r.Key, r.Name) || a.finish && r.State == adoption.Released {
			continue
		}
		var did progress
		if did, err = a.aboutOne(ctx, taker, r); err != nil {
			break
		}
		report.LoadBalancers = append(report.LoadBalancers, did)
	}
	return errors.Join(format.PrintReport(cmd.OutOrStdout(), report, "the state"), unfinished(report.LoadBalancers, err))
}

func (a *adopting) aboutOne(ctx context.Context, taker *adoption.Taker, r adoption.Record) (progress, error) {
	did := progress{Key: r.Key, Name: r.Name}
	did.State = r.State
	if a.finish && a.yes {
		found, err := taker.Cloud.Found(ctx, r.Handle)
		if err == nil && found == nil {
			err = fmt.Errorf("load balancer %s is gone", r.Name)
		}
		if err != nil {
			return did, err
		}
		did.Outcome, err = taker.Finish(ctx, found, r)
		if did.Done() && err == nil {
			did.Next = "nothing: it can no longer be given back"
		}
		return did, err
	}
	if a.finish {
		did.Next = "with --yes, the former tags, target groups that no rule names and the record are deleted, and it can no longer " +
			"be given back"
		return did, nil
	}
	did.Next = nextOf(r)
	var err error
	did.Holders, err = taker.Status(ctx, r)
	return did, err
}

// nextOf says what to do with a load balancer in its state.
func nextOf(r adoption.Record) string {
	since := "since " + r.Since.UTC().Format(time.RFC3339)
	if r.Finishing {
		return "what giving it back needs is being deleted: fairlead adopt --finish --yes --key " + r.Name + " goes on"
	}
	chosen := "--yes --key " + r.Name
	switch r.State {
	case adoption.Taken:
		return "Fairlead serves it " + since + "; fairlead release " + chosen + " gives it back, and fairlead adopt --finish " + chosen +
			" ends that"
	case adoption.Releasing:
		return "it is being given back " + since + ": fairlead release " + chosen + " goes on"
	case adoption.Returned:
		return "its tags are given back " + since + ": once its Ingresses have their former class, fairlead release " + chosen + " goes on"
	case adoption.Released:
		return "it was given back, " + since + ", and the operator leaves it alone: fairlead adopt " + chosen + " takes it over again"
	}
	return "it is being taken over " + since + ": fairlead adopt " + chosen + " goes on, and fairlead release " + chosen + " gives it back"
}
