package aws

import (
	"sync"
	"time"
)

// This file keeps the web ACLs that the role may not put before load balancers, and those that AWS
// refuses to put there. Routes wait for their web ACL, also those of Ingresses that ask for none.
// So what asks for one of these is left out for a while, and told.

// barredFor is how long it takes until one is tried again.
const barredFor = 10 * time.Minute

// barred are web ACLs by their ARNs.
type barred struct {
	mu  sync.Mutex
	all map[string]denial
}

// A denial is why something may not be done, and when that was so.
type denial struct {
	why error
	at  time.Time
}

// note notes that one may not be put before load balancers.
func (b *barred) note(arn string, why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = map[string]denial{}
	}
	b.all[arn] = denial{why, time.Now()}
}

// why is why one may not be put before load balancers, or nil where that has to be tried.
func (b *barred) why(arn string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	d, known := b.all[arn]
	if !known {
		return nil
	}
	if time.Since(d.at) >= barredFor {
		delete(b.all, arn)
		return nil
	}
	return d.why
}
