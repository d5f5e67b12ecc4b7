package accesslog

import (
	"fmt"
	"time"
)

// This file reads the time of a line: that at which the load balancer generated the response, in
// ISO 8601 format.

// At returns the time of the line.
func (l *Line) At() (time.Time, error) {
	text := l.fields[Time]
	at, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: %q is no time", Time, text[:min(len(text), mostShown)])
	}
	return at, nil
}
