package remote

import (
	"sync"

	"fairlead.dev/fairlead/model/lb"
)

// This file keeps what was observed last, so that an answer that is the same need not be sent
// again.

// An observation is what was observed, and its entity tag.
type observation struct {
	etag     string
	observed *lb.Observed
}

// mostObservations are kept at the most.
const mostObservations = 2000

// observations are the last ones, by load balancer and by how deep the look was.
type observations struct {
	mu   sync.Mutex
	last map[look]observation
}

type look struct {
	key  lb.Key
	deep bool
}

// of is the last observation of a load balancer; the zero one if there is none.
func (o *observations) of(key lb.Key, deep bool) observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last[look{key, deep}]
}

// keep keeps an observation. Without an entity tag, or of a load balancer that is not there, it is
// of no use.
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
