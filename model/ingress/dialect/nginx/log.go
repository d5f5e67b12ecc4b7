package nginx

import (
	"bytes"
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/routing"
)

// This file says what becomes of requests in access logs of nginx. Their format is the default of log-format-upstream in
// docs/user-guide/nginx-configuration/configmap.md:
//
//	$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"
//	$request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr
//	$upstream_response_length $upstream_response_time $upstream_status $req_id
//
// It has neither the host nor the scheme, nor headers and cookies. The name of the upstream has the Service, and nginx.tmpl sets it
// in each location, so that the paths and the status tell which locations of which hosts may have answered.

// A Logged is a request in a line of a log.
type Logged struct {
	Client    netip.Addr
	Method    string
	Path      string
	Query     string
	Status    int
	Upstream  string // namespace-service-port; "-" for none
	Forwarded bool   // a Pod was asked
}

// ParseLine reads a line in the default format. It reports whether the line has it.
func ParseLine(line []byte) (out Logged, is bool) {
	text := string(bytes.TrimRight(line, "\r\n"))
	client, rest, ok := strings.Cut(text, " - ")
	if !ok {
		return out, false
	}
	_, rest, first := strings.Cut(rest, "] \"")
	request, rest, second := strings.Cut(rest, "\" ")
	fields := strings.SplitN(rest, " ", 3) // status, bytes, referer and what follows
	if !first || !second || len(fields) < 3 {
		return out, false
	}
	var err error
	if out.Status, err = strconv.Atoi(fields[0]); err != nil || out.Status < 100 || out.Status > 599 {
		return out, false
	}
	// From the end, as the client writes referer and user agent. Several upstreams that were tried have commas between them.
	_, tail, ok := cutLast(fields[2], "\" ")
	head, tail, bracket := strings.Cut(tail, " [")
	named, after, third := strings.Cut(tail, "] [")
	_, addresses, fourth := strings.Cut(after, "] ")
	if !ok || !bracket || !third || !fourth || len(strings.Fields(head)) != 2 || len(strings.Fields(addresses)) < 5 {
		return out, false
	}
	out.Client, _ = netip.ParseAddr(client)
	out.Upstream, out.Forwarded = named, !strings.HasPrefix(addresses, "- ")
	parts := strings.Split(request, " ")
	if len(parts) < 2 { // such as what is no HTTP: nginx logs the bytes
		return out, true
	}
	out.Method = parts[0]
	out.Path, out.Query, _ = strings.Cut(parts[1], "?")
	return out, true
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}

// A Fate is what becomes of a request in a log.
type Fate string

const (
	StaysSame   Fate = "same"
	StaysChange Fate = "changed"     // it is answered in another way
	StaysDrop   Fate = "dropped"     // it is answered the same, and an annotation of its Ingress has no effect
	StaysRefuse Fate = "refused"     // its Ingress is not served
	OfOthers    Fate = "others"      // it is not of these Ingresses
	OnHost      Fate = "undecided"   // it depends on the host or the scheme, which the log does not have
	Unlike      Fate = "unexplained" // these Ingresses answer it in another way than nginx did
)

// A Judgement is what becomes of a request in a log, and why.
type Judgement struct {
	Fate
	Ingress string // one that it may be of; "" for none
	Key     string // what leads to another answer, or to the refusal
	Host    string // one that it may be for
	Secure  bool
}

// A Judge says what becomes of requests in logs.
type Judge struct {
	spots map[string][]spot // by the name of the upstream
	twins map[string][]spot // by paths without the slash at their end, of locations that add it
}

// A spot is a location of a server.
type spot struct {
	*World
	*server
	*location
	host string
}

// NewJudge returns a Judge of what all worlds serve.
func NewJudge(worlds []*World) *Judge {
	j := &Judge{spots: map[string][]spot{}, twins: map[string][]spot{}}
	for _, w := range worlds {
		for _, name := range slices.Sorted(maps.Keys(w.servers)) {
			s := w.servers[name]
			for _, l := range s.locations {
				if l.of == nil || l.to == w.upstreams[backend{}] {
					continue
				}
				one := spot{w, s, l, exampleHost(s)}
				upstream := l.to.namespace + "-" + l.to.service + "-" + l.to.port
				j.spots[upstream] = append(j.spots[upstream], one)
				if twin := strings.TrimSuffix(l.text, "/"); twin != l.text && twin != "" && !s.regex {
					j.twins[twin] = append(j.twins[twin], one)
				}
			}
		}
	}
	return j
}

