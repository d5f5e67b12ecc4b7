package replay

import (
	"net/netip"
	"net/url"
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

// This file decides conditions, if the log lines have the data.

// A truth is whether a condition holds.
type truth uint8

const (
	no truth = iota
	maybe
	yes
)

// A loggedRequest has the parts of a request in a line besides its host and its path.
type loggedRequest struct {
	method string
	host   string
	query  string
	agent  string // the header User-Agent; empty if it is not known
	source netip.Addr
}

// parts has the parts of a request, besides host and path, that conditions look at.
type parts struct{ method, query, agent, source, host bool }

// userAgent is the header that lines have. One longer than longestAgent is cut off: "If the string
// is longer than 8 KB, it is truncated."
const (
	userAgent    = "User-Agent"
	longestAgent = 8 << 10
)

// add adds the parts that conditions look at.
func (p *parts) add(when routing.Conditions) {
	for _, c := range when {
		switch {
		case c.Field == "method":
			p.method = true
		case c.Field == "query":
			p.query = true
		case c.Field == "source":
			p.source = true
		case c.Field == "host":
			p.host = true
		case c.Field == "header" && strings.EqualFold(c.Name, userAgent):
			p.agent = true
		}
	}
}

// holds decides a condition.
func (a *loggedRequest) holds(c routing.Condition) truth {
	one := routing.Conditions{c}
	switch c.Field {
	case "method":
		return truthOf(one.Match(routing.Request{Method: a.method}))
	case "host":
		return truthOf(one.Match(routing.Request{Host: a.host}))
	case "source":
		if a.source.IsValid() {
			return truthOf(one.Match(routing.Request{Source: a.source}))
		}
	case "query":
		return a.queryHolds(one)
	case "header":
		if strings.EqualFold(c.Name, userAgent) && a.agent != "" {
			header := map[string][]string{userAgent: {a.agent}}
			return truthOf(one.Match(routing.Request{Header: header}))
		}
	}
	return maybe
}

// queryHolds decides a condition on the query. Whether a load balancer decodes parameters before
// it compares them is not documented: where this makes a difference, either is possible.
func (a *loggedRequest) queryHolds(one routing.Conditions) truth {
	sent := map[string][]string{}
	for part := range strings.SplitSeq(a.query, "&") {
		name, value, _ := strings.Cut(part, "=")
		sent[name] = append(sent[name], value)
	}
	out := truthOf(one.Match(routing.Request{Query: sent}))
	if strings.ContainsAny(a.query, "%+;") {
		decoded, err := url.ParseQuery(a.query)
		if err != nil || truthOf(one.Match(routing.Request{Query: decoded})) != out {
			return maybe
		}
	}
	return out
}

// lastBit is the bit for all further conditions.
const lastBit = 31

// undecidedBits returns a bit for each undecided condition, and false if one does not hold.
func (a *loggedRequest) undecidedBits(when routing.Conditions) (uint32, bool) {
	out := uint32(0)
	for i := range when {
		switch a.holds(when[i]) {
		case no:
			return 0, false
		case maybe:
			out |= 1 << min(i, lastBit)
		}
	}
	return out, true
}

func truthOf(is bool) truth {
	if is {
		return yes
	}
	return no
}
