package replay

import (
	"bytes"
	"encoding/binary"

	"fairlead.dev/fairlead/model/accesslog"
	"fairlead.dev/fairlead/model/lb"
)

// This file replays lines.

// A Replayer replays lines, one at a time. Several of one Setup may work in parallel on different
// lines; Merge adds up their results.
type Replayer struct {
	setup     *Setup
	balancers []*balancer
	names     map[string]int // the places of load balancers by their names in logs; -1: unknown
	key       []byte
	kept      int // predictions and hosts
	found     found
	readings  []string

	lines    int64
	unrouted int64            // no rule decided
	unplaced int64            // no listener is known for their port
	others   map[string]int64 // lines of unknown load balancers, by name
	either   int64
	perhaps  int64 // lines whose answer a change may alter
	changed  int64
	paths    map[pathKey]*pathCount
	wrong    groups
	effects  groups
	byKey    map[lb.Key]int64
	foreign  map[lb.Key]int64 // lines that a foreign rule answered
	untimely int64            // lines outside of the wanted time
	unclear  map[string]int64 // lines that agree but for the Service, by target group
}

// The limits of a Replayer's caches. Beyond them they are emptied.
const (
	mostKept  = 100_000 // hosts and predictions
	mostNames = 1_000   // names of load balancers
)

// New returns a Replayer.
func New(setup *Setup) *Replayer {
	r := &Replayer{
		setup: setup, names: map[string]int{}, others: map[string]int64{},
		paths: map[pathKey]*pathCount{}, byKey: map[lb.Key]int64{},
		foreign: map[lb.Key]int64{}, unclear: map[string]int64{},
		wrong: groups{known: map[string]*group{}}, effects: groups{known: map[string]*group{}},
	}
	for i := range setup.Balancers {
		r.balancers = append(r.balancers, newBalancer(&setup.Balancers[i]))
	}
	return r
}

// Replay replays a line.
func (r *Replayer) Replay(l *accesslog.Line, at Place) {
	r.lines++
	b := r.balancerOf(l)
	if b == nil {
		return
	}
	request, err := l.Request()
	if err != nil || l.Priority() < 0 {
		r.unrouted++
		return
	}
	h := r.hostOf(b, request)
	if h.port == 0 {
		r.unplaced++
		return
	}
	r.byKey[b.key]++
	p := r.predictionOf(h, request, l)
	o := r.outcomeOf(b, h, p, l)
	if o.foreign {
		r.foreign[b.key]++
	}
	r.count(o, l, at)
}

// count counts a line for its outcome.
func (r *Replayer) count(o *outcome, l *accesslog.Line, at Place) {
	for _, p := range o.paths {
		if len(o.paths) == 1 {
			p.requests++
			p.errors.count(l.StatusCode(accesslog.Status), l.StatusCode(accesslog.TargetStatus))
		} else {
			p.possible++
		}
	}
	if len(o.paths) > 1 {
		r.either++
	}
	if o.unclear {
		count(r.unclear, groupName(o.said.group))
	}
	switch o.effect {
	case perhaps:
		r.perhaps++
	case changed:
		r.changed++
	}
	for _, g := range []*group{o.wrong, o.altered} {
		if g == nil {
			continue
		}
		g.lines++
		if g.examples.hasRoomFor(at) {
			g.examples.add(example{at, requestIn(l), locationIn(l)})
		}
	}
}

// requestIn returns the request of a line, for people.
func requestIn(l *accesslog.Line) string {
	text := accesslog.Unescape(l.Raw(accesslog.RequestLine))
	if at := bytes.LastIndexByte(text, ' '); at > 0 {
		text = text[:at]
	}
	return string(text[:min(len(text), mostText)])
}

// locationIn returns the location of the redirect of a line, for people; empty without one.
func locationIn(l *accesslog.Line) string {
	text := l.Text(accesslog.RedirectURL)
	return text[:min(len(text), mostText)]
}

// Untimely counts a line outside of the wanted time.
func (r *Replayer) Untimely() { r.untimely++ }

// mostText is the most bytes of the request and of the location in an example.
const mostText = 1 << 10

// balancerOf returns the load balancer of a line, or nil if it is not in the Setup.
func (r *Replayer) balancerOf(l *accesslog.Line) *balancer {
	raw := l.Raw(accesslog.LoadBalancer)
	at, known := r.names[string(raw)]
	if !known {
		name := string(raw)
		at = r.setup.balancerNamed(name)
		if len(r.names) < mostNames {
			r.names[name] = at
		}
	}
	if at >= 0 {
		return r.balancers[at]
	}
	count(r.others, string(raw))
	return nil
}

// count counts a line for a name; for "" if there are too many names.
func count(lines map[string]int64, name string) {
	if _, counted := lines[name]; !counted && len(lines) >= mostNames {
		name = ""
	}
	lines[name]++
}

// hostOf returns the cache for the host and the port of a request.
func (r *Replayer) hostOf(b *balancer, request accesslog.Request) *host {
	r.key = append(r.key[:0], request.Scheme...)
	r.key = binary.BigEndian.AppendUint32(r.key, uint32(request.Port))
	r.key = append(r.key, request.Host...)
	h := b.hosts[string(r.key)]
	if h == nil {
		r.remember()
		h = b.newHost(request)
		b.hosts[string(r.key)] = h
	}
	return h
}

// remember makes room for one more cached result.
func (r *Replayer) remember() {
	if r.kept++; r.kept <= mostKept {
		return
	}
	hosts := 0
	for _, b := range r.balancers {
		for _, h := range b.hosts {
			clear(h.known)
			clear(h.predictions)
		}
		if hosts += len(b.hosts); hosts > mostKept/2 {
			clear(b.hosts)
		}
	}
	r.kept = hosts + 1
}

// predictionOf returns the prediction for a request.
func (r *Replayer) predictionOf(
	h *host, request accesslog.Request, l *accesslog.Line,
) *prediction {
	if !h.isCostly() {
		return r.find(h, request, l)
	}
	r.key = h.parts.keyOf(r.key[:0], request, l)
	p := h.known[string(r.key)]
	if p == nil {
		r.remember()
		name := string(r.key)
		p = r.find(h, request, l)
		h.known[name] = p
	}
	return p
}

// find finds the prediction for a request. Requests with the same matches share one.
func (r *Replayer) find(h *host, request accesslog.Request, l *accesslog.Line) *prediction {
	a := h.parts.askedBy(request, l)
	paths := readings(r.readings[:0], string(request.Path))
	r.readings, r.key = paths, r.key[:0]
	for _, path := range paths {
		h.find(&r.found, &a, path)
		r.key = r.found.keyOf(r.key)
	}
	p := h.predictions[string(r.key)]
	if p == nil {
		r.remember()
		p = h.predict(&a, paths)
		h.predictions[string(r.key)] = p
	}
	return p
}
