package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/printable"
)

// This file writes the addresses of a load balancer to the status of its Ingresses.

// publish writes the address of the load balancer to the status of each member, after all resources
// of the members exist. A member without served routes gets no address. If the cloud refuses a
// step, the ports in the status of the members have the error. It returns diagnostics for the members
// of which the API server refuses the status.
func (r *Reconciler) publish(ctx context.Context, o outcome,
	next *records.Record) (refusals []diag.Diagnostic, err error) {
	gone := !o.Observed.Exists && o.complete()
	servedTo := o.servedTo()
	served := o.Observed.Active && slices.ContainsFunc(o.Snapshot.Members, servedTo)
	refused := o.Observed.Active && o.Withheld == "" && !queue.OnlyPending(o.Err)
	if !gone && !served && !refused {
		return nil, nil
	}
	if !slices.Equal(records.AddressesOf(next), records.AddressesOf(&o.Snapshot.Record)) {
		// Before the address is in a status it is in the record: otherwise it could not be removed after
		// a crash.
		if err := r.keep(ctx, o.Snapshot.Key, next); err != nil {
			return nil, err
		}
	}
	reach := newReach(o.Observed.Address, o.Built.Table, func(port int32) bool {
		return o.Observed.Listener(port) != nil
	}, o.diagnostics())
	published := make([]*v1alpha1.MemberMemory, len(o.Snapshot.Members))
	failures := make([]error, len(o.Snapshot.Members))
	err = ingresses.ForEach(len(o.Snapshot.Members), func(i int) error {
		m := o.Snapshot.Members[i]
		known := records.MemberOf(next, m.Owner.String())
		if m.Leaving || m.Vanished || known == nil {
			return nil
		}
		ing := o.Snapshot.Actual[m.Owner.String()]
		served := served && servedTo(m)
		switch {
		case !reach.serves(m) && (gone || served):
			return r.Ingresses.Unpublish(ctx, ing,
				slices.Concat(records.AddressesOf(&o.Snapshot.Record), records.AddressesOf(next)))
		case reach.serves(m) && (served && known.Served || refused && known.PublishedAt != nil):
			failures[i] = r.Ingresses.Publish(ctx, ing, o.statusOf(m, reach))
			if failures[i] == nil {
				published[i] = known
			}
			return failures[i]
		}
		return nil
	})
	for _, known := range published {
		if known != nil && known.PublishedAt == nil {
			known.PublishedAt = now()
		}
	}
	for i, m := range o.Snapshot.Members {
		err := failures[i]
		// After a conflict the cache will have another version.
		if err != nil && !apierrors.IsConflict(err) && !errors.Is(err, queue.ErrDisputed) && ctx.Err() == nil {
			refusals = append(refusals, unpublishedDiagnostic(m, err))
		}
	}
	return refusals, err
}

func unpublishedDiagnostic(m ingress.Member, err error) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Reason: diag.ChangeWaits, Source: m.Source(),
		Message: fmt.Sprintf("its address is not in its status: the API server does not take it: %s; it "+
			"ends when the API server takes it, which is tried again; divide an Ingress that is too large",
			printable.Shorten(err.Error())),
	}
}
