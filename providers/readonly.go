package providers

import (
	"context"
	"fmt"
)

// This file refuses changes of a cloud that is only read.

// ReadOnly returns a provider that refuses every change.
func ReadOnly(p Provider) Provider { return Intercept(p, refuseChange) }

func refuseChange(ctx context.Context, call Call, next Next) error {
	if !call.Changes() {
		return next(ctx)
	}
	return fmt.Errorf("%w: changing %s, which is read-only: %s", ErrDenied, call.Key, call.Change())
}