// Of returns what becomes of a request.
func (j *Judge) Of(l Logged) Judgement {
	uri, ok := normalise(l.Path)
	if l.Method == "" || !ok {
		return Judgement{Fate: OfOthers}
	}
	all, answers := j.spots[l.Upstream], 0
	if l.Upstream == "-" || l.Upstream == "" {
		all = j.twins[uri]
	}
	if len(all) == 0 {
		return Judgement{Fate: OfOthers}
	}
	var found []Judgement
	for _, one := range all {
		if at, _ := one.find(uri, false); at != one.location {
			continue
		}
		answers++
		for _, secure := range []bool{false, true} {
			judged, may := one.judge(l, secure)
			if may && !slices.ContainsFunc(found, func(o Judgement) bool { return o.Fate == judged.Fate }) {
				found = append(found, judged)
			}
		}
	}
	switch {
	case len(found) == 0:
		return Judgement{Fate: Unlike, Ingress: all[0].of.key(), Host: all[0].host}
	case len(found) > 1:
		slices.SortFunc(found, func(a, b Judgement) int { return cmp.Compare(severity(a.Fate), severity(b.Fate)) })
		found[0].Fate = OnHost
	}
	return found[0]
}

// severity orders fates, the worst first.
func severity(f Fate) int {
	return slices.Index([]Fate{StaysRefuse, StaysChange, StaysDrop, StaysSame}, f)
}

// judge says what becomes of a request if it is for a location, and whether it may be.
func (s spot) judge(l Logged, secure bool) (out Judgement, may bool) {
	out = Judgement{Fate: StaysSame, Ingress: s.of.key(), Host: s.host, Secure: secure}
	if secure && !s.server.secure {
		return out, false
	}
	if w := s.writers[out.Ingress]; w.out.Refuses() { // what it refuses may be what has answered
		out.Fate = StaysRefuse
		for _, v := range w.out.Verdicts {
			if v.Outcome == dialect.Refused {
				out.Key = cmp.Or(out.Key, v.Key)
			}
		}
		return out, true
	}
	q := Question{Request: routing.Request{Port: 80, Host: s.host, Path: l.Path, Method: l.Method, Source: l.Client}, RawQuery: l.Query,
		Secure: secure}
	if secure {
		q.Port = 443
	}
	if !q.Source.IsValid() {
		q.Source = anyClient
	}
	if !s.answersAs(l, q) {
		if l.Method != "OPTIONS" || len(s.of.cors.headers) == 0 { // the log does not have the origin of a preflight
			return out, false
		}
		q.Header = map[string][]string{"Origin": {s.of.cors.headers[0].value}}
		if !s.answersAs(l, q) {
			return out, false
		}
	}
	if causes := s.Differences(q); len(causes) > 0 {
		out.Fate, out.Key = StaysChange, cmp.Or(byItself[causes[0].Key], causes[0].Key)
		return out, true
	}
	for _, v := range s.writers[out.Ingress].out.Verdicts {
		if v.Outcome == dialect.Dropped {
			out.Fate, out.Key = StaysDrop, cmp.Or(out.Key, v.Key)
		}
	}
	return out, true
}

// answersAs reports whether a request may have been answered as a log has it.
func (s spot) answersAs(l Logged, q Question) bool {
	a := s.Answer(q)
	if a.Status != 0 {
		return a.Status == l.Status && !l.Forwarded
	}
	return l.Forwarded || withoutPod(l.Status)
}

// withoutPod reports whether nginx answers so in place of a Pod: what is wrong with a request, a client that went, and no ready Pod.
func withoutPod(status int) bool {
	return slices.Contains([]int{400, 408, 413, 414, 431, 494, 499}, status) || status >= 500
}
