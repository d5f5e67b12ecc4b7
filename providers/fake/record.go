package fake

import (
	"context"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file holds the state of a Cloud: a record of the objects under each key.

// Options configure a Cloud. The zero value can express every Ingress, loses its state when it is
// closed, opens no sockets and never fails.
type Options struct {
	// Capabilities limit the rules; the zero value is lb.Literal().
	Capabilities lb.Capabilities

	// Serve switches the data plane on: listeners that route, and health checks. Without it, targets
	// are healthy once they are registered.
	Serve bool
	// CheckEvery is the time between health checks; zero is the interval of each target group.
	CheckEvery time.Duration
	// WarmUp is the time in which a new target is not checked and receives no requests, as in real
	// clouds.
	WarmUp time.Duration
	// Drain is the time for requests that are under way when their target or port is removed; zero is
	// 10 seconds.
	Drain time.Duration
	// Network is the IPv4 network of this machine that load balancers get their addresses from. Their
	// listeners have their own ports there, or cannot be opened. Without it, addresses are on
	// loopback, and a listener whose port is taken gets another one.
	Network netip.Prefix

	// State is a file that outlives the cloud: every lb.Observed by its key. Targets, private keys and
	// the rest go to files beside it. Processes that name the same file share one cloud; one of them
	// has its sockets, and another one takes over when it ends.
	State string

	// Certificates holds the hosts of certificates that Ingresses can name.
	Certificates map[lb.CertificateID][]string

	// TargetGroups are the targets of target groups that others made, which rules can name.
	TargetGroups map[lb.GroupID][]lb.Target

	// Latency is the duration of each call.
	Latency time.Duration
	// Before and After can make a step fail: Before it changes the cloud, or After, when the caller
	// cannot know that it has.
	Before, After func(lb.Key, plan.Step) error
	// Stale returns by how many steps the answer of Observe is out of date.
	Stale func(lb.Key) int
}

// A Cloud is a providers.Provider.
type Cloud struct {
	options      Options
	host         *regexp.Regexp // of the values that host conditions may have
	network      network
	certificates authority
	others       map[lb.GroupID]*group // target groups that others made

	mu      sync.Mutex // guards everything below, and is never held over a wait
	records map[lb.Key]*record
	files   stateFile
	here    bool     // whether this process has the sockets and checks targets
	sockets *os.File // locked meanwhile; nil without a state file

	health    atomic.Bool // whether the health of a target has changed
	following chan struct{}
	followed  sync.WaitGroup
	stop      sync.Once
}

// A record holds everything under one key.
type record struct {
	// state is locked while a step changes the three fields after it, besides the cloud's lock. A
	// request that needs a new Service reads them with this lock alone.
	state    sync.RWMutex
	observed *lb.Observed // changed in place: no caller gets it without a copy
	pools    map[lb.GroupID]*group
	pairs    map[lb.CertificateID]pair

	past     []*lb.Observed
	fronts   map[int32]*front // empty without a data plane
	serial   int              // of the last handle given out
	settings *lb.ReadSettings // changed in place
}

// memory is the number of steps that a stale read can go back.
const memory = 32

func newRecord(key lb.Key) *record {
	return &record{
		observed: &lb.Observed{Key: key},
		settings: noSettings(),
		pools:    map[lb.GroupID]*group{},
		pairs:    map[lb.CertificateID]pair{},
		fronts:   map[int32]*front{},
	}
}

// changeRecord changes the state of a record, and has the ports answer by it. It keeps past states
// if Stale is set.
func (c *Cloud) changeRecord(r *record, do func()) {
	if c.options.Stale != nil {
		r.past = append(r.past, r.observed.Clone())
		r.past = r.past[max(0, len(r.past)-memory):]
	}
	r.state.Lock()
	do()
	r.state.Unlock()
	c.serve(r)
}

// stateBefore returns the state some steps ago, or the oldest one that is kept.
func (r *record) stateBefore(steps int) *lb.Observed {
	if steps <= 0 || len(r.past) == 0 {
		return r.observed
	}
	return r.past[max(0, len(r.past)-steps)]
}

// copyState returns a copy of a state, with the present readiness of target groups.
func (r *record) copyState(o *lb.Observed) *lb.Observed {
	o = o.Clone()
	for i := range o.TargetGroups {
		g := &o.TargetGroups[i]
		if p := r.pools[g.ID]; p != nil {
			g.Ready = p.Ready()
		}
	}
	return o
}

// storeKey stores the key of a certificate. Unusable certificates were refused before.
func (r *record) storeKey(c lb.Certificate) {
	if p, err := newPair(c); err == nil {
		r.pairs[c.ID] = p
	}
}

// isEmpty reports whether no object is left under the key.
func (r *record) isEmpty() bool {
	return !r.observed.Exists && len(r.observed.TargetGroups) == 0 && len(r.observed.Certificates) == 0
}

// makeOthers makes the target groups that others made. They are checked as target groups are by
// default.
func (c *Cloud) makeOthers() {
	c.others = map[lb.GroupID]*group{}
	for id, targets := range c.options.TargetGroups {
		c.others[id] = c.newGroup(lb.TargetGroup{ID: id, Health: routing.HealthCheck{
			Path: "/", Port: "traffic-port", Protocol: string(routing.HTTP), IntervalSeconds: 30,
			TimeoutSeconds: 5, HealthyThreshold: 2, UnhealthyThreshold: 2, SuccessCodes: "200",
		}})
		c.others[id].Set(targets)
	}
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

// newHandle returns a name that no other object under the key has had.
func (r *record) newHandle() string {
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

// wait waits for the latency of a call.
func (c *Cloud) wait(ctx context.Context) error {
	if c.options.Latency == 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(c.options.Latency)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// newGroup returns a target group without members.
func (c *Cloud) newGroup(g lb.TargetGroup) *group {
	return newGroup(g, groupOptions{
		Every: c.options.CheckEvery, WarmUp: c.options.WarmUp, Drain: c.options.Drain,
		Checked: c.options.Serve, Here: c.here, Changed: &c.health,
	})
}
