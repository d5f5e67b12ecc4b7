// Package comparison prints what differs between two configurations, as requests notice it.
package comparison

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/model/compare"
)

// A Report is the JSON that diff prints: keys may be added, and none may change.
type Report struct {
	compare.Report
	Protection compare.Protection `json:"protection"`
	Summary    Summary            `json:"summary"`
}

// A Summary counts what differs.
type Summary struct {
	Requests      int `json:"requests"` // classes of requests with another answer
	Settings      int `json:"settings"` // that decide about exposure
	LessProtected int `json:"lessProtected"`
	Unknown       int `json:"unknown"` // of which it is not known whether they protect less
	Undecided     int `json:"undecided"`
}

// ReportOf returns the report of a comparison.
func ReportOf(found compare.Report) Report {
	r := Report{Report: found, Protection: found.Protection()}
	r.Summary = Summary{
		Requests: len(found.Changes), Settings: len(found.Exposures), Undecided: len(found.Undecided),
	}
	count := func(p compare.Protection) {
		switch p {
		case compare.Less:
			r.Summary.LessProtected++
		case compare.Unknown:
			r.Summary.Unknown++
		}
	}
	for _, c := range found.Changes {
		count(c.Protection)
	}
	for _, e := range found.Exposures {
		count(e.Protection)
	}
	return r
}

// LessProtected reports whether something is less protected, or may be.
func (r Report) LessProtected() bool {
	return r.Protection == compare.Less || r.Protection == compare.Unknown
}

// String is the summary in one line.
func (s Summary) String() string {
	if s == (Summary{}) {
		return "no request is answered differently"
	}
	parts := []string{
		count(s.Requests, "class of requests is", "classes of requests are") + " answered differently",
		count(s.Settings, "setting of exposure differs", "settings of exposure differ"),
	}
	if s.LessProtected > 0 {
		parts = append(parts, fmt.Sprintf("%d less protected", s.LessProtected))
	}
	if s.Unknown > 0 {
		parts = append(parts, fmt.Sprintf("%d possibly less protected", s.Unknown))
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
}

// inWords is an answer with the Ingress that gives it.
func inWords(a compare.Answer) string {
	if a.Source == "" {
		return a.Action
	}
	return a.Action + ", by " + a.Source
}

// where is the load balancer, and the port if it is about one.
func where(e compare.Exposure) string {
	if e.Port == 0 {
		return string(e.LoadBalancer)
	}
	return fmt.Sprintf("%s port %d", e.LoadBalancer, e.Port)
}
