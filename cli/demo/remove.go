package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/providers"
)

// This file deletes load balancers from a provider in another process, which outlives the demo.

// removeWithin limits the time for the deletion of all load balancers.
const removeWithin = 5 * time.Second

// Remove deletes the load balancers that the demo made, also if the context has ended. It prints
// those that stay: they were there before, or cannot be deleted.
func (d *Demo) Remove(ctx context.Context) {
	for _, kept := range d.removeAll(ctx, removeWithin) {
		fmt.Fprintln(d.out, printable.Line("The provider keeps "+kept))
	}
}

// removeAll returns the load balancers that stay, and why.
func (d *Demo) removeAll(ctx context.Context, within time.Duration) (kept []string) {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer end()
	for _, key := range slices.Sorted(maps.Keys(d.made)) {
		why := "it was there before the demo, which changed it"
		if d.made[key] {
			err := d.remove(ctx, key)
			if err == nil {
				continue
			}
			why = err.Error()
		}
		kept = append(kept, fmt.Sprintf("%s: %s", key, why))
	}
	return kept
}

func (d *Demo) remove(ctx context.Context, key lb.Key) error {
	nothing := lb.LoadBalancer{Key: key}
	var last error
	for {
		seen, err := d.cloud.Observe(ctx, key, false)
		if err != nil {
			return errors.Join(last, err)
		}
		if isGone(seen) {
			return nil
		}
		todo := planner.Diff(seen, nothing, d.cloud.Capabilities(lb.Class{}))
		_, last = providers.Run(ctx, d.cloud, seen, todo, providers.Options{})
		if last != nil && !errors.Is(last, providers.ErrPending) {
			return last
		}
		select {
		case <-ctx.Done():
			return errors.Join(last, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// isGone reports whether nothing of a load balancer is left.
func isGone(o *lb.Observed) bool {
	return !o.Exists && len(o.TargetGroups)+len(o.Certificates) == 0 && o.Firewall == ""
}
