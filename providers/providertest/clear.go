package providertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file deletes the load balancers of a clause.

// mostTries is the number of tries to delete a load balancer if the deletion fails. A pending one
// is tried until the timeout.
const mostTries = 3

// clear deletes the load balancers of the keys, also if the context of the clause has ended.
func (c cloud) clear(within time.Duration) (left error) {
	ctx, end := context.WithTimeout(context.WithoutCancel(c.t.Context()), within)
	defer end()
	for _, key := range []lb.Key{c.own, c.other} {
		if err := c.remove(ctx, key); err != nil {
			left = errors.Join(left, fmt.Errorf("what is left of %s has to be deleted by hand: %w", key,
				err))
		}
	}
	return left
}

// remove deletes a load balancer, and checks that nothing is left of it.
func (c cloud) remove(ctx context.Context, key lb.Key) error {
	wait := 10 * time.Millisecond
	for tries := 1; ; tries++ {
		left, err := c.deleteOnce(ctx, key)
		switch {
		case err == nil && !left:
			return nil
		case err == nil && tries == 1:
			continue // observes it again
		case err == nil:
			err = errors.New("deleting it changed nothing")
		case errors.Is(err, providers.ErrPending) || errors.Is(err, providers.ErrThrottled):
			tries--
		}
		if tries >= mostTries {
			return err
		}
		if pause(ctx, wait) != nil {
			return fmt.Errorf("there was no more time: %w", err)
		}
		wait = min(2*wait, 5*time.Second)
	}
}

// deleteOnce deletes all objects of a load balancer, and reports whether there were any.
func (c cloud) deleteOnce(ctx context.Context, key lb.Key) (bool, error) {
	seen, err := c.Observe(ctx, key, false)
	if err != nil {
		return true, err
	}
	p := c.diff(seen, lb.LoadBalancer{})
	if p.Empty() {
		return false, nil
	}
	_, err = providers.Run(ctx, c, seen, p, providers.Options{})
	return true, err
}
