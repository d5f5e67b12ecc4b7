package cluster

import (
	"maps"
	"sync"
	"time"

	"fairlead.dev/fairlead/model/endpoints"
)

// This file waits for Pods that the cache does not have yet. EndpointSlices and Pods arrive in any
// order, and a cache that was just filled may be behind: an endpoint that no Pod confirms is no new
// target, and counts as foreign only after Lag.

const (
	// Lag is how long a Pod may take to be seen after an EndpointSlice that lists it. It is far less
	// than a network takes to give the address of a Pod that is gone to another one: 30 seconds on
	// AWS, by https://github.com/aws/amazon-vpc-cni-k8s#ip_cooldown_period-v1150.
	Lag = 10 * time.Second
	// rememberedFor is how long an unconfirmed address is remembered, so that an endpoint with another
	// name gets no more time.
	rememberedFor = 10 * time.Minute
	// mostUnseen is the limit of remembered addresses. Above it the operator does not wait for Pods.
	mostUnseen = 10000
)

// An addressIn is an address that a namespace claims for a Pod.
type addressIn struct{ namespace, address string }

// unseen holds the addresses that no Pod confirms, with the time of their first claim.
type unseen struct {
	mu    sync.Mutex
	since map[addressIn]time.Time
}

func newUnseen() *unseen { return &unseen{since: map[addressIn]time.Time{}} }

// isRecent reports whether a claim without a Pod is so recent that the Pod may still arrive.
func (u *unseen) isRecent(c endpoints.Claim, vouched bool, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := addressIn{c.Namespace, c.Address}
	since, known := u.since[at]
	switch {
	case vouched:
		delete(u.since, at)
		return false
	case known && now.Sub(since) < rememberedFor:
		return now.Sub(since) < Lag
	}
	if len(u.since) >= mostUnseen {
		maps.DeleteFunc(u.since, func(_ addressIn, since time.Time) bool {
			return now.Sub(since) >= rememberedFor
		})
	}
	if len(u.since) >= mostUnseen {
		return false
	}
	u.since[at] = now
	return true
}
