// Package remote is the client of the provider protocol (docs/reference/protocol.md): a
// providers.Provider that is another process.
//
// A call goes through three layers. client.go sends it and reads the answer; go-retryablehttp
// repeats it where the protocol permits. transport.go makes each attempt, with its credentials, its
// deadline and the circuit breaker. Package wire converts messages.
package remote

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/wire"
)

// This file is the Provider interface.

// A Provider is a providers.Provider that is another process.
type Provider struct {
	*client
	steps *batches
}

// Open returns a provider that has answered with its capabilities.
func Open(ctx context.Context, e Endpoint) (*Provider, error) {
	p, err := New(e)
	if err == nil {
		err = p.Reach(ctx)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// New returns a provider without calling it. Before it is reached, Lookup fails, so that no load
// balancer is made for it.
func New(e Endpoint) (*Provider, error) {
	e.Attempt, e.Call = or(e.Attempt, 15*time.Second), or(e.Call, time.Minute)
	e.LeastWait, e.MostWait = or(e.LeastWait, time.Second/2), or(e.MostWait, 10*time.Second)
	c, err := newClient(e)
	if err != nil {
		return nil, err
	}
	return &Provider{client: c, steps: newBatches(c)}, nil
}

// Reach reads the capabilities of the provider.
func (p *Provider) Reach(ctx context.Context) error { return p.refresh(ctx) }

// Term returns the provider for a term of this operator. It shares the capabilities and the
// connections, and no observation.
func (p *Provider) Term() providers.Provider {
	c := &client{
		endpoint: p.endpoint, base: p.base, breaker: p.breaker, reads: p.reads,
		changes: p.changes, capabilities: p.known(),
	}
	return &Provider{client: c, steps: newBatches(c)}
}

// Close closes idle connections.
func (p *Provider) Close() { p.reads.http.HTTPClient.CloseIdleConnections() }

// Capabilities implements Provider. It makes no calls.
func (p *Provider) Capabilities(class lb.Class) lb.Capabilities {
	return p.known().model.Restrict(class)
}

// Lookup implements Provider. It checks settings against the schemas of the provider.
func (p *Provider) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	switch {
	case p.known().at.IsZero():
		if err := p.refresh(ctx); err != nil {
			return lb.Facts{}, err
		}
	case p.isStale():
		p.keepFresh(ctx)
	}
	var reply v1.Facts
	if err := p.call(ctx, call{operation: "Lookup", method: http.MethodPost, at: v1.PathLookup,
		body: wire.EncodeQuestions(q), into: &reply}); err != nil {
		return lb.Facts{}, err
	}
	if reply.CapabilitiesETag != "" && reply.CapabilitiesETag != p.known().etag {
		p.keepFresh(ctx)
	}
	facts := wire.DecodeFacts(reply)
	facts.SettingsRefused = p.known().schemas.refuse(q)
	return facts, nil
}

// Observe implements Provider.
func (p *Provider) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	query := url.Values{"key": {string(key)}}
	if deep {
		query.Set("deep", "true")
	}
	var reply v1.Observed
	if err := p.call(ctx, call{operation: "Observe", method: http.MethodGet, at: v1.PathLoadBalancer,
		query: query, into: &reply}); err != nil {
		return nil, err
	}
	out, err := wire.DecodeObserved(key, reply)
	if err != nil {
		return nil, p.withName(fmt.Errorf("answering what load balancer %s is: %w", key, err))
	}
	return out, nil
}

// Active implements Provider.
func (p *Provider) Active(ctx context.Context, seen *lb.Observed) (bool, error) {
	var reply v1.Activity
	err := p.call(ctx, call{operation: "Active", method: http.MethodGet, at: v1.PathActive,
		query: url.Values{"key": {string(seen.Key)}}, into: &reply})
	return reply.Active, err
}

// Apply implements Provider. The provider has its own observation.
func (p *Provider) Apply(
	ctx context.Context, seen *lb.Observed, step plan.Step,
) (plan.Result, error) {
	return p.steps.apply(ctx, seen.Key, step)
}

// Targets implements Provider.
func (p *Provider) Targets(
	ctx context.Context, key lb.Key, group lb.GroupID,
) ([]lb.TargetHealth, error) {
	var reply v1.TargetList
	err := p.call(ctx, call{operation: "Targets", method: http.MethodGet, at: v1.PathTargets,
		query: member(key, group), into: &reply})
	return wire.DecodeHealth(reply), err
}

// SetTargets implements Provider.
func (p *Provider) SetTargets(
	ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target,
) error {
	return p.call(ctx, call{operation: "SetTargets", method: http.MethodPut, at: v1.PathTargets,
		query: member(key, group), body: wire.EncodeTargets(want), changes: true})
}

func member(key lb.Key, group lb.GroupID) url.Values {
	return url.Values{"key": {string(key)}, "group": {string(group)}}
}

// List implements Provider. It sorts the keys.
func (p *Provider) List(ctx context.Context) ([]lb.Key, error) {
	var reply v1.LoadBalancerList
	if err := p.call(ctx, call{operation: "List", method: http.MethodGet, at: v1.PathLoadBalancers,
		into: &reply}); err != nil {
		return nil, err
	}
	keys := make([]lb.Key, len(reply.Keys))
	for i, key := range reply.Keys {
		keys[i] = lb.Key(key)
	}
	slices.Sort(keys)
	return keys, nil
}
