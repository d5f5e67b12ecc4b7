package fake

import (
	"strconv"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/fake/certificates"
	"fairlead.dev/fairlead/providers/fake/frontend"
	"fairlead.dev/fairlead/providers/fake/targetgroup"
)

// This file holds the objects under one key.

// A record holds everything under one key.
type record struct {
	observed *lb.Observed // replaced as a whole, never written to: requests in flight read it
	past     []*lb.Observed
	pools    map[lb.GroupID]*targetgroup.Group
	pairs    map[lb.CertificateID]certificates.Pair
	fronts   map[int32]*frontend.Front // empty without a data plane
	serial   int                       // of the last handle given out
}

// memory is the number of steps that a stale read can go back.
const memory = 32

func newRecord(key lb.Key) *record {
	return &record{
		observed: &lb.Observed{Key: key},
		pools:    map[lb.GroupID]*targetgroup.Group{},
		pairs:    map[lb.CertificateID]certificates.Pair{},
		fronts:   map[int32]*frontend.Front{},
	}
}

// replace sets the present state. It keeps the past ones if Stale is set.
func (c *Cloud) replace(r *record, next *lb.Observed) {
	if c.options.Stale != nil {
		r.past = append(r.past, r.observed)
		r.past = r.past[max(0, len(r.past)-memory):]
	}
	r.observed = next
}

// ago returns the state some steps ago, or the oldest one that is kept.
func (r *record) ago(steps int) *lb.Observed {
	if steps <= 0 || len(r.past) == 0 {
		return r.observed
	}
	return r.past[max(0, len(r.past)-steps)]
}

// live returns a copy of a state, with the present readiness of target groups.
func (r *record) live(o *lb.Observed) *lb.Observed {
	o = o.Clone()
	for i := range o.TargetGroups {
		g := &o.TargetGroups[i]
		if p := r.pools[g.ID]; p != nil {
			g.Ready = p.Ready()
		}
	}
	return o
}

// keep stores the key of a certificate. Unusable certificates were refused before.
func (r *record) keep(c lb.Certificate) {
	if p, err := certificates.NewPair(c); err == nil {
		r.pairs[c.ID] = p
	}
}

// empty reports whether no object is left under the key.
func (r *record) empty() bool {
	return !r.observed.Exists && len(r.observed.TargetGroups) == 0 && len(r.observed.Certificates) == 0
}

func (r *record) close() {
	for _, f := range r.fronts {
		f.Stop()
	}
	for _, p := range r.pools {
		p.Stop()
	}
}

const handlePrefix = "fake-"

// handle returns a name that no other object under the key has had.
func (r *record) handle() string {
	r.serial++
	return handlePrefix + strconv.Itoa(r.serial)
}

// lastSerial returns the highest number in the handles of objects.
func lastSerial(o *lb.Observed) int {
	handles := []string{o.Handle}
	for _, l := range o.Listeners {
		handles = append(handles, l.Handle)
		for _, rule := range l.Rules {
			handles = append(handles, rule.Handle)
		}
	}
	for _, g := range o.TargetGroups {
		handles = append(handles, g.Handle)
	}
	for _, cert := range o.Certificates {
		handles = append(handles, cert.Handle)
	}
	last := 0
	for _, h := range handles {
		if n, err := strconv.Atoi(strings.TrimPrefix(h, handlePrefix)); err == nil {
			last = max(last, n)
		}
	}
	return last
}
