package fake

import (
	"strconv"
	"strings"

	"fairlead.dev/fairlead/model/lb"
)

// A record is everything that the cloud keeps under one key.
type record struct {
	observed *lb.Observed // replaced as a whole, never written to: requests in flight read it
	past     []*lb.Observed
	pools    map[lb.GroupID]*pool
	pairs    map[lb.CertificateID]pair
	fronts   map[int32]*front // none where the data plane is off
	serial   int              // of the last handle given out
}

// memory is how many steps back a stale read can reach.
const memory = 32

func newRecord(key lb.Key) *record {
	return &record{
		observed: &lb.Observed{Key: key},
		pools:    map[lb.GroupID]*pool{},
		pairs:    map[lb.CertificateID]pair{},
		fronts:   map[int32]*front{},
	}
}

// replace replaces what is there. What was there is kept where somebody wants to read it.
func (c *Cloud) replace(r *record, next *lb.Observed) {
	if c.options.Stale != nil {
		r.past = append(r.past, r.observed)
		r.past = r.past[max(0, len(r.past)-memory):]
	}
	r.observed = next
}

// ago is what was there some steps ago, or as far back as is remembered.
func (r *record) ago(steps int) *lb.Observed {
	if steps <= 0 || len(r.past) == 0 {
		return r.observed
	}
	return r.past[max(0, len(r.past)-steps)]
}

// live is a copy of what is or was there, with the readiness of target groups as it is now.
func (r *record) live(o *lb.Observed) *lb.Observed {
	o = o.Clone()
	for i := range o.TargetGroups {
		g := &o.TargetGroups[i]
		if p := r.pools[g.ID]; p != nil {
			g.Ready = p.ready()
		}
	}
	return o
}

// keep keeps the keys of a certificate. One that cannot be used was refused.
func (r *record) keep(c lb.Certificate) {
	if p, err := newPair(c); err == nil {
		r.pairs[c.ID] = p
	}
}

// empty reports whether nothing is left under the key.
func (r *record) empty() bool {
	return !r.observed.Exists && len(r.observed.TargetGroups) == 0 && len(r.observed.Certificates) == 0
}

func (r *record) close() {
	for _, f := range r.fronts {
		f.stop()
	}
	for _, p := range r.pools {
		p.stop()
	}
}

const handlePrefix = "fake-"

// handle is a name that nothing else under the key has had.
func (r *record) handle() string {
	r.serial++
	return handlePrefix + strconv.Itoa(r.serial)
}

// lastSerial is the highest number in the handles of what is there.
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
