// Package providers is the interface to clouds: what a cloud implements, the
// classes of error that it may answer with, and Run, which carries out a plan.
package providers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// ReadLag is the time for which Observe may not find earlier writes. Clouds publish no bound; AWS's
// reads are assumed to lag by two minutes at most.
const ReadLag = 2 * time.Minute

// A Provider is one kind of cloud load balancer. It carries out the steps of a plan. Package planner
// compares desired with observed, orders rules and decides on deletions.
type Provider interface {
	// Capabilities reports what a load balancer of this class can express. It makes no calls.
	Capabilities(class lb.Class) lb.Capabilities
	// Lookup answers questions about the cloud that compiling needs (certificates, subnets).
	Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error)
	// Observe returns the load balancer owned under key, in canonical form. One that does not
	// exist is an Observed that does not Exist, not an error. deep reads settings instead of
	// digests.
	Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error)
	// Active reports whether a load balancer that was not active when it was observed is active now.
	// It costs less than Observe.
	Active(ctx context.Context, seen *lb.Observed) (bool, error)
	// Apply carries out one step in the cloud, and returns what the cloud assigned. A step that already holds
	// succeeds. On error the cloud may be on either side of the step; the caller observes again before it plans again.
	// It never writes seen.
	Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error)
	// Targets returns a target group's members and their health; SetTargets adds, then removes.
	Targets(ctx context.Context, key lb.Key, group lb.GroupID) ([]lb.TargetHealth, error)
	SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error
	// List returns every key that this installation owns, even if its Ingress is gone.
	List(ctx context.Context) ([]lb.Key, error)
}

// An error of a Provider wraps at most one of these. Any other error is retried with backoff.
var (
	ErrPending   = errors.New("not yet")   // ask again later
	ErrRejected  = errors.New("rejected")  // it fails until the objects or the named limit change
	ErrDenied    = errors.New("denied")    // an operator must fix credentials
	ErrThrottled = errors.New("throttled") // too many calls: try again, with growing waits
)

// ErrNoRoom is an ErrRejected that can end by itself: other users of the quota can make room.
var ErrNoRoom = fmt.Errorf("%w until there is room", ErrRejected)
