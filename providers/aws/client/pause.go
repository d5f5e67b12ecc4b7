package client

import (
	"context"
	"time"
)

// Pause waits, unless the context ends.
func Pause(ctx context.Context, how time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(how):
		return nil
	}
}
