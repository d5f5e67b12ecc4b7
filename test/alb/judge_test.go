package alb

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file sends requests to the data plane while a load balancer changes, and judges the answers:
// each is that of before the change or that of after it.

// A request is one that is sent again and again.
type request struct {
	port int32 // 443 speaks TLS
	host string
	path string
}

func (r request) String() string { return fmt.Sprintf("%s:%d%s", r.host, r.port, r.path) }

// sent is the request as the specification reads it. Who asks for a directory is a canary.
func (r request) sent() routing.Request {
	return routing.Request{Port: r.port, Host: r.header(), Path: r.path, Method: "GET", Header: map[string][]string{canary: {r.herald()}}, Source: visitor}
}

// canary is a header that rules can be for, and client is where all requests come from.
const canary = "X-Canary"

var visitor = netip.MustParseAddr("203.0.113.7")

func (r request) herald() string {
	return map[bool]string{true: "always", false: "never"}[strings.HasSuffix(r.path, "/")]
}

// header is the Host header that a client sends.
func (r request) header() string {
	if r.port == 80 || r.port == 443 {
		return r.host
	}
	return fmt.Sprintf("%s:%d", r.host, r.port)
}

// requests are those to all hosts and paths on all ports.
func requests(ports []int32, hosts, paths []string) []request {
	var out []request
	for _, port := range ports {
		for _, host := range hosts {
			for _, path := range paths {
				out = append(out, request{port, host, path})
			}
		}
	}
	return out
}

// A verdict is what the objects of a moment ask for.
type verdict struct {
	open    map[int32]bool      // the ports
	admits  map[int32]bool      // those that the client may connect to
	answers map[request]string  // the specification's, in words
	pods    map[string][]string // by target group, where its requests may end
	webACL  string              // that stands before all of it; "" for none
}

// verdict reads the objects as they are, without looking at rules: what is asked for is what
// precedence.Table.Match says.
func (w *world) verdict(asked []request) verdict {
	s := w.snapshot()
	caps := w.caps(s)
	built := model.Compile(s, lb.Facts{WebACLs: w.webACLs}, caps)
	v := verdict{open: map[int32]bool{}, admits: map[int32]bool{}, answers: map[request]string{}, pods: map[string][]string{}}
	if p := built.LoadBalancer.Protection; p.HasWebACL() {
		v.webACL = p.WebACL
	}
	speaks := map[int32]routing.Protocol{}
	for _, l := range built.Table.Listeners {
		v.open[l.Port], v.admits[l.Port], speaks[l.Port] = true, admits(l.Inbound), l.Protocol
	}
	for _, r := range asked {
		v.answers[r] = "refused"
		if v.open[r.port] {
			sent := r.sent()
			seen := sent
			if w.normalised != nil {
				seen.Path = w.normalised(sent.Path)
			}
			v.answers[r] = wanted(built.Table.Match(seen).Action.On(speaks[r.port]), sent)
		}
	}
	for _, b := range built.Table.Backends {
		v.pods[string(b.ID)] = []string{}
		for _, t := range w.targetsOf(s, b, caps) {
			v.pods[string(b.ID)] = append(v.pods[string(b.ID)], t.String())
		}
	}
	return v
}

// admits reports whether the client is one of those who may connect; everybody may where nobody is
// listed.
func admits(inbound []string) bool {
	return len(inbound) == 0 || slices.ContainsFunc(inbound, func(from string) bool { return netip.MustParsePrefix(from).Contains(visitor) })
}

// wanted is an action in words.
func wanted(a routing.Action, r routing.Request) string {
	switch {
	case a.Fixed != nil:
		return fmt.Sprintf("%d %q", a.Fixed.Status, a.Fixed.Body)
	case a.Redirect != nil:
		return fmt.Sprintf("%d to %s", a.Redirect.Status, a.Redirect.Location(r, map[bool]string{true: "https", false: "http"}[r.Port == 443], ""))
	}
	shares := map[string]int32{}
	for _, f := range a.Forward {
		shares[string(f.Backend)] += f.Weight
	}
	var auth string
	if a.Auth != nil {
		auth = a.Auth.Kind
	}
	host, url := r.Host, r.Path
	if a.Rewrite != nil {
		host, url = a.Rewrite.Apply(host, url)
	}
	return forwarded(auth, host+url, shares, a.StickySeconds)
}

