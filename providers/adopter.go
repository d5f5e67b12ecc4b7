package providers

import (
	"context"

	"fairlead.dev/fairlead/model/lb"
)

// An Adopter is a Provider that takes over load balancers that others made, and gives them back. Tags say whose a resource
// is. The tags of others are kept under other names, so that the resource itself has what it takes to give it back.
type Adopter interface {
	// Found reads a load balancer by its handle, with all of its settings and tags; nil if there is none. Of one that was
	// taken over, it finds the target groups that no rule names, too.
	Found(ctx context.Context, handle string) (*lb.Other, error)
	// Claim returns the changes of tags that make a found load balancer the wanted one, in the order in which they are to be
	// made: the load balancer is last. It makes no calls, and leaves out what is done already. It returns ErrRejected, with
	// the name of the tag, if the cloud would not take one, or if something belongs to another load balancer.
	Claim(o *lb.Other, t lb.Takeover) ([]lb.TagChange, error)
	// Return returns the changes that give it back: the load balancer is first. It makes no calls, and leaves out what is
	// done already.
	Return(o *lb.Other) []lb.TagChange
	// Retag makes one change of tags.
	Retag(ctx context.Context, key lb.Key, c lb.TagChange) error
	// Admit lets a found load balancer connect to the targets of its target groups as one of the operator's does, besides
	// what others permit. It does nothing if the Ingresses name security groups. Dismiss undoes that, if what others permit is
	// enough. If not, it is left until they permit more: then left names it, and Dismiss has to be called again.
	Admit(ctx context.Context, o *lb.Other, t lb.Takeover) error
	Dismiss(ctx context.Context, o *lb.Other, key lb.Key) (left string, err error)
	// Discard ends what is left of others: it deletes target groups that no rule names, by handle, takes the security groups
	// that the load balancer kept from it, and removes the tags that could give it back.
	Discard(ctx context.Context, key lb.Key, groups []string) error
}

// AdopterOf returns the Adopter among providers, by the name of the provider; "" is the first one. Its calls pass through
// the wrappers of the provider.
func AdopterOf(p Provider, name string) (Adopter, bool) {
	switch p := p.(type) {
	case wrapped:
		return p.adopterOf(name)
	case Adopter:
		return p, true
	}
	return nil, false
}

// wrapped is a provider around others.
type wrapped interface {
	adopterOf(name string) (Adopter, bool)
}

func (i intercepted) adopterOf(name string) (Adopter, bool) {
	a, ok := AdopterOf(i.Provider, name)
	return interceptedAdopter{a, i.wrapper}, ok
}

func (r *Revocable) adopterOf(name string) (Adopter, bool) { return AdopterOf(r.Provider, name) }

func (s *Router) adopterOf(name string) (Adopter, bool) {
	p, err := s.findProvider(name)
	if err != nil {
		return nil, false
	}
	return AdopterOf(p, "")
}

// An interceptedAdopter is an Adopter whose calls pass through a wrapper.
type interceptedAdopter struct {
	Adopter
	wrapper Wrapper
}

func (i interceptedAdopter) Found(ctx context.Context, handle string) (*lb.Other, error) {
	do := func(ctx context.Context) (*lb.Other, error) { return i.Adopter.Found(ctx, handle) }
	return callThrough(ctx, i.wrapper, Call{Method: "Found"}, do)
}

func (i interceptedAdopter) Retag(ctx context.Context, key lb.Key, c lb.TagChange) error {
	do := func(ctx context.Context) error { return i.Adopter.Retag(ctx, key, c) }
	return i.wrapper(ctx, Call{Method: "Retag", Key: key}, do)
}

func (i interceptedAdopter) Admit(ctx context.Context, o *lb.Other, t lb.Takeover) error {
	do := func(ctx context.Context) error { return i.Adopter.Admit(ctx, o, t) }
	return i.wrapper(ctx, Call{Method: "Admit", Key: t.Want.Key}, do)
}

func (i interceptedAdopter) Dismiss(ctx context.Context, o *lb.Other, key lb.Key) (string, error) {
	do := func(ctx context.Context) (string, error) { return i.Adopter.Dismiss(ctx, o, key) }
	return callThrough(ctx, i.wrapper, Call{Method: "Dismiss", Key: key}, do)
}

func (i interceptedAdopter) Discard(ctx context.Context, key lb.Key, groups []string) error {
	do := func(ctx context.Context) error { return i.Adopter.Discard(ctx, key, groups) }
	return i.wrapper(ctx, Call{Method: "Discard", Key: key}, do)
}
