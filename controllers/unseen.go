package controllers

import (
	"maps"
	"sync"
	"time"

	"fairlead.dev/fairlead/model/endpoints"
)

// This file gives Pods the time to be seen. EndpointSlices and Pods come in any order, and a cache that was just
// filled may lag behind: an endpoint whose Pod does not vouch for it is no new target, but it is not taken for a
// foreign one at once either.

const (
	// lag is how long a Pod may take to be seen after an EndpointSlice that lists it. It is far less than a
	// network takes to give the address of a Pod that is gone to another one: 30 seconds on AWS, by
	// https://github.com/aws/amazon-vpc-cni-k8s#ip_cooldown_period-v1150.
	lag = 10 * time.Second
	// doubted is how long it is remembered that an address has been in doubt, so that to list it anew
	// under another name gives it no more time.
	doubted = 10 * time.Minute
	// mostUnseen is how many are remembered. Where there are more, nothing is waited for.
	mostUnseen = 10000
)

// An addressIn is an address that a namespace claims for a Pod.
type addressIn struct{ namespace, address string }

// unseen are the addresses of which no Pod vouches, and since when.
type unseen struct {
	mu    sync.Mutex
	since map[addressIn]time.Time
}

func newUnseen() *unseen { return &unseen{since: map[addressIn]time.Time{}} }

// fresh reports whether a claim that no Pod vouches for has been in doubt for so short a time that the Pod may follow.
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
		return now.Sub(since) < lag
	}
	if len(u.since) >= mostUnseen {
		maps.DeleteFunc(u.since, func(_ addressIn, since time.Time) bool { return now.Sub(since) > doubted })
	}
	if len(u.since) >= mostUnseen {
		return false
	}
	u.since[at] = now
	return true
}
