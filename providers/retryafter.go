package providers

import (
	"fmt"
	"time"
)

// A RetryAfter is an error with the time after which to call again. Any error of a provider can
// have it.
type RetryAfter struct {
	Err error
	In  time.Duration
}

func (l *RetryAfter) Error() string { return fmt.Sprintf("%s (ask again in %s)", l.Err, l.In) }

// Unwrap returns the error without the time.
func (l *RetryAfter) Unwrap() error { return l.Err }
