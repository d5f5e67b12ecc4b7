package ingresses

import (
	"errors"

	"golang.org/x/sync/errgroup"
)

// This file writes on several Ingresses of a load balancer at a time, since a write mostly waits
// for the API server.

// mostAtOnce is how many Ingresses of a load balancer are written at a time.
const mostAtOnce = 8

// ForEach calls a function with each index below n, up to eight at a time, and returns all errors
// in the order of the indices.
func ForEach(n int, do func(i int) error) error {
	errs := make([]error, n)
	var calls errgroup.Group
	calls.SetLimit(mostAtOnce)
	for i := range n {
		calls.Go(func() error {
			errs[i] = do(i)
			return nil
		})
	}
	_ = calls.Wait() // the errors are in errs
	return errors.Join(errs...)
}
