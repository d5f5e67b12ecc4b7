package providers

import (
	"fmt"
	"time"
)

// Later is an error with the time after which to call again. Any error of a provider can have it.
type Later struct {
	Err error
	In  time.Duration
}

func (l *Later) Error() string { return fmt.Sprintf("%s (ask again in %s)", l.Err, l.In) }

// Unwrap returns the error without the time.
func (l *Later) Unwrap() error { return l.Err }