// got is an answer in the same words.
func got(a albsim.Answer) string {
	switch {
	case a.Refused:
		return "refused"
	case a.Location != "":
		return fmt.Sprintf("%d to %s", a.Status, a.Location)
	case len(a.Forward) == 0:
		return fmt.Sprintf("%d %q", a.Status, a.Body)
	}
	shares := map[string]int32{}
	for _, s := range a.Forward {
		shares[s.Tags["fairlead.dev/target-group"]] += s.Weight
	}
	auth := strings.TrimSuffix(strings.TrimPrefix(a.Auth, "authenticate-"), "-validation")
	return forwarded(auth, a.Host+a.URL, shares, a.Sticky)
}

// forwarded is what has to be passed first, what is asked for then, who gets which share of the
// requests, and for how many seconds a client stays with who it got: who gets all of them has the
// share 1.
func forwarded(auth, what string, shares map[string]int32, sticky int32) string {
	maps.DeleteFunc(shares, func(_ string, weight int32) bool { return weight == 0 })
	var out []string
	for _, group := range slices.Sorted(maps.Keys(shares)) {
		if len(shares) == 1 {
			shares[group] = 1
		}
		out = append(out, fmt.Sprintf("%s*%d", group, shares[group]))
	}
	if sticky > 0 {
		out = append(out, fmt.Sprintf("for %d s", sticky))
	}
	return strings.TrimSpace(auth + " forward " + what + " to " + strings.Join(out, " "))
}

// A judge compares answers with the verdicts of before and after a change.
type judge struct {
	*world
	how     matching.Reading
	asks    []request
	address string // of the load balancer

	mu            sync.Mutex
	before, after verdict
	// stages are the verdicts before the last one of a change that makes room for others that waited:
	// each is carried out once the one before it is.
	stages  []verdict
	reached map[request]bool // those that got to targets when the change began
	// excuses are what the plans of a change say of requests that may go astray.
	excuses []excuse
	astray  bool
	// expected says that requests are meant to go astray, so that one that does is no error.
	expected bool
	// unparked says that the plan under way has groups take over requests before they are checked.
	unparked bool
	*tally
}

// begin begins anew: what is asked for now is all that may be answered.
func (j *judge) begin() {
	if j.seen != nil && j.seen.Exists {
		j.address = j.seen.Address.Hostname // it may have been made anew, after nobody was served
	}
	j.before = j.verdict(j.asks)
	j.after = j.before
	j.excuses, j.unparked, j.stages = nil, false, nil
	j.reached = map[request]bool{}
	for _, r := range j.asks {
		j.reached[r] = everyShareHasTargets(j.send(r))
	}
}

// everyShareHasTargets reports whether a request gets to a target, however it is shared out.
func everyShareHasTargets(a albsim.Answer) bool {
	return len(a.Forward) > 0 && !slices.ContainsFunc(a.Forward, func(s albsim.Share) bool { return len(s.Targets) == 0 })
}

// ask sends every request, and tells of the first that goes astray.
func (j *judge) ask(when string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range j.asks {
		if j.excused(r) {
			continue
		}
		if wrong := j.wrongInEachStage(r); wrong != "" {
			j.astray = true
			if !j.expected {
				j.Errorf("%s: %s %s", when, r, wrong)
			}
			return
		}
	}
}

// nextStage has a change go on with what waited for room, if anything did: answers may be of either
// stage while that one begins.
func (j *judge) nextStage() {
	now := j.verdict(j.asks)
	j.mu.Lock()
	defer j.mu.Unlock()
	if now.webACL == j.after.webACL && maps.Equal(now.open, j.after.open) && maps.Equal(now.admits, j.after.admits) && maps.Equal(now.answers, j.after.answers) {
		return
	}
	j.stages, j.before, j.after = append(j.stages, j.before), j.after, now
}

// wrongInEachStage says what is wrong with the answer to a request in the stage that is under way
// and in those before it, or "".
func (j *judge) wrongInEachStage(r request) string {
	wrong := j.wrong(r)
	before := j.before
	for _, earlier := range j.stages {
		if wrong == "" {
			break
		}
		if j.before = earlier; j.wrong(r) == "" {
			wrong = ""
		}
	}
	j.before = before
	return wrong
}

