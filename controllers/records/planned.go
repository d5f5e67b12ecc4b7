package records

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
)

// This file keeps the reports of an operator that only plans, apart from the records of the one
// that carries plans out: only those hold what was carried out.

// plannedLabel marks the reports of an operator that only plans.
const plannedLabel = v1alpha1.Group + "/read-only"

func IsPlanned(o client.Object) bool { return o.GetLabels()[plannedLabel] != "" }

// A preview is a Store of the reports of an operator that only plans. It loads the records of the
// operator that carries plans out.
type preview struct {
	*ObjectStore
	recorded *ObjectStore
}

// NewPlannedStore returns a Store of the reports of an operator that only plans.
func NewPlannedStore(reader client.Reader, writer client.Client, scope string) Store {
	p := preview{NewStore(reader, writer, scope), NewStore(reader, writer, scope)}
	p.planned = true
	return p
}

func (p preview) Load(ctx context.Context) (map[lb.Key]Record, error) {
	out, err := p.ObjectStore.Load(ctx)
	if err != nil {
		return nil, err
	}
	remembered, err := p.recorded.Load(ctx)
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

func (p preview) Save(ctx context.Context, key lb.Key, r Record) error {
	r.Memory = v1alpha1.Memory{}
	return p.ObjectStore.Save(ctx, key, r)
}

// A Sweeper deletes the reports of an operator that only planned, since this one carries plans out.
type Sweeper struct {
	reader client.Reader
	writer client.Writer
	scope  string
}

// NewSweeper returns a Sweeper.
func NewSweeper(reader client.Reader, writer client.Writer, scope string) *Sweeper {
	return &Sweeper{reader, writer, scope}
}

// Start deletes the reports once.
func (s *Sweeper) Start(ctx context.Context) error {
	var list v1alpha1.LoadBalancerList
	if err := s.reader.List(ctx, &list,
		client.MatchingLabels{ScopeLabel: s.scope, plannedLabel: "true"}); err != nil {
		return fmt.Errorf("listing the reports of plans: %w", err)
	}
	for i := range list.Items {
		if err := s.writer.Delete(ctx, &list.Items[i]); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting the reports of plans: %w", err)
		}
	}
	return nil
}
