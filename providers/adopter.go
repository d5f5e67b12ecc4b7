package providers

import (
	"context"

	"fairlead.dev/fairlead/model/lb"
)

// An Adopter is a Provider that takes over load balancers that others made, and gives them back. Tags say whose a resource
// is. The tags of others are kept under other names, so that the resource itself has what it takes to give it back.
type Adopter interface {
	// Claim returns the changes of tags that make a found load balancer the wanted one, in the order in which they are to be
	// made: the load balancer is last. Return returns those that give it back, in theirs: the load balancer is first. Both
	// make no calls, and leave out what is done already.
	Claim(o *lb.Other, t lb.Takeover) []lb.TagChange
	Return(o *lb.Other) []lb.TagChange
	// Retag makes one change of tags.
	Retag(ctx context.Context, c lb.TagChange) error
	// Admit lets a found load balancer connect to the targets of its target groups as one of the operator's does, besides
	// what others permit. Dismiss undoes that, where what others permit is enough.
	Admit(ctx context.Context, o *lb.Other, key lb.Key) error
	Dismiss(ctx context.Context, o *lb.Other, key lb.Key) error
	// Discard deletes what is left of others: target groups that no rule names, by handle. The load balancer no longer has
	// the security groups of others that it kept.
	Discard(ctx context.Context, key lb.Key, groups []string) error
}
