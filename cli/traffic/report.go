package traffic

import (
	"fmt"

	"fairlead.dev/fairlead/model/replay"
)

// This file has the report of replay.

// A Report is the JSON that replay prints: keys may be added, and none may change.
type Report struct {
	replay.Report
	// Problems are lines and files that could not be read, and are left out: the first ones.
	Problems []Problem `json:"problems"`
	// Unread is the number of all problems.
	Unread int64 `json:"unread"`
}

func (l Logs) report(found replay.Report, unread problems) Report {
	out := Report{Report: found, Problems: []Problem{}, Unread: unread.count}
	for _, p := range unread.first {
		out.Problems = append(out.Problems, Problem{nameOf(l.Files[p.File]), p.Line, p.err.Error()})
	}
	return out
}

// Errors returns the problems as errors, with a last one for those that are not listed.
func (r Report) Errors() []error {
	var out []error
	for _, p := range r.Problems {
		out = append(out, p)
	}
	if more := r.Unread - int64(len(r.Problems)); more > 0 {
		out = append(out, fmt.Errorf("%d more lines could not be read", more))
	}
	return out
}
