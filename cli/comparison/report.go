// Package comparison prints the differences between two configurations for requests.
package comparison

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/model/compare"
)

// A Report is the JSON that diff prints: keys may be added, and none may change.
type Report struct {
	compare.Report
	Protection compare.Protection `json:"protection"`
	// Problems are the objects and files that could not be read, and are left out.
	Problems []Problem `json:"problems"`
	// NotCompared has the reasons why less was compared than the caller expects.
	NotCompared []string `json:"notCompared"`
	// AcceptedBy has the date and the reason of each finding that is accepted, by its id.
	AcceptedBy map[string]string `json:"acceptedBy,omitempty"`
	// Unused are acceptances of findings that are not there.
	Unused []Acceptance `json:"unused,omitempty"`
	// AcceptancesChange says how the file of accepted findings differs from the one that counts.
	AcceptancesChange string  `json:"acceptancesChange,omitempty"`
	Summary           Summary `json:"summary"`
}

// A Problem is an object or a file of one of the configurations that is left out.
type Problem struct {
	Side string `json:"side"` // Before or After
	manifests.Problem
}

// These are the sides of a comparison.
const (
	Before = "before"
	After  = "after"
)

// ProblemsOf returns the problems of both sides.
func ProblemsOf(before, after manifests.Problems) []Problem {
	out := []Problem{}
	for _, p := range before {
		out = append(out, Problem{Before, p})
	}
	for _, p := range after {
		out = append(out, Problem{After, p})
	}
	return out
}

// A Summary counts the differences.
type Summary struct {
	Requests      int `json:"requests"` // routes whose requests get another answer
	Settings      int `json:"settings"` // that decide about exposure
	LessProtected int `json:"lessProtected"`
	Unknown       int `json:"unknown"` // of which it is not known whether they protect less
	Undecided     int `json:"undecided"`
	Accepted      int `json:"accepted"`
	LeftOut       int `json:"leftOut"` // problems of objects and files that could not be read
	// LoadBalancers is how many the two configurations have together, those of both twice.
	LoadBalancers int `json:"loadBalancers"`
}

// ReportOf returns the report of a comparison of so many load balancers, without some objects.
func ReportOf(found compare.Report, loadBalancers int, problems []Problem) Report {
	r := Report{Report: found, Problems: problems, NotCompared: []string{},
		Summary: Summary{LoadBalancers: loadBalancers}}
	r.count()
	return r
}

// count counts the differences, and decides on the protection of the whole change.
func (r *Report) count() {
	r.Protection = r.Report.Protection()
	r.Summary = Summary{
		Requests: len(r.Changes), Settings: len(r.Exposures), Undecided: len(r.Undecided),
		LeftOut: len(r.Problems), LoadBalancers: r.Summary.LoadBalancers,
	}
	count := func(p compare.Protection) {
		switch p {
		case compare.Less:
			r.Summary.LessProtected++
		case compare.Unknown:
			r.Summary.Unknown++
		case Accepted:
			r.Summary.Accepted++
		}
	}
	for _, c := range r.Changes {
		count(c.Protection)
	}
	for _, e := range r.Exposures {
		count(e.Protection)
	}
}

// Differs reports whether there is a difference, or a change of what is accepted.
func (r Report) Differs() bool { return !r.Empty() || r.AcceptancesChange != "" }

// LessProtected reports whether a request or a setting is less protected, or may be.
func (r Report) LessProtected() bool {
	return r.Protection == compare.Less || r.Protection == compare.Unknown
}

// String returns the summary in one line.
func (s Summary) String() string {
	if s.LeftOut > 0 {
		rest := s
		rest.LeftOut = 0
		return fmt.Sprintf("%s; %s, so not everything was read: what seems to be gone or new may only "+
			"be unread", rest, count(s.LeftOut, "problem in the files", "problems in the files"))
	}
	switch s {
	case Summary{}:
		return "no request is answered differently; neither configuration has a load balancer"
	case Summary{LoadBalancers: s.LoadBalancers}:
		return "no request is answered differently"
	}
	var parts []string
	if s.Requests > 0 {
		parts = append(parts, count(s.Requests, "route changes", "routes change"))
	}
	if s.Settings > 0 {
		parts = append(parts, count(s.Settings, "exposure change", "exposure changes"))
	}
	if s.LessProtected > 0 {
		parts = append(parts, fmt.Sprintf("%d less protected", s.LessProtected))
	}
	if s.Unknown > 0 {
		parts = append(parts, fmt.Sprintf("%d possibly less protected", s.Unknown))
	}
	if s.Accepted > 0 {
		parts = append(parts, fmt.Sprintf("%d accepted", s.Accepted))
	}
	if s.Undecided > 0 {
		parts = append(parts, fmt.Sprintf("%d not decided", s.Undecided))
	}
	return strings.Join(parts, ", ")
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// marks are the words for protection; there is none where it stays the same.
var marks = map[compare.Protection]string{
	compare.Less:    "less protected",
	compare.More:    "more protected",
	compare.Unknown: "possibly less protected",
	Accepted:        "accepted",
}

// inWords returns an answer with the Ingress that gives it.
func inWords(a compare.Answer) string {
	if a.Source == "" {
		return a.Action
	}
	return a.Action + ", by " + a.Source
}

// where returns the load balancer, and the port of a difference on one.
func where(e compare.Exposure) string {
	if e.Port == 0 {
		return string(e.LoadBalancer)
	}
	return fmt.Sprintf("%s port %d", e.LoadBalancer, e.Port)
}

// A sameChange is a change, and the other hosts whose requests change in the same way.
type sameChange struct {
	compare.Change
	others []string
}

// merged returns changes with those merged that differ in nothing but the host and the Ingresses of the answers. What may
// be less protected stays alone, as each such change is accepted alone.
func merged(changes []compare.Change) (out []sameChange) {
	at := map[string]int{}
	for _, c := range changes {
		host := c.Request.Routed.Hostname()
		if host == "" || mayBeLess(c.Protection) || c.Protection == Accepted {
			out = append(out, sameChange{Change: c})
			continue
		}
		alike := fmt.Sprintf("%q", []string{string(c.LoadBalancer), strings.ReplaceAll(c.Curl, host, "host"), c.Before.Action,
			c.Before.SignIn, c.Before.Route, c.After.Action, c.After.SignIn, c.After.Route, string(c.Protection), c.Because,
			strings.Join(c.Details, "\n")})
		if i, known := at[alike]; known {
			out[i].others = append(out[i].others, host)
			continue
		}
		at[alike] = len(out)
		out = append(out, sameChange{Change: c})
	}
	return out
}

// mostHosts is how many hosts are named beside the first one.
const mostHosts = 10

// also names the other hosts; "" if there are none.
func (c sameChange) also() string {
	if len(c.others) == 0 {
		return ""
	}
	named := strings.Join(c.others[:min(len(c.others), mostHosts)], ", ")
	if rest := len(c.others) - mostHosts; rest > 0 {
		named += fmt.Sprintf(" and %d more, which -o json has", rest)
	}
	return count(len(c.others), "other host changes", "other hosts change") + " in the same way: " + named
}
