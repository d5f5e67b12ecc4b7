package cluster

import (
	"maps"
	"sync"
	"time"

	"fairlead.dev/fairlead/model/endpoints"
)

// This file waits for Pods that were not seen yet. EndpointSlices and Pods come in any order, and a
// cache that was just filled may be behind: an endpoint that no Pod confirms is no new target, and
// it counts as foreign only after a while.

const (
	// Lag is how long a Pod may take to be seen after an EndpointSlice that lists it. It is far less
	// than a network takes to give the address of a Pod that is gone to another one: 30 seconds on
	// AWS, by https://github.com/aws/amazon-vpc-cni-k8s#ip_cooldown_period-v1150.
	Lag = 10 * time.Second
	// doubted is how long it is remembered that an address has been in doubt, so that to list it anew
	// under another name gives it no more time.
	doubted = 10 * time.Minute
	// mostUnseen is how many are remembered. Where there are more, nothing is waited for.
	mostUnseen = 10000
)

// An addressIn is an address that a namespace claims for a Pod.
type addressIn struct{ namespace, address string }

// unseen holds the addresses that no Pod confirms, and since when.
type unseen struct {
	mu    sync.Mutex
	since map[addressIn]time.Time
}

func newUnseen() *unseen { return &unseen{since: map[addressIn]time.Time{}} }

// fresh reports whether no Pod has confirmed a claim for so short a time that the Pod may be seen
// yet.
func (u *unseen) fresh(c endpoints.Claim, vouched bool, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := addressIn{c.Namespace, c.Address}
	since, known := u.since[at]
	switch {
	case vouched:
		delete(u.since, at)
		return false
	case known && now.Sub(since) < doubted:
		return now.Sub(since) < Lag
	}
	if len(u.since) >= mostUnseen {
		maps.DeleteFunc(u.since, func(_ addressIn, since time.Time) bool {
			return now.Sub(since) >= doubted
		})
	}
	if len(u.since) >= mostUnseen {
		return false
	}
	u.since[at] = now
	return true
}
