package remote

import (
	"sync"

	"fairlead.dev/fairlead/model/lb"
)

// This file holds the last observations, so that an answer that has not changed is not sent again.

// An observation is an observed load balancer with its entity tag.
type observation struct {
	etag     string
	observed *lb.Observed
}

// mostObservations limits the observations that are kept.
const mostObservations = 2000

// observations holds the last observation for each load balancer and depth.
type observations struct {
	mu   sync.Mutex
	last map[look]observation
}

type look struct {
	key  lb.Key
	deep bool
}

// of returns the last observation of a load balancer, or the zero one.
func (o *observations) of(key lb.Key, deep bool) observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last[look{key, deep}]
}

// keep stores an observation, if it has an entity tag and the load balancer exists.
func (o *observations) keep(key lb.Key, deep bool, seen observation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := look{key, deep}
	delete(o.last, at)
	if seen.etag == "" || !seen.observed.Exists {
		return
	}
	if o.last == nil {
		o.last = map[look]observation{}
	}
	for other := range o.last { // any one: what is left out is only sent again
		if len(o.last) < mostObservations {
			break
		}
		delete(o.last, other)
	}
	o.last[at] = seen
}
