package cli

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/cli/traffic"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect/nginx"
	"fairlead.dev/fairlead/model/routing"
)

// This file counts what becomes of requests in access logs of ingress-nginx.

// A judged has what becomes of the requests in logs.
type judged struct {
	Requests    int `json:"requests"`
	Same        int `json:"same"`
	Changed     int `json:"changed"`
	Dropped     int `json:"dropped"` // answered the same, and an annotation of the Ingress has no effect
	Refused     int `json:"refused"`
	Others      int `json:"others"` // of no path of these Ingresses
	Undecided   int `json:"undecided"`
	Unexplained int `json:"unexplained"`
	// Unread counts lines that are not requests, besides those that the controller and nginx write about themselves.
	Unread int `json:"unread"`
	// Examples has one request of each kind, the worst first.
	Examples []judgedRequest `json:"examples"`
}

// A judgedRequest is a request of those with one fate for one reason.
type judgedRequest struct {
	Fate     nginx.Fate `json:"fate"`
	Requests int        `json:"requests"`
	Ingress  string     `json:"ingress,omitempty"`
	Field    string     `json:"field,omitempty"`
	Curl     string     `json:"curl"`
	Status   int        `json:"status"`
	Place    string     `json:"place"`
}

// itself matches what the controller and nginx write about themselves into the same stream: klog's lines, and nginx's errors.
var itself = regexp.MustCompile(`^([IWEF]\d{4} |\d{4}/\d\d/\d\d \d\d:|-{10,}|NGINX Ingress controller|` +
	`  (Release|Build|Repository|nginx version)|\s*$)`)

// errFormat is for lines that have no default format.
var errFormat = errors.New("it does not have the default format of ingress-nginx: if log-format-upstream of its ConfigMap is set, such " +
	"logs are not read")

// How many lines are read in search of one that has the format, and how many judgements are kept.
const (
	mostStrange = 1000
	mostKept    = 20_000
)

// judgeRequests counts what becomes of requests in logs.
func (m *migrating) judgeRequests(cmd *cobra.Command, of *side) (*judged, error) {
	if err := source.OneStdin(m.logs, m.Files); err != nil {
		return nil, err
	}
	files, err := traffic.Expand(m.logs)
	if err != nil {
		return nil, err
	}
	out := &judged{Examples: []judgedRequest{}}
	judge := nginx.NewJudge(ingress.Worlds(of.objects, of.options))
	kept := map[nginx.Logged]nginx.Judgement{}
	kinds := map[judgedRequest]int{}
	last, strange, read := "", 0, 0 // of the last file, how many lines do not have the format, and how many do
	err = traffic.EachLine(files, cmd.InOrStdin(), func(file string, number int, line []byte) error {
		place := fmt.Sprintf("%s:%d", file, number)
		if last != file {
			last, strange, read = file, 0, 0
		}
		l, is := nginx.ParseLine(line)
		switch {
		case !is && itself.Match(line):
			return nil
		case !is:
			out.Unread++
			if strange++; strange == mostStrange && read == 0 {
				return fmt.Errorf("%s: %w", place, errFormat)
			}
			return nil
		}
		read++
		found, known := kept[l]
		if !known {
			if found = judge.Of(l); len(kept) == mostKept {
				clear(kept)
			}
			kept[l] = found
		}
		out.add(l, found, place, kinds)
		return nil
	})
	if err == nil && out.Requests == 0 {
		err = fmt.Errorf("%s: %w", files[0], errFormat)
	}
	out.sort()
	return out, err
}

// add counts a request.
func (j *judged) add(l nginx.Logged, found nginx.Judgement, place string, kinds map[judgedRequest]int) {
	j.Requests++
	switch found.Fate {
	case nginx.StaysSame:
		j.Same++
		return
	case nginx.OfOthers:
		j.Others++
		return
	case nginx.StaysChange:
		j.Changed++
	case nginx.StaysDrop:
		j.Dropped++
	case nginx.StaysRefuse:
		j.Refused++
	case nginx.OnHost:
		j.Undecided++
	case nginx.Unlike:
		j.Unexplained++
	}
	kind := judgedRequest{Fate: found.Fate, Ingress: found.Ingress, Field: found.Key}
	at, known := kinds[kind]
	if !known {
		at = len(j.Examples)
		kinds[kind] = at
		scheme, target := "http", l.Path
		if found.Secure {
			scheme = "https"
		}
		if l.Query != "" {
			target += "?" + l.Query
		}
		kind.Curl = compare.Request{Method: l.Method, URL: scheme + "://" + found.Host + routing.Sendable(target)}.Curl()
		kind.Status, kind.Place = l.Status, place
		j.Examples = append(j.Examples, kind)
	}
	j.Examples[at].Requests++
}

// fates has the fates, the worst first.
var fates = []nginx.Fate{nginx.StaysRefuse, nginx.StaysChange, nginx.OnHost, nginx.Unlike, nginx.StaysDrop}

func (j *judged) sort() {
	slices.SortStableFunc(j.Examples, func(a, b judgedRequest) int {
		return cmp.Or(cmp.Compare(slices.Index(fates, a.Fate), slices.Index(fates, b.Fate)), b.Requests-a.Requests)
	})
}

// counts returns the counts in words, those that are 0 left out.
func (j judged) counts() (out []string) {
	for _, one := range []struct {
		n    int
		what string
	}{{j.Same, "answered the same"}, {j.Dropped, "answered the same, though an annotation of the Ingress has no effect"},
		{j.Changed, "answered in another way"}, {j.Refused, "of Ingresses that are refused"}, {j.Others, "of no path of these Ingresses"},
		{j.Undecided, "for which it depends on the host or the scheme"},
		{j.Unexplained, "answered as these Ingresses do not say: such as by others before them, or for a header or a cookie"}} {
		if one.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", one.n, one.what))
		}
	}
	if j.Unread > 0 {
		out = append(out, output.Number(j.Unread, "line")+" without the format")
	}
	return out
}

// unseen is what the logs cannot show.
const unseen = "The default format has neither the host nor the scheme, headers nor cookies: a request counts for the hosts that have " +
	"its path and its Service, and as one without canary headers, cookies and X-Forwarded headers."

// text prints the requests.
func (p *printer) requests() {
	if p.Requests == nil {
		return
	}
	p.WriteByte('\n')
	p.line("%s in the logs:", output.Number(p.Requests.Requests, "request"))
	for _, line := range p.Requests.counts() {
		p.line("  %s", line)
	}
	p.line("  %s", unseen)
	const most = 3
	shown := map[nginx.Fate]int{}
	for _, e := range p.Requests.Examples {
		if shown[e.Fate]++; shown[e.Fate] > most {
			continue
		}
		p.line("  %s: %s of Ingress %s, %s", p.colour.Bad(string(e.Fate)), output.Number(e.Requests, "request"), e.Ingress,
			cmp.Or(e.Field, "for no reason that is known"))
		p.line("    such as %s, answered %d (%s)", e.Curl, e.Status, e.Place)
	}
	for _, fate := range fates {
		if more := shown[fate] - most; more > 0 {
			p.line("  %d more kinds of requests are %s: -o json has them", more, fate)
		}
	}
}
