package controllers

import (
	"context"
	"fmt"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file keeps the reports of an operator that only plans, beside the records of the one that carries plans out: these
// are a memory of what has happened, and here nothing has.

// plannedLabel marks the reports of an operator that only plans.
const plannedLabel = v1alpha1.Group + "/read-only"

func planned(o client.Object) bool { return o.GetLabels()[plannedLabel] != "" }

// A preview is a keeper of reports. What it remembers others remember: when it is loaded, and from then
// on as their reports change.
type preview struct {
	*archive
	memory *archive
}

func newPreview(reader client.Reader, writer client.Client, scope string) preview {
	p := preview{newArchive(reader, writer, scope), newArchive(reader, writer, scope)}
	p.planned = true
	return p
}

func (p preview) load(ctx context.Context) (map[lb.Key]record, error) {
	out, err := p.archive.load(ctx)
	if err != nil {
		return nil, err
	}
	remembered, err := p.memory.load(ctx)
	if err != nil {
		return nil, err
	}
	for key, r := range remembered {
		report := out[key]
		report.Memory = r.Memory
		out[key] = report
	}
	return out, nil
}

func (p preview) save(ctx context.Context, key lb.Key, r record) error {
	r.Memory = v1alpha1.Memory{}
	return p.archive.save(ctx, key, r)
}

// A sweeper deletes the reports of an operator that only planned: what they say is about to be done.
type sweeper struct {
	reader client.Reader
	writer client.Writer
	scope  string
}

func newSweeper(reader client.Reader, writer client.Writer, scope string) *sweeper {
	return &sweeper{reader, writer, scope}
}

// Start sweeps once.
func (s *sweeper) Start(ctx context.Context) error {
	var list v1alpha1.LoadBalancerList
	if err := s.reader.List(ctx, &list, client.MatchingLabels{scopeLabel: s.scope, plannedLabel: "true"}); err != nil {
		return fmt.Errorf("listing what was only planned: %w", err)
	}
	for i := range list.Items {
		if err := s.writer.Delete(ctx, &list.Items[i]); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting what was only planned: %w", err)
		}
	}
	return nil
}