// wrong says what is wrong with the answer to a request, or "".
func (j *judge) wrong(r request) string {
	answer := j.send(r)
	j.tally.asked.Add(1)
	if r.port == 443 && len(answer.Forward) > 0 {
		j.tally.secure.Add(1)
	}
	if j.before.open[r.port] != j.after.open[r.port] {
		return "" // a port that comes or goes is used by nobody who was not redirected to it
	}
	switch admitted := j.before.admits[r.port]; {
	case answer.Refused && (!admitted || !j.after.admits[r.port]):
		return ""
	case !answer.Refused && !admitted && !j.after.admits[r.port] && j.before.open[r.port]:
		return "is let through, and is not one of those who may connect"
	}
	said, before, after := got(answer), j.before.answers[r], j.after.answers[r]
	if said != before && said != after {
		return fmt.Sprintf("is answered with %s, neither with %s nor with %s", said, before, after)
	}
	for _, share := range answer.Forward {
		if wrong := j.wrongPods(r, share); wrong != "" {
			return wrong
		}
	}
	if len(answer.Forward) > 0 && answer.WebACL != j.before.webACL && answer.WebACL != j.after.webACL {
		return fmt.Sprintf("passes the web ACL %q, which is neither %q nor %q", answer.WebACL, j.before.webACL, j.after.webACL)
	}
	if r.port == 443 && len(answer.Forward) > 0 && !j.trusted(answer, r.host) {
		return fmt.Sprintf("is shown the certificate of %v", j.sim.Hosts(answer.Certificate))
	}
	behind := request{443, r.host, r.path}
	switch leads := strings.HasPrefix(answer.Location, "https:"); {
	case leads && j.after.open[443] && !j.before.open[443] && said != before:
		return j.wrongBehind(r, behind, j.after)
	case leads && j.before.open[443] && !j.after.open[443] && said != after:
		return j.wrongBehind(r, behind, j.before)
	}
	return ""
}

// trusted reports whether a client is shown a certificate for the host that it asks for.
func (j *judge) trusted(a albsim.Answer, host string) bool {
	return slices.ContainsFunc(j.sim.Hosts(a.Certificate), func(name string) bool { return routing.Host(name).Covers(routing.Host(host)) })
}

// wrongPods says what is wrong with where a share of a request's kind ends, or "". One that got to
// no target when the change began may go on to get to none, until the first checks of new targets
// are over.
func (j *judge) wrongPods(r request, s albsim.Share) string {
	group := s.Tags["fairlead.dev/target-group"]
	before, existed := j.before.pods[group]
	after, exists := j.after.pods[group]
	if len(s.Targets) == 0 {
		replaced := existed && exists && !slices.ContainsFunc(after, func(t string) bool { return slices.Contains(before, t) })
		if j.unparked || !j.reached[r] || existed && len(before) == 0 || exists && len(after) == 0 || replaced {
			return ""
		}
		return "finds nobody in " + group
	}
	for _, t := range s.Targets {
		if !slices.Contains(before, t) && !slices.Contains(after, t) {
			return fmt.Sprintf("may get to %s, which is none of %s", t, group)
		}
	}
	return ""
}

// wrongBehind says what is wrong with the answer that a redirect of one request leads another to,
// or "": the port has to be as it is on the side of the change that the redirect is of.
func (j *judge) wrongBehind(from, r request, side verdict) string {
	if j.misled(from, r) {
		return ""
	}
	j.tally.followed.Add(1)
	if said := got(j.send(r)); said != side.answers[r] && side.admits[r.port] {
		return fmt.Sprintf("is redirected to where %s answers and not %s", said, side.answers[r])
	}
	return ""
}

func (j *judge) send(r request) albsim.Answer {
	return j.sim.Ask(j.address, matching.Request{Port: r.port, TLS: r.port == 443, SNI: r.host, Host: r.header(), Path: r.path,
		Headers: map[string]string{strings.ToLower(canary): r.herald()}, Source: visitor.String()}, j.how)
}
